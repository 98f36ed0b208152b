package strides

import (
	"alleria/abp"
)

// most is how many different strides are counted apart; others are counted together.
const most = 64

// operand is the loads, or the stores, of an instruction.
type operand struct {
	code  uint64 // the instruction's address
	store bool
}

// walk is what is known of an operand in one thread, or in several.
type walk struct {
	block        *abp.Block // some block with it, and where it is there: for names
	ins          int
	size         uint32
	n            uint64 // accesses
	last, stride uint64
	run          uint64 // how often stride came, not counted yet
	low, high    uint64 // of the addresses
	strides      map[int64]uint64
	others       uint64 // of strides that have no room
}

// access takes an address.
func (w *walk) access(addr uint64) {
	if w.n == 0 {
		w.low, w.high = addr, addr
	} else if s := addr - w.last; s == w.stride {
		w.run++
	} else {
		w.flush()
		w.stride, w.run = s, 1
	}
	w.n++
	w.last = addr
	w.low, w.high = min(w.low, addr), max(w.high, addr)
}

// flush counts the run that there is.
func (w *walk) flush() {
	if w.run > 0 {
		w.add(int64(w.stride), w.run)
	}
	w.run = 0
}

// add counts a stride.
func (w *walk) add(stride int64, n uint64) {
	if w.strides == nil {
		w.strides = make(map[int64]uint64)
	}
	if _, ok := w.strides[stride]; !ok && len(w.strides) == most {
		w.others += n
		return
	}
	w.strides[stride] += n
}

// Counter counts one thread. It is a stream.Sink.
type Counter struct {
	proc  *abp.Process
	walks map[operand]*walk
	plans []plan // by block
	x     abp.Exec
}

// plan is what executions of a block have in common.
type plan struct {
	words int // with the number; 0: not looked at
	plain bool
	ops   []op
}

// op is a plain access.
type op struct {
	offset uint64
	word   int16
	walk   *walk
}

// NewCounter begins with a thread.
func NewCounter(p *abp.Process) *Counter { return &Counter{proc: p, walks: map[operand]*walk{}} }

// Stretch is stream.Sink's.
func (c *Counter) Stretch(state *abp.Exec, words []uint64) {
	for i := 0; i < len(words); {
		id := words[i]
		if id >= uint64(len(c.plans)) || c.plans[id].words == 0 {
			c.plan(uint32(id))
		}
		p := &c.plans[id]
		exec := words[i+1 : i+p.words]
		i += p.words
		if !p.plain {
			c.x = *state
			c.x.Whole(c.proc.Block(uint32(id)), exec)
			c.expand(&c.x)
			continue
		}
		for k := range p.ops {
			o := &p.ops[k]
			addr := o.offset
			if o.word >= 0 {
				addr += exec[o.word]
			}
			o.walk.access(addr)
		}
	}
}

// Single is stream.Sink's.
func (c *Counter) Single(x *abp.Exec) {
	c.x = *x
	c.expand(&c.x)
}

// expand takes all accesses of an execution. Those of an operand that makes several are counted as one operand's: iterations and lanes.
func (c *Counter) expand(x *abp.Exec) {
	b := x.Block
	for i := range min(x.Completed, len(b.Ins)) {
		if !b.Counted(i) {
			continue
		}
		x.InsAccesses(i, func(m *abp.Mem) { c.walk(b, i, m.Store, m.Size).access(m.Addr) })
	}
}

// walk returns what is known of the loads or the stores of an instruction.
func (c *Counter) walk(b *abp.Block, i int, store bool, size uint32) *walk {
	key := operand{code: b.InsAddr(i), store: store}
	w := c.walks[key]
	if w == nil {
		w = &walk{block: b, ins: i, size: size}
		c.walks[key] = w
	}
	return w
}

// plan looks at a block.
func (c *Counter) plan(id uint32) {
	if n := int(id) + 1 - len(c.plans); n > 0 {
		c.plans = append(c.plans, make([]plan, n+len(c.plans)/2)...)
	}
	b := c.proc.Block(id)
	p := &c.plans[id]
	*p = plan{words: b.Words + 1}
	for i := range b.Ins {
		if !b.Counted(i) {
			continue
		}
		for _, a := range b.InsAccesses(i) {
			if a.Kind != abp.AccessPlain || a.Seg != abp.SegNone || a.AddrBits != 64 {
				return
			}
			p.ops = append(p.ops, op{uint64(a.Offset), a.Word, c.walk(b, i, a.Store, a.Size)})
		}
	}
	p.plain = true
}
