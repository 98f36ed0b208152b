package calls

import (
	"fmt"
	"slices"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/stream"
)

// Builder puts the trees of a process's threads together. Add and Tree are for one goroutine at a time;
// each Tracker may belong to another one.
type Builder struct {
	proc  *abp.Process
	pl    *planner
	query Query
	all   *nodes
	// sampling and spread are nil where everything was recorded.
	sampling *analysis.SamplingReport
	spread   *analysis.Spread
	// lacking and executed are the instructions of bursts whose callers are not all known, and of all.
	lacking, executed float64
}

// NewBuilder begins with an empty tree.
func NewBuilder(proc *abp.Process, q Query) *Builder {
	b := &Builder{proc: proc, pl: newPlanner(proc), query: q, all: newNodes(q.apart()), sampling: analysis.SamplingOf(proc)}
	if b.sampling != nil {
		b.spread = new(analysis.Spread)
	}
	return b
}

// Thread returns what follows a thread. In a sampled profile threads are followed one after the other.
func (b *Builder) Thread() *Tracker {
	t := newTracker(b.pl, b.query.apart())
	t.want, t.byTime = b.query.wants(), !b.query.Time.All()
	if b.pl.loops {
		t.loop = newLoop(b.pl)
	}
	t.bursts.sampled, t.bursts.spread = b.sampling != nil, b.spread
	return t
}

// OneByOne has threads that follow be followed without the loop in C: for tests and measurements.
func (b *Builder) OneByOne() *Builder {
	b.pl.loops = false
	return b
}

// Add adds what a thread was found to do, times scale: 1, but where its records stand for more than they are.
func (b *Builder) Add(t *Tracker, scale float64) {
	if b.sampling != nil || t.bursts.all != nil {
		t.Gap() // also behind the last one
		b.lacking, b.executed = b.lacking+t.bursts.lacking*scale, b.executed+t.bursts.sum*scale
		b.all.merge(t.bursts.all, scale)
		return
	}
	if len(b.all.all) == 1 && scale == 1 { // the first one's tree is all there is; parents that were found later are bursts' alone
		b.all = t.nodes
		return
	}
	b.all.merge(t.nodes, scale)
}

// Tree returns what was added so far.
func (b *Builder) Tree() *Tree {
	t, _ := b.finish(b.all)
	return t
}

// Build reads a process's threads and returns their call trees, merged. progress may be nil.
//
// One thread after the other, decoded on all processors: following calls takes a fraction of
// the time that decoding does.
func Build(p *abp.Profile, proc *abp.Process, q Query, progress *analysis.Progress) (*Tree, error) {
	b := NewBuilder(proc, q)
	threads := proc.Threads()
	wanted := func(t *abp.Thread) bool { return len(q.Threads) == 0 || slices.Contains(q.Threads, t.Number) }
	for i := range threads {
		if wanted(&threads[i]) {
			progress.Expect(&threads[i])
		}
	}
	for i := range threads {
		if !wanted(&threads[i]) {
			continue
		}
		t := b.Thread()
		if err := stream.Thread(p, proc, &threads[i], progress, t); err != nil {
			return nil, fmt.Errorf("calls of thread %d: %w", threads[i].Number, err)
		}
		b.Add(t, 1)
	}
	return b.Tree(), nil
}
