package cache

import "alleria/analysis/stream"

// What the first levels have missed goes through those behind them in the order in which it was missed. A long thread has a goroutine for it (stream.Behind), while who goes over
// executions looks at the first levels alone, which nothing behind them changes.

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
	itemMark     = ^uint64(0)       // in place of a block and an operation
	parcelEvents = eventWords << 14 // in a parcel
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
	if s.when.seen = 0; !s.when.never {
		s.later = stream.NewBehind(s.open, (*parcel).empty)
	}
}

// send hands on what there is once that is much.
func (s *Simulator) send() {
	if p := s.later.Filling; len(p.events) >= parcelEvents {
		p.recipes = s.recipes // as it is now: it grows
		s.later.Hand()
	}
}

// item hands on a miss that Go has found.
func (s *Simulator) item(i item) {
	p := s.later.Filling
	p.events = append(p.events, uint64(len(p.items)), itemMark, 0)
	p.items = append(p.items, i)
	s.send()
}

// open goes on with the misses of a parcel. It is the other goroutine's.
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

func (p *parcel) empty() { p.events, p.items, p.recipes = p.events[:0], p.items[:0], nil }

// settle waits until all is counted. Whoever looks at more than executions and the first levels has to call it first.
func (s *Simulator) settle() {
	if l := s.later; l != nil {
		s.later, s.when.seen = nil, 0
		l.Filling.recipes = s.recipes
		l.Settle()
	}
}
