package reuse

import "alleria/analysis/stream"

// What the list of recent lines leaves, the distances of references to other lines, is a third of all work. A long thread has a goroutine for it (stream.Behind), while
// who brings references goes on with the list. Both see what they would see one after the other. Refused: a third goroutine, for the list.

// laterWhen is when that is begun.
type laterWhen struct {
	never bool   // all is counted at once
	since uint64 // Counter.Refs when it was begun or ended last
	after uint64 // how many more make it be begun
}

// parcel is what some units of time have left.
type parcel struct {
	hits   [recents]uint64
	missed []missed
	stale  []uint32
	units  []unitEnd
}

// unitEnd is where what a unit has left ends.
type unitEnd struct {
	now           uint32
	missed, stale int
}

const (
	parcelUnits = 256     // in a parcel
	laterAfter  = 1 << 20 // references that are counted at once before another goroutine is worth it
)

// startLater has what the list leaves counted by another goroutine from here on, if there is a processor for it.
func (c *Counter) startLater() {
	if c.when.since = c.Refs; !c.when.never {
		c.later = stream.NewBehind(c.open, (*parcel).empty)
	}
}

// leave hands on what a unit has left.
func (c *Counter) leave(b *batch, now uint32) {
	p := c.later.Filling
	for k, n := range b.hits {
		p.hits[k] += n
	}
	clear(b.hits[:])
	p.missed, p.stale = append(p.missed, b.missed[:b.misses]...), append(p.stale, b.stale[:b.stales]...)
	p.units = append(p.units, unitEnd{now, len(p.missed), len(p.stale)})
	if len(p.units) == parcelUnits {
		c.later.Hand()
	}
}

// open counts what a parcel has. It is the other goroutine's.
func (c *Counter) open(p *parcel) {
	c.hit(&p.hits)
	var from unitEnd
	for _, u := range p.units {
		c.touch(p.stale[from.stale:u.stale], u.now)
		c.misses(p.missed[from.missed:u.missed], c.room[:], u.now)
		from = u
	}
}

func (p *parcel) empty() {
	p.hits, p.missed, p.stale, p.units = [recents]uint64{}, p.missed[:0], p.stale[:0], p.units[:0]
}

// settle waits until all is counted. Whoever looks at more than the list of recent lines has to call it first.
func (c *Counter) settle() {
	if l := c.later; l != nil {
		c.later, c.when.since = nil, c.Refs
		l.Settle()
	}
}
