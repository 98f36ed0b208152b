package cache

import (
	"runtime"
	"sync/atomic"
)

// later takes what the first levels have missed through those behind them, in a goroutine of its own and in the order in which it was missed. Who goes over executions looks at
// the first levels alone meanwhile, which nothing behind them changes. The same is done in reuse: beside a program it is the processing thread that sets the time.
type later struct {
	full, free chan *parcel
	done       chan struct{}
	filling    *parcel
	failed     atomic.Pointer[any] // what the goroutine has panicked with
}

// parcel is some misses.
type parcel struct {
	events  []uint64 // as the loop has them; those that Go has found are itemMark, by their places in items
	items   []item
	recipes []*recipe // that events are of
}

// item is a miss that Go has found.
type item struct {
	m           *Misses
	addr, size  uint64
	code, store bool
}

const (
	itemMark     = ^uint64(0) // in place of a block and an operation
	parcels      = 4
	parcelEvents = eventWords << 14 // in one: it is worth waking somebody
	laterAfter   = eventWords << 16 // that are gone on with at once before another goroutine is worth it
)

// laterWhen is when that is begun.
type laterWhen struct {
	never bool // all is done by one goroutine
	after int  // words of events that make it be begun
	seen  int  // since it was begun or ended last
}

// startLater has misses gone on with by another goroutine from here on, if there is a processor for it.
func (s *Simulator) startLater() {
	s.when.seen = 0
	if s.when.never || runtime.GOMAXPROCS(0) < 2 {
		return
	}
	l := &later{full: make(chan *parcel, parcels), free: make(chan *parcel, parcels), done: make(chan struct{}), filling: new(parcel)}
	for range parcels - 1 {
		l.free <- new(parcel)
	}
	s.later = l
	go s.follow(l)
}

// send hands on what there is once that is much.
func (s *Simulator) send(l *later) {
	if p := l.filling; len(p.events) >= parcelEvents {
		p.recipes = s.recipes
		l.full <- p
		l.filling = <-l.free
	}
}

// item hands on a miss that Go has found.
func (s *Simulator) item(l *later, i item) {
	p := l.filling
	p.events = append(p.events, uint64(len(p.items)), itemMark, 0)
	p.items = append(p.items, i)
	s.send(l)
}

// follow goes on with what it gets. After a panic it takes it and does nothing: who goes over executions hears of it when it asks for what was counted.
func (s *Simulator) follow(l *later) {
	defer close(l.done)
	for p := range l.full {
		if l.failed.Load() == nil {
			func() {
				defer func() {
					if r := recover(); r != nil {
						l.failed.Store(&r)
					}
				}()
				s.open(p)
			}()
		}
		p.events, p.items, p.recipes = p.events[:0], p.items[:0], nil
		l.free <- p
	}
}

// open goes on with the misses of a parcel.
func (s *Simulator) open(p *parcel) {
	for e := 0; e < len(p.events); e += eventWords {
		if p.events[e+1] != itemMark {
			s.event(p.recipes, p.events[e], p.events[e+1])
			continue
		}
		if i := &p.items[p.events[e]]; i.code {
			s.goOnCode(i.m, i.addr, i.size)
		} else {
			s.goOn(i.m, i.addr, i.size, i.store)
		}
	}
}

// settle waits until all is counted. Whoever looks at more than executions and the first levels has to call it first.
func (s *Simulator) settle() {
	l := s.later
	if l == nil {
		return
	}
	s.later, s.when.seen = nil, 0
	l.filling.recipes = s.recipes
	l.full <- l.filling
	close(l.full)
	<-l.done
	if failed := l.failed.Load(); failed != nil {
		panic(*failed)
	}
}
