package pages

import (
	"alleria/abp"
	"alleria/analysis/lanes"
)

// Counter takes executions apart into accesses, and adds those up that follow each other in one page. It is a stream.Sink.
type Counter struct {
	add    func(addr uint64, store bool, n uint64)
	shift  uint
	plans  []plan       // by block
	vector *lanes.Pages // nil: one by one
	x      abp.Exec
	single func(*abp.Mem)
}

// plan is what executions of a block have in common.
type plan struct {
	words  int32 // of one, its number included; 0: not looked at yet
	simple bool  // all accesses are plain ones
	plain  []access
}

// access is a plain access with what it has counted in its latest page.
type access struct {
	offset uint64
	page   uint64
	n      uint64
	word   int32 // -1: none
	store  bool
}

// New calls add for accesses to pages of 1 << shift bytes: n accesses in the page that addr lies in.
func New(shift uint, add func(addr uint64, store bool, n uint64)) *Counter {
	c := newCounter(shift, add)
	c.vector = lanes.NewPages(shift, add)
	return c
}

// newCounter counts one by one.
func newCounter(shift uint, add func(addr uint64, store bool, n uint64)) *Counter {
	return &Counter{add: add, shift: shift & 63, single: func(m *abp.Mem) { add(m.Addr, m.Store, 1) }}
}

// Flush tells what has not been told yet.
func (c *Counter) Flush() {
	for i := range c.plans {
		for k := range c.plans[i].plain {
			c.leave(&c.plans[i].plain[k])
		}
	}
	if c.vector != nil {
		c.vector.Flush()
	}
}

// leave tells what an access has counted in its page.
func (c *Counter) leave(a *access) {
	if a.n > 0 {
		c.add(a.page<<c.shift, a.store, a.n)
		a.n = 0
	}
}

// plan looks at a block once. A single access that is not plain has the whole block take the general path: mixing both would count out of order, and
// such blocks are rare. So do segment overrides, whose base is a word of its own, and 32-bit addresses, which wrap.
func (c *Counter) plan(b *abp.Block) {
	if n := int(b.ID) + 1 - len(c.plans); n > 0 { // the tables of a process that is being recorded grow
		c.plans = append(c.plans, make([]plan, n+len(c.plans)/2)...)
	}
	p := &c.plans[b.ID]
	p.words = int32(b.Words) + 1
	p.simple = lanes.PlainAccesses(b, func(_ int, a *abp.Access) {
		p.plain = append(p.plain, access{offset: uint64(a.Offset), word: int32(a.Word), store: a.Store})
	})
	if c.vector != nil {
		c.vector.Add(b)
	}
}

// Stretch counts whole executions.
func (c *Counter) Stretch(state *abp.Exec, words []uint64) {
	if c.vector != nil {
		c.vector.Base(state.FSBase)
	}
	for i := 0; i < len(words); {
		if c.vector != nil {
			if i = c.vector.Stretch(words, i); i == len(words) {
				return
			}
		}
		id := words[i]
		if id >= uint64(len(c.plans)) || c.plans[id].words == 0 {
			c.plan(state.Process.Block(uint32(id)))
			if c.vector != nil && c.vector.Has(uint32(id)) {
				continue
			}
		}
		p := &c.plans[id]
		end := i + int(p.words)
		if p.simple {
			c.count(p.plain, words[i+1:end])
		} else {
			c.x = *state
			c.x.Whole(state.Process.Block(uint32(id)), words[i+1:])
			c.x.ForEachAccess(c.single)
		}
		i = end
	}
}

// Walks tells whether Walk may be called. It is stream.Walker's.
func (c *Counter) Walks() bool { return c.vector != nil }

// Walk is stream.Walker's: it goes over the words once, where otherwise somebody has to find out first where executions end.
func (c *Counter) Walk(state *abp.Exec, words []uint64, w *lanes.Walked) {
	c.vector.Base(state.FSBase)
	for {
		c.vector.Walk(words, w)
		b, exec := w.Next(state.Process, words)
		if b == nil {
			return
		}
		c.Stretch(state, exec)
		w.Pass(b, exec)
	}
}

// count counts an execution's plain accesses.
func (c *Counter) count(plain []access, words []uint64) {
	for k := range plain {
		a := &plain[k]
		addr := a.offset
		if w := uint(a.word); w < uint(len(words)) { // -1 is none
			addr += words[w]
		}
		if page := addr >> c.shift; page != a.page {
			c.leave(a)
			a.page = page
		}
		a.n++
	}
}

// Single counts an execution that may be cut or emulated.
func (c *Counter) Single(x *abp.Exec) { x.ForEachAccess(c.single) }
