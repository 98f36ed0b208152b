package engine

import (
	"encoding/binary"
	"errors"
	"fmt"

	"alleria/internal/layout"
	"alleria/internal/sys"
)

// childKind is what is known of a process or thread that is being born: its
// parent's event and its own first stop come in either order.
type childKind struct {
	event  int
	parent *Thread
	seen   bool
	after  uint64 // where it goes on, if the routine that begins calls again made the call
	num    int    // of a thread
}

// born takes the event of a parent.
//
// The parent's stop is within its call: it goes on when the child has been seen to, or at
// once where that has not stopped yet.
func (tr *Tracer) born(parent *Thread, event int) error {
	id, err := sys.EventMsg(parent.tid)
	if err != nil {
		return err
	}
	// The child's own first stop may have come already.
	k := tr.children[int(id)]
	k.parent = parent
	if parent.slot != nil {
		k.after = parent.slot.get(layout.ReqArg) // now: the parent may ask for something else soon
	}
	if k.event, err = parent.bornAs(event); err != nil {
		return err
	}
	if k.event == eventClone {
		k.num = parent.p.nextNum() // a younger sister may stop first
	}
	tr.children[int(id)] = k
	// The kernel keeps such a parent within its call until the child executes or
	// ends.
	parent.vforking = event == eventVfork
	if k.event != eventClone && !parent.vfork {
		tr.watcher.Forked(parent, int(id))
		if tr.modeDiffers(parent) {
			tr.awaitReturn(parent, true)
		}
	}
	if k.seen {
		if err := tr.adopt(int(id), k); err != nil {
			return err
		}
	}
	return tr.resume(parent, 0)
}

// Flags of clone (include/uapi/linux/sched.h).
const (
	cloneVM     = 0x100
	cloneThread = 0x10000
)

// bornAs tells what a thread that is within a call of the clone family brings
// forth: eventClone for a thread, eventVfork for a process that shares the
// address space, eventFork for any other. The kernel's event tells them apart
// by other marks, such as the signal that the parent gets.
func (t *Thread) bornAs(event int) (int, error) {
	var regs sys.Regs
	if err := sys.GetRegs(t.tid, &regs); err != nil {
		return 0, err
	}
	var flags uint64
	switch regs.Orig_rax {
	case sysClone:
		flags = regs.Rdi
	case sysClone3:
		var b [8]byte
		if _, err := t.p.mem.ReadAt(b[:], int64(regs.Rdi)); err != nil {
			return 0, fmt.Errorf("arguments of clone3: %w", err)
		}
		flags = binary.LittleEndian.Uint64(b[:])
	default:
		return event, nil
	}
	switch {
	// CLONE_THREAD implies CLONE_VM: it has to be asked first.
	case flags&cloneThread != 0:
		return eventClone, nil
	case flags&cloneVM != 0:
		return eventVfork, nil
	}
	return eventFork, nil
}

// unknown takes a report about a process that is not one of the threads.
// One that ends before it could be adopted is only forgotten.
func (tr *Tracer) unknown(s sys.Stop) error {
	k, known := tr.children[s.TID]
	if s.Status.Exited() || s.Status.Signaled() {
		delete(tr.children, s.TID)
		return nil
	}
	if s.Event() == eventExit { // killed before its first instruction
		delete(tr.children, s.TID)
		return sys.Cont(s.TID, 0)
	}
	if known && k.event != 0 {
		return tr.adopt(s.TID, k)
	}
	k.seen = true
	tr.children[s.TID] = k
	return nil
}

// adopt decides about a new thread or process that stands before its first
// instruction.
//
// The child stands behind the same system call as its parent, in the cache, with a copy of
// its registers: gs leads to the parent's slot until enter gives it its own.
func (tr *Tracer) adopt(tid int, k childKind) error {
	delete(tr.children, tid)
	p := k.parent.p
	var regs sys.Regs
	if err := sys.GetRegs(tid, &regs); err != nil {
		return err
	}
	t := &Thread{p: p, tid: tid, num: k.num, stopped: true, appGS: k.parent.appGS, native: k.parent.native, bornAt: k.after}
	switch k.event {
	// a process of its own: it is no thread of ours
	case eventFork:
		return tr.letGo(t, &regs)
	// shares the address space: it needs a slot until it executes or ends
	case eventVfork:
		t.vfork = true
	}
	if err := p.addThread(t); errors.Is(err, errSlots) {
		return tr.letGoThread(t, &regs)
	} else if err != nil {
		return err
	}
	p.list = nil
	if !t.vfork {
		if err := tr.client.ThreadStarted(t); err != nil {
			return err
		}
	} else {
		p.letGo++
		tr.status.LetGo++
	}
	if err := tr.afterClone(t, &regs); err != nil {
		return err
	}
	if !t.vfork {
		tr.segmentChanged(t, &regs)
	}
	return tr.enter(t, &regs, 0)
}

// letGoThread lets a new thread run on untraced.
// It keeps its application's gs and runs its own code; the others go on as before.
func (tr *Tracer) letGoThread(t *Thread, regs *sys.Regs) error {
	tr.status.LetGoThreads++
	t.slot = t.p.slots[0] // clean looks at a slot; a thread behind a system call has nothing there
	if err := tr.afterClone(t, regs); err != nil {
		return err
	}
	regs.Gs_base = t.appGS
	if err := sys.SetRegs(t.tid, regs); err != nil {
		return err
	}
	return sys.Detach(t.tid, 0)
}

// afterClone turns the registers of a new thread, which stands behind the
// system call in the cache, into the application's.
func (tr *Tracer) afterClone(t *Thread, regs *sys.Regs) error {
	a := t.p.areaAt(regs.Rip)
	if a == nil {
		return nil
	}
	// A call that the kernel began again, since the parent was stopped within it, was
	// made by a routine: where that goes on stands in the parent's slot.
	if regs.Rip == a.base+a.rt.syscallAfter && t.bornAt != 0 {
		regs.Rip, regs.Rcx = t.bornAt, t.bornAt
		return nil
	}
	if !tr.clean(t, regs, false) {
		return tr.lost(t, regs)
	}
	return nil
}

// letGo cleans a forked child of everything of ours, before its first
// instruction, and lets it go.
//
// The child has our mappings as well, shared with its parent. They are
// unmapped, so that it
// finds its memory as a child of an untraced parent does, and writes into no ring.
func (tr *Tracer) letGo(t *Thread, regs *sys.Regs) error {
	tr.proc.letGo++
	tr.status.LetGo++
	p := t.p
	t.slot = p.slots[0] // clean looks at a slot; a child behind a system call has nothing there
	if err := tr.afterClone(t, regs); err != nil {
		return err
	}
	regs.Gs_base = t.appGS
	mem, err := openMem(t.tid)
	if err != nil {
		return err
	}
	defer mem.Close()
	// its memory is a copy, breakpoints included
	if err := p.restore(mem); err != nil {
		return fmt.Errorf("process %d: %w", t.tid, err)
	}
	if err := sys.SetRegs(t.tid, regs); err != nil {
		return err
	}
	if p.ctl.u32(layout.NoCalls).Load() != 0 { // its filter could kill it for the calls below
		return sys.Detach(t.tid, 0)
	}
	in, err := injectAt(t, mem, regs.Rip)
	if err != nil {
		return err
	}
	for _, a := range p.areas {
		if _, err := in.call(sysMunmap, a.base, uint64(a.size)); err != nil {
			return fmt.Errorf("unmapping the code cache of process %d: %w", t.tid, err)
		}
	}
	if _, err := in.call(sysMunmap, p.control(), sharedBytes); err != nil {
		return fmt.Errorf("unmapping the rings of process %d: %w", t.tid, err)
	}
	if err := p.unmapJumps(in); err != nil {
		return fmt.Errorf("process %d: %w", t.tid, err)
	}
	if err := in.close(); err != nil {
		return err
	}
	return sys.Detach(t.tid, 0)
}

// exec handles a thread that executed another program.
//
// The kernel has ended the other threads and unmapped everything of ours by then. Records
// that the old image wrote are still in the shared file, which is why its end is reported
// before the file is closed.
func (tr *Tracer) exec(t *Thread) error {
	p := t.p
	if t.vfork { // a child of ours by vfork: it leaves our address space and is let go
		tr.forget(t)
		return sys.Detach(t.tid, 0)
	}
	by := t
	// A thread that is not the first takes over the process's id with the first one's place.
	if former, err := sys.EventMsg(t.tid); err == nil && p.threads[int(former)] != nil {
		by = p.threads[int(former)]
	}
	if c := by.call; c != nil { // it does not return
		tr.watcher.CallReturned(by, c)
	}
	tr.watcher.Executing(by)
	tr.numbers = numbers{by.num, p.lastNum}
	// The other threads ended without being heard of by themselves.
	for _, o := range p.running() {
		o.abandonFrames()
		o.endRing()
		tr.client.ThreadEnded(o)
	}
	tr.client.Ended(p)
	tr.setControl(nil)
	p.close()
	tr.proc, tr.postponed = nil, nil
	if err := tr.started(t.tid); err != nil {
		return tr.untraced(t.tid, err)
	}
	return nil
}

// untraced lets a program that the target has executed and that cannot be
// traced run to its end.
// The exit status is still the target's; nothing is recorded any more.
func (tr *Tracer) untraced(pid int, why error) error {
	if p := tr.proc; p != nil {
		tr.client.Ended(p)
		tr.setControl(nil)
		p.close()
	}
	tr.proc, tr.later = nil, nil
	tr.status.Untraced, tr.done = why, true
	// Threads that were let go just before may end the process meanwhile: its end is still to come.
	if err := sys.Detach(pid, 0); err != nil && !sys.Gone(err) {
		return err
	}
	for s, ok := tr.report(); ok; s, ok = tr.report() {
		if s.TID == pid && (s.Status.Exited() || s.Status.Signaled()) {
			tr.endStatus(s)
			return nil
		}
		if s.TID == pid && s.Status.Stopped() {
			// It has made us, its parent, its tracer: signals are passed on.
			sig := s.Signal()
			if sig == sigTrap {
				sig = 0
			}
			if err := sys.Cont(pid, sig); err != nil && !sys.Gone(err) {
				return err
			}
		}
	}
	return nil
}

// segmentChanged notes the bases of fs and gs where records need them.
// It is asked wherever a thread's bases may have changed without translated code
// noticing: behind system calls, natively executed instructions, and native code.
func (tr *Tracer) segmentChanged(t *Thread, regs *sys.Regs) {
	if t.fsBase != regs.Fs_base || !t.fsKnown {
		t.fsBase, t.fsKnown = regs.Fs_base, true
		t.mark(layout.Mark(layout.MarkFS, 0), regs.Fs_base)
	}
	if t.gsNoted != t.appGS {
		t.gsNoted = t.appGS
		t.mark(layout.Mark(layout.MarkGS, 0), t.appGS)
	}
}
