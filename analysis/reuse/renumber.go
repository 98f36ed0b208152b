package reuse

import (
	"container/heap"
	"math/bits"
)

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

// lower stops following the line with the highest hash, and all with the same hash or above.
// What was counted stands for the references of its time, and stays.
func (c *Counter) lower() {
	top := heap.Pop(&c.heap).(hashed)
	c.threshold = top.hash - 1
	c.remove(top.line)
}

// remove takes a line out of the table, and out of the times or the recent ones. Entries behind
// it move up, so that look-ups still find them.
func (c *Counter) remove(line uint64) {
	for k := range c.recent[:c.fresh] {
		if c.recent[k] == line+1 {
			copy(c.recent[k:], c.recent[k+1:c.fresh])
			copy(c.epochs[k:], c.epochs[k+1:c.fresh])
			copy(c.places[k:], c.places[k+1:c.fresh])
			c.fresh--
			c.recent[c.fresh] = 0
			break
		}
	}
	mask := uint64(len(c.table) - 1)
	i := mix(line) & mask
	for c.table[i].line != line+1 {
		i = (i + 1) & mask
	}
	if t := c.table[i].time; t != 0 {
		c.times.remove(t)
	}
	for j := (i + 1) & mask; c.table[j].line != 0; j = (j + 1) & mask {
		home := mix(c.table[j].line-1) & mask
		if (j-home)&mask >= (j-i)&mask {
			c.table[i] = c.table[j]
			i = j
		}
	}
	c.table[i] = entry{}
	c.used--
}
