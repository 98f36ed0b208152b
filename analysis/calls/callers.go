package calls

import "alleria/abp"

// Callers begins a burst with the functions that had not returned, so that what it does is below them. It is stream.Stacked's.
//
// A function that has jumped to another one is not on the stack any more, but for those that a call's instruction leads to by first instructions: stubs
// of linkers, which each call of another image goes by, are in the tree as where everything is recorded.
func (t *Tracker) Callers(s abp.Stack) {
	n := len(s.Frames)
	t.bursts.whole = s.Whole
	if n == 0 || len(t.frames) > 0 {
		return
	}
	for i := n - 1; i >= 0; i-- {
		f := &s.Frames[i]
		if i == n-1 {
			t.place(t.callerOf(f), 0, frame{})
		}
		fn := t.pl.at(s.PC)
		if i > 0 {
			fn = t.callerOf(&s.Frames[i-1])
		}
		if f.Interrupted {
			t.place(fn, 0, frame{tail: true, slot: f.Slot})
			continue
		}
		site := f.Site
		if site == 0 {
			site = t.pl.site(f.Ret)
		}
		called := frame{slot: f.Slot, ret: f.Ret}
		for _, addr := range f.Targets {
			if jumps := t.pl.at(addr); jumps != fn {
				t.place(jumps, site, called)
				site, called.tail, called.ret = 0, true, 0
			}
		}
		t.place(fn, site, called)
	}
	t.match = -1
}

// callerOf is the function that has made a call, or was interrupted. The return address may be another function's, where the call does not return.
func (t *Tracker) callerOf(f *abp.StackFrame) int32 {
	if f.Interrupted {
		return t.pl.at(f.Ret)
	}
	return t.pl.at(f.Ret - 1)
}

// place puts a function on the stack that was called before anything was recorded: it is not counted.
func (t *Tracker) place(fn int32, site uint64, f frame) {
	f.node, f.fn, f.match = t.nodes.child(t.top(), fn, site), fn, t.function(fn).match
	t.frames = append(t.frames, f)
}
