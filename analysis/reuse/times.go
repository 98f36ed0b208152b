package reuse

import "math/bits"

// Bits of a group, which has one number of the Fenwick tree.
const (
	groupBits  = 512
	groupWords = groupBits / 64
)

// times is a set of times of which it is asked how many lie behind one of them. A bit says whether a time is in it, and a
// Fenwick tree has sums of groups of bits: of a million lines the bits take 512 KiB where they are spread, and the tree 32, which stay in
// the first caches. A tree with a number a time (16 MiB, twenty levels in other places) took a third of the analysis.
type times struct {
	bits []uint64
	tree []uint32 // Fenwick, by group from 1 on
	in   uint64   // how many are in it
}

// newTimes has room for so many, a multiple of groupBits.
func newTimes(room int) times {
	return times{bits: make([]uint64, room/64), tree: make([]uint32, room/groupBits+1)}
}

// room is the first time that there is no room for.
func (s *times) room() uint32 { return uint32(len(s.bits) * 64) }

// add takes a time in that is not in it, and remove one out that is.
func (s *times) add(t uint32) {
	s.bits[t/64] |= 1 << (t % 64)
	s.in++
	for g := int(t/groupBits) + 1; g < len(s.tree); g += g & -g {
		s.tree[g]++
	}
}

func (s *times) remove(t uint32) {
	s.bits[t/64] &^= 1 << (t % 64)
	s.in--
	for g := int(t/groupBits) + 1; g < len(s.tree); g += g & -g {
		s.tree[g]--
	}
}

// before is how many times in it are less than t.
func (s *times) before(t uint32) (n uint32) {
	for g := int(t / groupBits); g > 0; g &= g - 1 {
		n += s.tree[g]
	}
	last := t / 64
	for _, w := range s.bits[last&^(groupWords-1) : last] {
		n += uint32(bits.OnesCount64(w))
	}
	return n + uint32(bits.OnesCount64(s.bits[last]&(1<<(t%64)-1)))
}

// after is how many are greater than t, which is in it.
func (s *times) after(t uint32) uint64 { return s.in - uint64(s.before(t)) - 1 }

// fill is a set of the first n times, with room for so many.
func fill(n, room int) times {
	s := newTimes(room)
	for t := range n {
		s.bits[t/64] |= 1 << (t % 64)
		s.tree[t/groupBits+1]++
	}
	s.in = uint64(n)
	for g := 1; g < len(s.tree); g++ {
		if up := g + g&-g; up < len(s.tree) {
			s.tree[up] += s.tree[g]
		}
	}
	return s
}
