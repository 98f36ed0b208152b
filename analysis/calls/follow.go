package calls

import (
	"sync/atomic"

	"alleria/abp"
	"alleria/analysis/stream"
)

// loop is what a loop over whole executions (follow_amd64.c) knows of blocks: numbers in slices, which C may look at. What lies in them is the planner's, and of all
// threads; a loop sees as much of it as there was when it asked last.
type loop struct {
	pl       *planner
	plans    []followPlan // by block
	steps    []followStep
	accesses []followAccess
	own      stream.Walked // of who goes over the words by itself
	vector   bool
}

// newLoop knows nothing yet.
func newLoop(pl *planner) *loop { return &loop{pl: pl, vector: haveVector()} }

// followPlan is what there is to be known of a block. It has the layout of C's.
type followPlan struct {
	head   uint32 // 0: it is left to Go
	fn     int32
	at     uint32
	last   uint32
	counts [followLanes]uint32
}

// followStep is a step of it, likewise.
type followStep struct {
	fn, named int32
	slot      int16
	op        op
	entry     bool
	self      uint32
	addr      uint64
	site      uint64
	ret       uint64
	target    uint64
	offset    uint64
	accessAt  uint32
	accesses  uint32
	counts    [followLanes]uint32
}

// followAccess is an access of which words say what it counts for, likewise.
type followAccess struct {
	kind  abp.AccessKind
	store bool
	word  int16
	aux   int16
	_     uint16
	size  uint64
	lanes uint64
}

// The layout of counts, and how much of them a call of the loop adds up: see follow_amd64.h.
const (
	followLanes = 8
	laneSize    = 6
	laneCalls   = 7
	mostLane    = 1<<16 - 1
	mostWords   = 1 << 16
	mostSteps   = 1<<8 - 1
	stepsShift  = 16
	simpleBlock = 1 << 24
)

// followed is the plans for loops of a process, guarded by the planner's lock. What was written is not changed but for words, which is written last, and named.
// Threads read them meanwhile, in slices that are not theirs to write to: where there is no more room others take their place.
type followed struct {
	plans    []followPlan
	steps    []followStep
	accesses []followAccess
}

// lanesOf is what counts for C; false: it is too much.
func lanesOf(c *abp.Counts, size int) (l [followLanes]uint32, ok bool) {
	for i, n := range [...]uint64{c.Instructions, c.MemInstructions, c.Loads, c.Stores, c.BytesRead, c.BytesWritten, uint64(size)} {
		if n > mostLane {
			return l, false
		}
		l[i] = uint32(n)
	}
	return l, true
}

// loopPlan makes a block known to loops, if they are made for it; else p.slow says so. pl.mu is held.
func (pl *planner) loopPlan(id uint32, p *plan, steps []step) {
	f := &pl.followed
	counts, ok := lanesOf(&p.static, int(p.size))
	if p.slow = !ok || p.words > 1<<15 || p.time >= 0 || len(steps) == 0 || len(steps) > mostSteps; p.slow {
		return
	}
	if n := int(id) + 1 - len(f.plans); n > 0 {
		f.plans = append(f.plans, make([]followPlan, n+len(f.plans)/2)...)
	}
	out := &f.plans[id]
	out.fn, out.at, out.counts = p.fn, uint32(len(f.steps)), counts
	for i := range steps {
		s := &steps[i]
		fn := pl.funcs[s.fn]
		one := followStep{fn: s.fn, named: s.fn, slot: s.slot, op: s.op, entry: fn.Addr == s.addr && fn.Addr != 0, self: uint32(2 * (len(f.steps) + 1)),
			addr: s.addr, site: s.site, ret: s.ret, target: s.target, offset: s.offset}
		if fn.Name == NoFunction {
			one.named = pl.alreadyCalled(s.addr)
		}
		one.counts, _ = lanesOf(&s.static, s.to-s.from) // of the block's, which are not too much
		one.accessAt = uint32(len(f.accesses))
		if p.more != nil && p.more.block.Dynamic {
			f.byWords(p.more.block, s)
		}
		one.accesses = uint32(len(f.accesses)) - one.accessAt
		f.steps = append(f.steps, one)
	}
	out.last = uint32(len(f.steps))
	head := uint32(p.words) | uint32(len(steps))<<stepsShift
	if p.more == nil {
		head |= simpleBlock
	}
	atomic.StoreUint32(&out.head, head)
}

// byWords appends those of a step's accesses of which words say what they count for.
func (f *followed) byWords(b *abp.Block, s *step) {
	for i := s.from; i < s.to; i++ {
		if !b.Counted(i) {
			continue
		}
		for _, a := range b.InsAccesses(i) {
			if a.Kind != abp.AccessPlain && a.Kind != abp.AccessBits {
				f.accesses = append(f.accesses, followAccess{kind: a.Kind, store: a.Store, word: a.Word, aux: a.AuxWord, size: uint64(a.Size), lanes: abp.LaneMask(a.Lanes)})
			}
		}
	}
}

// alreadyCalled is the function without a symbol that is named by an address, -1 if it has not been called yet. pl.mu is held.
func (pl *planner) alreadyCalled(addr uint64) int32 {
	if n, ok := pl.byAddr[addr]; ok {
		return n
	}
	return -1
}

// lacks tells whether the loop knows less of a step of a block than there is to know by now.
func (l *loop) lacks(id uint32, step int, p *plan) bool {
	if p.slow {
		return false
	}
	if int(id) >= len(l.plans) || atomic.LoadUint32(&l.plans[id].head) == 0 {
		return true
	}
	at := int(l.plans[id].at) + step
	return at >= len(l.steps) || atomic.LoadInt32(&l.steps[at].named) < 0
}

// learn gets the plans that there are by now. Functions without symbols that a block begins may have got their names since it was planned: when they were called first.
func (l *loop) learn(id uint32) {
	pl := l.pl
	pl.mu.Lock()
	defer pl.mu.Unlock()
	f := &pl.followed
	at := f.plans[id].at
	for i := range f.plans[id].head >> stepsShift & mostSteps {
		if s := &f.steps[at+i]; s.named < 0 {
			atomic.StoreInt32(&s.named, pl.alreadyCalled(s.addr))
		}
	}
	l.plans, l.steps, l.accesses = f.plans, f.steps, f.accesses
}

// Walks tells whether Walk may be called.
func (t *Tracker) Walks() bool { return t.loop != nil }

// Walk is stream.Walker's.
func (t *Tracker) Walk(state *abp.Exec, words []uint64, w *stream.Walked) {
	if t.want != nil {
		t.count = t.want(state)
	}
	t.follow(state, words, w)
}

// follow follows whole executions, as far as words are any.
func (t *Tracker) follow(state *abp.Exec, words []uint64, w *stream.Walked) {
	l := t.loop
	for w.At < len(words) {
		from := w.At
		step := l.run(t, words, w)
		t.clock.node = t.cur
		if w.At == len(words) || step == 0 && w.At >= from+mostWords {
			continue
		}
		p := t.known(state.Process, words[w.At])
		if p == nil || int(p.words) > len(words)-w.At {
			return
		}
		id := uint32(words[w.At])
		t.left(p, step, state, words[w.At+1:w.At+int(p.words)], w)
		w.Took(id)
		w.At += int(p.words)
		if l.lacks(id, step, p) {
			l.learn(id)
		}
	}
}

// left follows an execution that the loop has left, behind some steps.
func (t *Tracker) left(p *plan, step int, state *abp.Exec, words []uint64, w *stream.Walked) {
	from := 0
	if step == 0 {
		t.whole(p, state, words)
	} else {
		from = p.more.steps[step].from
		t.steps(p.more, words, step)
	}
	t.bursts.executed += uint64(int(p.size) - from)
	t.clock.node = t.cur
	if p.more != nil && p.more.block.Dynamic {
		for _, c := range t.scratch[from:p.size] {
			w.Counts.Add(c, 1)
		}
	}
}

// known returns the plan of the block that a word is the number of, nil if there is none.
func (t *Tracker) known(proc *abp.Process, word uint64) *plan {
	if word < uint64(len(t.plans)) && t.plans[word] != nil {
		return t.plans[word]
	}
	if word == 0 || word>>32 != 0 || proc.Block(uint32(word)) == nil {
		return nil
	}
	return t.plan(uint32(word))
}
