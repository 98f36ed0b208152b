package engine

import (
	"errors"
	"fmt"

	"alleria/engine/release"
	"alleria/engine/tracee"
	"alleria/internal/sys"
)

// errTracesItself is why a program that asks to be traced by its parent, or
// wants to know whether it is, is detached.
var errTracesItself = errors.New("it traces itself")

// traceMe handles PTRACE_TRACEME: the kernel would refuse it, since the thread
// is traced by us. A child that shares the address space until it executes, as
// a debugger's does, is detached; for any other thread the whole program is. regs
// is the application's state at the system call.
func (t *Thread) traceMe(regs *sys.Regs) error {
	if !t.vfork {
		return t.p.tr.detachProcess(t, regs, errTracesItself)
	}
	if err := t.goNative(regs); err != nil {
		return err
	}
	t.p.tr.forget(t)
	return t.tracee.Detach(0)
}

// goNative gives a stopped thread the application's registers.
// The kernel's own idea of the thread (an interrupted call, say) stays as it is.
func (t *Thread) goNative(regs *sys.Regs) error {
	if !t.native {
		if err := t.calls.GiveRefused(); err != nil {
			return err
		}
	}
	r := *regs
	r.Gs_base = t.appGS
	return t.tracee.SetRegs(&r)
}

// detachProcess detaches the process for good: all threads run natively and untraced.
// t is stopped with the application's registers in regs; the others are stopped
// here. The memory that we share stays mapped: it is out of the way, and
// taking it away would be system calls in the program's name.
func (tr *Tracer) detachProcess(t *Thread, regs *sys.Regs, why error) error {
	p := t.p
	// the program gets its code back
	p.points.RemoveAll()
	for _, o := range p.running() {
		if o == t {
			continue
		}
		if err := o.bringHome(); err != nil {
			o.failed(err)
		}
	}
	tr.detachBorn(t)
	if err := t.goNative(regs); err != nil {
		return err
	}
	tr.stops.SendAllOf(p.pid)
	for _, o := range p.running() {
		o.endRing()
		if !o.vfork {
			p.client.ThreadEnded(o)
		}
		if o.tid != p.pid && o != t {
			o.tracee.Detach(o.tracee.First())
		}
	}
	p.release.Left()
	tr.client.Untraced(p.pid, why)
	tr.dropProcess(p)
	err := tr.detach(p.pid, 0, why)
	if t.tid != p.pid { // last: it may be about to trace the others
		t.tracee.Detach(t.tracee.First())
	}
	tr.lookWhetherDone()
	return err
}

// detachBorn detaches what was born of a process meanwhile and has not been adopted: it stands
// before its first instruction, and nobody would come for it any more. What its
// parent is does not matter but for gs, which threads seldom have of their own.
func (tr *Tracer) detachBorn(t *Thread) {
	p := t.p
	for _, s := range tr.stops.Collect() {
		_, follows := tr.followed.ProcessOf(s.TID)
		if s.Status.Stopped() && tr.threads[s.TID] == nil && !follows && !tr.births.Has(s.TID) && sys.BornOf(s.TID, p.pid) {
			tr.births.Expect(s.TID, told{parent: t})
		}
	}
	for tid, c := range tr.births.All() {
		k := c.Told
		if k.parent == nil && !sys.BornOf(tid, p.pid) || k.parent != nil && k.parent.p != p {
			continue
		}
		tr.births.Take(tid)
		if !c.Stands() {
			if s, err := tr.newThread(nil, tid).tracee.Wait(); err != nil || !s.Status.Stopped() {
				continue
			}
		}
		var regs sys.Regs
		if err := tr.stops.Bare(tid).GetRegs(&regs); err != nil {
			continue // it has ended
		}
		child := tr.newThread(p, tid)
		child.appGS, child.bornAt = t.applicationGS(&regs), k.after
		if c.Event == tracee.EventFork {
			p.failed(tr.adoptForked(child, &regs))
		} else {
			p.failed(tr.detachThread(child, &regs))
		}
	}
}

// bringHome stops a thread and gives it the application's registers.
func (t *Thread) bringHome() error {
	regs, err := t.tracee.Halt()
	if err != nil {
		return err
	}
	t.dropHit(regs)
	if t.native { // which may have changed it
		t.noteGS(regs)
	}
	var none tracee.Signal
	if err := t.toSafePoint(regs, &none); err != nil {
		return fmt.Errorf("leaving the cache: %w", err)
	}
	return t.goNative(regs)
}

// attached handles PTRACE_ATTACH and PTRACE_SEIZE: the kernel would refuse them for a thread that is traced by us, so
// that its process is detached first. A leak sanitizer does it to its own process, from a child that shares the memory.
func (tr *Tracer) attached(t *Thread, regs *sys.Regs, plain uint64) error {
	o := tr.threads[int(int32(regs.Rsi))]
	switch {
	case o == nil:
		return t.letCall(regs, plain)
	case o.p == t.p:
		return tr.detachProcess(t, regs, errTracesItself)
	}
	theirs, err := o.tracee.Halt()
	if err != nil {
		return err
	}
	var none tracee.Signal
	if err := o.toSafePoint(theirs, &none); err != nil {
		return err
	}
	if err := tr.detachProcess(o, theirs, errTracesItself); err != nil {
		return err
	}
	return t.letCall(regs, plain)
}

// LetRun says that nothing that the process does itself matters to the client any more:
// once all its threads run natively, it is detached, and followed if fate is Follow. The end of the user's own process is still waited
// for: it is the tracer's child.
//
// What stays is the memory that was shared, out of the way: taking it away would
// be system calls in the program's name.
func (p *Process) LetRun(fate Fate) { p.release.Want(fate != Detach) }

// releaseHost is a process as letting it go sees it.
type releaseHost struct{ p *Process }

// Quiet tells whether it runs natively and nothing of it is awaited.
func (h releaseHost) Quiet() bool {
	p := h.p
	first := p.threads[p.pid]
	return p.mode == ModeNative && first != nil && !first.tracee.Ending && !p.tr.awaits(p)
}

// Threads is its threads.
func (h releaseHost) Threads() (all []release.Thread) {
	for _, t := range h.p.running() {
		all = append(all, releasing{t})
	}
	return all
}

func (h releaseHost) TakeBack()                          { h.p.points.RemoveAll() }
func (h releaseHost) Drop()                              { h.p.tr.dropProcess(h.p) }
func (h releaseHost) Detach() error                      { return h.p.tr.detach(h.p.pid, 0, nil) }
func (h releaseHost) Failed(t release.Thread, err error) { t.(releasing).t.failed(err) }
func (h releaseHost) Fail(err error)                     { h.p.tr.fail(err) }

// releasing is a thread of it.
type releasing struct{ t *Thread }

// Simple tells whether it runs natively, with no child in its address space or about to be born, and no signal held.
func (r releasing) Simple() bool {
	t := r.t
	return !t.vfork && !t.vforking && !t.tracee.Ending && !t.modeDiffers() && !t.tracee.Stopped && !t.callStops && !t.tracee.Holds()
}

// Halt stops it. What comes first is a signal, or a probe that it has just hit.
func (r releasing) Halt() (still bool, err error) {
	_, err = r.t.tracee.Halt()
	return !r.t.tracee.Holds() && !r.t.tracee.GroupStopped, err
}

func (r releasing) GoOn() { r.t.failed(r.t.switchStopped()) }

// TakeBack takes it out of code of ours, and gs back.
func (r releasing) TakeBack() {
	t := r.t
	var none tracee.Signal
	var regs sys.Regs
	err := t.tracee.GetRegs(&regs)
	if err == nil {
		err = t.outOfJump(&regs, &none)
	}
	if err == nil && regs.Gs_base == t.slot.Base {
		regs.Gs_base = t.appGS
		err = t.tracee.SetRegs(&regs)
	}
	t.failed(err)
}

// Ended tells the client that it is gone.
func (r releasing) Ended() {
	r.t.endRing()
	r.t.p.client.ThreadEnded(r.t)
}

func (r releasing) First() bool   { return r.t.tid == r.t.p.pid }
func (r releasing) Follow() error { return r.t.p.tr.follow(r.t.tid, r.t.p.pid, 0) }
func (r releasing) Detach() error { return r.t.tracee.Detach(0) }

// awaits tells whether something of a process is still to be seen to: a child, a signal, a stop.
func (tr *Tracer) awaits(p *Process) bool {
	return tr.births.Any(func(k told) bool { return k.unknown() || k.by(p) }) || tr.stops.AwaitsSignal(p.pid) || tr.stops.AnyAside()
}
