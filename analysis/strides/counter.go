package strides

import (
	"alleria/abp"
	"alleria/analysis/lanes"
)

// operand is the loads, or the stores, of an instruction.
type operand struct {
	code  uint64 // the instruction's address
	image uint32 // of its block: another one's may have lain there before
	store bool
}

// operandOf is that of a block's instruction.
func operandOf(b *abp.Block, i int, store bool) operand { return operand{b.InsAddr(i), b.Image, store} }

// walk is what is known of an operand beside its addresses: some block with it, and where it is there, for names. Without a block there is no operand.
type walk struct {
	block *abp.Block
	ins   int
	size  uint32
}

// Counter counts one thread. It is a stream.Sink. Operands have numbers, which are those of their tracks and tallies; some are nobody's.
type Counter struct {
	proc    *abp.Process
	numbers map[operand]uint32
	walks   []walk
	tracks  *lanes.Tracks
	strides tallies
	vector  bool   // eight accesses at a time
	plans   []plan // by block
	x       abp.Exec
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
	number uint32
}

// NewCounter begins with a thread.
func NewCounter(p *abp.Process) *Counter {
	c := newCounter(p)
	c.vector = haveVector()
	return c
}

// newCounter takes accesses one by one.
func newCounter(p *abp.Process) *Counter {
	return &Counter{proc: p, numbers: map[operand]uint32{}, tracks: lanes.NewTracks()}
}

// access takes an operand's address.
func (c *Counter) access(number uint32, addr uint64) {
	o, k := c.tracks.At(number)
	s := addr - o.Last[k]
	if s == o.Stride[k] {
		o.Run[k]++
		o.Last[k] = addr
		return
	}
	if o.Stride[k] == lanes.Nothing {
		o.Last[k], o.Stride[k], o.Low[k], o.High[k] = addr, 0, addr, addr
		return
	}
	c.end(number)
	o.Last[k], o.Stride[k], o.Run[k] = addr, s, 1
}

// end counts an operand's run. Its first address was the last of the run before, and the others lie between that and its
// last: no program walks over the address space's end, where nothing is mapped.
func (c *Counter) end(number uint32) {
	o, k := c.tracks.At(number)
	o.Low[k], o.High[k] = min(o.Low[k], o.Last[k]), max(o.High[k], o.Last[k])
	if o.Run[k] > 0 {
		c.strides.add(number, o.Stride[k], o.Run[k])
	}
	o.Run[k] = 0
}

// Stretch is stream.Sink's.
func (c *Counter) Stretch(state *abp.Exec, words []uint64) {
	for i := 0; i < len(words); {
		if c.vector {
			if i = c.vectors(words, i); i == len(words) {
				return
			}
		}
		id := words[i]
		isNew := id >= uint64(len(c.plans)) || c.plans[id].words == 0
		if isNew {
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
			c.access(o.number, addr)
		}
		if isNew && c.vector {
			c.hand(uint32(id), p)
		}
	}
}

// vectors takes whole executions eight accesses at a time, as far as they are known, and returns where it stopped.
func (c *Counter) vectors(words []uint64, at int) int {
	for {
		at = c.tracks.Run(words, at)
		full := c.tracks.Ends.Full()
		c.strides.ends(&c.tracks.Ends)
		if !full {
			return at
		}
	}
}

// hand leaves a block's further executions to vectors.
func (c *Counter) hand(id uint32, p *plan) {
	numbers := make([]uint32, len(p.ops))
	for k := range p.ops {
		numbers[k] = p.ops[k].number
	}
	c.tracks.Add(c.proc.Block(id), numbers)
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
		x.InsAccesses(i, func(m *abp.Mem) { c.access(c.number(b, i, m.Store, m.Size), m.Addr) })
	}
}

// number is that of the loads or the stores of an instruction.
func (c *Counter) number(b *abp.Block, i int, store bool, size uint32) uint32 {
	key := operandOf(b, i, store)
	n, known := c.numbers[key]
	if !known {
		n = uint32(len(c.walks))
		c.numbers[key] = n
		c.walks = append(c.walks, walk{block: b, ins: i, size: size})
		c.tracks.Grow(len(c.walks))
		c.strides.grow(len(c.walks))
	}
	return n
}

// plan looks at a block. Its new operands get numbers that follow each other.
func (c *Counter) plan(id uint32) {
	if n := int(id) + 1 - len(c.plans); n > 0 {
		c.plans = append(c.plans, make([]plan, n+len(c.plans)/2)...)
	}
	b := c.proc.Block(id)
	p := &c.plans[id]
	*p = plan{words: b.Words + 1}
	fresh := 0
	lanes.PlainAccesses(b, func(i int, a *abp.Access) {
		if _, known := c.numbers[operandOf(b, i, a.Store)]; !known {
			fresh++
		}
	})
	c.walks = append(c.walks, make([]walk, lanes.Begin(len(c.walks), fresh)-len(c.walks))...)
	p.plain = lanes.PlainAccesses(b, func(i int, a *abp.Access) {
		p.ops = append(p.ops, op{uint64(a.Offset), a.Word, c.number(b, i, a.Store, a.Size)})
	})
}
