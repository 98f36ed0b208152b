package engine

import (
	"errors"
	"fmt"
	"os"
	"time"

	"alleria/engine/mapping"
	"alleria/engine/syscalls"

	"alleria/engine/shm"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// childKind is what is known of a process or thread that is being born: its
// parent's event and its own first stop come in either order.
type childKind struct {
	event  int
	parent *Thread   // that made it, in a code cache or natively
	of     *follower // or this one
	seen   bool
	since  time.Time // when it was seen, while the parent's event is awaited
	hidden *syscalls.Hidden
	after  uint64 // where it goes on, if the routine that begins calls again made the call
	num    int    // of a thread
	fate   Fate   // of a process
	asOf   int    // see inheritance
}

// known tells whether the parent's event has come.
func (k *childKind) known() bool { return k.event != 0 }

// born takes the event of a parent.
//
// The parent's stop is within its call: it goes on when the child has been seen to, or at
// once where that has not stopped yet.
func (tr *Tracer) born(parent *Thread, event int) error {
	id, err := parent.tracee.Message()
	if err != nil {
		return err
	}
	// The child's own first stop may have come already.
	k := tr.children[id]
	k.parent = parent
	if parent.slot != nil {
		k.after = parent.slot.Get(layout.ReqArg) // now: the parent may ask for something else soon
	}
	k.asOf = parent.p.changed
	var regs sys.Regs
	if err := parent.tracee.GetRegs(&regs); err != nil {
		return err
	}
	if k.event, err = parent.p.calls.BornAs(&regs, event); err != nil {
		return err
	}
	if k.hidden, err = parent.calls.Unhide(); err != nil {
		return err
	}
	if k.event == tracee.EventClone {
		k.num = parent.p.nextNum() // a younger sister may stop first
	} else if parent.fate != Detach {
		k.fate = tr.client.Born(parent.processID(), id)
	}
	tr.await(id, &k)
	// The kernel keeps such a parent within its call until the child executes or
	// ends.
	parent.vforking = event == tracee.EventVfork
	if k.event != tracee.EventClone && !parent.vfork {
		parent.p.client.Forked(parent, id)
	}
	if k.seen {
		if err := tr.adopt(id, k); err != nil {
			return err
		}
	}
	// What the handler has asked for, or that of the child, which may have begun meanwhile.
	if tr.modeDiffers(parent) {
		parent.calls.AwaitReturn(true)
	}
	return tr.resume(parent, 0)
}

// processID is the id of the process that a thread is of, which for one that only shares the address space is its own.
func (t *Thread) processID() int {
	if t.vfork {
		return t.tid
	}
	return t.p.pid
}

// unknown takes a report about a process that is not one of the threads.
// One that ends before it could be adopted is only forgotten.
func (tr *Tracer) unknown(s sys.Stop) error {
	k := tr.children[s.TID]
	if s.Status.Exited() || s.Status.Signaled() {
		delete(tr.children, s.TID)
		if k.event == tracee.EventFork || k.event == tracee.EventVfork {
			tr.endedUnseen(s.TID, &k, endOf(s))
		}
		return nil
	}
	if s.Event() == tracee.EventExit { // killed before its first instruction
		return tr.stops.Bare(s.TID).Cont(0)
	}
	if k.known() {
		return tr.adopt(s.TID, k)
	}
	k.seen, k.since = true, time.Now()
	tr.children[s.TID] = k
	return nil
}

// adopt decides about a new thread or process that stands before its first
// instruction. What fails for a new process does not concern its creator: it is ended alone.
func (tr *Tracer) adopt(tid int, k childKind) error {
	err := tr.adoptNew(tid, k)
	if err == nil || k.event == tracee.EventClone {
		return err
	}
	if tracee.Passing(err) || sys.Dying(tid) {
		if k.fate != Detach && tr.threads[tid] == nil {
			tr.others[tid] = &follower{pid: tid} // whose end will come
		}
		return nil
	}
	if k.event != tracee.EventFork {
		return err
	}
	tr.fail(fmt.Errorf("process %d, which has just been created: %w; it was ended", tid, err))
	if tr.threads[tid] == nil {
		tr.others[tid] = &follower{pid: tid}
	}
	return sys.Kill(tid)
}

// adoptNew is adopt.
//
// The child stands behind the same system call as its parent, in the cache, with a copy of
// its registers: gs leads to the parent's slot until enter gives it its own.
func (tr *Tracer) adoptNew(tid int, k childKind) error {
	delete(tr.children, tid)
	if k.of != nil {
		return tr.adoptFollowed(tid, &k)
	}
	p := k.parent.p
	defer tr.closeDropped(p)
	var regs sys.Regs
	if err := tr.stops.Bare(tid).GetRegs(&regs); err != nil {
		return err
	}
	k.hidden.Restore(&regs)
	t := tr.newThread(p, tid)
	t.num, t.appGS, t.native = k.num, k.parent.applicationGS(&regs), k.parent.native
	t.birth = birth{bornAt: k.after, fate: k.fate, flags: k.hidden, asOf: k.asOf}
	switch k.event {
	// a process of its own: it is no thread of ours
	case tracee.EventFork:
		return tr.adoptForked(t, &regs)
	// shares the address space: it needs a slot until it executes or ends
	case tracee.EventVfork:
		t.vfork = true
	default:
		t.fate = Trace
	}
	if err := p.addThread(t); errors.Is(err, shm.ErrSlots) {
		return tr.detachThread(t, &regs)
	} else if err != nil {
		return err
	}
	p.list = nil
	if !t.vfork {
		if err := p.client.ThreadStarted(t); err != nil {
			return err
		}
	} else if t.fate == Detach {
		tr.detached()
	}
	if err := tr.afterClone(t, &regs); err != nil {
		return err
	}
	if !t.vfork {
		tr.segmentChanged(t, &regs)
	}
	return tr.enter(t, &regs, 0)
}

// detached counts a process that is not followed.
func (tr *Tracer) detached() {
	tr.status.Detached++
}

// detachThread lets a new thread run on untraced.
// It keeps its application's gs and runs its own code; the others go on as before.
func (tr *Tracer) detachThread(t *Thread, regs *sys.Regs) error {
	tr.status.DetachedThreads++
	t.p.detachedThreads = true
	t.borrowSlot()
	if err := tr.afterClone(t, regs); err != nil {
		return err
	}
	regs.Gs_base = t.appGS
	if err := t.tracee.SetRegs(regs); err != nil {
		return err
	}
	return t.tracee.Detach(0)
}

// borrowSlot gives a thread that is detached another one's slot: state recovery looks at one, though a thread behind a system call
// has nothing there.
func (t *Thread) borrowSlot() {
	t.useSlot(t.p.shm.Slots[0])
	t.budget.Attach(t.slot, &t.p.translator.Budgets)
}

// afterClone turns the registers of a new thread, which stands behind the
// system call in the cache, into the application's.
func (tr *Tracer) afterClone(t *Thread, regs *sys.Regs) error {
	a := t.p.cache.RegionAt(regs.Rip)
	if a == nil {
		return nil
	}
	// A call that the kernel began again, since the parent was stopped within it, was
	// made by a routine: where that goes on stands in the parent's slot.
	if regs.Rip == a.Base+a.Routines.SyscallAfter && t.bornAt != 0 {
		regs.Rip, regs.Rcx = t.bornAt, t.bornAt
		return nil
	}
	if !tr.recoverState(t, regs, false) {
		return tr.lost(t, regs)
	}
	return nil
}

// applicationGS is the application's base of gs, of a thread or of one that has just been created with its registers:
// what is in gs, unless that leads to memory of ours.
func (t *Thread) applicationGS(regs *sys.Regs) uint64 {
	if gs := regs.Gs_base; gs < t.p.shm.BellAt() || gs >= t.p.shm.Control()+shm.SharedBytes {
		return gs
	}
	return t.appGS
}

// adoptForked sees to a process that one in a code cache has created, with a copy of its memory, before its first
// instruction: it is cleaned of everything of ours, and goes on as its fate says.
//
// The child has our mappings as well, shared with its parent. They are
// unmapped, so that it
// finds its memory as a child of an untraced parent does, and writes into no ring.
func (tr *Tracer) adoptForked(t *Thread, regs *sys.Regs) error {
	p := t.p
	if t.fate == Detach {
		tr.detached()
	}
	t.borrowSlot()
	if err := tr.afterClone(t, regs); err != nil {
		return err
	}
	regs.Gs_base = t.appGS
	limited := syscalls.Limited(t.tid, tr.filters)
	call := p.ownCall()
	if limited {
		call = 0
	}
	mem, closed, err := mapping.OpenForked(&t.tracee, call)
	if err != nil {
		return err
	}
	defer mem.Close()
	t.closed = closed
	if err := t.flags.WriteBack(mem); err != nil {
		return err
	}
	// its memory is a copy, breakpoints included
	if err := p.points.Restore(mem); err != nil {
		return fmt.Errorf("process %d: %w", t.tid, err)
	}
	if err := t.tracee.SetRegs(regs); err != nil {
		return err
	}
	filtered := !p.calls.May() || limited // its filter could kill it for the calls below
	if !filtered {
		if err := p.unmapFrom(t, mem, regs); err != nil {
			return err
		}
	}
	if t.fate == Trace {
		return tr.traceForked(t, regs)
	}
	syscalls.Narrow(t.tid, p.calls.Widened)
	if err := t.closed.Again(&t.tracee, regs); err != nil {
		return err
	}
	if t.fate == Detach {
		return t.tracee.Detach(t.tracee.First())
	}
	return tr.follow(t.tid, t.tid, t.tracee.First())
}

// errFiltered is why a process is not traced that was created behind a filter of system calls.
var errFiltered = errors.New("a filter of system calls may forbid those that tracing it needs")

// unmapFrom takes our mappings out of a forked child that stands at regs.
func (p *Process) unmapFrom(t *Thread, mem *os.File, regs *sys.Regs) error {
	ours := p.ourMappings()
	jumps, size := p.points.RegionBases()
	return ours.Unmap(&t.tracee, mem, regs, jumps, size)
}

// traceForked makes a forked child, clean and stopped at regs, a traced process. Where that is not possible it is
// followed.
func (tr *Tracer) traceForked(t *Thread, regs *sys.Regs) error {
	from := inherited{filtered: t.p != nil && t.p.calls.Filtered || syscalls.Limited(t.tid, tr.filters)}
	if t.p != nil {
		from.widened, from.creator, from.asOf = t.p.calls.Widened, t.p, t.asOf
	}
	err := errFiltered
	var p *Process
	if !from.filtered {
		from.heir = t.p.takeHeir()
		p, err = newProcess(tr, t.tid, from, mapping.Forked)
	}
	if err != nil {
		from.heir.close()
		syscalls.Narrow(t.tid, from.widened)
		if err := t.closed.Again(&t.tracee, regs); err != nil {
			return err
		}
		return tr.untraced(t.tid, err)
	}
	child := p.threads[t.tid]
	child.appGS = t.appGS
	if err := tr.begin(p, child, regs); err != nil {
		return err
	}
	if t.p != nil && p.mode != ModeNative {
		p.inherit(t.p, from.heir, child.due())
	}
	if err := t.closed.Again(&t.tracee, regs); err != nil {
		return err
	}
	child.tracee.Held = append(child.tracee.Held, t.tracee.Held...)
	return tr.enter(child, regs, 0)
}

// exec handles a thread that executed another program.
//
// The kernel has ended the other threads and unmapped everything of ours by then. Records
// that the old image wrote are still in the shared file, which is why its end is reported
// before the file is closed.
func (tr *Tracer) exec(t *Thread) error {
	p := t.p
	if t.vfork { // a child by vfork: it leaves the address space that it has shared
		fate := t.fate
		if fate != Detach {
			fate = tr.client.Executed(t.tid)
		}
		tr.forget(t)
		tr.finished(p)
		return tr.executed(t.tid, inherited{filtered: p.calls.Filtered, widened: p.calls.Widened}, fate)
	}
	by := t
	// A thread that is not the first takes over the process's id with the first one's place.
	if former, err := t.tracee.Message(); err == nil && p.threads[former] != nil {
		by = p.threads[former]
	}
	by.calls.Leaves()
	p.client.Executing(by)
	from := inherited{first: by.num, last: p.lastNum, filtered: p.calls.Filtered, widened: p.calls.Widened}
	// The other threads ended without being heard of by themselves. What shares the address space lives on.
	for _, o := range p.running() {
		if o.vfork {
			continue
		}
		p.points.AbandonReturns(o.slot)
		o.endRing()
		p.client.ThreadEnded(o)
	}
	tr.dropProcess(p)
	return tr.executed(t.tid, from, tr.client.Executed(t.tid))
}

// executed lets a process that stands before the first instruction of a program that it has executed go on as its fate
// says.
//
// One that is killed meanwhile is no error, and has to be known from here on: its end is still to come, and nobody else
// looks for it.
func (tr *Tracer) executed(pid int, from inherited, fate Fate) error {
	err := tr.beginExecuted(pid, from, fate)
	if err == nil || !tracee.Passing(err) && !sys.Dying(pid) {
		return err
	}
	if tr.threads[pid] == nil && tr.others[pid] == nil && fate != Detach {
		tr.others[pid] = &follower{pid: pid}
	}
	return nil
}

// beginExecuted is executed.
func (tr *Tracer) beginExecuted(pid int, from inherited, fate Fate) error {
	if fate != Trace {
		syscalls.Narrow(pid, from.widened)
	}
	switch fate {
	case Detach:
		return tr.detach(pid, nil)
	case Follow:
		return tr.follow(pid, pid, 0)
	}
	p, err := newProcess(tr, pid, from, mapping.Executing)
	if err != nil {
		syscalls.Narrow(pid, from.widened)
		return tr.untraced(pid, err)
	}
	t := p.threads[pid]
	var regs sys.Regs
	if err := t.tracee.GetRegs(&regs); err != nil {
		delete(tr.threads, pid) // no client knows of it
		p.close()
		return err
	}
	if err := tr.begin(p, t, &regs); err != nil {
		return err
	}
	if err := p.watchStart(regs.Rip); err != nil {
		return err
	}
	return tr.enter(t, &regs, 0)
}

// untraced lets a program that cannot be traced run to its
// end. It is followed; the exit status is still the target's.
func (tr *Tracer) untraced(pid int, why error) error {
	if !tracee.Passing(why) && !sys.Dying(pid) {
		if pid == tr.root {
			tr.status.Untraced = why
		}
		tr.client.Untraced(pid, why)
	}
	return tr.follow(pid, pid, 0)
}

// segmentChanged notes the bases of fs and gs where records need them.
// It is asked wherever a thread's bases may have changed without translated code
// noticing: behind system calls, natively executed instructions, and native code.
func (tr *Tracer) segmentChanged(t *Thread, regs *sys.Regs) {
	if t.fsBase != regs.Fs_base || !t.fsKnown {
		t.fsBase, t.fsKnown = regs.Fs_base, true
		t.mark(records.Mark(records.MarkFS, 0), regs.Fs_base)
	}
	if t.gsNoted != t.appGS {
		t.gsNoted = t.appGS
		t.mark(records.Mark(records.MarkGS, 0), t.appGS)
	}
}
