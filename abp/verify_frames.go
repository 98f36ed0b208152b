package abp

import (
	"errors"
	"fmt"
)

// threads verifies each thread's frames: that they follow one another, and that
// each decodes to what its header says.
// Frames are decoded side by side, and what is wrong is reported in their order.
func (v *verifier) threads(p *Process) {
	var refs []*FrameRef
	for i := range p.threads {
		refs = append(refs, p.threads[i].Frames...)
	}
	wrong := make([]error, len(refs))
	// Errors are kept and not returned: one frame's damage must not hide another's.
	_ = EachFrame(len(refs), func() (func(int) error, func()) {
		c := newFrameCheck(p)
		return func(i int) error {
			if p.Lacks(refs[i]) {
				wrong[i] = ErrCutOff
			} else {
				wrong[i] = c.frame(refs[i])
			}
			v.passed(refs[i].File.sections[refs[i].Section].Length)
			return nil
		}, func() {}
	})
	single := len(p.files) == 1 && len(p.subs) > 1 || v.gaps // one of several was opened, or is left
	for i := range p.threads {
		var prev *FrameRef
		for _, ref := range p.threads[i].Frames {
			at := ref.File.sections[ref.Section].Offset
			if !single {
				v.follows(prev, ref, at)
			}
			prev = ref
			switch err := wrong[0]; {
			case errors.Is(err, ErrCutOff): // of the main file
				v.found(ref.File.path, at, true, "thread %d, frame %d refers to code that %s lacks", ref.Thread, ref.Seq, MainFile)
			case err != nil:
				v.found(ref.File.path, at, false, "thread %d, frame %d: %v", ref.Thread, ref.Seq, err)
			}
			wrong = wrong[1:]
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
	case ref.Chunk != want.Chunk && (prev == nil || ref.Chunk+1 != want.Chunk): // two may share the chunk between them
		v.found(ref.File.path, at, false, "thread %d, frame %d starts with chunk %d, not %d", ref.Thread, ref.Seq, ref.Chunk, want.Chunk)
	case prev != nil && ref.FirstTSC < prev.FirstTSC:
		v.found(ref.File.path, at, false, "thread %d, frame %d: time goes back", ref.Thread, ref.Seq)
	}
	if ref.LastTSC < ref.FirstTSC {
		v.found(ref.File.path, at, false, "thread %d, frame %d: time goes back within it", ref.Thread, ref.Seq)
	}
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

// sumsCheck adds up what a frame's FRAME_SUMS section should say.
type sumsCheck struct {
	dynamic map[DynamicSum]*Counts // by block and instruction, without counts
	cuts    map[CutSum]uint64      // by block and instructions, without executions
	listed  FrameSums
}

// reset forgets the frame before.
func (c *sumsCheck) reset() {
	if c.dynamic == nil {
		c.dynamic, c.cuts = map[DynamicSum]*Counts{}, map[CutSum]uint64{}
	}
	clear(c.dynamic)
	clear(c.cuts)
}

// exec adds an execution's dynamic accesses.
func (c *sumsCheck) exec(x *Exec) {
	x.Block.DynamicCounts(x.Words, x.Completed, func(ins int, n Counts) {
		if n == (Counts{}) {
			return
		}
		k := DynamicSum{Block: x.Block.ID, Ins: uint16(ins)}
		sum := c.dynamic[k]
		if sum == nil {
			sum = new(Counts)
			c.dynamic[k] = sum
		}
		sum.Add(n, 1)
	})
}

// single adds an execution that came by itself, which mostly is a cut one.
func (c *sumsCheck) single(x *Exec) {
	c.exec(x)
	if x.Completed == len(x.Block.Ins) {
		return
	}
	c.cuts[CutSum{Block: x.Block.ID, Completed: uint16(x.Completed)}]++
}

// compare compares the frame's section with what was added up. A frame without one is
// right: an older version, or too many rows.
func (c *sumsCheck) compare(ref *FrameRef) error {
	ok, err := ref.readSums(&c.listed)
	if !ok || err != nil {
		return err
	}
	if len(c.listed.Dynamic) != len(c.dynamic) || len(c.listed.Cuts) != len(c.cuts) {
		return fmt.Errorf("FRAME_SUMS lists %d and %d rows, not %d and %d", len(c.listed.Dynamic), len(c.listed.Cuts), len(c.dynamic), len(c.cuts))
	}
	for _, r := range c.listed.Dynamic {
		got := r.Counts
		r.Counts = Counts{}
		if want := c.dynamic[r]; want == nil || *want != got {
			return fmt.Errorf("FRAME_SUMS counts %+v for instruction %d of block %d, decoded %+v", got, r.Ins, r.Block, want)
		}
	}
	for _, r := range c.listed.Cuts {
		got := r.Execs
		r.Execs = 0
		if c.cuts[r] != got {
			return fmt.Errorf("FRAME_SUMS has %d executions of block %d cut behind %d instructions, decoded %d", got, r.Block, r.Completed, c.cuts[r])
		}
	}
	return nil
}
