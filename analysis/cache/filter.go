package cache

import (
	"alleria/abp"
	"alleria/analysis/stream"
)

// filter takes whole executions through the first levels eight accesses at a time (filter_amd64.c), and lists what these
// miss. What it knows of blocks are numbers in slices, which C may look at.
type filter struct {
	sim    *Simulator
	d, i   *Cache       // i is nil where code is not simulated
	plans  []filterPlan // by block
	arena  []uint64     // fetches and groups of all blocks
	runs   []uint64     // by block: executions
	events []uint64
	used   int      // words of events that are filled
	inFS   []uint32 // where in the arena offsets with fs's base are
}

// filterPlan is what there is to be known of a block. It has the layout of C's.
type filterPlan struct {
	at              uint32
	words           uint16 // 0: it is left to Go
	fetches, groups uint8
	latest          uint64
}

// The layout of the arena: see filter_amd64.h.
const (
	fetchWords = 2
	lanes      = 8
	groupWords = 28
	groupLast  = 8
	groupIndex = 16
	groupOps   = 24
	groupMasks = 26
	mostOps    = 255
	eventWords = 3
	eventRoom  = eventWords << 13
)

// newFilter returns nil where the processor, or what is simulated, is not made for it.
func newFilter(s *Simulator) *filter {
	h := s.h
	if !haveVector() || s.latestD == nil || h.L1D.tags == nil || h.L1I != nil && (s.latestI == nil || h.L1I.tags == nil) {
		return nil
	}
	return &filter{sim: s, d: h.L1D, i: h.L1I, events: make([]uint64, eventRoom)}
}

// plan makes a block known.
func (f *filter) plan(id uint32, r *recipe) {
	if n := int(id) + 1 - len(f.plans); n > 0 {
		n += len(f.plans) / 2
		f.plans = append(f.plans, make([]filterPlan, n)...)
		f.runs = append(f.runs, make([]uint64, n)...)
	}
	if !r.fast || len(r.ops) > mostOps || len(r.fetches) > mostOps || r.words > 1<<15 {
		return
	}
	p := filterPlan{at: uint32(len(f.arena)), words: uint16(r.words), fetches: uint8(len(r.fetches))}
	for _, l := range r.fetches {
		f.arena = append(f.arena, l.line, uint64(l.op))
	}
	for from := 0; from < len(r.plain); from += lanes {
		p.groups++
		var g [groupWords]uint64
		for k, op := range r.plain[from:min(from+lanes, len(r.plain))] {
			g[k], g[groupLast+k] = op.offset, uint64(op.last)
			if r.ops[op.op].seg == abp.SegFS {
				f.inFS = append(f.inFS, uint32(len(f.arena)+k))
			}
			g[groupMasks] |= 1 << k
			if op.word >= 0 {
				g[groupIndex+k] = uint64(op.word)
				g[groupMasks] |= 1 << (8 + k)
			}
			g[groupOps+k/4] |= uint64(op.op) << (k % 4 * 16)
		}
		f.arena = append(f.arena, g[:]...)
	}
	f.plans[id] = p
}

// rebase has the base of fs be so much more.
func (f *filter) rebase(by uint64) {
	for _, at := range f.inFS {
		f.arena[at] += by
	}
}

// stretch takes whole executions as far as it knows them and returns where it stopped.
func (f *filter) stretch(words []uint64, at int) int {
	w := stream.Walked{At: at}
	f.walk(words, &w)
	return w.At
}

// walk is stretch, and counts executions by block if there is room for them.
func (f *filter) walk(words []uint64, w *stream.Walked) {
	for {
		at := w.At
		w.At = f.run(words, at, w.Execs)
		f.hand(f.events[:f.used])
		if w.At == at || f.used+eventWords*(mostOps+1) <= len(f.events) {
			return
		}
	}
}

// Walks tells whether Walk may be called. It is stream.Walker's.
func (s *Simulator) Walks() bool { return s.filter != nil && s.list == nil }

// Walk is stream.Walker's: it goes over the words once, where otherwise somebody has to find out first where executions end.
func (s *Simulator) Walk(state *abp.Exec, words []uint64, w *stream.Walked) {
	s.begin(state)
	for {
		w.Reach(len(s.filter.plans))
		s.filter.walk(words, w)
		b, exec := w.Next(s.proc, words)
		if b == nil {
			return
		}
		s.Stretch(state, exec)
		w.Pass(b, exec)
	}
}

// hand hands on what the first levels have missed, or has another goroutine do so.
func (f *filter) hand(events []uint64) {
	s := f.sim
	switch {
	case s.list != nil:
		for ; len(events) > 0; events = events[eventWords:] {
			f.listed(events[0], events[1], events[2])
		}
	case s.later != nil:
		p := s.later.Filling
		p.events = append(p.events, events...)
		s.send()
	default:
		for e := 0; e < len(events); e += eventWords {
			s.event(s.recipes, events[e], events[e+1])
		}
		if s.when.seen += len(events); s.when.seen >= s.when.after {
			s.startLater()
		}
	}
}

// listed lists a reference that is not to the latest line of its set.
func (f *filter) listed(addr, what, pos uint64) {
	op := &f.sim.recipes[what>>32].ops[uint32(what)]
	if op.kind == opFetch {
		addr = op.offset
	}
	f.sim.list.add(&reference{pos: pos, step: uint32(what), block: uint32(what >> 32), addr: addr, size: uint16(op.size), ins: op.ins, kind: f.sim.kindOf(op)})
}

// event goes on behind the first levels.
func (s *Simulator) event(recipes []*recipe, addr, what uint64) {
	r := recipes[what>>32]
	op := &r.ops[uint32(what)]
	if op.kind == opFetch {
		s.goOnCode(&r.ins[op.ins], op.offset, uint64(op.size))
		return
	}
	s.goOn(&r.ins[op.ins], addr, uint64(op.size), op.store)
}

// settle gives the recipes the executions that were counted.
func (f *filter) settle(recipes []*recipe) {
	for id, n := range f.runs {
		if n > 0 {
			recipes[id].runs += n
			f.runs[id] = 0
		}
	}
}

// NoVector has simulators of the options do everything one by one: for tests and measurements.
func (o Options) NoVector() Options {
	o.oneByOne = true
	return o
}
