package cache

import (
	"fmt"
	"slices"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/stream"
)

// threads are the simulators of threads that share the last level: each execution goes to its thread's.
type threads struct {
	all    *Totals
	split  *Classes // nil: one processor
	by     map[uint32]*Simulator
	latest *Simulator
	number uint32
}

// of is a thread's simulator.
func (t *threads) of(number uint32) *Simulator {
	if t.latest != nil && t.number == number {
		return t.latest
	}
	s := t.by[number]
	if s == nil {
		if t.by == nil {
			t.by = map[uint32]*Simulator{}
		}
		s = t.all.Thread()
		t.by[number] = s
	}
	t.latest, t.number = s, number
	return s
}

// newThreads begins with the options' processors.
func newThreads(all *Totals) threads {
	return threads{all: all, split: all.Classes(all.options.Processors)}
}

// take takes one execution.
func (t *threads) take(x *abp.Exec) {
	if t.split != nil {
		t.split.Count(t.all.options.Part.Has(x))
		t.split.one(x)
		return
	}
	s := t.of(x.Thread)
	s.Count(t.all.options.Part.Has(x))
	if x.IsEmulated || x.Completed != len(x.Block.Ins) {
		s.Single(x)
		return
	}
	s.begin(x)
	r := s.recipe(x.Block.ID)
	r.runs++
	if !r.fast || r.latest != s.moved && !s.fetched(r) {
		s.run(r, x.Words, x.Completed)
		return
	}
	s.whole(r, x.Words)
}

// sum adds up what the threads have done.
func (t *threads) sum() {
	if t.split != nil {
		t.all.AddClasses(t.split, 1)
	}
	for _, s := range t.by {
		t.all.Add(s, 1)
	}
}

// inOrder takes the threads of a process through caches in the order of time.
func (t *Totals) inOrder(p *abp.Profile, progress *analysis.Progress) error {
	numbers := []uint32{}
	for i, all := 0, t.proc.Threads(); i < len(all); i++ {
		if th := &all[i]; len(t.options.Threads) == 0 || slices.Contains(t.options.Threads, th.Number) {
			progress.Expect(th)
			numbers = append(numbers, th.Number)
		}
	}
	by := newThreads(t)
	q := abp.Query{Order: abp.OrderTime, Processes: []uint32{t.proc.Number()}, Programs: []uint32{t.proc.Generation()}, Threads: numbers}
	err := p.EachExec(q, func(x *abp.Exec) error {
		t.untimed = t.untimed || !x.Timed
		by.take(x)
		progress.Add(1)
		return nil
	})
	if err != nil {
		return fmt.Errorf("cache simulation in the order of time: %w", err)
	}
	by.sum()
	return nil
}

// Ordered simulates threads that come side by side, while they run, in the order of time (see stream.Ordered).
type Ordered struct {
	*stream.Ordered
	by threads
}

// NewOrdered begins with a process; the options have SharedLL.
func NewOrdered(p *abp.Process, o Options) *Ordered {
	out := &Ordered{by: newThreads(NewTotals(p, o))}
	out.Ordered = stream.NewOrdered(p, out.by.take)
	return out
}

// Result sums up by function, once all threads have ended.
func (o *Ordered) Result() *Result {
	late, timed := o.Finish()
	o.by.all.late, o.by.all.untimed = late, !timed
	o.by.sum()
	return o.by.all.Result()
}
