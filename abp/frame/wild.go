package frame

import "math/bits"

// A slot that is mispredicted most of the time, and that the table does not help with, becomes
// wild: from then on each of its words is written as the difference to its last one, and
// nothing else is tried. Hash chains, buffers that are looked up and sorted indices are
// like that: in recordings of bzip2 and gzip two thirds of all mispredictions are of slots that
// are predicted less than once in five times. To find out in which way such a word is
// unexpected takes 20 ns; to write it without asking, in line and without a branch, 3.
const (
	wildMispredictions = 32 // so many, in at least half of the executions
	wildKnown          = 4  // of which fewer than so many were what the table said
	wildTrial          = 64 // words after which a wild slot is looked at again
	wildGood           = 32 // of which so many had the stride of the word before
)

// tire makes a slot wild that was mispredicted, if it has too often. The stack pointer's
// never is: others are predicted by it.
func (s *slot) tire(class int, execs uint32, pinned bool) {
	if s.count == 255 {
		return
	}
	s.count++
	if class == classKnown {
		s.good++
	}
	if s.count >= wildMispredictions && s.good < wildKnown && uint32(s.count)*2 >= execs && !pinned {
		s.mode, s.tried, s.good = modeWild, 0, 0
	}
}

// wildClasses says by how many bytes a difference has: its class (lower half) and how
// many bytes are written for it.
var wildClasses = [16]uint8{0x01, 0x12, 0x23, 0x34, 0x45, 0x66, 0x66, 0x87, 0x87}

// wild notes a wild slot's word and says how it is written. Who calls it looks for
// wildTrial afterwards: with that it would be too large to be compiled in line.
func (s *slot) wild(v uint64) (class uint8, payload uint64) {
	delta := int64(v - s.last)
	payload = zigzag(delta)
	good := s.good
	if s.d == int32(delta) {
		good = s.good + 1
	}
	s.last, s.d, s.good = v, int32(delta), good
	s.tried++
	return wildClasses[uint(bits.Len64(payload)+7)>>3&15], payload
}

// tamed looks whether a wild slot has become predictable.
func (s *slot) tamed() {
	if s.good >= wildGood {
		s.mode, s.count = modeStride, 0
	}
	s.tried, s.good = 0, 0
}
