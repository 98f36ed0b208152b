package abp

import (
	"errors"
	"path/filepath"

	"alleria/abp/calls"
)

// tables verifies what the rows of a process's tables refer to.
// Rows as such were checked while they were loaded; here it is what they say of one
// another. A reference to 0 is none.
func (v *verifier) tables(p *Process) {
	path := p.main.path
	for id, b := range p.blocks {
		// Numbers are given out by the engine, and blocks that nothing executed are
		// not written.
		if b == nil {
			continue
		}
		if b.Image != 0 && p.Image(b.Image) == nil {
			v.found(path, 0, false, "block %d refers to image %d, which is not in the table", id, b.Image)
		}
		// Instructions follow one another without gaps: a block is straight code.
		end := uint16(0)
		for i := range b.Ins {
			in := &b.Ins[i]
			if in.Func != 0 && p.Function(in.Func) == nil {
				v.found(path, 0, false, "block %d refers to function %d, which is not in the table", id, in.Func)
			}
			if in.Off != end || in.Len == 0 || in.Len > 15 {
				v.found(path, 0, false, "block %d: instruction %d has %d bytes at %d, expected at %d", id, i, in.Len, in.Off, end)
			}
			// From where the instruction says that it is: one gap is one problem,
			// and not one of each instruction behind it.
			end = in.Off + uint16(in.Len)
		}
		if int(end) != len(b.Code) {
			v.found(path, 0, false, "block %d: instructions have %d bytes, the block %d", id, end, len(b.Code))
		}
	}
	for i := range p.functions {
		if f := &p.functions[i]; f.Image != 0 && p.Image(f.Image) == nil {
			v.found(path, 0, false, "function %d refers to image %d, which is not in the table", f.Number, f.Image)
		}
	}
	// Rows of windows are optional: a profile may record without naming any.
	i := 0
	err := p.EachWindowEvent(func(e *WindowEvent) error {
		known := len(p.defs) == 0
		for k := range p.defs {
			known = known || p.defs[k].Index == e.Window
		}
		if !known {
			v.found(path, 0, false, "window event %d refers to window %d, which is not in the table", i, e.Window)
		}
		i++
		return nil
	})
	if err != nil {
		v.found(path, 0, false, "window events: %v", err)
	}
	v.snapshots(p)
	v.ends(p)
}

// snapshots verifies that regions make sense, and those of a whole snapshot together.
func (v *verifier) snapshots(p *Process) {
	for i := range p.snapshots {
		s := &p.snapshots[i]
		end := uint64(0)
		for k := range s.Regions {
			r := &s.Regions[k]
			switch {
			case r.Start >= r.End:
				v.found(p.main.path, 0, false, "snapshot %d of the address space: region %d ends at %#x, where it begins or before (%#x)", i, k, r.End, r.Start)
			case !s.Change && r.Start < end:
				v.found(p.main.path, 0, false, "snapshot %d of the address space: region %d begins at %#x, within the one before", i, k, r.Start)
			}
			end = r.End
		}
	}
}

// ends verifies that END sections say what the frames add up to, and that the
// index of frames is the frames.
// A file that was cut off has no END, and nothing to compare.
func (v *verifier) ends(p *Process) {
	for _, f := range p.files {
		var sum Counts
		for i := range f.frames {
			sum.Add(f.frames[i].Counts, 1)
		}
		// The main profile's END is of all its streams, which is compared below.
		if f.end != nil && f.header.Type == TypeSub && f.end.Counts != sum {
			v.found(f.path, 0, false, "END says %+v, the frames add up to %+v", f.end.Counts, sum)
		}
		v.frameIndex(f)
	}
	// The process's totals can only be compared when all of its files are open,
	// rather than one of them by itself.
	all := len(p.files) > 0 && p.files[0] != p.main
	for _, s := range p.subs {
		all = all && p.sub(s.Number) != nil
	}
	if p.main.end != nil && all && len(p.subs) == len(p.files) && p.main.end.Counts != p.Counts() {
		v.found(p.main.path, 0, false, "END says %+v, all frames add up to %+v", p.main.end.Counts, p.Counts())
	}
}

// sub returns the open sub-profile of that number, nil if it is not open.
func (p *Process) sub(number uint32) *File {
	for _, f := range p.files {
		if f.header.Stream == number && f.header.Type == TypeSub {
			return f
		}
	}
	return nil
}

// frameIndex compares the headers that were read from the index with the frames.
func (v *verifier) frameIndex(f *File) {
	head := make([]byte, FrameHeaderSize)
	for i := range f.frames {
		s := &f.sections[f.frames[i].Section]
		var h FrameHeader
		// The header again, from where the frame lies: the index is a copy of it.
		err := f.readAt(head[:min(s.Length, FrameHeaderSize)], s.Payload())
		if err == nil {
			_, err = h.decode(head)
		}
		if err != nil || h != f.frames[i].FrameHeader {
			v.found(f.path, s.Offset, false, "frame is not as the index says")
		}
	}
}

// calls reads the captured calls: every record can be decoded, and the values of every call as its signature says.
func (v *verifier) calls(p *Process) {
	c, err := p.Calls()
	if err != nil {
		v.found(filepath.Join(filepath.Dir(p.main.path), InterceptorsFile), 0, errors.Is(err, ErrCutOff), "%v", err)
		return
	}
	if c == nil {
		return
	}
	defer func() { _ = c.Close() }() // read only
	bad := 0
	report := func(call *calls.Call, err error) {
		if bad++; err != nil && bad <= 10 {
			v.found(c.file.path, 0, false, "call %d of thread %d: %v", call.Number, call.Thread, err)
		}
	}
	err = c.Each(CallHandler{Ended: func(call *calls.Call) error {
		if _, err := call.In(c.Table); err != nil {
			report(call, err)
		}
		if _, err := call.Out(c.Table); err != nil {
			report(call, err)
		}
		return nil
	}})
	if err != nil {
		v.found(c.file.path, 0, false, "%v", err)
	}
}
