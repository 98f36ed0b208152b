package engine

import (
	"errors"
	"fmt"
	"slices"

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
	p.gone = true
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
func (p *Process) LetRun(fate Fate) { p.leaving, p.fate = !p.tr.opts.NoDetach, fate }

// detachRunning detaches the process, if its threads are where that is simple: all in native
// code, no child about to be born or in the address space. Else it is tried again.
func (tr *Tracer) detachRunning(p *Process) {
	if !p.mayDetach() {
		return
	}
	stood, ok := p.haltAll()
	if !ok {
		for _, t := range stood {
			t.failed(t.switchStopped())
		}
		return
	}
	p.removeOurs()
	for _, t := range p.running() {
		t.endRing()
		p.client.ThreadEnded(t)
	}
	threads := slices.Clone(p.running())
	p.gone = true
	tr.dropProcess(p)
	for _, t := range threads {
		var err error
		switch {
		case p.fate != Detach:
			err = tr.follow(t.tid, p.pid, 0)
		case t.tid != p.pid:
			err = t.tracee.Detach(0)
		}
		if !tracee.Passing(err) {
			tr.fail(err)
		}
	}
	if p.fate == Detach {
		if err := tr.detach(p.pid, 0, nil); err != nil {
			tr.fail(err)
		}
	}
	tr.lookWhetherDone()
}

// mayDetach tells whether all threads of a process run where detaching them is simple, and nothing of it is under way.
func (p *Process) mayDetach() bool {
	first := p.threads[p.pid]
	if p.mode != ModeNative || first == nil || first.tracee.Ending || p.tr.awaits(p) {
		return false
	}
	for _, t := range p.running() {
		if t.vfork || t.vforking || t.tracee.Ending || t.modeDiffers() || t.tracee.Stopped || t.callStops || t.tracee.Holds() {
			return false
		}
	}
	return true
}

// removeOurs takes what is ours out of the code and the registers of a process whose threads are stopped in native code.
func (p *Process) removeOurs() {
	p.points.RemoveAll()
	for _, t := range p.running() {
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
}

// awaits tells whether something of a process is still to be seen to: a child, a signal, a stop.
func (tr *Tracer) awaits(p *Process) bool {
	return tr.births.Any(func(k told) bool { return k.unknown() || k.by(p) }) || tr.stops.AwaitsSignal(p.pid) || tr.stops.AnyAside()
}

// haltAll stops all threads, which run natively. ok is false if one of them has
// something else to report, which comes first.
func (p *Process) haltAll() (stood []*Thread, ok bool) {
	for _, t := range p.running() {
		if _, err := t.tracee.Halt(); err != nil {
			t.failed(err)
			return stood, false
		}
		stood = append(stood, t)
		if t.tracee.Holds() || t.tracee.GroupStopped { // a signal, or a probe that it has just hit
			return stood, false
		}
	}
	return stood, true
}
