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
	case ref.Chunk != want.Chunk:
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
