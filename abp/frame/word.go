package frame

// A mispredicted address word is written as a control byte and a payload. The
// byte's upper half is a class, which says what the word is near to and how many
// bytes the difference has; its lower half is the number of predicted words in
// front of it. The payload is the zigzag of the difference.
const (
	classKnown  = 0  // what the slot's other way of prediction says; no payload
	classLast   = 1  // near the slot's last word: 0, 1, 2, 3, 4, 6 or 8 bytes
	classStack  = 8  // near the stack pointer: 1, 2 or 3 bytes
	classPrev   = 11 // near the word before: 1, 2, 3 or 4 bytes
	numClasses  = 15
	maxStackLen = 3 // bytes of differences to the stack pointer
	maxPrevLen  = 4 // and to the word before
)

// wordRun in the lower half says that no misprediction follows: the upper half c
// stands for wordRun<<c predicted words.
const wordRun = 15

// classBytes is how many bytes of payload each class has, a nibble each.
const classBytes = 0x0432_1321_8643_2100

// classLen is the number of payload bytes of a class.
func classLen(class int) int { return int(uint64(classBytes) >> (4 * class) & 15) }

// classOf is the class by what the word is near to (last, stack, prev) and by how
// many bytes the difference needs.
var classOf = [3][16]uint8{
	{1, 2, 3, 4, 5, 6, 6, 7, 7},
	{8, 8, 9, 10},
	{11, 11, 12, 13, 14},
}

// other returns what a slot's other prediction would have been: the FCM
// table's, or where that was the prediction the stride's.
func (s *slot) other(fcm uint64) uint64 {
	o := fcm
	if s.mode == modeFCM {
		o = s.last + uint64(int64(s.d))
	}
	return o
}

// nearBits bounds what counts as near: the stack is not one object, but what a
// call or two move the stack pointer by.
const nearBits = 16

// learn chooses how a slot predicts from now on, after a misprediction of that
// class. pinned: the word is the stack pointer for certain.
//
// The encoder has it written out (mispredicted), since it knows most of the differences.
// A single misprediction changes the way of prediction: there is no counter of confidence,
// for which a slot would have to grow beyond its sixteen bytes.
func (s *slot) learn(class int, v, prev, stack uint64, pinned bool) {
	toStack := int64(v - stack)
	switch {
	case pinned:
		s.mode, s.d = modeStack, fit(toStack)
	case class == classKnown:
		if s.mode == modeFCM {
			s.mode = modeStride
		} else {
			s.mode = modeFCM
		}
	case class >= classPrev:
		d := int64(v - prev)
		s.mode, s.d = modePrev, fit(d)
		if zigzag(d)>>nearBits != 0 {
			s.mode, s.d = modeStride, fit(int64(v-s.last))
		}
	case zigzag(toStack)>>nearBits == 0:
		s.mode, s.d = modeStack, fit(toStack)
	default:
		s.mode, s.d = modeStride, fit(int64(v-s.last))
	}
}

// fit returns a difference as a slot keeps it. One that does not fit could not
// be a stride that matters.
func fit(d int64) int32 {
	if d == int64(int32(d)) {
		return int32(d)
	}
	return 0
}
