package followed

import (
	"slices"

	"alleria/engine/asking"
	"alleria/engine/tracee"
	"alleria/internal/sys"
)

// What is followed and calls ptrace, or clone with a flag that hides what is created: breakpoints where its code does (package asking), put there when it creates a process, since who has created none has mostly nobody to
// trace, and there is no stop at which its libraries are mapped. Who asks to be traced, or is attached to, is detached first. The flag is taken out.

// leaving is a process that is detached, as soon as its threads stop.
type leaving struct {
	why  error
	then []func() error // those who wait for it
}

// watchFor is Watch for a process that has created another one, whose copy of the memory has no new ones.
func (f *Threads) watchFor(pid, child int) {
	before := f.sets[pid].Len()
	if f.Watch(pid); f.sets[pid].Len() != before {
		f.late[child] = true
	}
}

// Watch puts breakpoints into the memory of a process that is followed, where it calls ptrace.
func (f *Threads) Watch(pid int) {
	if s := f.sets[pid]; s != nil && s.Over() {
		return
	}
	f.place(pid, f.sites(pid))
}

// sites is where a process calls ptrace, and creates what nobody might hear of.
func (f *Threads) sites(pid int) []asking.Site {
	return slices.DeleteFunc(slices.Clone(f.host.CallSites(pid)), func(s asking.Site) bool { return !s.ForFollowed() })
}

func (f *Threads) place(pid int, sites []asking.Site) {
	if len(sites) == 0 {
		return
	}
	s := f.sets[pid]
	if s == nil {
		s = new(asking.Set)
		f.sets[pid] = s
	}
	if len(sites) == s.Len() {
		return
	}
	if mem, err := f.host.Memory(pid); err == nil {
		s.Place(mem, sites)
		mem.Close()
	}
}

// Inherit says that a process that is about to be followed has the memory of one that is, or a copy.
func (f *Threads) Inherit(child, creator int, shares bool) {
	s := f.sets[creator]
	defer delete(f.late, child)
	switch {
	case shares && s != nil:
		f.sets[child] = s
	case shares:
	case s != nil && (s.Over() || s.Len() > 0):
		// Another thread's event may have come between the copy and its own.
		whole := !f.late[child] && !f.threads[creator].several
		if f.sets[child] = s.Copy(whole); !whole {
			f.place(child, s.Sites())
		}
	default:
		f.Watch(child)
	}
}

// Forsake takes the breakpoints out of the memory of a process that is not to be followed, which is a creator's that is followed, or a copy.
func (f *Threads) Forsake(child, creator int, shares bool) {
	s := f.sets[creator]
	var sites []asking.Site
	if s == nil {
		sites = f.sites(child)
	} else {
		sites = s.Sites()
	}
	if len(sites) == 0 {
		return
	}
	mem, err := f.host.Memory(child)
	if err != nil {
		return
	}
	defer mem.Close()
	if shares && s != nil {
		s.Remove(mem)
		return
	}
	asking.Restore(mem, sites)
}

// remove takes the breakpoints out of a process's memory. Of one that others share, who are followed, they are put back when those create another process.
func (f *Threads) remove(pid int) {
	s := f.sets[pid]
	if s == nil || s.Len() == 0 {
		return
	}
	if mem, err := f.host.Memory(pid); err == nil {
		s.Remove(mem)
		mem.Close()
	}
}

// hit takes a thread that has run into a breakpoint past it, without letting it go on; site is nil if it was none of ours.
func (f *Threads) hit(bare *tracee.Thread, s sys.Stop, pid int) (site *asking.Site, regs sys.Regs, err error) {
	set := f.sets[pid]
	if set == nil || s.Event() != 0 || s.Signal() != tracee.SIGTRAP || !bare.HitBreakpoint() {
		return nil, regs, nil
	}
	if err := bare.GetRegs(&regs); err != nil {
		return nil, regs, err
	}
	site, enough := set.Hit(&regs)
	if site == nil {
		return nil, regs, nil
	}
	before := regs
	before.Rip = site.At
	mem, err := f.host.Memory(pid)
	if err != nil {
		return nil, regs, err
	}
	defer mem.Close()
	if enough {
		set.Remove(mem)
	}
	after := before
	site.TakeFlag(&after)
	if err := site.Execute(&after, mem); err != nil {
		return nil, regs, err
	}
	return site, before, bare.SetRegs(&after)
}

// asked does what a thread needs that is about to ask for something behind a site: regs are those in front of it.
func (f *Threads) asked(bare *tracee.Thread, t thread, site *asking.Site, regs *sys.Regs) error {
	what, tid, ok := site.Request(regs)
	switch {
	case !ok:
	case what == asking.TraceMe:
		f.Release(t.pid, f.host.TracesItself(), nil)
		return f.leave(bare, 0)
	case what == asking.Attach || what == asking.Seize:
		if f.threads[tid].pid == t.pid { // the kernel refuses it
			break
		}
		return f.host.Attached(tid, func() error {
			if !f.Follows(bare.TID) { // it was killed meanwhile, or detached itself
				return nil
			}
			return bare.Cont(0)
		})
	}
	return bare.Cont(0)
}

// Release lets a process go that is followed, for a reason, as soon as its threads stop, which they are asked for. Then comes what follows.
func (f *Threads) Release(pid int, why error, then func() error) {
	l := f.leaving[pid]
	if l == nil {
		l = &leaving{why: why}
		f.leaving[pid] = l
		f.remove(pid)
		for tid, t := range f.threads {
			if t.pid == pid && !t.free {
				_ = f.stops.Bare(tid).Interrupt() // who cannot be asked is ending
			}
		}
	}
	if then != nil {
		l.then = append(l.then, then)
	}
}

// leave detaches a stopped thread of a process that is detached, with a signal.
func (f *Threads) leave(bare *tracee.Thread, sig sys.Signal) error {
	t := f.threads[bare.TID]
	l := f.leaving[t.pid]
	delete(f.threads, bare.TID)
	var err error
	if bare.TID == t.pid {
		err = f.host.Released(t.pid, sig, l.why)
	} else {
		err = bare.Detach(sig)
	}
	if lerr := f.left(t.pid); err == nil {
		err = lerr
	}
	return err
}

// left goes on with what waits for a process that is detached, once nothing of it is left.
func (f *Threads) left(pid int) error {
	l := f.leaving[pid]
	if l == nil {
		return nil
	}
	for _, t := range f.threads {
		if t.pid == pid && !t.free && !t.ending {
			return nil
		}
	}
	delete(f.leaving, pid)
	delete(f.sets, pid)
	var first error
	for _, then := range l.then {
		if err := then(); first == nil && !tracee.Passing(err) {
			first = err
		}
	}
	return first
}
