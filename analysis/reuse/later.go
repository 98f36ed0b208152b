package reuse

import (
	"runtime"
	"sync/atomic"
)

// later counts in a goroutine of its own what the list of recent lines has left: the distances of references to other lines, which is a third of all work, and which
// nothing in front of it waits for. Who brings references goes on with the list meanwhile. Both see what they would see one after the other.
//
// Beside a program it is the processing thread that sets the time, and the program's own processor has little to do; so this is worth it on two processors already.
type later struct {
	full, free chan *parcel
	done       chan struct{}
	filling    *parcel
	failed     atomic.Pointer[any] // what the goroutine has panicked with
}

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
	parcels     = 4       // that there are
	parcelUnits = 256     // in one: it is worth waking somebody
	laterAfter  = 1 << 20 // references that are counted at once before another goroutine is worth it
)

// startLater has what the list leaves counted by another goroutine from here on, if there is a processor for it.
func (c *Counter) startLater() {
	c.when.since = c.Refs
	if runtime.GOMAXPROCS(0) < 2 || c.when.never {
		return
	}
	l := &later{full: make(chan *parcel, parcels), free: make(chan *parcel, parcels), done: make(chan struct{}), filling: new(parcel)}
	for range parcels - 1 {
		l.free <- new(parcel)
	}
	c.later = l
	go c.follow(l)
}

// take takes what a unit has left.
func (l *later) take(b *batch, now uint32) {
	p := l.filling
	for k, n := range b.hits {
		p.hits[k] += n
	}
	clear(b.hits[:])
	p.missed, p.stale = append(p.missed, b.missed[:b.misses]...), append(p.stale, b.stale[:b.stales]...)
	p.units = append(p.units, unitEnd{now, len(p.missed), len(p.stale)})
	if len(p.units) == parcelUnits {
		l.full <- p
		l.filling = <-l.free
	}
}

// follow counts what it gets. After a panic it takes it and does nothing: who brings references hears of it when it asks for what was counted.
func (c *Counter) follow(l *later) {
	defer close(l.done)
	for p := range l.full {
		if l.failed.Load() == nil {
			func() {
				defer func() {
					if r := recover(); r != nil {
						l.failed.Store(&r)
					}
				}()
				c.open(p)
			}()
		}
		p.hits, p.missed, p.stale, p.units = [recents]uint64{}, p.missed[:0], p.stale[:0], p.units[:0]
		l.free <- p
	}
}

// open counts what a parcel has.
func (c *Counter) open(p *parcel) {
	c.hit(&p.hits)
	var from unitEnd
	for _, u := range p.units {
		c.touch(p.stale[from.stale:u.stale], u.now)
		c.misses(p.missed[from.missed:u.missed], c.room[:], u.now)
		from = u
	}
}

// settle waits until all is counted. Whoever looks at more than the list of recent lines has to call it first.
func (c *Counter) settle() {
	l := c.later
	if l == nil {
		return
	}
	c.later, c.when.since = nil, c.Refs
	l.full <- l.filling
	close(l.full)
	<-l.done
	if failed := l.failed.Load(); failed != nil {
		panic(*failed)
	}
}
