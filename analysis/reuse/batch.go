package reuse

// batch is what a loop in C says of references of one unit of time: how many were to recent lines, and which were not.
type batch struct {
	hits           [recents]uint64 // by place in the list
	ages           [recents]uint8  // how many of Counter.recent were used later than each: lines keep their places in it
	missed         [1 << unitBits]missed
	stale          [1 << unitBits]uint32 // of recent lines that were first used in this unit: the units in which they were before
	misses, stales int
	none           [1]entry // a table with nothing in it
}

// missed is a reference to a line that was not recent, as near_amd64.h has it.
type missed struct{ key, hash, out, epoch uint64 }

// refer refers to lines, whose numbers plus one are given.
func (c *Counter) refer(keys []uint64) {
	if c.limit > 0 {
		c.sampled(keys)
		return
	}
	if c.batch == nil {
		for _, k := range keys {
			c.Refs++
			c.ref(k - 1)
		}
		return
	}
	for len(keys) > 0 {
		n := min(len(keys), 1<<unitBits-int(c.Refs&(1<<unitBits-1)))
		now := uint32(c.Refs>>unitBits) + 1
		c.Refs += uint64(n)
		c.many(keys[:n], now)
		keys = keys[n:]
	}
}

// many refers to lines within one unit of time.
func (c *Counter) many(keys []uint64, now uint32) {
	b := c.batch
	b.pass(c, keys, now)
	if c.later != nil {
		c.leave(b, now)
		return
	}
	c.touch(b.stale[:b.stales], now)
	c.hit(&b.hits)
	clear(b.hits[:])
	c.misses(b.missed[:b.misses], b.stale[:], now)
	if c.limit == 0 && c.Refs-c.when.since >= c.when.after {
		c.startLater()
	}
}

// hit counts references to recent lines.
func (c *Counter) hit(hits *[recents]uint64) {
	for k, n := range hits {
		if n > 0 {
			c.add(uint64(k), float64(n))
		}
	}
}

// misses counts references to lines that were not recent, in their order. stale is room for the units in which these lines were used before.
func (c *Counter) misses(list []missed, stale []uint32, now uint32) {
	for i := 0; ; i++ {
		var stales int
		i, stales = c.farPass(list, i, stale, now)
		c.touch(stale[:stales], now)
		if i == len(list) {
			return
		}
		c.miss(&list[i], now)
	}
}

// touch counts lines that were used first in this unit, and before in those that are listed.
func (c *Counter) touch(stale []uint32, now uint32) {
	if c.limit > 0 {
		return
	}
	for _, before := range stale {
		c.sets.touch(before, now)
	}
}

// miss refers to a line that was not recent.
func (c *Counter) miss(m *missed, now uint32) {
	epoch, _ := c.far(m.key-1, m.hash)
	if epoch != now && c.limit == 0 {
		c.sets.touch(epoch, now)
	}
	if m.out != 0 {
		c.tick(m.out, recent{uint32(m.epoch), nowhere})
	} else {
		c.fresh++
	}
}

// newBatch has an empty list of recent lines.
func newBatch() *batch {
	b := new(batch)
	for i := range b.ages {
		b.ages[i] = uint8(i)
	}
	return b
}

// oldest makes the line at a place of the list the one that was used first.
func (b *batch) oldest(k int) {
	was := b.ages[k]
	for i, age := range b.ages {
		if age > was {
			b.ages[i]--
		}
	}
	b.ages[k] = recents - 1
}
