package frame

import "math/bits"

// The words of a frame. A word whose upper half is zero is the number of a
// block, and Shape.Words words follow it. A word with a non-zero top byte is a
// mark with the payload in its other bytes.
//
// Block numbers are 32 bits for good: an upper half that is not zero is what tells a mark
// in one comparison.
const (
	markShift   = 56
	markPayload = 1<<markShift - 1
)

// Marks in a frame's words.
const (
	// MarkCut: of the execution that follows directly, only the first payload
	// instructions completed.
	MarkCut = 0x81
	// MarkFS and MarkGS: from here on the thread's segment base is the next word.
	MarkFS = 0x82
	MarkGS = 0x83
	// MarkWindows: payload bit i: window i is open from here on. The next word is
	// the TSC.
	MarkWindows = 0x84
	// MarkThread: the thread's record starts (payload 1) or ends (payload 0); the
	// next words are its number, its OS id and the TSC.
	MarkThread = 0x85
	// MarkSkip: payload words follow that mean nothing. The encoder drops it.
	MarkSkip = 0x86
	// MarkEmulated: payload is a block whose one instruction the tracer executed.
	// The next word is a number n; n pairs follow: address, size | store<<63.
	MarkEmulated = 0x87
	// MarkChunk: a ring's chunk starts here. The next words are the TSC when it
	// was opened and completed. Only in files, not in rings: it is what lets
	// threads be merged by time where nothing carries a time stamp.
	MarkChunk = 0x88
	// MarkSwitch is a MarkWindows that translated code wrote, with the address that
	// follows as a third word and where the function entered there returns to as a fourth. Only in rings, not in files: the
	// encoder makes a MarkWindows of it, the addresses belong in a table.
	MarkSwitch = 0x89
	// MarkNote: payload words follow that become a row of a table. Only in rings: the
	// encoder drops it, after it has said where it stood.
	MarkNote = 0x8a
	// MarkCall: payload words follow that are a captured call. Only in rings: the encoder drops it,
	// calls have a file of their own.
	MarkCall = 0x8b
	// MarkLater is the first of those that later versions may add, which readers pass over: the
	// upper byte of the payload is how many words follow.
	MarkLater = 0xa0
	// MarkGap: a burst has ended, where only bursts were recorded: what comes does not follow on what is in front. Since 1.10.
	MarkGap = MarkLater
	// MarkBeside: words of the MarkEmulated that follows: how many as in each mark from MarkLater on, the lower 16 bits of the payload
	// are the number of the first. Since 1.15.
	MarkBeside = MarkLater + 1
	// MarkCallers: words of who had called whom where a burst begins, as in MarkBeside (abp.Stack). Since 1.17.
	MarkCallers = MarkLater + 2
	laterShift  = markShift - 8
)

// EmulatedStore is the bit of an emulated access's size word that makes it a
// store.
const EmulatedStore = 1 << 63

// What an execution begins with, in a ring, may be the block's number in the lower bits, and above
// them how many words the execution has, with that one; 0: it does not say.
const numberBits = 24

// Sized says that executions begin so from now on. It is for version 4; others want numbers alone.
//
// To find the next execution by its block's shape takes a look into a table, and with thousands
// of blocks those wait for each other.
func (e *Encoder) Sized() { e.sized = e.strung }

// IsSized tells whether executions begin so.
func (e *Encoder) IsSized() bool { return e.sized }

// idMask is which bits of an execution's first word are the number. The size is above them.
func (e *Encoder) idMask() uint64 {
	if e.sized {
		return 1<<numberBits - 1
	}
	return 1<<32 - 1
}

// sizeShift is where the size lies.
func (e *Encoder) sizeShift() int { return bits.Len64(e.idMask()) }

// Number is the block's number in the first word of an execution.
func (e *Encoder) Number(w uint64) uint32 { return uint32(w & e.idMask()) }

// SizedHere tells whether this processor has an encoder that makes use of sizes.
func SizedHere() bool { return haveVector() }

// Mark makes a mark's first word.
// Bits of the payload above 56 are lost.
func Mark(kind uint8, payload uint64) uint64 {
	return uint64(kind)<<markShift | payload&markPayload
}

// IsMark reports whether w is a mark, rather than a block's number.
func IsMark(w uint64) bool { return w>>32 != 0 }

// SplitMark takes a mark's first word apart.
func SplitMark(w uint64) (kind uint8, payload uint64) {
	return uint8(w >> markShift), w & markPayload
}

// MarkLen returns how many words the mark at the start of words has, its first
// included; 0 if the mark is unknown or cut short. A cut's execution is not
// part of it.
// words must not be empty.
func MarkLen(words []uint64) int {
	second := uint64(0)
	if len(words) > 1 {
		second = words[1]
	}
	return markSize(words[0], second, len(words))
}

// markSize is MarkLen by the mark's first two words and the number of words
// that there are.
func markSize(first, second uint64, avail int) int {
	n := uint64(0)
	kind, payload := SplitMark(first)
	switch kind {
	case MarkCut:
		n = 1
	case MarkFS, MarkGS, MarkWindows:
		n = 2
	case MarkChunk:
		n = 3
	case MarkThread, MarkSwitch:
		n = 4
	case MarkSkip, MarkNote, MarkCall:
		n = 1 + payload
	case MarkEmulated:
		if avail < 2 || second > uint64(avail) {
			return 0
		}
		n = 2 + 2*second
	default:
		if kind >= MarkLater {
			n = 1 + payload>>laterShift
		}
	}
	if n > uint64(avail) {
		return 0
	}
	return int(n)
}
