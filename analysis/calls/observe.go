package calls

import (
	"fmt"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/stream"
)

// Step is some instructions of one execution of a block that ran in one function. It is valid
// until the next one.
type Step struct {
	Block    *abp.Block
	From, To int          // instructions of the block, To not included
	Dynamic  []abp.Counts // by instruction, what the words say it counts for on top; nil: nothing
	Windows  uint64       // bit i: window i is open
	TSC      uint64       // the block's time stamp if Timed, else when the chunk was opened
	Timed    bool
	Counted  bool // by the query; calls are followed in any case
	// Emulated: the tracer executed it, and Accesses is what that counts for.
	Emulated bool
	Accesses abp.Counts

	t        *Tracker
	returned bool
}

// Depth returns how many functions have not returned.
func (s *Step) Depth() int { return len(s.t.frames) }

// Node returns the number of the i-th of them, from the outermost on. Equal numbers are the
// same function in the context of the same callers.
func (s *Step) Node(i int) int32 { return s.t.frames[i].node }

// Top returns the number of the one that is running.
func (s *Step) Top() int32 { return s.t.cur }

// State returns what the observer keeps of the one that is running.
func (s *Step) State() *State { return &s.t.frames[len(s.t.frames)-1].state }

// Returned tells whether the step ends with a return.
func (s *Step) Returned() bool { return s.returned }

// Function returns the function of a number.
func (s *Step) Function(node int32) *Function { return s.t.function(s.t.nodes.all[node].fn) }

// Observer is told of every step of a thread, in their order.
type Observer func(s *Step)

// Flushed is told that a burst is over: nodes that had the number n in its steps have to[n] among those of the thread, and
// what they count for is to be multiplied by scale. Numbers begin anew behind it. Where everything was recorded it
// is never called, and numbers of steps are the thread's.
type Flushed func(to []int32, scale float64)

// ObserveThread follows the calls of one thread and tells observe of every step, and flushed (which may be nil) of every
// burst's end. It returns the thread's tree, and its nodes by their numbers; the first is the root. ahead, if it is not nil, gets each execution by itself in front of its steps.
func ObserveThread(p *abp.Profile, proc *abp.Process, thread *abp.Thread, q Query, progress *analysis.Progress, ahead stream.Sink, observe Observer, flushed Flushed) (*Tree, []Node, error) {
	b := NewBuilder(proc, q)
	o := b.Observed(observe, nil)
	o.bursts.flushed = flushed
	var sink stream.Sink = o
	if ahead != nil {
		sink = &behind{o, ahead}
	}
	if err := stream.Thread(p, proc, thread, progress, sink); err != nil {
		return nil, nil, fmt.Errorf("calls of thread %d: %w", thread.Number, err)
	}
	b.Add(o.Tracker, 1)
	if b.sampling == nil && o.bursts.all == nil { // numbers of the steps
		b.all = o.nodes
	}
	tree, made := b.finish(b.all)
	return tree, made, nil
}

// Observed is a Tracker that tells of every step.
type Observed = observed

// Observed returns what follows a thread and tells of every step. dropped, which may be nil, is told of functions that
// are gone, by returning or otherwise, and whose State is not the zero one; s is the function's number.
func (b *Builder) Observed(observe Observer, dropped func(fn int32, s *State)) *Observed {
	o := &observed{Tracker: b.Thread(), observe: observe}
	o.loop = nil // each step is told of
	o.step.t, o.dropped, o.bursts.spread = o.Tracker, dropped, nil
	return o
}

// Uncounted has the tree count nothing, and steps say nothing of what words count for: who observes wants no more than which instructions of which function.
func (o *observed) Uncounted() { o.uncounted = true }

// Finish has all functions gone: the thread has ended.
func (o *observed) Finish() { o.finishFrames() }

// Running is the number, in the order in which they were met, of the function that a step is of.
func (s *Step) Running() int32 {
	t := s.t
	return t.frames[len(t.frames)-1].match
}

// FunctionOf returns a function by its number.
func (b *Builder) FunctionOf(n int32) *Function { return b.pl.functions()[n] }

// observed is a Tracker that tells of every step.
type observed struct {
	*Tracker
	observe   Observer
	step      Step
	uncounted bool
}

// behind brings each execution to another Sink first.
type behind struct {
	*observed
	ahead stream.Sink
}

// Stretch is stream.Sink's.
func (o *behind) Stretch(state *abp.Exec, words []uint64) {
	for i := 0; i < len(words); {
		next := i + 1 + state.Process.Block(uint32(words[i])).Words
		o.ahead.Stretch(state, words[i:next])
		o.observed.Stretch(state, words[i:next])
		i = next
	}
}

// Single is stream.Sink's.
func (o *behind) Single(x *abp.Exec) {
	o.ahead.Single(x)
	o.observed.Single(x)
}

// Stretch is stream.Sink's.
func (o *observed) Stretch(state *abp.Exec, words []uint64) {
	t := o.Tracker
	if t.want != nil {
		t.count = t.want(state)
	}
	o.step.Windows, o.step.Emulated = state.Windows, false
	for i := 0; i < len(words); {
		b := state.Process.Block(uint32(words[i]))
		p := t.plan(b.ID)
		next := i + int(p.words)
		o.step.TSC, o.step.Timed = state.TSC, b.TimeWord >= 0
		if o.step.Timed {
			o.step.TSC = words[i+1+int(b.TimeWord)]
		}
		if t.byTime {
			x := *state
			x.TSC = o.step.TSC
			t.count = t.want(&x)
		}
		o.steps(p, b, words[i+1:next], len(b.Ins))
		i = next
	}
}

// Single is stream.Sink's.
func (o *observed) Single(x *abp.Exec) {
	t, s := o.Tracker, &o.step
	if t.want != nil {
		t.count = t.want(x)
	}
	s.Windows, s.TSC, s.Timed, s.Emulated, s.returned = x.Windows, x.TSC, x.Timed, x.IsEmulated, false
	p := t.plan(x.Block.ID)
	if !x.IsEmulated {
		o.steps(p, x.Block, x.Words, x.Completed)
		return
	}
	if p.fn != t.match {
		t.arrive(p.addr, p.fn)
	}
	c := x.Counts()
	t.add(&c)
	s.Block, s.From, s.To, s.Dynamic, s.Accesses, s.Counted = x.Block, 0, len(x.Block.Ins), nil, c, t.count
	s.returned = p.more != nil && p.more.steps[0].op == opRet
	o.observe(s)
	if p.more != nil {
		if st := &p.more.steps[0]; st.op != opNone {
			t.leave(st, emulatedSlot(x, st.op == opCall))
		}
	}
}

// steps follows an execution of which so many instructions completed.
func (o *observed) steps(p *plan, b *abp.Block, words []uint64, completed int) {
	t, s := o.Tracker, &o.step
	if p.fn != t.match {
		t.arrive(p.addr, p.fn)
	}
	s.Block, s.Dynamic, s.Counted, s.returned = b, nil, t.count, false
	if p.more == nil {
		s.From, s.To = 0, completed
		if !o.uncounted {
			o.count(b, &p.static, len(b.Ins))
		}
		o.observe(s)
		return
	}
	if !o.uncounted {
		s.Dynamic = t.dynamic(b, words, completed)
	}
	for k := range p.more.steps {
		st := &p.more.steps[k]
		if st.from >= completed {
			return
		}
		if k > 0 && st.fn != t.match {
			t.arrive(st.addr, st.fn)
		}
		s.From, s.To = st.from, min(st.to, completed)
		if !o.uncounted {
			o.count(b, &st.static, st.to)
			t.addDynamic(s.Dynamic, s.From, s.To)
		}
		s.returned = st.op == opRet && s.To == st.to
		o.observe(s)
		if st.op != opNone && s.To == st.to {
			t.leaveBy(st, words)
		}
	}
}

// count adds what a step counts for by itself: whole, which reaches up to an instruction, or less where it was cut.
func (o *observed) count(b *abp.Block, whole *abp.Counts, to int) {
	c := *whole
	if s := &o.step; s.To < to {
		c = between(b, s.From, s.To)
	}
	o.add(&c)
}
