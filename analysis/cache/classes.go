package cache

import (
	"cmp"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"alleria/abp"
	"alleria/analysis/stream"
)

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
