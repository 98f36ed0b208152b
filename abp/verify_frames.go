package abp

import (
	"fmt"
)

// threads verifies each thread's frames: that they follow one another, and that
// each decodes to what its header says.
func (v *verifier) threads(p *Process) {
	single := len(p.files) == 1 && len(p.subs) > 1 // one of several was opened
	for i := range p.threads {
		t := &p.threads[i]
		var prev *FrameRef
		for _, ref := range t.Frames {
			at := ref.File.sections[ref.Section].Offset
			if !single {
				v.follows(prev, ref, at)
			}
			prev = ref
			if err := v.frame(p, ref); err != nil {
				v.found(ref.File.path, at, false, "thread %d, frame %d: %v", ref.Thread, ref.Seq, err)
			}
		}
	}
}

// follows verifies that a thread's frame follows the one before.
// Only the first thing that is wrong is reported: the others follow from it.
func (v *verifier) follows(prev, ref *FrameRef, at uint64) {
	want := FrameHeader{}
	if prev != nil {
		want = prev.FrameHeader
		want.Seq++
		want.Ordinal += want.Counts.Instructions
		want.Chunk += uint64(want.Chunks)
	}
	switch {
	case ref.Seq > want.Seq:
		// Frames in between were open in another stream when the recorder ended.
		v.found(ref.File.path, at, !v.complete || v.cut, "thread %d: frames %d to %d are missing", ref.Thread, want.Seq, ref.Seq-1)
	case ref.Seq != want.Seq:
		v.found(ref.File.path, at, false, "thread %d: frame %d twice", ref.Thread, ref.Seq)
	case ref.Ordinal != want.Ordinal:
		v.found(ref.File.path, at, false, "thread %d, frame %d starts with instruction %d, not %d", ref.Thread, ref.Seq, ref.Ordinal, want.Ordinal)
	case ref.Chunk != want.Chunk:
		v.found(ref.File.path, at, false, "thread %d, frame %d starts with chunk %d, not %d", ref.Thread, ref.Seq, ref.Chunk, want.Chunk)
	case prev != nil && ref.FirstTSC < prev.FirstTSC:
		v.found(ref.File.path, at, false, "thread %d, frame %d: time goes back", ref.Thread, ref.Seq)
	}
	if ref.LastTSC < ref.FirstTSC {
		v.found(ref.File.path, at, false, "thread %d, frame %d: time goes back within it", ref.Thread, ref.Seq)
	}
}

// frame decodes a frame and counts again.
//
// It goes below Reader, to the words, because a Reader would skip what a query does not
// want and stop at the first error of a profile.
func (v *verifier) frame(p *Process, ref *FrameRef) error {
	c := v.cursor // kept for its decoder's tables
	c.procs, c.refs, c.next, c.err = append(c.procs[:0], p), append(c.refs[:0], ref), 0, nil
	c.left, c.words = 0, nil
	// Counted one by one, by expansion; the header's counts came from how often
	// blocks were executed. The two share no code.
	var sum Counts
	var execs uint64
	var maxBlock uint32
	var m memCounter
	count := m.count
	for {
		s := c.step()
		if s == stepEnd {
			break
		}
		if s != stepExec {
			continue
		}
		x := &c.x
		execs++
		maxBlock = max(maxBlock, x.Block.ID)
		if err := m.exec(x, count); err != nil {
			return err
		}
	}
	sum = m.sum
	switch h := &ref.FrameHeader; {
	case c.err != nil:
		return c.err
	case sum != h.Counts:
		return fmt.Errorf("header counts %+v, decoded %+v", h.Counts, sum)
	case execs != h.Execs:
		return fmt.Errorf("header says %d executions, decoded %d", h.Execs, execs)
	case maxBlock > h.MaxBlock:
		return fmt.Errorf("refers to block %d, header says at most %d", maxBlock, h.MaxBlock)
	}
	return c.atEnd()
}

// atEnd reports whether the decoder has nothing left where the header says that
// the frame ends.
// An execution that is cut short by its frame's end is an error of the decoder.
func (c *cursor) atEnd() error {
	if c.dec == nil || c.left != 0 {
		return nil
	}
	if words, err := c.dec.Next(); err == nil {
		return fmt.Errorf("%d words more than the header says", len(words))
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
