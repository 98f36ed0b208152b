package reuse

import "math/bits"

// renumber gives the lines that have times the first ones in their order, from 1 on, with room for three times as many, so that it
// costs little a reference. Their order is their rank, which the set tells: nothing is sorted.
func (c *Counter) renumber() {
	ranks := c.times.ranks()
	for i := range c.table {
		if e := &c.table[i]; e.line != 0 && e.time != 0 {
			word := e.time / 64
			e.time = ranks[word] + uint32(bits.OnesCount64(c.times.bits[word]&(1<<(e.time%64)-1))) + 1
		}
	}
	n := int(c.times.in)
	room := int(c.times.room())
	for room < 4*(n+1) {
		room *= 2
	}
	c.times = fill(n, room)
	c.now = uint32(n)
}
