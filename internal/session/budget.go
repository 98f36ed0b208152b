package session

import (
	"alleria/config"
	"alleria/engine"
	"alleria/window"
)

// unlimited is the budget of a thread that no event waits for.
const unlimited = 1 << 62

// budget decides how many instructions each thread may execute before it has
// to ask, so that Instructions events fire exactly. A process with one thread
// gets what is missing to the next threshold; with several, each gets a share,
// and the shares shrink to single blocks as the threshold comes near.
type budget struct {
	im      *image
	leaves  []*window.Leaf
	granted map[*engine.Thread]uint64 // all that a live thread was ever given
	ended   uint64                    // instructions of threads that are gone
}

// countingLeaves are the events that count instructions.
func countingLeaves(s *window.Set) []*window.Leaf {
	var out []*window.Leaf
	for _, l := range s.Leaves() {
		if l.Event.Kind == config.EventInstructions {
			out = append(out, l)
		}
	}
	return out
}

// waiting tells whether an armed event counts instructions.
func (b *budget) waiting() bool {
	for _, l := range b.leaves {
		if l.Armed() {
			return true
		}
	}
	return false
}

// executed is how many instructions a thread has executed.
func (b *budget) executed(t *engine.Thread) uint64 {
	n := b.granted[t] - t.Budget()
	if int64(n) < 0 { // it runs and has just gone below zero, or was never given any
		return 0
	}
	return n
}

// total is how many instructions the process has executed.
func (b *budget) total() uint64 {
	n := b.ended
	for t := range b.granted {
		n += b.executed(t)
	}
	return n
}

// count is what an event counts, seen from a thread: its own instructions, the
// process's, or those of one thread that the event names. ok is false if the
// thread does not contribute.
func (b *budget) count(l *window.Leaf, t *engine.Thread) (n uint64, ok bool) {
	e := l.Event
	switch {
	case e.Thread != 0:
		return b.executed(t), t.Num() == e.Thread
	case e.AnyThread:
		return b.executed(t), true
	}
	return b.total(), true
}

// reached returns an armed event whose count the thread has reached, nil if
// there is none.
func (b *budget) reached(t *engine.Thread) *window.Leaf {
	for _, l := range b.leaves {
		if !l.Armed() {
			continue
		}
		if n, ok := b.count(l, t); ok && n >= l.Event.Threshold {
			return l
		}
	}
	return nil
}

// renew gives a stopped or waiting thread what it may execute now.
func (b *budget) renew(t *engine.Thread) {
	done := b.executed(t)
	grant := uint64(unlimited)
	for _, l := range b.leaves {
		if !l.Armed() {
			continue
		}
		n, ok := b.count(l, t)
		if !ok {
			continue
		}
		left := uint64(1)
		if n < l.Event.Threshold {
			left = l.Event.Threshold - n
		}
		if k := uint64(len(b.granted)); l.Event.Thread == 0 && !l.Event.AnyThread && k > 1 {
			left = max(left/(2*k), 1)
		}
		grant = min(grant, left)
	}
	b.granted[t] = done + grant
	t.SetBudget(grant)
}

// forget keeps the count of a thread that ended.
func (b *budget) forget(t *engine.Thread) {
	if _, ok := b.granted[t]; ok {
		b.ended += b.executed(t)
		delete(b.granted, t)
	}
}
