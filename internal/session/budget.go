package session

import (
	"slices"

	"alleria/config"
	"alleria/engine"
	"alleria/window"
)

// unlimited is the budget of a thread that no event waits for. It is far below the
// sign bit: a budget that went below zero is told by that.
const unlimited = 1 << 62

// amounts is how much of each metric was done.
// Signed, since what a thread has done beyond its budget is a negative rest.
type amounts [engine.NumMetrics]int64

// of is one of the amounts, as counts are written: a budget that is just being
// overdrawn is no reason for one below zero.
func (a amounts) of(m engine.Metric) uint64 { return uint64(max(a[m], 0)) }

// budget decides how much each thread may execute before it has to ask, so
// that events on counts fire exactly. A process with one thread gets what is
// missing to the next threshold; with several, each gets a share, and the
// shares shrink to single blocks as the threshold comes near.
//
// Counting itself is translated code's work: each block takes what it does off the
// thread's budget words and asks when one falls below zero. What is counted here is
// the difference between what was given and what is left.
type budget struct {
	leaves  []*window.Leaf
	granted map[thread]amounts // all that a live thread was ever given
	ended   amounts            // of threads that are gone
	// what the thread that executed the program did before that, and its number
	past     amounts
	survivor int
	opened   map[*window.Leaf]*opened // where the events that count from an opening do so
	frozen   *amounts                 // see freeze
	set      *window.Set
	sampler  *sampler // nil: all is recorded
	// whole is which metrics have been counted from the process's first instruction on without a gap, once begun is set
	whole [engine.NumMetrics]bool
	begun bool
}

// opened is what had been done when a window opened.
// Threads are by number: a thread that began later had done nothing then.
type opened struct {
	total   amounts
	threads map[int]amounts
}

// newBudget makes the budgets of a process, nil if no event counts.
// It outlives program images, as counts go on through execve.
func (ps *process) newBudget() *budget {
	b := &budget{set: ps.windows, sampler: ps.newSampler(ps.opts.Config.SampleRate()), granted: make(map[thread]amounts), opened: make(map[*window.Leaf]*opened)}
	b.take(ps.leaves())
	if len(b.leaves) == 0 && b.sampler == nil {
		return nil
	}
	return b
}

// take makes the leaves that count the budget's.
func (b *budget) take(leaves []*window.Leaf) {
	b.leaves = b.leaves[:0]
	for _, l := range leaves {
		if len(bounds(l.Event)) > 0 {
			b.leaves = append(b.leaves, l)
		}
	}
}

// bound is a metric and how much of it an event waits for.
type bound struct {
	metric engine.Metric
	n      int64
}

// bounds is what an event counts; it fires when all are reached.
// An event that counts nothing has none.
func bounds(e *config.Event) []bound {
	if b := findingOf(e.Kind).bounds; b != nil {
		return b(e)
	}
	return nil
}

// sinceOpen tells events that count from the opening of their window. The end
// of a burst is one.
func sinceOpen(l *window.Leaf) bool {
	return l.Event.SinceOpen || l.Till && l.Event.Kind.Is(config.Bursts)
}

// metrics are what has to be counted, from now on, for events that can still
// fire. What counts from the process's first instruction is counted while it
// is not armed too.
//
// What nobody waits for is not counted: each metric costs a subtraction a block.
func (b *budget) metrics() []engine.Metric {
	var want [engine.NumMetrics]bool
	want[engine.MetricInstructions] = b.sampler != nil && !b.set.Done()
	for _, l := range b.leaves {
		if l.Live() {
			for _, x := range bounds(l.Event) {
				want[x.metric] = true
			}
		}
	}
	var out []engine.Metric
	for m, w := range want {
		if w {
			out = append(out, engine.Metric(m))
		}
	}
	return out
}

// toCount is metrics for who has them counted from now on. What is not counted any more, or begins to be counted later, is
// nothing that rows of openings could say.
func (b *budget) toCount() []engine.Metric {
	out := b.metrics()
	for m := range b.whole {
		b.whole[m] = slices.Contains(out, engine.Metric(m)) && (b.whole[m] || !b.begun)
	}
	b.begun = true
	return out
}

// waiting tells whether the process has to be counted now.
// If so, it must run in the cache, whatever windows are open.
func (b *budget) waiting() bool {
	for _, l := range b.leaves {
		if l.Live() && (l.Armed() || !sinceOpen(l)) {
			return true
		}
	}
	return false
}

// executed is how much a thread has done. It is exact for a thread that is stopped
// or waits, and good to a block for one that runs.
func (b *budget) executed(t thread) amounts {
	n := b.before(t)
	g, ok := b.granted[t]
	if !ok { // never given any
		return n
	}
	for m := range n {
		n[m] += g[m] - t.Budget(engine.Metric(m))
	}
	return n
}

// before is what a thread had done in programs before this one.
// Only the thread that made an execve lives on in another program: it ends the others.
func (b *budget) before(t thread) amounts {
	if t.Num() == b.survivor {
		return b.past
	}
	return amounts{}
}

// total is how much the process has done.
// Threads that run are counted as of some moment: a threshold is only decided on by
// a thread that stands still, with shares small enough.
func (b *budget) total() amounts {
	if b.frozen != nil {
		return *b.frozen
	}
	n := b.ended
	for t := range b.granted {
		past := b.before(t)
		for m, k := range b.executed(t) {
			n[m] += k - past[m]
		}
	}
	return n
}

// freeze keeps the total as it is now until thaw: whether a count is reached, by how much it is exceeded and
// what the row of the opening says are then of one moment, while other threads run on.
func (b *budget) freeze() {
	n := b.total()
	b.frozen = &n
}

func (b *budget) thaw() { b.frozen = nil }

// counted is total of a process that may have no budget, as far as it has been counted all along: else zero.
func (b *budget) counted() amounts {
	if b == nil {
		return amounts{}
	}
	n := b.total()
	for m := range n {
		if !b.whole[m] {
			n[m] = 0
		}
	}
	return n
}

// windowOpened notes where the counts stand for events that count from there.
func (b *budget) windowOpened(set *window.Set, index int) {
	for _, l := range b.leaves {
		if l.Set() != set || l.Window != index || !sinceOpen(l) {
			continue
		}
		o := &opened{total: b.total(), threads: make(map[int]amounts)}
		for t := range b.granted {
			o.threads[t.Num()] = b.executed(t)
		}
		b.opened[l] = o
	}
}

// countAs has the events of a set count from where those of another one do.
func (b *budget) countAs(as, set *window.Set) {
	leaves := set.Leaves()
	for i, l := range as.Leaves() {
		if o := b.opened[l]; o != nil {
			b.opened[leaves[i]] = o
		}
	}
}

// count is what an event counts, seen from a thread: its own doings, the
// process's, or those of one thread that the event names. ok is false if the
// thread does not contribute.
func (b *budget) count(l *window.Leaf, t thread) (n amounts, ok bool) {
	e := l.Event
	var from amounts
	// No entry: the window has not opened yet, and counts run from the process's
	// first instruction.
	o := b.opened[l]
	if own := e.Thread != 0 || e.AnyThread; own {
		n, ok = b.executed(t), e.Thread == 0 || t.Num() == e.Thread
		if o != nil && sinceOpen(l) {
			from = o.threads[t.Num()]
		}
	} else {
		n, ok = b.total(), true
		if o != nil && sinceOpen(l) {
			from = o.total
		}
	}
	for m := range n {
		n[m] -= from[m]
	}
	if e.Kind.Is(config.Bursts) && !l.Till { // the next multiple of the period
		// Shifted so that a bound of one burst is reached at the start of the next:
		// one comparison serves both ends.
		n[engine.MetricInstructions] -= b.nextSample(l) - int64(e.Burst)
	}
	return n, ok
}

// nextSample is when a window opens for its next burst: at a multiple of the
// period behind the burst before.
// A burst that lasted beyond the next multiple has that one left out.
func (b *budget) nextSample(l *window.Leaf) int64 {
	period := int64(l.Event.Period)
	for k, o := range b.opened {
		if k.Set() == l.Set() && k.Window == l.Window {
			return (o.total[engine.MetricInstructions]/period + 1) * period
		}
	}
	return period
}

// reached returns the first armed event whose counts the thread has reached; nil if
// there is none. Events are asked in the order of the configuration, one at a time: it may
// arm or disarm those behind it.
func (b *budget) reached(t thread) *window.Leaf {
	for _, l := range b.leaves {
		if _, ok := b.exceeds(l, t); ok {
			return l
		}
	}
	return nil
}

// exceeds tells whether the thread has reached the counts of an armed event, and by how
// much they were exceeded.
//
// Only counts over several threads can be exceeded: a single one's is exact.
func (b *budget) exceeds(l *window.Leaf, t thread) (over uint64, ok bool) {
	if !l.Armed() {
		return 0, false
	}
	n, ok := b.count(l, t)
	for _, x := range bounds(l.Event) {
		ok = ok && n[x.metric] >= x.n
		over = max(over, uint64(n[x.metric]-x.n))
	}
	// With several bounds all but the last are exceeded as a rule: that is no overshoot.
	if l.Event.Thread != 0 || l.Event.AnyThread || len(bounds(l.Event)) > 1 {
		over = 0
	}
	return over, ok
}

// exceeded is by how much the counts of the armed events that the thread has reached were
// exceeded.
func (b *budget) exceeded(t thread) map[*window.Leaf]uint64 {
	all := make(map[*window.Leaf]uint64)
	for _, l := range b.leaves {
		if over, ok := b.exceeds(l, t); ok {
			all[l] = over
		}
	}
	return all
}

// renew gives a stopped or waiting thread what it may execute now.
//
// A share of half of what is left divided by the threads means that all shares
// together never exceed it; they shrink like a geometric series, so that the
// number of times that threads have to ask grows with the logarithm of the threshold.
func (b *budget) renew(t thread) {
	d, done := b.sampled(t), b.executed(t)
	grant := amounts{}
	for m := range grant {
		grant[m] = unlimited
	}
	// The thread has to be among those that the shares are divided by.
	if _, ok := b.granted[t]; !ok {
		b.granted[t] = amounts{}
	}
	for _, l := range b.leaves {
		if !l.Armed() {
			continue
		}
		n, ok := b.count(l, t)
		if !ok {
			continue
		}
		for _, x := range bounds(l.Event) {
			left := x.n - n[x.metric]
			if left <= 0 && len(bounds(l.Event)) > 1 && !b.allReached(l, n) {
				continue // the other bound decides
			}
			// Never 0: a thread has to be able to go on, and a block cannot be
			// divided.
			left = max(left, 1)
			if k := int64(len(b.granted)); l.Event.Thread == 0 && !l.Event.AnyThread && k > 1 {
				left = max(left/(2*k), 1)
			}
			grant[x.metric] = min(grant[x.metric], left)
		}
	}
	if d != nil && d.open && !d.rested.away { // whoever is away is called back, though it may be in the cache all the same
		grant[engine.MetricInstructions] = min(grant[engine.MetricInstructions], max(d.left, 1))
	}
	past := b.before(t)
	var all amounts
	for m := range grant {
		all[m] = done[m] - past[m] + grant[m]
		t.SetBudget(engine.Metric(m), grant[m])
	}
	// Without what earlier programs did: the words in the slot do not have it either.
	b.granted[t] = all
}

// sampled brings a thread's sampling up to date, nil if there is none.
func (b *budget) sampled(t thread) *sampled {
	if b.sampler == nil {
		return nil
	}
	n := b.executed(t)[engine.MetricInstructions]
	d := b.sampler.threads[t]
	if d == nil {
		d = b.sampler.started(t, n)
	}
	d.look(n, b.set.Open() != 0)
	return d
}

// allReached tells whether counts satisfy all of an event's bounds.
func (b *budget) allReached(l *window.Leaf, n amounts) bool {
	for _, x := range bounds(l.Event) {
		if n[x.metric] < x.n {
			return false
		}
	}
	return true
}

// forget keeps the counts of a thread that ended, or that survives its program, as it has
// executed another.
func (b *budget) forget(t thread, survives bool) {
	if survives {
		b.past, b.survivor = b.executed(t), t.Num()
	}
	g, ok := b.granted[t]
	if !ok {
		return
	}
	for m := range g {
		b.ended[m] += g[m] - t.Budget(engine.Metric(m))
	}
	delete(b.granted, t)
}
