package cache

import (
	"cmp"
	"math/bits"
	"slices"
	"sync"

	"alleria/abp"
)

// list takes what a thread refers to from a stretch of its executions, without a cache. What is to the latest line of its set changes nothing, and that is known without what
// was before, but for the first reference to each set: so stretches are listed side by side, without nine of ten references mostly.
type list struct {
	pos   uint64 // of the words or the execution at hand
	exec  uint64 // of the execution at hand, where accesses are taken one by one
	step  uint32 // likewise, of the reference
	block uint32
	ins   uint16
	out   []reference // in order
}

// reference is an access or fetch. pos and step are its place in the order, within what is listed at a time.
type reference struct {
	pos, addr uint64
	step      uint32
	block     uint32
	size      uint32
	ins       uint16
	store     bool
	code      bool
}

// order compares places.
func (m *reference) order(o *reference) int {
	return cmp.Or(cmp.Compare(m.pos, o.pos), cmp.Compare(m.step, o.step))
}

// begin begins an execution some words behind the position.
func (l *list) begin(block uint32, at uint64) { l.block, l.exec, l.step = block, l.pos+at, 0 }

// refer lists an access of the execution.
func (s *Simulator) refer(m reference) {
	l, c := s.list, s.h.L1D
	if m.code {
		c = s.h.L1I
	}
	m.pos, m.step, m.block, m.ins = l.exec, l.step, l.block, l.ins
	l.step++
	l.out = append(l.out, m)
	if c.latest == nil {
		return
	}
	for at, last := m.addr>>c.shift, (m.addr+uint64(m.size)-1)>>c.shift; ; at++ {
		c.latest.tags[at&c.mask%mostLatest] = at + 1
		if at == last {
			return
		}
	}
}

// forget begins with a stretch of which nothing is known.
func (s *Simulator) forget() {
	s.list.out = s.list.out[:0]
	s.moved++
	for _, l := range []*latest{s.latestD, s.latestI} {
		if l != nil {
			l.tags = [mostLatest]uint64{}
		}
	}
}

// class is the lines of which some bits of the address are alike, which are bits of the number of the set in every level: they never meet lines of other
// classes in a set. An access in lines of several classes is taken apart, but a level is asked for all of its lines if the level in front misses one.
// So each level is taken through by all classes before the next one is, and what they list of such accesses is put together in between.
type class struct {
	sim       *Simulator // with caches, and what is counted of them
	shift     uint
	mask, own uint64
}

// first is the class of an access's first byte.
func (c *class) first(addr uint64) uint64 { return addr >> c.shift & c.mask }

// touches tells whether an access has a line of the class.
func (c *class) touches(m *reference) bool {
	from := m.addr >> c.shift
	return (c.own-from)&c.mask <= (m.addr+uint64(m.size)-1)>>c.shift-from
}

// miss refers to those lines of an access that are of the class, and tells whether one was missing.
func (c *class) miss(to *Cache, m *reference) (miss bool) {
	l, last := m.addr>>to.shift, (m.addr+uint64(m.size)-1)>>to.shift
	if l == last {
		return to.line(l)
	}
	for ; ; l++ {
		if c.first(l<<to.shift) == c.own && to.line(l) {
			miss = true
		}
		if l == last {
			return miss
		}
	}
}

// firstLevels refers to what is listed and has a line of the class. It returns what was missed.
func (c *class) firstLevels(lists [][]reference) (out []reference) {
	h := c.sim.h
	for _, list := range lists {
		for i := range list {
			m := &list[i]
			if !c.touches(m) {
				continue
			}
			to := h.L1D
			if m.code {
				to = h.L1I
			}
			if c.miss(to, m) {
				out = append(out, *m)
			}
		}
	}
	return out
}

// merged is what the class has to refer to in the next level: what it has missed itself, and what others have missed of accesses that have a line of it too.
func (c *class) merged(lists [][]reference) []reference {
	own := lists[c.own]
	var foreign []reference
	for i, list := range lists {
		if uint64(i) == c.own {
			continue
		}
		for k := range list {
			if m := &list[k]; m.addr>>c.shift != (m.addr+uint64(m.size)-1)>>c.shift && c.touches(m) {
				foreign = append(foreign, *m)
			}
		}
	}
	if len(foreign) == 0 {
		return own
	}
	slices.SortFunc(foreign, func(a, b reference) int { return a.order(&b) })
	out := make([]reference, 0, len(own)+len(foreign))
	for len(own) > 0 || len(foreign) > 0 {
		from := &own
		if len(own) == 0 || len(foreign) > 0 && foreign[0].order(&own[0]) < 0 {
			from = &foreign
		}
		if m := &(*from)[0]; len(out) == 0 || out[len(out)-1].order(m) != 0 { // else several have missed it
			out = append(out, *m)
		}
		*from = (*from)[1:]
	}
	return out
}

// level counts what a level missed, 0 for the first, of accesses that begin in the class, and refers to the next one, if there is one. It returns what that missed.
func (c *class) level(n int, missed []reference) (out []reference) {
	for i := range missed {
		m := &missed[i]
		if c.first(m.addr) == c.own {
			c.sim.countLevel(n, m)
		}
		if n < len(c.sim.h.Levels) && c.miss(c.sim.h.Levels[n], m) {
			out = append(out, *m)
		}
	}
	return out
}

// countLevel counts a miss of a level.
func (s *Simulator) countLevel(n int, m *reference) {
	to := &s.recipe(m.block).ins[m.ins]
	switch {
	case n == 0 && m.code:
		to.L1I++
	case n == 0:
		s.firstMissed(to, m.store)
		s.lines.miss(m.addr>>s.line, false)
	case m.code:
		s.levelMissedCode(to, n-1)
	case s.levelMissed(to, n-1, m.store):
		s.lines.missLast(m.addr >> s.line)
	}
}

// Classes is a simulation of a thread on several processors. It is a stream.Sink. Each lists what some of the executions refer to; then each takes what is listed of one class of lines
// through the caches. No processor has anything of another's at that time.
type Classes struct {
	listers []*Simulator
	classes []*class
	tlb     *Simulator    // has the buffers, which pages divide otherwise, if there are any
	fill    []*splitBatch // for each lister
	filled  int
	work    chan []*splitBatch
	free    chan []*splitBatch
	done    chan struct{}
	most    int
}

// splitBatch is some of a thread's executions.
type splitBatch struct {
	words []uint64
	parts []splitPart
}

// splitPart is a stretch of whole executions, or one that is not.
type splitPart struct {
	x        abp.Exec
	from, to int
	single   bool
}

// mostSplit is how many words one processor lists at a time.
const mostSplit = 1 << 20

// split is how many classes there are for some processors, a power of two, and the shift of the address that tells them: not more than every level has sets.
func (o *Options) split(processors int) (classes int, shift uint) {
	if o.SharedLL || o.Inclusion != Neither || o.L1D.Ways == 0 {
		return 1, 0
	}
	sets := uint(64)
	for _, s := range []Shape{o.L1I, o.L1D, o.L2, o.LL} {
		if s.Ways > 0 {
			shift = max(shift, uint(bits.TrailingZeros64(s.Line)))
			sets = min(sets, uint(bits.TrailingZeros64(s.Size/uint64(s.Ways)))) // up to this bit of an address
		}
		if s.Ways > 1 && s.Policy == Random { // goes by what all sets have drawn
			return 1, 0
		}
	}
	if sets <= shift {
		return 1, 0
	}
	most := uint(bits.Len(uint(max(processors, 1)))) - 1
	return 1 << min(most, sets-shift, 6), shift
}

// Classes returns what simulates a thread on some processors; nil where what is simulated cannot be divided.
func (t *Totals) Classes(processors int) *Classes {
	n, shift := t.options.split(processors)
	if n == 1 || t.options.Shared {
		return nil
	}
	c := &Classes{most: mostSplit, work: make(chan []*splitBatch), free: make(chan []*splitBatch, 1), done: make(chan struct{})}
	other := []*splitBatch{}
	for i := range n {
		c.fill, other = append(c.fill, new(splitBatch)), append(other, new(splitBatch))
		h := t.hierarchy()
		h.ITLB, h.DTLB = nil, nil
		c.classes = append(c.classes, &class{sim: NewSimulator(t.proc, h), shift: shift, mask: uint64(n - 1), own: uint64(i)})
		s := NewSimulator(t.proc, &Hierarchy{L1I: optional(t.options.L1I), L1D: New(t.options.L1D)})
		s.list = new(list)
		if !t.options.oneByOne {
			s.filter = newFilter(s)
		}
		c.listers = append(c.listers, s)
	}
	c.free <- other
	if t.options.ITLB.Ways > 0 || t.options.DTLB.Ways > 0 {
		h := t.hierarchy()
		h.L1D, h.Levels = nil, nil
		c.tlb = NewSimulator(t.proc, h)
	}
	go c.run()
	return c
}

// Stretch takes whole executions.
func (c *Classes) Stretch(state *abp.Exec, words []uint64) {
	c.take(splitPart{x: *state}, words)
}

// Single takes an execution that may be cut or emulated.
func (c *Classes) Single(x *abp.Exec) {
	words := x.Words
	if x.IsEmulated {
		words = x.Emulated
	}
	c.take(splitPart{x: *x, single: true}, words)
}

// take keeps a copy.
func (c *Classes) take(p splitPart, words []uint64) {
	b := c.fill[c.filled]
	p.from = len(b.words)
	b.words = append(b.words, words...)
	p.to = len(b.words)
	b.parts = append(b.parts, p)
	if p.to < c.most {
		return
	}
	if c.filled++; c.filled == len(c.fill) {
		c.hand()
	}
}

// hand has what there is simulated, behind what is being simulated.
func (c *Classes) hand() {
	c.work <- c.fill
	c.fill, c.filled = <-c.free, 0
	for _, b := range c.fill {
		b.words, b.parts = b.words[:0], b.parts[:0]
	}
}

// Count says whether what comes counts.
func (c *Classes) Count(on bool) {
	c.settle()
	for _, s := range c.each() {
		s.Count(on)
	}
}

// settle waits for everything so far.
func (c *Classes) settle() {
	c.hand()
	c.work <- nil
	<-c.done
}

// each is all simulators.
func (c *Classes) each() []*Simulator {
	all := slices.Clone(c.listers)
	for _, k := range c.classes {
		all = append(all, k.sim)
	}
	if c.tlb != nil {
		all = append(all, c.tlb)
	}
	return all
}

// run simulates until the work ends; a nil is answered once all in front of it is done.
func (c *Classes) run() {
	for b := range c.work {
		if b == nil {
			c.done <- struct{}{}
			continue
		}
		c.batch(b)
		c.free <- b
	}
}

// batch takes executions through all levels, one level after the other.
func (c *Classes) batch(all []*splitBatch) {
	lists := make([][]reference, len(all))
	tasks := make([]func(), 0, len(all)+1)
	for i, s := range c.listers {
		tasks = append(tasks, func() {
			s.forget()
			s.list.pos = uint64(i) << 48
			all[i].feed(s)
			lists[i] = s.list.out
		})
	}
	if c.tlb != nil {
		tasks = append(tasks, func() {
			for _, b := range all {
				b.feed(c.tlb)
			}
		})
	}
	side(tasks)
	lists = c.byClass(func(k *class) []reference { return k.firstLevels(lists) })
	for n := range 1 + len(c.classes[0].sim.h.Levels) {
		lists = c.byClass(func(k *class) []reference { return k.level(n, k.merged(lists)) })
	}
}

// byClass has all classes make a list, side by side.
func (c *Classes) byClass(f func(*class) []reference) [][]reference {
	out := make([][]reference, len(c.classes))
	tasks := make([]func(), len(c.classes))
	for i, k := range c.classes {
		tasks[i] = func() { out[i] = f(k) }
	}
	side(tasks)
	return out
}

// side does everything side by side.
func side(tasks []func()) {
	var wait sync.WaitGroup
	for _, f := range tasks {
		wait.Go(f)
	}
	wait.Wait()
}

// feed hands a batch to a simulator.
func (b *splitBatch) feed(s *Simulator) {
	for i := range b.parts {
		p := &b.parts[i]
		x, words := p.x, b.words[p.from:p.to]
		switch {
		case !p.single:
			s.Stretch(&x, words)
		case x.IsEmulated:
			x.Emulated = words
			s.Single(&x)
		default:
			x.Words = words
			s.Single(&x)
		}
		if s.list != nil {
			s.list.pos += uint64(len(words)) + 1
		}
	}
}

// AddClasses ends a simulation on several processors and adds what it has found.
func (t *Totals) AddClasses(c *Classes, scale float64) {
	c.settle()
	close(c.work)
	for _, s := range c.listers {
		t.Add(s, scale)
	}
	for _, k := range c.classes {
		t.Add(k.sim, scale)
	}
	if c.tlb != nil {
		c.tlb.Count(true)
		t.add(c.tlb, scale, func(m *Misses) { *m = Misses{ITLB: m.ITLB, DTLB: m.DTLB} }, false)
	}
}
