package engine

import (
	"errors"
	"fmt"
	"slices"

	"alleria/engine/detach"
	"alleria/engine/tracee"
	"alleria/internal/sys"
)

// errTracesItself is why a program that asks to be traced by its parent, or
// wants to know whether it is, is detached; errAttached why one is that another process asks for.
var (
	errTracesItself = errors.New("it traces itself")
	errAttached     = errors.New("another process traces it")
)

// traceMe handles PTRACE_TRACEME: the kernel would refuse it, since the thread
// is traced by us. A child that shares the address space until it executes, as
// a debugger's does, is detached; for any other thread the whole program is. regs
// is the application's state at the system call.
func (t *Thread) traceMe(regs *sys.Regs) error {
	if !t.vfork {
		t.asks = regs
		return t.p.detach(leaving{by: t, why: errTracesItself, then: func() error { return nil }})
	}
	if err := t.goNative(regs); err != nil {
		return err
	}
	t.p.tr.forgetChild(t, errTracesItself)
	return t.tracee.Detach(0)
}

// forgetChild forgets a child in its creator's memory that is about to be detached. What it does with SIGTRAP natively is not its creator's business, and code that notes it does not know
// who executes it.
func (tr *Tracer) forgetChild(t *Thread, why error) {
	t.p.dropNotes()
	tr.forget(t)
	if t.fate != Detach {
		tr.client.Untraced(t.tid, why)
		tr.client.Exited(t.tid, End{})
	}
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

// leaving is what a process is to be detached by.
type leaving struct {
	by   *Thread // who stands at a call that asks for it (Thread.asks), of whatever process; nil: one that is followed
	why  error
	then func() error // what follows
}

// detach has the process detached for good, since it traces itself or is traced by another one: all threads run natively and untraced.
// The memory that we share stays mapped: it is out of the way, and
// taking it away would be system calls in the program's name.
func (p *Process) detach(l leaving) error {
	p.leaving = append(p.leaving, l)
	return p.tryToLeave()
}

// tryToLeave detaches a process that is to be, unless one of its threads has something else to report: the others go on then, it is handled, and all
// is tried again, before anything else is done for the process. Who asked for it waits meanwhile.
//
// Refused: to have the thread that asked make its call once more; it would be counted twice.
func (p *Process) tryToLeave() error {
	tr := p.tr
	// who was killed, or in whose process another thread has executed a program, wants nothing any more
	p.leaving = slices.DeleteFunc(p.leaving, func(l leaving) bool { return l.by != nil && tr.threads[l.by.tid] != l.by })
	if len(p.leaving) == 0 || !p.halted() {
		return nil
	}
	all := p.leaving
	p.leaving = nil // nobody goes on sooner
	return errors.Join(tr.detachProcess(p, all[0].why), followUp(all))
}

// released goes on with what waits for the process to be detached: it is gone.
func (p *Process) released() error {
	all := p.leaving
	p.leaving = nil
	return followUp(all)
}

// followUp goes on with those who have waited.
func followUp(all []leaving) error {
	var errs []error
	for _, l := range all {
		errs = append(errs, l.then())
	}
	return errors.Join(errs...)
}

// halted stops all threads that do not stand at a call that asks for a process to be detached; false if one of them has something else to report, which
// comes first.
func (p *Process) halted() bool {
	var stood []*Thread
	goOn := func() {
		for _, s := range stood {
			s.failed(s.switchStopped())
		}
	}
	for _, o := range p.running() {
		if o.asks != nil {
			continue
		}
		switch _, err := o.tracee.Halt(); {
		case err == nil:
			stood = append(stood, o)
		case errors.Is(err, tracee.ErrBusy):
			goOn()
			return false
		default:
			o.failed(err)
		}
	}
	if p.tr.stops.Executed(p.pid) { // there is nothing to detach any more
		goOn()
		return false
	}
	return true
}

// detachProcess detaches a process whose threads stand. Those that ask for a process to be detached make their calls once more, untraced.
func (tr *Tracer) detachProcess(p *Process, why error) error {
	// the program gets its code back
	p.points.RemoveAll()
	for _, o := range p.running() {
		if err := o.bringHome(); err != nil {
			o.failed(err)
		}
	}
	born := tr.detachBorn(p)
	with := make(map[*Thread]sys.Signal) // while all stand and are known
	for _, o := range p.running() {
		sig, err := o.tracee.ToDetach()
		if with[o] = sig; !tracee.Passing(err) {
			o.failed(err)
		}
	}
	for _, o := range p.running() {
		o.endRing()
		if !o.vfork {
			p.client.ThreadEnded(o)
		}
	}
	p.detaching.Left()
	tr.client.Untraced(p.pid, why)
	var err error
	all := slices.SortedStableFunc(slices.Values(p.running()), byAsking)
	for _, o := range all {
		if o.vfork { // first: the process and its memory would be kept for it
			tr.forgetChild(o, why)
		}
	}
	tr.dropProcess(p)
	for _, o := range all {
		if o.tid == p.pid {
			err = tr.detach(p.pid, with[o], why)
		} else {
			o.tracee.Detach(with[o])
		}
	}
	for _, tid := range born { // no sooner: a thread of this process that waits for one would go on in the cache
		tr.settled(tid)
	}
	tr.lookWhetherDone()
	return err
}

// byAsking is the order in which threads are detached: from then on they run, and the kernel refuses to let them trace those that are not detached yet. Who
// asks for it comes last. Others may be about to: threads can trace children that share their memory, but not each other.
func byAsking(a, b *Thread) int {
	rank := func(t *Thread) int {
		switch {
		case t.asks != nil:
			return 2
		case t.vfork:
			return 0
		}
		return 1
	}
	return rank(a) - rank(b)
}

// detachBorn detaches what was born of a process meanwhile and has not been adopted: it stands
// before its first instruction, and nobody would come for it any more. What its
// parent is does not matter but for gs, which threads seldom have of their own.
// Who wanted to attach to one is still to go on (settled).
func (tr *Tracer) detachBorn(p *Process) (born []int) {
	t := p.running()[len(p.threads)-1] // the first
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
		born = append(born, tid)
		if !c.Stands() {
			if s, err := tr.newThread(nil, tid).tracee.Wait(); err != nil || !tr.stops.Handles(s) || !s.Status.Stopped() {
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
	return born
}

// bringHome gives a stopped thread the application's registers. One that stands at a call which asks for a process to be detached has them elsewhere already:
// where it stands, in the dispatch routine, say, it would wait for an answer.
func (t *Thread) bringHome() error {
	if t.asks != nil {
		return t.goNative(t.asks)
	}
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
func (tr *Tracer) attached(t *Thread, tid int, regs *sys.Regs, goOn func() error) error {
	t.asks = regs
	l := leaving{by: t, why: errAttached, then: func() error {
		if tr.threads[t.tid] != t { // it was killed meanwhile, or detached with its process and makes its call untraced
			return nil
		}
		t.asks = nil
		t.failed(goOn())
		return nil
	}}
	if o := tr.threads[tid]; o != nil && o.p == t.p {
		l.why = errTracesItself
	}
	return tr.letGo(tid, l)
}

// letGo has the process of a thread detached that another process attaches to.
func (tr *Tracer) letGo(tid int, l leaving) error {
	if o := tr.threads[tid]; o != nil {
		return o.p.detach(l)
	}
	if pid, ok := tr.followed.ProcessOf(tid); ok && tr.followed.Follows(tid) {
		tr.followed.Release(pid, l.why, l.then)
		return nil
	}
	if tr.births.Told(tid) { // it is detached as soon as it is one of the tracer's
		tr.attachers[tid] = append(tr.attachers[tid], l)
		return nil
	}
	return l.then()
}

// settled goes on with those that wanted to attach to a child that was being born. It is adopted by now, or gone.
func (tr *Tracer) settled(tid int) {
	waiting := tr.attachers[tid]
	delete(tr.attachers, tid)
	for _, l := range waiting {
		if err := tr.letGo(tid, l); !tracee.Passing(err) {
			tr.fail(err)
		}
	}
}

// LetRun says that nothing that the process does itself matters to the client any more:
// once all its threads run natively, it is detached, and followed if fate is Follow. The end of the user's own process is still waited
// for: it is the tracer's child.
//
// What stays is the memory that was shared, out of the way: taking it away would
// be system calls in the program's name.
func (p *Process) LetRun(fate Fate) { p.detaching.Want(fate != Detach) }

// detachHost is a process as detaching from it sees it.
type detachHost struct{ p *Process }

// Quiet tells whether it runs natively and nothing of it is awaited.
func (h detachHost) Quiet() bool {
	p := h.p
	first := p.threads[p.pid]
	return p.mode == ModeNative && first != nil && !first.tracee.Ending && !p.tr.awaits(p)
}

// Threads is its threads.
func (h detachHost) Threads() (all []detach.Thread) {
	for _, t := range h.p.running() {
		all = append(all, detaching{t})
	}
	return all
}

func (h detachHost) TakeBack()                         { h.p.points.RemoveAll() }
func (h detachHost) Drop()                             { h.p.tr.dropProcess(h.p) }
func (h detachHost) Failed(t detach.Thread, err error) { t.(detaching).t.failed(err) }
func (h detachHost) Fail(err error)                    { h.p.tr.fail(err) }

// detaching is a thread of it.
type detaching struct{ t *Thread }

// Simple tells whether it runs natively, with no child in its address space or about to be born, and no signal held.
func (r detaching) Simple() bool {
	t := r.t
	return !t.vfork && !t.vforking && !t.tracee.Ending && !t.modeDiffers() && !t.tracee.Stopped && !t.callStops && !t.tracee.Holds()
}

// Halt stops it. What comes first is a signal, or a probe that it has just hit.
func (r detaching) Halt() (still bool, err error) {
	_, err = r.t.tracee.Halt()
	return !r.t.tracee.Holds() && !r.t.tracee.GroupStopped, err
}

func (r detaching) GoOn() { r.t.failed(r.t.switchStopped()) }

// TakeBack takes it out of code of ours, and gs back.
func (r detaching) TakeBack() {
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
func (r detaching) Ended() {
	r.t.endRing()
	r.t.p.client.ThreadEnded(r.t)
}

func (r detaching) First() bool   { return r.t.tid == r.t.p.pid }
func (r detaching) Follow() error { return r.t.follow(r.t.p.pid) }

// Detach detaches it, and the process with its first.
func (r detaching) Detach() error {
	if !r.First() {
		return r.t.tracee.DetachHolding()
	}
	sig, err := r.t.tracee.ToDetach()
	if err != nil {
		return err
	}
	return r.t.p.tr.detach(r.t.p.pid, sig, nil)
}

// awaits tells whether something of a process is still to be seen to: a child, a signal, a stop.
func (tr *Tracer) awaits(p *Process) bool {
	return tr.births.Any(func(k told) bool { return k.unknown() || k.by(p) }) || tr.stops.AwaitsSignal(p.pid) || tr.stops.AnyAside()
}
