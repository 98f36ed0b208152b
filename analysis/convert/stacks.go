package convert

import (
	"fmt"
	"math"
	"slices"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/cache"
	"alleria/analysis/calls"
	"alleria/analysis/stream"
)

// threadStacks is what was counted of a thread, by instruction in the context of its callers.
type threadStacks struct {
	proc   *abp.Process
	thread *abp.Thread
	tree   *calls.Tree
	nodes  []calls.Node // by number; the first is the root
	runs   map[leaf]*run
	extra  map[leafIns]*abp.Counts
	recent [1 << 12]recentLeaf
	sim    *cache.Simulator // nil: no misses are wanted
	missed []missedIns      // by the execution whose steps come, beginning with the next
	misses map[leafIns]*moreCosts
	clock  stackClock
	// Of bursts that are over, times what they stand for.
	sums  map[leaf]runSum
	parts map[leafIns]*estimate
}

// run is how often the instructions of a leaf were executed, and how many ticks went by from there to the next time stamp: they are the
// last instruction's, which is what takes long where something does.
type run struct{ n, ticks uint64 }

// runSum is the same with fractions.
type runSum struct{ n, ticks float64 }

// stackClock is the time stamp that was met last.
type stackClock struct {
	at   uint64 // 0: none
	on   bool   // what began there counts
	last *run   // what has run last since
}

// missedIns is what an instruction missed.
type missedIns struct {
	ins int
	moreCosts
}

// simulated takes executions through caches and keeps what each has missed until its steps come. It is a stream.Sink.
type simulated struct{ of *threadStacks }

// Stretch takes a whole execution.
func (s simulated) Stretch(state *abp.Exec, words []uint64) {
	s.of.sim.Stretch(state, words)
	s.took(s.of.proc.Block(uint32(words[0])))
}

// Single takes an execution that may be cut or emulated.
func (s simulated) Single(x *abp.Exec) {
	s.of.sim.Single(x)
	s.took(x.Block)
}

// took keeps what an execution of a block has missed.
func (s simulated) took(b *abp.Block) {
	t := s.of
	t.missed = t.missed[:0]
	t.sim.Take(b, func(ins int, m *cache.Misses) {
		t.missed = append(t.missed, missedIns{ins, moreCosts{missesL1I: m.L1I, missesL1DRead: m.L1DRead, missesL1DWrite: m.L1DWrite,
			missesLLI: m.LLI, missesLLRead: m.LLRead, missesLLWrite: m.LLWrite}})
	})
}

// simulate has the thread go through caches as well.
func (s *threadStacks) simulate(o *cache.Options) stream.Sink {
	if o == nil {
		return nil
	}
	s.misses = map[leafIns]*moreCosts{}
	s.sim = cache.NewTotals(s.proc, o.NoVector()).Thread()
	return simulated{s}
}

// estimate is counts with fractions.
type estimate struct{ loads, stores, read, written, instructions float64 }

// leaf is a run of instructions of a block in one function, in the context of its callers.
type leaf struct {
	block    *abp.Block
	windows  uint64
	node     int32
	from, to uint16
}

// leafIns is an instruction of it.
type leafIns struct {
	leaf
	ins uint16
}

// recentLeaf is where a leaf that was met lately is counted.
type recentLeaf struct {
	leaf leaf
	runs *run
}

// withStacks counts each thread that the options want, and calls f for one after the other.
func (o *Options) withStacks(f func(s *threadStacks) error) error {
	if err := o.wholeStacks(); err != nil {
		return err
	}
	if o.Misses != nil {
		if err := o.needAccesses(); err != nil {
			return err
		}
	}
	return o.eachThread(func(p *abp.Process, t *abp.Thread, cq calls.Query) error {
		s := &threadStacks{proc: p, thread: t, runs: map[leaf]*run{}, extra: map[leafIns]*abp.Counts{}}
		if o.Misses != nil && analysis.SamplingOf(p) != nil {
			return fmt.Errorf("misses of a sample are not the program's: %w", ErrUsage)
		}
		var err error
		if s.tree, s.nodes, err = calls.ObserveThread(o.Profile, p, t, cq, o.Progress, s.simulate(o.Misses), s.step, s.flush); err != nil {
			return err
		}
		return f(s)
	})
}

// eachThread calls f for every thread that the query wants, with the query's part for it.
func (o *Options) eachThread(f func(p *abp.Process, t *abp.Thread, cq calls.Query) error) error {
	for _, p := range o.processes() {
		cq := calls.Query{Time: o.Query.TimeIn(p)}
		for _, d := range p.WindowDefs() {
			if slices.Contains(o.Query.Windows, d.Name) && d.Index < 64 {
				cq.Windows |= 1 << d.Index
			}
		}
		if len(o.Query.Windows) > 0 && cq.Windows == 0 {
			continue
		}
		threads := p.Threads()
		for i := range threads {
			if wants(o.Query.Threads, threads[i].Number) {
				o.Progress.Expect(&threads[i])
			}
		}
		for i := range threads {
			if !wants(o.Query.Threads, threads[i].Number) {
				continue
			}
			if err := f(p, &threads[i], cq); err != nil {
				return err
			}
		}
	}
	return nil
}

// step is a calls.Observer.
func (s *threadStacks) step(st *calls.Step) {
	if st.Timed && st.From == 0 {
		s.stamp(st)
	}
	k := leaf{st.Block, st.Windows, st.Top(), uint16(st.From), uint16(st.To)}
	r := s.run(k)
	s.clock.last = r
	if !st.Counted {
		return
	}
	for i := range s.missed {
		m := &s.missed[i]
		if m.ins >= st.From && m.ins < st.To {
			at := leafIns{k, uint16(m.ins)}
			if s.misses[at] == nil {
				s.misses[at] = new(moreCosts)
			}
			s.misses[at].add(&m.moreCosts)
		}
	}
	if st.Emulated {
		s.more(k, st.From, st.Accesses)
		return
	}
	r.n++
	if st.Dynamic != nil {
		for i := st.From; i < st.To; i++ {
			if st.Dynamic[i] != (abp.Counts{}) {
				s.more(k, i, st.Dynamic[i])
			}
		}
	}
}

// stamp says when a block began. The time since the last stamp belongs to what has run last, as in call trees.
func (s *threadStacks) stamp(st *calls.Step) {
	if c := &s.clock; c.at != 0 && c.on && st.TSC > c.at {
		c.last.ticks += st.TSC - c.at
	}
	s.clock = stackClock{at: st.TSC, on: st.Counted}
}

// run returns what is counted of a leaf.
func (s *threadStacks) run(k leaf) *run {
	h := (uint32(k.node)*0x9E3779B1 ^ k.block.ID*0x85EBCA6B ^ uint32(k.from)) >> 20
	r := &s.recent[h]
	if r.leaf != k {
		n := s.runs[k]
		if n == nil {
			n = new(run)
			s.runs[k] = n
		}
		*r = recentLeaf{k, n}
	}
	return r.runs
}

// more adds to one instruction.
func (s *threadStacks) more(k leaf, ins int, c abp.Counts) {
	sum := s.extra[leafIns{k, uint16(ins)}]
	if sum == nil {
		sum = new(abp.Counts)
		s.extra[leafIns{k, uint16(ins)}] = sum
	}
	sum.Add(c, 1)
}

// flush is a calls.Flushed.
func (s *threadStacks) flush(to []int32, scale float64) {
	if s.sums == nil {
		s.sums, s.parts = map[leaf]runSum{}, map[leafIns]*estimate{}
	}
	for k, n := range s.runs {
		k.node = to[k.node]
		sum := s.sums[k]
		s.sums[k] = runSum{sum.n + float64(n.n)*scale, sum.ticks + float64(n.ticks)*scale}
	}
	for k, c := range s.extra {
		k.node = to[k.node]
		e := s.parts[k]
		if e == nil {
			e = new(estimate)
			s.parts[k] = e
		}
		e.loads += float64(c.Loads) * scale
		e.stores += float64(c.Stores) * scale
		e.read += float64(c.BytesRead) * scale
		e.written += float64(c.BytesWritten) * scale
		e.instructions += float64(c.Instructions) * scale
	}
	clear(s.runs)
	clear(s.extra)
	clear(s.recent[:])
	s.clock = stackClock{}
}

// rounded has the sums of all bursts where those of a whole recording are.
func (s *threadStacks) rounded() {
	n := func(v float64) uint64 { return uint64(math.Round(v)) }
	for k, v := range s.sums {
		s.runs[k] = &run{n(v.n), n(v.ticks)}
	}
	for k, e := range s.parts {
		s.extra[k] = &abp.Counts{Instructions: n(e.instructions), Loads: n(e.loads), Stores: n(e.stores), BytesRead: n(e.read), BytesWritten: n(e.written)}
	}
	s.sums, s.parts = nil, nil
}

// each calls f with the sums of every instruction that ran, in no order; one may come several
// times.
func (s *threadStacks) each(f func(node *calls.Node, windows uint64, b *abp.Block, ins int, c abp.Counts)) {
	s.rounded()
	for k, r := range s.runs {
		if r.n == 0 {
			continue
		}
		before := abp.Counts{}
		if k.from > 0 {
			before, _ = k.block.StaticCounts(int(k.from))
		}
		for i := int(k.from); i < int(k.to); i++ {
			upTo, _ := k.block.StaticCounts(i + 1)
			one := upTo
			one.Sub(before)
			before = upTo
			if one != (abp.Counts{}) {
				var c abp.Counts
				c.Add(one, r.n)
				f(&s.nodes[k.node], k.windows, k.block, i, c)
			}
		}
	}
	for k, c := range s.extra {
		f(&s.nodes[k.node], k.windows, k.block, int(k.ins), *c)
	}
}

// eachMore calls f with the other costs of every instruction that has any, as each does.
func (s *threadStacks) eachMore(f func(node *calls.Node, windows uint64, b *abp.Block, ins int, m *moreCosts)) {
	s.rounded()
	for k, r := range s.runs {
		if r.ticks > 0 {
			f(&s.nodes[k.node], k.windows, k.block, int(max(k.to, 1))-1, &moreCosts{ticks: r.ticks})
		}
	}
	for k, m := range s.misses {
		f(&s.nodes[k.node], k.windows, k.block, int(k.ins), m)
	}
}

// byNode are the other costs of each node by itself.
func (s *threadStacks) byNode() map[*calls.Node]moreCosts {
	sums := map[*calls.Node]moreCosts{}
	s.eachMore(func(n *calls.Node, _ uint64, _ *abp.Block, _ int, m *moreCosts) {
		sum := sums[n]
		sum.add(m)
		sums[n] = sum
	})
	return sums
}

// windowNames returns the names of open windows.
func windowNames(p *abp.Process, windows uint64) (names []string) {
	for _, d := range p.WindowDefs() {
		if d.Index < 64 && windows>>d.Index&1 != 0 {
			names = append(names, d.Name)
		}
	}
	return names
}
