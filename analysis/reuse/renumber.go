package reuse

import (
	"cmp"
	"container/heap"
	"slices"
)

// renumber gives the lines in the tree the first times in the order of their last uses, in a
// tree with room for three times as many, so that it costs little a reference.
func (c *Counter) renumber() {
	var live []*entry
	for i := range c.table {
		if e := &c.table[i]; e.line != 0 && e.time != 0 {
			live = append(live, e)
		}
	}
	slices.SortFunc(live, func(a, b *entry) int { return cmp.Compare(a.time, b.time) })
	size := len(c.tree) - 1
	for size < 4*len(live) {
		size *= 2
	}
	c.tree = make([]uint32, size+1)
	for i, e := range live {
		e.time = uint32(i + 1)
	}
	c.now = uint32(len(live))
	for i := 1; i <= len(live); i++ {
		c.tree[i]++
	}
	for i := 1; i <= size; i++ {
		if up := i + i&-i; up <= size {
			c.tree[up] += c.tree[i]
		}
	}
}

// lower stops following the line with the highest hash, and all with the same hash or above.
// What was counted stands for the references of its time, and stays.
func (c *Counter) lower() {
	top := heap.Pop(&c.heap).(hashed)
	c.threshold = top.hash - 1
	c.remove(top.line)
}

// remove takes a line out of the table, and out of the tree or the recent ones. Entries behind
// it move up, so that look-ups still find them.
func (c *Counter) remove(line uint64) {
	for k := range c.recent[:c.fresh] {
		if c.recent[k].line == line+1 {
			copy(c.recent[k:], c.recent[k+1:c.fresh])
			c.fresh--
			break
		}
	}
	mask := uint64(len(c.table) - 1)
	i := mix(line) & mask
	for c.table[i].line != line+1 {
		i = (i + 1) & mask
	}
	if t := c.table[i].time; t != 0 {
		c.add(t, ^uint32(0))
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
