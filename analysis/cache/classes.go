package cache

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"alleria/abp"
	"alleria/analysis/stream"
)

// list takes what threads refer to from a stretch of their executions, without a cache. What is to the latest line of its set changes nothing, and that is known without what
// was before, but for the first reference to each set: so stretches are listed side by side, without nine of ten references mostly. That does not hold where a level behind takes
// lines out of the first one (Inclusive): then everything is listed.
type list struct {
	pos     uint64 // of the words or the execution at hand
	exec    uint64 // of the execution at hand, where accesses are taken one by one
	step    uint32 // likewise, of the reference
	block   uint32
	ins     uint16
	thread  uint16
	shift   uint          // of classes
	out     [][]reference // in order, by class: an access in lines of several is in each of these
	latestD []*latest     // by thread, if there are any
	latestI []*latest
	stale   []bool // by thread: of another stretch
}

// reference is an access or fetch. pos and step are its place in the order, within what is listed at a time.
type reference struct {
	pos, addr uint64
	step      uint32
	block     uint32
	size      uint16 // nothing accesses 64 KiB at a time
	ins       uint16
	thread    uint16
	kind      uint8 // refStore …
	missed    uint8 // levels, where they include or exclude each other
}

// What a reference is.
const (
	refStore = 1 << iota
	refCode
	refMuted // it does not count
)

// is tells whether it has a kind.
func (m *reference) is(kind uint8) bool { return m.kind&kind != 0 }

// kindOf is what a step of a block is as a reference.
func (s *Simulator) kindOf(op *operation) (kind uint8) {
	if op.store {
		kind |= refStore
	}
	if op.kind == opFetch {
		kind |= refCode
	}
	if s.muted {
		kind |= refMuted
	}
	return kind
}

// order compares places.
func (m *reference) order(o *reference) int {
	return cmp.Or(cmp.Compare(m.pos, o.pos), cmp.Compare(m.step, o.step))
}

// begin begins an execution some words behind the position.
func (l *list) begin(block uint32, at uint64) { l.block, l.exec, l.step = block, l.pos+at, 0 }

// add lists a reference for all classes that have a line of it.
func (l *list) add(m *reference) {
	m.thread = l.thread
	mask := uint64(len(l.out) - 1)
	first, last := m.addr>>l.shift, (m.addr+uint64(m.size)-1)>>l.shift
	for n := first; n <= min(last, first+mask); n++ {
		l.out[n&mask] = append(l.out[n&mask], *m)
	}
}

// refer lists an access of the execution.
func (s *Simulator) refer(m reference) {
	l, c := s.list, s.h.L1D
	if m.is(refCode) {
		c = s.h.L1I
	}
	m.pos, m.step, m.block, m.ins = l.exec, l.step, l.block, l.ins
	if s.muted {
		m.kind |= refMuted
	}
	l.step++
	l.add(&m)
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
	l := s.list
	for i := range l.out {
		l.out[i] = l.out[i][:0]
	}
	for i := range l.stale {
		l.stale[i] = true
	}
	s.toThread(l.thread)
}

// toThread has a thread's latest lines in the place of another's.
func (s *Simulator) toThread(thread uint16) {
	l := s.list
	for len(l.stale) <= int(thread) {
		l.stale = append(l.stale, true)
		l.latestD, l.latestI = append(l.latestD, another(s.latestD)), append(l.latestI, another(s.latestI))
	}
	if l.thread == thread && !l.stale[thread] {
		return
	}
	l.thread = thread
	s.moved++
	if s.latestD != nil {
		s.latestD = l.latestD[thread]
		s.h.L1D.latest = s.latestD
	}
	if s.latestI != nil {
		s.latestI = l.latestI[thread]
		s.h.L1I.latest = s.latestI
	}
	if l.stale[thread] {
		l.stale[thread] = false
		for _, t := range []*latest{s.latestD, s.latestI} {
			if t != nil {
				t.tags = [mostLatest]uint64{}
			}
		}
	}
}

// another is empty and for as many sets; nil where there are none.
func another(l *latest) *latest {
	if l == nil {
		return nil
	}
	return &latest{mask: l.mask}
}

// class is the lines of which some bits of the address are alike, which are bits of the number of the set in every level: they never meet lines of other
// classes in a set. An access in lines of several classes is taken apart, but a level is asked for all of its lines if the level in front misses one.
// So each level is taken through by all classes before the next one is, and what they list of such accesses is put together in between. Where levels
// include or exclude each other each line goes through all of them by itself, and what is put together is how many have missed.
type class struct {
	sim       *Simulator // what is counted of them
	threads   []*Hierarchy
	make      func() *Hierarchy
	shift     uint
	mask, own uint64
}

// of is the caches of a thread.
func (c *class) of(thread uint16) *Hierarchy {
	for len(c.threads) <= int(thread) {
		c.threads = append(c.threads, c.make())
	}
	return c.threads[thread]
}

// first is the class of an access's first byte.
func (c *class) first(addr uint64) uint64 { return addr >> c.shift & c.mask }

// touches tells whether an access has a line of the class.
func (c *class) touches(m *reference) bool {
	from := m.addr >> c.shift
	return (c.own-from)&c.mask <= (m.addr+uint64(m.size)-1)>>c.shift-from
}

// several tells whether an access has lines of several classes.
func (c *class) several(m *reference) bool {
	return m.addr>>c.shift != (m.addr+uint64(m.size)-1)>>c.shift
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

// firstLevels refers to what is listed of the class. It returns what was missed.
func (c *class) firstLevels(listers []*Simulator) (out []reference) {
	for _, s := range listers {
		list := s.list.out[c.own]
		for i := range list {
			m := &list[i]
			h := c.of(m.thread)
			to := h.L1D
			if m.is(refCode) {
				to = h.L1I
			}
			if c.miss(to, m) {
				out = append(out, *m)
			}
		}
	}
	return out
}

// related refers to what is listed of the class, in levels that include or exclude each other. It counts what was missed, but for accesses with lines of other classes: these it returns.
func (c *class) related(listers []*Simulator) (out []reference) {
	for _, s := range listers {
		list := s.list.out[c.own]
		for i := range list {
			m := &list[i]
			h := c.of(m.thread)
			to, shift := h.related.data, c.sim.line
			if m.is(refCode) {
				to, shift = h.related.code, h.L1I.shift
			}
			m.missed = 0
			for l, last := m.addr>>shift, (m.addr+uint64(m.size)-1)>>shift; l <= last; l++ {
				if c.first(l<<shift) == c.own {
					m.missed = max(m.missed, uint8(to.refer(l)))
				}
			}
			if c.several(m) {
				out = append(out, *m)
			} else {
				c.sim.countLevels(m)
			}
		}
	}
	return out
}

// counted counts accesses that begin in the class and have lines of others.
func (c *class) counted(lists [][]reference) []reference {
	var own []reference
	for _, list := range lists {
		for i := range list {
			if m := &list[i]; c.first(m.addr) == c.own {
				own = append(own, *m)
			}
		}
	}
	slices.SortFunc(own, func(a, b reference) int { return a.order(&b) })
	for i := range own {
		m := &own[i]
		if i+1 < len(own) && own[i+1].order(m) == 0 {
			own[i+1].missed = max(own[i+1].missed, m.missed)
			continue
		}
		c.sim.countLevels(m)
	}
	return nil
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
			if m := &list[k]; c.several(m) && c.touches(m) {
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
		if h := c.of(m.thread); n < len(h.Levels) && c.miss(h.Levels[n], m) {
			out = append(out, *m)
		}
	}
	return out
}

// countLevel counts a miss of a level.
func (s *Simulator) countLevel(n int, m *reference) {
	s.Count(!m.is(refMuted))
	to := &s.recipe(m.block).ins[m.ins]
	switch {
	case n == 0 && m.is(refCode):
		to.L1I++
	case n == 0:
		s.firstMissed(to, m.is(refStore))
		s.lines.miss(m.addr>>s.line, false)
	case m.is(refCode):
		s.levelMissedCode(to, n-1)
	case s.levelMissed(to, n-1, m.is(refStore)):
		s.lines.missLast(m.addr >> s.line)
	}
}

// countLevels counts a reference that so many levels have missed as it says.
func (s *Simulator) countLevels(m *reference) {
	if m.missed == 0 {
		return
	}
	s.Count(!m.is(refMuted))
	to := &s.recipe(m.block).ins[m.ins]
	if m.is(refCode) {
		s.codeMissed(to, int(m.missed))
	} else {
		s.dataMissed(to, m.addr, m.is(refStore), int(m.missed))
	}
}

// Classes is a simulation of a thread, or of threads in the order of time, on several processors. It is a stream.Sink. Each lists what some of the executions refer to; then each takes
// what is listed of one class of lines through the caches. No processor has anything of another's at that time.
type Classes struct {
	listers []*Simulator
	classes []*class
	numbers map[uint32]uint16 // which thread is which; nil: they are one to the caches
	tlb     []*Simulator      // by thread: have the buffers, which pages divide otherwise; nil: there are none
	newTLB  func() *Simulator
	related bool
	muted   bool          // what comes does not count
	fill    []*splitBatch // for each lister
	filled  int
	work    chan []*splitBatch
	free    chan []*splitBatch
	done    chan struct{}
	failed  atomic.Pointer[error] // of what was simulated; nil: nothing
	most    int
}

// splitBatch is some of the threads' executions.
type splitBatch struct {
	words []uint64
	parts []splitPart
}

// splitPart is a stretch of whole executions, or one that is not.
type splitPart struct {
	thread   uint16
	muted    bool
	fs, gs   uint64
	from, to int
	single   *abp.Exec // nil: a stretch
}

// mostSplit is how many words one processor lists at a time, and mostParts in how many parts.
const (
	mostSplit = 1 << 20
	mostParts = mostSplit / 8
)

// split is how many classes there are for some processors, a power of two, and the shift of the address that tells them: not more than every level has sets.
func (o *Options) split(processors int) (classes int, shift uint) {
	if o.L1D.Ways == 0 {
		return 1, 0
	}
	sets := uint(64)
	for _, s := range []Shape{o.L1I, o.L1D, o.L2, o.LL} {
		if s.Ways > 0 {
			shift = max(shift, uint(bits.TrailingZeros64(s.Line)))
			sets = min(sets, uint(bits.TrailingZeros64(s.Size/uint64(s.Ways)))) // up to this bit of an address
		}
	}
	if sets <= shift {
		return 1, 0
	}
	most := uint(bits.Len(uint(max(processors, 1)))) - 1
	return 1 << min(most, sets-shift, 6), shift
}

// Classes returns what simulates a thread on some processors, or with Options.Shared or SharedLL all of them; nil where what is simulated cannot be divided.
func (t *Totals) Classes(processors int) *Classes {
	o := &t.options
	n, shift := o.split(processors)
	if n == 1 {
		return nil
	}
	c := &Classes{most: mostSplit, related: o.Inclusion != Neither, work: make(chan []*splitBatch), free: make(chan []*splitBatch, 1), done: make(chan struct{})}
	if o.SharedLL {
		c.numbers = map[uint32]uint16{}
	}
	other := []*splitBatch{}
	for i := range n {
		c.fill, other = append(c.fill, new(splitBatch)), append(other, new(splitBatch))
		c.classes = append(c.classes, t.class(uint64(i), uint64(n-1), shift))
		c.listers = append(c.listers, t.lister(n, shift))
	}
	c.free <- other
	if o.ITLB.Ways > 0 || o.DTLB.Ways > 0 {
		c.newTLB = func() *Simulator {
			h := &Hierarchy{ITLB: optional(o.ITLB), DTLB: optional(o.DTLB)}
			if o.L1I.Ways > 0 { // what is fetched
				h.L1I = New(Shape{Size: o.L1I.Line, Ways: 1, Line: o.L1I.Line})
			}
			return NewSimulator(t.proc, h)
		}
		c.tlb = []*Simulator{c.newTLB()}
	}
	go c.run()
	return c
}

// class is one of those that there are.
func (t *Totals) class(own, mask uint64, shift uint) *class {
	o := &t.options
	last := lastLevel{}
	if o.SharedLL {
		last = o.lastLevel()
	}
	c := &class{shift: shift, mask: mask, own: own}
	c.make = func() *Hierarchy {
		h := o.hierarchy(last)
		h.ITLB, h.DTLB = nil, nil
		return h
	}
	c.sim = NewSimulator(t.proc, c.of(0))
	return c
}

// lister is what lists for some classes.
func (t *Totals) lister(classes int, shift uint) *Simulator {
	h := &Hierarchy{L1I: optional(t.options.L1I), L1D: New(t.options.L1D)}
	if t.options.Inclusion == Inclusive {
		for _, c := range []*Cache{h.L1I, h.L1D} {
			if c != nil {
				c.latest = nil
			}
		}
	}
	s := NewSimulator(t.proc, h)
	s.list = &list{shift: shift, out: make([][]reference, classes), latestD: []*latest{s.latestD}, latestI: []*latest{s.latestI}, stale: []bool{true}}
	if !t.options.oneByOne {
		s.filter = newFilter(s)
	}
	return s
}

// thread is the number of a thread's caches.
func (c *Classes) thread(number uint32) uint16 {
	if c.numbers == nil {
		return 0
	}
	n, ok := c.numbers[number]
	if !ok {
		n = uint16(len(c.numbers))
		c.numbers[number] = n
	}
	return n
}

// Stretch takes whole executions.
func (c *Classes) Stretch(state *abp.Exec, words []uint64) {
	c.take(splitPart{thread: c.thread(state.Thread), fs: state.FSBase, gs: state.GSBase}, words)
}

// Single takes an execution that may be cut or emulated.
func (c *Classes) Single(x *abp.Exec) {
	words := x.Words
	if x.IsEmulated {
		words = x.Emulated
	}
	one := *x
	c.take(splitPart{thread: c.thread(x.Thread), single: &one}, words)
}

// one takes an execution of any thread.
func (c *Classes) one(x *abp.Exec) {
	if x.IsEmulated || x.Completed != len(x.Block.Ins) {
		c.Single(x)
		return
	}
	p := splitPart{thread: c.thread(x.Thread), muted: c.muted, fs: x.FSBase, gs: x.GSBase}
	b := c.fill[c.filled]
	if n := len(b.parts); n > 0 {
		if l := &b.parts[n-1]; l.single == nil && l.thread == p.thread && l.muted == p.muted && l.fs == p.fs && l.gs == p.gs {
			b.words = append(append(b.words, uint64(x.Block.ID)), x.Words...)
			l.to = len(b.words)
			c.filledUp(b)
			return
		}
	}
	b.words = append(b.words, uint64(x.Block.ID))
	p.from = len(b.words) - 1
	c.keep(p, x.Words)
}

// take keeps a copy.
func (c *Classes) take(p splitPart, words []uint64) {
	p.from = len(c.fill[c.filled].words)
	c.keep(p, words)
}

// keep keeps a copy of words of a part.
func (c *Classes) keep(p splitPart, words []uint64) {
	b := c.fill[c.filled]
	b.words = append(b.words, words...)
	p.to, p.muted = len(b.words), c.muted
	b.parts = append(b.parts, p)
	c.filledUp(b)
}

// filledUp goes on with the next batch where one is full.
func (c *Classes) filledUp(b *splitBatch) {
	if len(b.words) < c.most && len(b.parts) < mostParts {
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
	if err := c.failed.Load(); err != nil {
		panic(*err)
	}
	for _, b := range c.fill {
		b.words, b.parts = b.words[:0], b.parts[:0]
	}
}

// Count says whether what comes counts.
func (c *Classes) Count(on bool) { c.muted = !on }

// settle waits for everything so far.
func (c *Classes) settle() {
	c.hand()
	c.work <- nil
	<-c.done
	if err := c.failed.Load(); err != nil {
		panic(*err)
	}
}

// run simulates until the work ends; a nil is answered once all in front of it is done. A panic is that of whoever hands over next: on a goroutine of ours nobody would hold it.
func (c *Classes) run() {
	for b := range c.work {
		if b == nil {
			c.done <- struct{}{}
			continue
		}
		if c.failed.Load() == nil {
			if err := c.batch(b); err != nil {
				c.failed.Store(&err)
			}
		}
		c.free <- b
	}
}

// batch takes executions through all levels, one level after the other.
func (c *Classes) batch(all []*splitBatch) error {
	for _, b := range all { // all that there will be are made before threads are told apart side by side
		for i := range b.parts {
			for c.newTLB != nil && len(c.tlb) <= int(b.parts[i].thread) {
				c.tlb = append(c.tlb, c.newTLB())
			}
		}
	}
	tasks := make([]func(), 0, len(all)+1)
	for i, s := range c.listers {
		tasks = append(tasks, func() {
			s.forget()
			s.list.pos = uint64(i) << 48
			all[i].feed(func(thread uint16) *Simulator { s.toThread(thread); return s })
		})
	}
	if c.tlb != nil {
		tasks = append(tasks, func() {
			for _, b := range all {
				b.feed(func(thread uint16) *Simulator { return c.tlb[thread] })
			}
		})
	}
	if err := side(tasks); err != nil {
		return err
	}
	if c.related {
		lists, err := c.byClass(func(k *class) []reference { return k.related(c.listers) })
		if err == nil {
			_, err = c.byClass(func(k *class) []reference { return k.counted(lists) })
		}
		return err
	}
	lists, err := c.byClass(func(k *class) []reference { return k.firstLevels(c.listers) })
	for n := 0; err == nil && n <= len(c.classes[0].sim.h.Levels); n++ {
		from := lists
		lists, err = c.byClass(func(k *class) []reference { return k.level(n, k.merged(from)) })
	}
	return err
}

// byClass has all classes make a list, side by side.
func (c *Classes) byClass(f func(*class) []reference) ([][]reference, error) {
	out := make([][]reference, len(c.classes))
	tasks := make([]func(), len(c.classes))
	for i, k := range c.classes {
		tasks[i] = func() { out[i] = f(k) }
	}
	return out, side(tasks)
}

// side does everything side by side, and returns the panic of one if there was any.
func side(tasks []func()) error {
	var wait sync.WaitGroup
	errs := make([]error, len(tasks))
	for i, f := range tasks {
		wait.Go(func() {
			defer func() {
				if v := recover(); v != nil {
					errs[i] = fmt.Errorf("%v, at %s", v, stream.PanicPlace(0))
				}
			}()
			f()
		})
	}
	wait.Wait()
	return cmp.Or(errs...)
}

// feed hands a batch to simulators, one a thread.
func (b *splitBatch) feed(of func(thread uint16) *Simulator) {
	var x abp.Exec
	for i := range b.parts {
		p := &b.parts[i]
		words, s := b.words[p.from:p.to], of(p.thread)
		s.Count(!p.muted)
		switch {
		case p.single == nil:
			x.FSBase, x.GSBase = p.fs, p.gs
			s.Stretch(&x, words)
		case p.single.IsEmulated:
			x := *p.single // others feed the same to simulators of theirs
			x.Emulated = words
			s.Single(&x)
		default:
			x := *p.single
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
	for _, s := range c.tlb {
		s.Count(true)
		t.add(s, scale, func(m *Misses) { *m = Misses{ITLB: m.ITLB, DTLB: m.DTLB} }, false)
		t.addLines(s, scale)
	}
}
