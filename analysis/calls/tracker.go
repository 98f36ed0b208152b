package calls

import (
	"alleria/abp"
)

// MaxDepth is how deep a tree may get. What is called deeper is gathered at that depth, so
// that a recursion does not take all memory.
const MaxDepth = 2000

// farAway is by how many bytes a stack address differs from the current frame's if it is of
// another stack: more than frames mostly have, less than stacks are apart mostly.
const farAway = 1 << 18

// maxDormant bounds the stacks that are kept for threads of the program's own making.
const maxDormant = 1 << 12

// maxSearch bounds searches through the frames of a thread.
const maxSearch = 1 << 12

// frame is one function that has not returned.
type frame struct {
	node  int32
	fn    int32
	match int32  // the function that blocks of it name
	tail  bool   // entered by something else than a call: it returns as the frame below does
	base  bool   // the first on another stack
	slot  uint64 // where its return address lies, 0: not known
	ret   uint64 // return address, 0: not known
	state State  // an observer's
}

// State is what an observer keeps of a function that has not returned. The zero State is that of one that has just been
// entered.
type State struct {
	Node int32
	From uint64
}

// pending is what the last block ended with, whose outcome the next one shows.
type pending struct {
	op     op
	site   uint64
	ret    uint64
	target uint64
	slot   uint64
}

// Tracker follows the calls of one thread. It is a stream.Sink.
type Tracker struct {
	pl     *planner
	plans  []*plan     // of the blocks that it has met, by number
	funcs  []*Function // as of when it asked last
	nodes  *nodes
	frames []frame
	match  int32 // of the top frame, -1: the next block has to be looked at
	cur    int32 // the top frame's node
	pend   pending
	want   func(state *abp.Exec) bool // nil: all counts
	byTime bool                       // want has to be asked about each execution
	count  bool                       // what is executed counts

	dormant []([]frame)    // other stacks, nil where free
	bySlot  map[uint64]int // their top frames' slots
	scratch []abp.Counts
	bursts  bursts
	clock   clock
	loop    *loop                    // nil: everything is followed one by one
	dropped func(fn int32, s *State) // is told of frames that are gone and have a state; nil: nobody
}

// newTracker starts with an empty stack.
func newTracker(pl *planner, apart int) *Tracker {
	return &Tracker{pl: pl, nodes: newNodes(apart), match: -1, count: true, bySlot: map[uint64]int{}, bursts: bursts{scale: 1}}
}

// Stretch follows whole executions.
func (t *Tracker) Stretch(state *abp.Exec, words []uint64) {
	if t.want != nil {
		t.count = t.want(state)
	}
	if t.loop != nil && t.count && !t.byTime {
		t.loop.own.At = 0
		t.follow(state, words, &t.loop.own)
		return
	}
	for i := 0; i < len(words); {
		id := words[i]
		if id >= uint64(len(t.plans)) || t.plans[id] == nil {
			t.plan(uint32(id))
		}
		p := t.plans[id]
		t.bursts.executed += uint64(p.size)
		if p.simple && p.fn == t.match && t.count && !t.byTime {
			t.nodes.all[t.cur].own.Add(p.static, 1)
			i += int(p.words)
			continue
		}
		t.whole(p, state, words[i+1:i+int(p.words)])
		t.clock.node = t.cur
		i += int(p.words)
	}
}

// plan returns the plan of a block.
func (t *Tracker) plan(id uint32) *plan {
	if int(id) >= len(t.plans) {
		t.plans = append(t.plans, make([]*plan, int(id)+1-len(t.plans)+len(t.plans)/2)...)
	}
	if t.plans[id] == nil {
		t.plans[id] = t.pl.plan(id)
	}
	return t.plans[id]
}

// function returns a function by its number.
func (t *Tracker) function(n int32) *Function {
	if int(n) >= len(t.funcs) {
		t.funcs = t.pl.functions()
	}
	return t.funcs[n]
}

// whole follows one whole execution.
func (t *Tracker) whole(p *plan, state *abp.Exec, words []uint64) {
	if t.byTime {
		x := *state
		if p.time >= 0 {
			x.TSC = words[p.time]
		}
		t.count = t.want(&x)
	}
	if p.fn != t.match {
		t.arrive(p.addr, p.fn)
	}
	if p.time >= 0 {
		t.stamp(words[p.time])
	}
	if p.more == nil {
		t.add(&p.static)
		return
	}
	t.steps(p.more, words, 0)
}

// steps follows the rest of a whole execution, from a step on.
func (t *Tracker) steps(prog *program, words []uint64, from int) {
	var dynamic []abp.Counts
	if prog.block.Dynamic {
		dynamic = t.dynamic(prog.block, words, len(prog.block.Ins))
	}
	for k := from; k < len(prog.steps); k++ {
		s := &prog.steps[k]
		if k > 0 && s.fn != t.match {
			t.arrive(s.addr, s.fn)
		}
		t.add(&s.static)
		t.addDynamic(dynamic, s.from, s.to)
		if s.op != opNone {
			t.leaveBy(s, words)
		}
	}
}

// Single follows an execution that may be cut or emulated.
func (t *Tracker) Single(x *abp.Exec) {
	t.single(x)
	t.clock.node = t.cur
}

// single is Single but for the time.
func (t *Tracker) single(x *abp.Exec) {
	if t.want != nil {
		t.count = t.want(x)
	}
	b := x.Block
	p := t.plan(b.ID)
	t.bursts.executed += uint64(x.Completed)
	if p.fn != t.match {
		t.arrive(p.addr, p.fn)
	}
	if x.Timed {
		t.stamp(x.TSC)
	}
	if p.more == nil || x.IsEmulated || x.Completed == 0 {
		c := x.Counts()
		t.add(&c)
		if p.more != nil && x.IsEmulated {
			if s := &p.more.steps[0]; s.op != opNone {
				t.leave(s, emulatedSlot(x, s.op == opCall))
			}
		}
		return
	}
	dynamic := t.dynamic(b, x.Words, x.Completed)
	for k := range p.more.steps {
		s := &p.more.steps[k]
		if s.from >= x.Completed {
			return
		}
		if k > 0 && s.fn != t.match {
			t.arrive(s.addr, s.fn)
		}
		to := min(s.to, x.Completed)
		c := between(b, s.from, to)
		t.add(&c)
		t.addDynamic(dynamic, s.from, to)
		if s.op != opNone && to == s.to {
			slot := uint64(0)
			if s.slot >= 0 {
				slot = x.Words[s.slot] + s.offset
			}
			t.leave(s, slot)
		}
	}
}

// emulatedSlot returns where a call or return that the tracer executed has its return
// address, 0 if it is not known.
func emulatedSlot(x *abp.Exec, store bool) (slot uint64) {
	for i := 0; i+1 < len(x.Emulated); i += 2 {
		if (x.Emulated[i+1]&abp.EmulatedStore != 0) == store {
			slot = x.Emulated[i]
		}
	}
	return slot
}

// dynamic returns what each instruction counts for by its words.
func (t *Tracker) dynamic(b *abp.Block, words []uint64, completed int) []abp.Counts {
	if !b.Dynamic {
		return nil
	}
	if cap(t.scratch) < len(b.Ins) {
		t.scratch = make([]abp.Counts, len(b.Ins))
	}
	out := t.scratch[:len(b.Ins)]
	clear(out)
	b.DynamicCounts(words, completed, func(ins int, c abp.Counts) { out[ins].Add(c, 1) })
	return out
}

// addDynamic adds that of some instructions.
func (t *Tracker) addDynamic(c []abp.Counts, from, to int) {
	if c != nil {
		for i := from; i < to; i++ {
			t.add(&c[i])
		}
	}
}

// add counts something for the current function.
func (t *Tracker) add(c *abp.Counts) {
	if t.count {
		t.nodes.all[t.cur].own.Add(*c, 1)
	}
}

// leave notes a call or a return; what comes next tells where to.
func (t *Tracker) leave(s *step, slot uint64) {
	t.pend = pending{op: s.op, site: s.site, ret: s.ret, target: s.target, slot: slot}
	t.match = -1
}

// leaveBy is leave with the words of an execution.
func (t *Tracker) leaveBy(s *step, words []uint64) {
	slot := uint64(0)
	if s.slot >= 0 {
		slot = words[s.slot] + s.offset
	}
	t.leave(s, slot)
}
