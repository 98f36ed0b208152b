package reuse

import "math/bits"

// Bits of a group, and how many numbers of one level there are to one of the next.
const (
	groupBits  = 512
	groupWords = groupBits / 64
	fan        = 16
	mostLevels = 6 // 512 << 4*6 is more than there are times
)

// times is a set of times of which it is asked how many lie behind one of them. A bit says whether a time is in it; sums of groups of
// bits, of sixteen of these and so on are levels: a question adds up to fifteen numbers of each, which lie in a cache line, and a change is one of
// each. Of a million lines the bits take 512 KiB where they are spread, and the levels 35, which stay in the first caches. The loop in C (far_amd64.c) asks without a branch that
// depends on times. In a Fenwick tree of groups how many steps there are goes by the time, and none of its loops is predicted.
type times struct {
	bits   []uint64
	sums   []uint32 // levels, one behind the other
	levels []uint32 // where each begins
	in     uint64   // how many are in it
}

// newTimes has room for so many, a power of two and a multiple of groupBits.
func newTimes(room int) times {
	s := times{bits: make([]uint64, room/64)}
	n := uint32(0)
	for many := room / groupBits; ; many = (many + fan - 1) / fan {
		s.levels = append(s.levels, n)
		n += uint32((many + fan - 1) / fan * fan)
		if many <= fan {
			break
		}
	}
	s.sums = make([]uint32, n)
	return s
}

// room is the first time that there is no room for.
func (s *times) room() uint32 { return uint32(len(s.bits) * 64) }

// add takes a time in that is not in it, and remove one out that is.
func (s *times) add(t uint32) {
	s.bits[t/64] |= 1 << (t % 64)
	s.in++
	i := t / groupBits
	for _, level := range s.levels {
		s.sums[level+i]++
		i /= fan
	}
}

func (s *times) remove(t uint32) {
	s.bits[t/64] &^= 1 << (t % 64)
	s.in--
	i := t / groupBits
	for _, level := range s.levels {
		s.sums[level+i]--
		i /= fan
	}
}

// before is how many times in it are less than t.
func (s *times) before(t uint32) (n uint32) {
	i := t / groupBits
	for _, level := range s.levels {
		for _, sum := range s.sums[level+i&^(fan-1) : level+i] {
			n += sum
		}
		i /= fan
	}
	last := t / 64
	for _, w := range s.bits[last&^(groupWords-1) : last] {
		n += uint32(bits.OnesCount64(w))
	}
	return n + uint32(bits.OnesCount64(s.bits[last]&(1<<(t%64)-1)))
}

// after is how many are greater than t, which is in it.
func (s *times) after(t uint32) uint64 { return s.in - uint64(s.before(t)) - 1 }

// ranks are how many times in it are less than each word's first.
func (s *times) ranks() []uint32 {
	out, n := make([]uint32, len(s.bits)), uint32(0)
	for i, w := range s.bits {
		out[i] = n
		n += uint32(bits.OnesCount64(w))
	}
	return out
}

// fill is a set of the times from 1 to n, with room for so many.
func fill(n, room int) times {
	s := newTimes(room)
	for t := 1; t <= n; t++ {
		s.bits[t/64] |= 1 << (t % 64)
	}
	for i, w := range s.bits {
		s.sums[i/groupWords] += uint32(bits.OnesCount64(w))
	}
	for l := 1; l < len(s.levels); l++ {
		for i, sum := range s.sums[s.levels[l-1]:s.levels[l]] {
			s.sums[int(s.levels[l])+i/fan] += sum
		}
	}
	s.in = uint64(n)
	return s
}
