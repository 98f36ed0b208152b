package frame

import (
	"encoding/binary"
	"math/bits"
)

// special encodes the words, from words[at] on, of an execution that are not all
// addresses, or that is to be listed. It returns where the next record starts.
//
// Blocks with time stamps, outcomes or values are a minority unless the configuration
// asks for these, and then their cost is that of what was asked for.
func (e *Encoder) special(id uint32, b *blockState, words []uint64, at int) int {
	vs := words[at:][:b.words]
	if b.flags&flagDynamic != 0 {
		e.Dynamic = append(e.Dynamic, at-1)
	}
	at += len(vs)
	slots := e.slots[b.base:][:len(vs)]
	if b.flags&flagSpecial == 0 {
		for j, v := range vs {
			e.address(b, &slots[j], j, v)
		}
		return at
	}
	ops := e.ops[b.base:][:len(vs)]
	i := 0
	if b.flags&flagLarge == 0 {
		e.addressOps(b, ops, slots, vs)
		e.valueOps(b, ops[b.addrs:], slots, vs)
		i = int(b.addrs) + int(b.values)
	}
	for ; i < len(ops); i++ {
		o := &ops[i]
		j := o.word()
		switch v := vs[j]; o.kind() {
		case opAddr:
			e.address(b, &slots[j], j, v)
		case opTime:
			e.timeStamp(v)
		case opCond, opTarget:
			e.outcome(v, o.outcome(e.addrOf(id), e.addrAt(words, at)))
		default:
			e.value(o, &slots[j], vs)
		}
	}
	return at
}

// In the stream of times a byte is a difference, unless it is one of these: then
// the difference follows in two bytes or in eight. Fixed sizes, because a loop
// over a number's bytes is one more thing that the processor cannot predict.
const (
	time2 = 254
	time8 = 255
)

// timeStamp writes a time stamp.
func (e *Encoder) timeStamp(v uint64) {
	d := v - e.time
	e.time = v
	switch {
	case d < time2:
		e.times = append(e.times, byte(d))
	case d < 1<<16:
		e.times = append(e.times, time2, byte(d), byte(d>>8))
	default:
		e.times = binary.LittleEndian.AppendUint64(append(e.times, time8), d)
	}
}

// outcome writes a branch word. It is nearly always what the next block says:
// only exceptions are written, as the number of outcomes since the last one and
// the word. In front of a mark and of the end nothing is known of what follows,
// and address 0 is assumed.
//
// An outcome is thereby a check and not information: where the next block in the stream
// is, is where the branch went, unless code in between was not recorded.
func (e *Encoder) outcome(v, want uint64) {
	if v == want {
		e.outcomes++
		return
	}
	e.branch = binary.AppendUvarint(e.branch, e.outcomes)
	e.branch = binary.AppendUvarint(e.branch, v)
	e.outcomes = 0
}

// addrAt returns the address of the execution at words[at], 0 where there is
// none or where it will not be encoded.
// The decoder, which meets the same item next, must come to the same answer: an
// execution that is cut short by the end of the chunk is none to it.
func (e *Encoder) addrAt(words []uint64, at int) uint64 {
	if at >= len(words) || IsMark(words[at]) {
		return 0
	}
	id := uint32(words[at])
	left := len(words) - at
	if e.filled(id) { // nearly always, and cheaper than to ask for its shape
		if int(e.blocks[id].words) >= left {
			return 0
		}
		return e.addrOf(id)
	}
	if s := e.shape(id); s == nil || int(s.Words) >= left {
		return 0
	}
	return e.addrOf(id)
}

// Classes of mispredicted value words. A byte is a class (upper three bits) and
// the number of predicted words in front of it (lower five). Payloads are
// differences to the slot's last word, or the word itself.
const (
	valueOther = iota // 0 bytes: what the other way of prediction says
	valueLast         // 0 bytes: the slot's last word
	valueDiff1        // 1 byte: zigzag of the difference
	valueDiff2        // 2 bytes
	valueRaw2         // 2 bytes: the word
	valueRaw4         // 4 bytes
	valueRaw6         // 6 bytes
	valueRaw8         // 8 bytes
)

// valueBytes is how many bytes of payload each class has, a nibble each.
const valueBytes = 0x8642_2100

// valueLen is the number of payload bytes of a class.
func valueLen(class int) int { return valueBytes >> (4 * class) & 15 }

// valueRun in a byte's lower bits says that no misprediction follows: the upper bits
// c stand for valueRun<<(2*c) right predictions.
const valueRun = 31

// valueClass is the class by how many bytes the difference and the word need.
// The rows are the bytes of the difference, the columns those of the word: the shorter of
// both is taken, and the difference where they are equal and it is small.
var valueClass = [9][9]uint8{
	{1, 1, 1, 1, 1, 1, 1, 1, 1},
	{2, 2, 2, 2, 2, 2, 2, 2, 2},
	{3, 4, 4, 3, 3, 3, 3, 3, 3},
	{4, 4, 4, 5, 5, 6, 6, 7, 7},
	{4, 4, 4, 5, 5, 6, 6, 7, 7},
	{4, 4, 4, 5, 5, 6, 6, 7, 7},
	{4, 4, 4, 5, 5, 6, 6, 7, 7},
	{4, 4, 4, 5, 5, 6, 6, 7, 7},
	{4, 4, 4, 5, 5, 6, 6, 7, 7},
}

// classifyValue chooses the class of a mispredicted value word and its payload. By
// a table, because what was mispredicted once is not worth a guess of the branch
// predictor.
func (s *slot) classifyValue(v, other uint64) (class int, payload uint64) {
	z := zigzag(int64(v - s.last))
	class = int(valueClass[bytesOf(z)][bytesOf(v)])
	payload = v
	if class <= valueDiff2 {
		payload = z
	}
	if v == other {
		class = valueOther
	}
	return class, payload
}

// bytesOf returns how many bytes a number needs: 0 to 8.
func bytesOf(v uint64) int { return (bits.Len64(v) + 7) >> 3 }

// learnValue notes a mispredicted value, and changes the way of prediction if the
// other one was right. By opMemory the slot keeps the last misprediction, so that
// right predictions leave it alone.
func (s *slot) learnValue(o *op, class int, v uint64) {
	if class == valueOther {
		o.toggle()
	}
	s.d = fit(int64(v - s.last))
	s.last = v
}

// value encodes a word that holds bytes.
// It is the plain form of valueOps, for blocks with more words than flagLarge
// allows.
func (e *Encoder) value(o *op, s *slot, vs []uint64) {
	v := vs[o.word()]
	memory := &s.last
	if o.addr >= 0 {
		memory = &e.values[valueIndex(vs[o.addr]+uint64(int64(o.off)))]
	}
	switch {
	case o.kind() == opMemory && v == *memory:
		e.valHits++
		return
	case o.kind() == opStride && v == s.last+uint64(int64(s.d)):
		e.valHits++
		s.last = v
	default:
		e.mispredictedValue(o, s, v, *memory)
	}
	*memory = v
}

// mispredictedValue writes a value that was not predicted, after how many were.
func (e *Encoder) mispredictedValue(o *op, s *slot, v, memory uint64) {
	class, payload := s.classifyValue(v, s.otherValue(o, memory))
	if e.valHits >= valueRun {
		e.valHits = e.runOfValues(e.valHits)
	}
	e.valClasses = append(e.valClasses, byte(class<<5|e.valHits))
	e.valHits = 0
	e.valPay.put(payload, valueLen(class))
	s.learnValue(o, class, v)
}

// otherValue returns what a value's other prediction would have been.
func (s *slot) otherValue(o *op, memory uint64) uint64 {
	if o.kind() == opMemory {
		return s.last + uint64(int64(s.d))
	}
	return memory
}

// runOfValues writes that so many value words were predicted, and returns what
// is left and fits the next byte.
// The widest step that fits comes first: a million predicted words are some ten bytes.
func (e *Encoder) runOfValues(hits int) int {
	for hits >= valueRun {
		c := min((bits.Len(uint(hits/valueRun))-1)/2, 7)
		e.valClasses = append(e.valClasses, byte(c<<5|valueRun))
		hits -= valueRun << (2 * c)
	}
	return hits
}
