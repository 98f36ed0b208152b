package strides

import (
	"alleria/abp"
	"alleria/analysis/lanes"
)

// operand is the loads, or the stores, of an instruction.
type operand struct {
	code  uint64 // the instruction's address
	store bool
}

// walk is what is known of an operand in one thread, or in several.
type walk struct {
	block     *abp.Block // some block with it, and where it is there: for names
	ins       int
	size      uint32
	begun     bool   // there was an access; what follows is nothing otherwise
	n         uint64 // accesses, but for the run that is not counted yet
	low, high uint64 // of the addresses, likewise
	strides   tally
}

// track is what an access looks at: the run of one stride that goes on. All else of a walk changes where a run ends.
// Tracks lie apart from walks, two in a cache line, and never in two.
type track struct {
	last, stride uint64
	run          uint64 // how often stride came, not counted yet
	walk         *walk
}

// nowhere and nothing are last and stride of a track in front of its first access, which is at no address that is their sum.
const (
	nowhere = 0
	nothing = 1<<63 + 1
)

// access takes an address.
func (t *track) access(addr uint64) {
	s := addr - t.last
	t.last = addr
	if s == t.stride {
		t.run++
		return
	}
	t.turn(s)
}

// turn begins a run of another stride, which has come once, or the first one.
func (t *track) turn(s uint64) {
	if w := t.walk; !w.begun {
		w.begun, w.n, w.low, w.high = true, 1, t.last, t.last
		t.stride = 0
		return
	}
	t.end(t.last - s)
	t.stride, t.run = s, 1
}

// end counts the run, whose last address is given. Its first one was the last of the run before, and the others lie between
// both: no program walks over the address space's end, where nothing is mapped.
func (t *track) end(last uint64) {
	w := t.walk
	w.low, w.high = min(w.low, last), max(w.high, last)
	if t.run > 0 {
		w.n += t.run
		w.strides.add(int64(t.stride), t.run)
	}
	t.run = 0
}

// Counter counts one thread. It is a stream.Sink.
type Counter struct {
	proc  *abp.Process
	walks map[operand]*track
	room  []track // for the next ones
	plans []plan  // by block
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
	track  *track
}

// NewCounter begins with a thread.
func NewCounter(p *abp.Process) *Counter { return &Counter{proc: p, walks: map[operand]*track{}} }

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
			o.track.access(addr)
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
		x.InsAccesses(i, func(m *abp.Mem) { c.track(b, i, m.Store, m.Size).access(m.Addr) })
	}
}

// tracksAtOnce is how many tracks are made together: pages, so that each lies within a cache line.
const tracksAtOnce = 1 << 10

// track returns what is known of the loads or the stores of an instruction.
func (c *Counter) track(b *abp.Block, i int, store bool, size uint32) *track {
	key := operand{code: b.InsAddr(i), store: store}
	t := c.walks[key]
	if t == nil {
		if len(c.room) == 0 {
			c.room = make([]track, tracksAtOnce)
		}
		t, c.room = &c.room[0], c.room[1:]
		*t = track{last: nowhere, stride: nothing, walk: &walk{block: b, ins: i, size: size}}
		c.walks[key] = t
	}
	return t
}

// plan looks at a block.
func (c *Counter) plan(id uint32) {
	if n := int(id) + 1 - len(c.plans); n > 0 {
		c.plans = append(c.plans, make([]plan, n+len(c.plans)/2)...)
	}
	b := c.proc.Block(id)
	p := &c.plans[id]
	*p = plan{words: b.Words + 1}
	p.plain = lanes.PlainAccesses(b, func(i int, a *abp.Access) {
		p.ops = append(p.ops, op{uint64(a.Offset), a.Word, c.track(b, i, a.Store, a.Size)})
	})
}
