package coherence

import (
	"math/bits"

	"alleria/analysis/cache"
)

// private is the caches of one processor: a first level, and perhaps a second one. The processor has a line if one of them has it; what the line is to it is the directory's.
type private struct {
	first, second *cache.Lines // second is nil where there is one level
	inclusion     cache.Inclusion
	gone          [2]uint64 // lines that the latest reference has put out of the processor; the first n are there
	n             int
}

// newPrivate makes empty caches.
func newPrivate(o *Options) *private {
	c := &private{first: cache.NewLines(o.Own), inclusion: o.Inclusion}
	if o.Own2.Ways > 0 {
		c.second = cache.NewLines(o.Own2)
	}
	return c
}

// use refers to a line that the processor has, and tells whether the first level has it.
func (c *private) use(line uint64) bool {
	c.n = 0
	if c.first.Use(line) {
		return true
	}
	out, evicted := c.first.Room(line)
	if c.inclusion == cache.Exclusive {
		c.second.Drop(line)
	} else {
		c.second.Use(line)
	}
	c.toFirst(line, out, evicted)
	return false
}

// fill brings a line in that no level has. As in a cache.Hierarchy, what makes room in the first level is known before the second one is asked.
func (c *private) fill(line uint64) {
	c.n = 0
	out, evicted := c.first.Room(line)
	if c.second != nil && c.inclusion != cache.Exclusive {
		behind, gone := c.second.Room(line)
		if gone && c.inclusion == cache.Inclusive {
			c.first.Drop(behind)
		}
		c.second.Put(line)
		if gone {
			c.leaves(behind)
		}
	}
	c.toFirst(line, out, evicted)
}

// toFirst brings a line into the first level, for which another one has gone, or none.
func (c *private) toFirst(line, out uint64, evicted bool) {
	c.first.Put(line)
	if evicted && c.inclusion == cache.Exclusive {
		behind, gone := c.second.Room(out)
		c.second.Put(out)
		out, evicted = behind, gone
	}
	if evicted {
		c.leaves(out)
	}
}

// leaves notes a line that a level has put out, if the other has it neither.
func (c *private) leaves(line uint64) {
	if c.first.Has(line) || c.second != nil && c.second.Has(line) || c.n > 0 && c.gone[0] == line {
		return
	}
	c.gone[c.n] = line
	c.n++
}

// out is the lines that the latest reference has put out of the processor.
func (c *private) out() []uint64 { return c.gone[:c.n] }

// drop takes a line out.
func (c *private) drop(line uint64) {
	c.first.Drop(line)
	if c.second != nil {
		c.second.Drop(line)
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
