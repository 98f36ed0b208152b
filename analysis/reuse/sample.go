package reuse

import (
	"container/heap"

	"alleria/abp"
	"alleria/analysis/lanes"
)

// A sample follows the lines whose hash is not above a threshold, which falls when they become too many. It falls between two batches of references to lines that are followed: so that
// a loop in C counts those of a batch, and what comes of references does not depend on how many others are among them, which the program's threads leave out.

// sample is what a Counter knows of its sample beside the lines.
type sample struct {
	waiting []uint64 // keys of the batch that is being filled, all of lines that are followed
	weight  float64  // how many lines one that is followed stands for
	hist    []float64
	cold    float64 // with hist: what was counted at the rates before this one, times their weights
}

// Bounds of a batch: the set has as many lines more than it may for a moment.
const (
	leastBatch = 16
	limitPart  = 8 // of the limit
)

// newSample is for that many lines.
func newSample(limit int) sample {
	if limit == 0 {
		return sample{}
	}
	return sample{weight: 1, waiting: make([]uint64, 0, min(max(limit/limitPart, leastBatch), 1<<unitBits))}
}

// hashed is a line in the heap of those that a sample follows.
type hashed struct{ hash, line uint64 }

// hashHeap has the highest hash first.
type hashHeap []hashed

func (h hashHeap) Len() int           { return len(h) }
func (h hashHeap) Less(i, j int) bool { return h[i].hash > h[j].hash }
func (h hashHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *hashHeap) Push(x any)        { *h = append(*h, x.(hashed)) }
func (h *hashHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// sampled refers to lines of which some may be followed.
func (c *Counter) sampled(keys []uint64) {
	c.Refs += uint64(len(keys))
	s := &c.sample
	if was := c.threshold; c.lines != nil && !c.lines.Mixed() {
		for len(keys) > 0 && c.threshold == was {
			n := min(cap(s.waiting)-len(s.waiting), len(keys))
			s.waiting = append(s.waiting, keys[:n]...)
			keys = keys[n:]
			if len(s.waiting) == cap(s.waiting) {
				c.turn()
			}
		}
	}
	for _, k := range keys {
		if lanes.Hash(k-1) > c.threshold {
			continue
		}
		if s.waiting = append(s.waiting, k); len(s.waiting) == cap(s.waiting) {
			c.turn()
		}
	}
}

// turn counts the references that wait, and makes the lines be as few as they may.
func (c *Counter) turn() {
	s := &c.sample
	if len(s.waiting) == 0 {
		return
	}
	if c.batch != nil {
		c.many(s.waiting, 1) // units of time are of no use
	} else {
		for _, k := range s.waiting {
			c.ref(k - 1)
		}
	}
	s.waiting = s.waiting[:0]
	if len(c.heap) <= c.limit {
		return
	}
	c.weigh()
	for len(c.heap) > c.limit {
		c.lower()
	}
	s.weight = 1 / c.Rate()
	if c.lines != nil {
		c.lines.Sample(c.threshold)
	}
}

// weigh takes what was counted at the rate as it is to the sums.
func (c *Counter) weigh() {
	s := &c.sample
	for b, n := range c.Hist {
		if n > 0 {
			for b >= len(s.hist) {
				s.hist = append(s.hist, 0)
			}
			s.hist[b] += n * s.weight
			c.Hist[b] = 0
		}
	}
	s.cold += c.Cold * s.weight
	c.Cold = 0
}

// flush counts what waits.
func (c *Counter) flush() {
	if c.lines != nil {
		c.lines.Flush()
		c.Refs += c.lines.Passed()
	}
	c.settle()
	if c.limit > 0 {
		c.turn()
		c.weigh()
	}
}

// found is the references by distance, and the first ones.
func (c *Counter) found() (hist []float64, cold float64) {
	if c.limit == 0 {
		return c.Hist, c.Cold
	}
	c.flush()
	return c.sample.hist, c.sample.cold
}

// Follows is up to which hash of its number a line is followed.
func (c *Counter) Follows() uint64 { return c.threshold }

// LeftOut counts references of executions of a block that were not brought since they are to no line that is followed. Each is to one line.
func (c *Counter) LeftOut(b *abp.Block, times uint64) {
	lanes.PlainAccesses(b, func(int, *abp.Access) { c.Refs += times })
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
	c.forget(line + 1)
	mask := uint64(len(c.table) - 1)
	i := home(lanes.Hash(line), mask)
	for c.table[i].line != line+1 {
		i = (i + 1) & mask
	}
	if t := c.table[i].time; t != 0 {
		c.times.remove(t)
	}
	for j := (i + 1) & mask; c.table[j].line != 0; j = (j + 1) & mask {
		at := home(lanes.Hash(c.table[j].line-1), mask)
		if (j-at)&mask >= (j-i)&mask {
			c.table[i] = c.table[j]
			i = j
		}
	}
	c.table[i] = entry{}
	c.used--
}

// forget takes a line out of the recent ones, if it is one.
func (c *Counter) forget(key uint64) {
	for k := range c.recent {
		if c.recent[k] != key {
			continue
		}
		c.fresh--
		if c.batch == nil {
			copy(c.recent[k:], c.recent[k+1:])
			copy(c.epochs[k:], c.epochs[k+1:])
			copy(c.places[k:], c.places[k+1:])
			c.recent[recents-1] = 0
			return
		}
		c.recent[k] = 0
		c.batch.oldest(k)
		return
	}
}
