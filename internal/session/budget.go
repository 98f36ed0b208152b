package session

import (
	"alleria/config"
	"alleria/engine"
	"alleria/window"
)

// unlimited is the budget of a thread that no event waits for.
// It is far below the sign bit: a budget that went below zero is told by that.
const unlimited = 1 << 62

// budget decides how many instructions each thread may execute before it has
// to ask, so that Instructions events fire exactly. A process with one thread
// gets what is missing to the next threshold; with several, each gets a share,
// and the shares shrink to single blocks as the threshold comes near.
//
// Counting itself is translated code's work: each block takes its instructions off the
// thread's budget word and asks when that falls below zero. What is counted here is the
// difference between what was given and what is left.
type budget struct {
	im      *image
	leaves  []*window.Leaf
	granted map[*engine.Thread]uint64 // all that a live thread was ever given
	ended   uint64                    // instructions of threads that are gone
}

// countingLeaves are the events that count instructions.
// They are looked for once an image: the tree of events does not change.
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
// As long as one is armed the target must run in the cache, where instructions are
// counted.
func (b *budget) waiting() bool {
	for _, l := range b.leaves {
		if l.Armed() {
			return true
		}
	}
	return false
}

// executed is how many instructions a thread has executed.
// It is exact for a thread that is stopped or waits, and good to a block for one
// that runs.
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
// An event that fires may arm others: the caller asks again until there is none.
// Events are asked in the order of the configuration, so that two with one
// threshold fire in that order.
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
//
// A share of half of what is left divided by the threads means that all shares together
// can never exceed it; they shrink like a geometric series, so that the number of times
// that threads have to ask grows with the logarithm of the threshold.
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
