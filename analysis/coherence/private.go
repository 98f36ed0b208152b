package coherence

import (
	"math/bits"

	"alleria/analysis/cache"
)

// private is the cache of one processor: sets of lines, the one used last first. Its state of a line is the directory's.
type private struct {
	tags []uint64 // line number + 1, 0: free
	ways uint64
	mask uint64 // of a set
}

// newPrivate makes an empty cache of a shape, which has been checked by cache.ParseShape.
func newPrivate(s cache.Shape) *private {
	sets := s.Size / s.Line / uint64(s.Ways)
	return &private{tags: make([]uint64, sets*uint64(s.Ways)), ways: uint64(s.Ways), mask: sets - 1}
}

// set returns the lines of the set of a line.
func (c *private) set(line uint64) []uint64 {
	at := (line & c.mask) * c.ways
	return c.tags[at : at+c.ways]
}

// use makes a line that is there the one used last.
func (c *private) use(line uint64) {
	set, front := c.set(line), line+1
	for i, t := range set {
		set[i] = front
		if t == line+1 {
			return
		}
		front = t
	}
}

// fill puts a line that is not there in front, and returns the one that it puts out.
func (c *private) fill(line uint64) (out uint64, evicted bool) {
	set, front := c.set(line), line+1
	for i, t := range set {
		set[i] = front
		if t == 0 {
			return 0, false
		}
		front = t
	}
	return front - 1, true
}

// drop takes a line out.
func (c *private) drop(line uint64) {
	set := c.set(line)
	for i, t := range set {
		if t == line+1 {
			copy(set[i:], set[i+1:])
			set[len(set)-1] = 0
			return
		}
	}
}

// bytesOf is the part of a line that an access touches, a bit for each byte or, in lines of more than 64 bytes, for each
// so many (grain, as a shift).
func bytesOf(offset, size uint64, grain uint) uint64 {
	first, last := offset>>grain, (offset+size-1)>>grain
	return ^uint64(0) << first & (^uint64(0) >> (63 - last))
}

// shiftOf is the logarithm of a power of two.
func shiftOf(n uint64) uint { return uint(bits.TrailingZeros64(n)) }
