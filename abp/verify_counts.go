package abp

import (
	"fmt"
	"slices"

	"alleria/abp/frame"
)

// frameCheck decodes frames of a process and counts again, on one goroutine.
//
// It goes by stretches and not by a Reader's executions, which would skip what a query
// does not want and stop at the first error of a profile.
type frameCheck struct {
	proc   *Process
	reader *Reader

	blocks []blockCheck // by number
	// once is what a complete execution of a block counts for, by number, where that
	// depends on the block alone. It comes from expanding one; the counts that a header's
	// are made of are StaticCounts'. The two share no code.
	once   []Counts
	met    []uint32 // blocks of this frame
	execs  uint64
	max    uint32 // the highest block
	m      memCounter
	count  func(*Mem)
	listed []frame.Touched
	sums   sumsCheck
}

// blockCheck is what is counted of a block: 16 bytes, four to a cache line.
type blockCheck struct {
	runs    uint64 // executions in the frame
	odd     uint32 // of these, such as came by themselves and are counted so
	words   uint16 // of an execution, its block's number included; 0: not met in any frame
	dynamic bool   // each execution is counted by itself
}

// newFrameCheck returns a check of frames of p.
func newFrameCheck(p *Process) *frameCheck {
	q := Query{Order: OrderStorage}
	c := &frameCheck{proc: p, reader: (&Profile{processes: []*Process{p}}).FrameReader(q),
		blocks: make([]blockCheck, len(p.blocks)), once: make([]Counts, len(p.blocks))}
	c.count = c.m.count
	return c
}

// frame decodes a frame and compares what it holds with what its header and its list of
// blocks say.
func (c *frameCheck) frame(ref *FrameRef) error {
	for _, id := range c.met {
		c.blocks[id].runs, c.blocks[id].odd = 0, 0
	}
	c.met, c.execs, c.max, c.m.sum = c.met[:0], 0, 0, Counts{}
	c.sums.reset()
	r := c.reader
	r.Frame(c.proc, ref)
	for r.NextStretch() {
		var err error
		if r.Stretch() != nil {
			err = c.stretch(r)
		} else {
			err = c.single(r.Exec())
		}
		if err != nil {
			return err
		}
	}
	if r.Err() != nil {
		return r.Err()
	}
	for _, id := range c.met {
		b := &c.blocks[id]
		c.m.sum.Add(c.once[id], b.runs-uint64(b.odd)) // of a dynamic block it is zero
	}
	switch h := &ref.FrameHeader; {
	case c.m.sum != h.Counts:
		return fmt.Errorf("header counts %+v, decoded %+v", h.Counts, c.m.sum)
	case c.execs != h.Execs:
		return fmt.Errorf("header says %d executions, decoded %d", h.Execs, c.execs)
	case c.max > h.MaxBlock:
		return fmt.Errorf("refers to block %d, header says at most %d", c.max, h.MaxBlock)
	}
	if err := r.cursors[0].atEnd(); err != nil {
		return err
	}
	if err := c.list(); err != nil {
		return err
	}
	return c.sums.compare(ref)
}

// stretch counts executions that follow one another.
func (c *frameCheck) stretch(r *Reader) error {
	words := r.Stretch()
	for i := 0; i < len(words); {
		id := uint32(words[i])
		b := &c.blocks[id]
		if b.runs == 0 || b.words == 0 {
			if err := c.meet(b, r.StretchExec(i)); err != nil {
				return err
			}
		}
		b.runs++
		if b.dynamic {
			x := r.StretchExec(i)
			c.sums.exec(x)
			if err := c.m.exec(x, c.count); err != nil {
				return err
			}
		}
		c.execs++
		i += int(b.words)
	}
	return nil
}

// meet notes a block that the frame has not executed before, or no frame as a whole, by
// one of its complete executions.
func (c *frameCheck) meet(b *blockCheck, x *Exec) error {
	c.note(b, x.Block.ID)
	if b.words != 0 {
		return nil
	}
	b.words, b.dynamic = uint16(x.Block.Words+1), x.Block.Dynamic
	if b.dynamic {
		return nil
	}
	m := memCounter{}
	err := m.exec(x, m.count)
	c.once[x.Block.ID] = m.sum
	return err
}

// note lists a block that the frame has not executed before.
func (c *frameCheck) note(b *blockCheck, id uint32) {
	if b.runs == 0 {
		c.met = append(c.met, id)
		c.max = max(c.max, id)
	}
}

// single counts an execution that came by itself, as cut and emulated ones do.
func (c *frameCheck) single(x *Exec) error {
	c.execs++
	if x.IsEmulated {
		c.max = max(c.max, x.Block.ID)
	} else {
		b := &c.blocks[x.Block.ID]
		c.note(b, x.Block.ID)
		b.runs++
		b.odd++
		c.sums.single(x)
	}
	return c.m.exec(x, c.count)
}

// list compares the frame's list of blocks with what was executed: counts by function rest
// on it where nothing is decoded.
func (c *frameCheck) list() (err error) {
	if c.listed, err = c.reader.cursors[0].touched(c.listed[:0]); err != nil {
		return err
	}
	for _, t := range c.listed {
		// A block that is listed twice fails the second time.
		if int(t.ID) >= len(c.blocks) || c.blocks[t.ID].runs != t.Execs {
			return fmt.Errorf("lists block %d with %d executions", t.ID, t.Execs)
		}
		c.blocks[t.ID].runs = 0
	}
	if i := slices.IndexFunc(c.met, func(id uint32) bool { return c.blocks[id].runs != 0 }); i >= 0 {
		return fmt.Errorf("does not list block %d", c.met[i])
	}
	return nil
}

// memCounter counts executions by expanding them, independently of the sums that
// are kept with the blocks.
type memCounter struct {
	sum Counts
}

// count adds one access.
func (m *memCounter) count(a *Mem) { m.sum.access(a.Store, 1, uint64(a.Size)) }

// maxString bounds the accesses of one string instruction that are expanded one
// by one: beyond, their number says as much.
const maxString = 1 << 16

// exec adds one execution.
//
// Long strings are taken from DynamicCounts after all: expanding a memset of a gigabyte
// byte by byte would make verifying slower than recording.
func (m *memCounter) exec(x *Exec, count func(*Mem)) error {
	for i := range x.Block.Ins[:x.Completed] {
		in := &x.Block.Ins[i]
		if !in.Retires() {
			continue
		}
		m.sum.Instructions++
		if in.Flags&InsMemory != 0 {
			m.sum.MemInstructions++
		}
	}
	if x.Block.Dynamic && !x.IsEmulated {
		var c Counts
		x.Block.DynamicCounts(x.Words, x.Completed, func(_ int, d Counts) { c.Add(d, 1) })
		if c.Loads+c.Stores > maxString {
			static, _ := x.Block.StaticCounts(x.Completed)
			c.Loads, c.Stores = c.Loads+static.Loads, c.Stores+static.Stores
			c.BytesRead, c.BytesWritten = c.BytesRead+static.BytesRead, c.BytesWritten+static.BytesWritten
			m.sum.Add(c, 1)
			return nil
		}
	}
	x.ForEachAccess(count)
	return nil
}
