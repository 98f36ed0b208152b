package engine

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"alleria/engine/births"
	"alleria/engine/followed"
	"alleria/engine/mapping"
	"alleria/engine/shm"
	"alleria/engine/syscalls"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// told is what a parent's event tells of its child, besides what it is.
type told struct {
	parent   *Thread          // that made it, in a code cache or natively
	follower int              // or the process that did, which is followed
	has      followed.Options // of a child of that
	hidden   *syscalls.Hidden
	after    uint64 // where it goes on, if the routine that begins calls again made the call
	num      int    // of a thread
	fate     Fate   // of a process
	asOf     int    // see inheritance
}

// by tells whether a process has made the child.
func (k told) by(p *Process) bool { return k.parent != nil && k.parent.p == p }

// unknown tells whether nobody knows who has.
func (k told) unknown() bool { return k.parent == nil && k.follower == 0 }

// born takes the event of a parent.
//
// The parent's stop is within its call: it goes on when the child has been seen to, or at
// once where that has not stopped yet.
func (tr *Tracer) born(parent *Thread, event int) error {
	id, err := parent.tracee.Message(event)
	if err != nil {
		return err
	}
	k := told{parent: parent, asOf: parent.p.changed}
	if parent.slot != nil {
		k.after = parent.slot.Get(layout.ReqArg) // now: the parent may ask for something else soon
	}
	var regs sys.Regs
	if err := parent.tracee.GetRegs(&regs); err != nil {
		return err
	}
	kind, err := parent.p.calls.BornAs(&regs, event)
	if err != nil {
		return err
	}
	if k.hidden, err = parent.calls.Unhide(); err != nil {
		return err
	}
	parent.p.bred = parent.p.bred || kind != tracee.EventClone
	if kind == tracee.EventClone {
		k.num = parent.p.nextNum() // a younger sister may stop first
		if err := parent.tracee.StopAtEnd(parent.stopsAtEnd()); err != nil {
			return err
		}
	} else if parent.fate != Detach {
		k.fate = tr.client.Born(parent.processID(), id)
	}
	if kind != tracee.EventClone {
		parent.p.watchCalls()
	}
	stands := tr.bornAs(id, kind, k)
	// The kernel keeps such a parent within its call until the child executes or
	// ends.
	parent.vforking = event == tracee.EventVfork
	if kind != tracee.EventClone && !parent.vfork {
		parent.p.client.Forked(parent, id)
	}
	if stands {
		if err := tr.adopt(id); err != nil {
			return err
		}
	}
	// What the handler has asked for, or that of the child, which may have begun meanwhile.
	if parent.modeDiffers() {
		parent.calls.AwaitReturn(true)
	}
	return parent.run(0)
}

// processID is the id of the process that a thread is of, which for one that only shares the address space is its own.
func (t *Thread) processID() int {
	if t.vfork {
		return t.tid
	}
	return t.p.pid
}

// bornAs notes what a parent's event says of a child. It tells whether that stands already, and is to be adopted.
func (tr *Tracer) bornAs(id, event int, k told) (stands bool) {
	switch tr.births.Tell(id, event, k, time.Now()) {
	case births.Stands:
		return true
	case births.Over:
		tr.endedUnseen(id, event, k, endOf(tr.births.TakeEnd(id)))
	}
	return false
}

// knows tells whether it is known whose a thread or process is.
func (tr *Tracer) knows(id int) bool {
	_, followed := tr.followed.ProcessOf(id)
	return followed || tr.threads[id] != nil || tr.births.Told(id)
}

// endedUnseen tells of the end of a process that was never seen; of a thread there is nothing to be told.
func (tr *Tracer) endedUnseen(pid, event int, k told, end End) {
	if event != tracee.EventClone && k.fate != Detach {
		tr.exited(pid, end)
	}
	tr.settled(pid)
	if k.parent != nil {
		tr.closeDropped(k.parent.p)
	}
}

// unknown takes a report about a process that is not one of the threads.
// One that ends before it could be adopted is only forgotten.
func (tr *Tracer) unknown(s sys.Stop) error {
	if s.Status.Exited() || s.Status.Signaled() {
		if c := tr.births.End(s, time.Now()); c.Event != 0 {
			tr.endedUnseen(s.TID, c.Event, c.Told, endOf(s))
		}
		return nil
	}
	if s.Event() == tracee.EventExit { // killed before its first instruction
		return tr.stops.Bare(s.TID).GoToEnd()
	}
	if tr.births.Stop(s.TID, time.Now()) {
		return tr.adopt(s.TID)
	}
	return nil
}

// adopt decides about a new thread or process that stands before its first
// instruction.
func (tr *Tracer) adopt(tid int) error {
	c := tr.births.Take(tid)
	defer tr.settled(tid)
	err := tr.adoptNew(tid, c.Event, c.Told)
	if err == nil || c.Event == tracee.EventClone {
		return err
	}
	return tr.notAdopted(tid, c.Event, c.Told.fate, err)
}

// notAdopted takes what has failed for a new process. That does not concern its creator: it is ended alone.
func (tr *Tracer) notAdopted(tid, event int, fate Fate, err error) error {
	if tracee.Passing(err) || sys.Dying(tid) {
		if fate != Detach && tr.threads[tid] == nil {
			tr.followed.Add(tid, tid) // whose end will come
		}
		return nil
	}
	if event != tracee.EventFork {
		return err
	}
	tr.fail(fmt.Errorf("process %d, which has just been created: %w; it was ended", tid, err))
	if tr.threads[tid] == nil {
		tr.followed.Add(tid, tid)
	}
	return sys.Kill(tid)
}

// adoptNew is adopt.
//
// The child stands behind the same system call as its parent, in the cache, with a copy of
// its registers: gs leads to the parent's slot until enter gives it its own.
func (tr *Tracer) adoptNew(tid, event int, k told) error {
	if k.follower != 0 {
		return tr.adoptFollowed(tid, event, k)
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
	switch event {
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
		tr.status.DetachedThreads++
		return tr.detachThread(t, &regs)
	} else if err != nil {
		return err
	}
	p.list = nil
	if !slices.Contains(tr.procs, p) { // it has ended meanwhile, but its code cache is needed again
		tr.procs = append(tr.procs[:len(tr.procs):len(tr.procs)], p)
	}
	if !t.vfork {
		if err := p.client.ThreadStarted(t); err != nil {
			return err
		}
	} else if t.fate == Detach {
		tr.status.Detached++
	}
	if err := t.afterClone(&regs); err != nil {
		return err
	}
	if !t.vfork {
		t.segmentChanged(&regs)
	}
	return t.enter(&regs, 0)
}

// detachThread lets a new thread run on untraced.
// It keeps its application's gs and runs its own code; the others go on as before.
func (tr *Tracer) detachThread(t *Thread, regs *sys.Regs) error {
	if !t.p.detachedThreads {
		t.p.detachedThreads = true
		t.p.unpatch()
	}
	t.borrowSlot()
	if err := t.giveAllBack(); err != nil { // who would hear of its faults
		return err
	}
	if err := t.afterClone(regs); err != nil {
		return err
	}
	regs.Gs_base = t.appGS
	if err := t.tracee.SetRegs(regs); err != nil {
		return err
	}
	return t.tracee.DetachHolding()
}

// unpatch takes everything of ours out of the process's code, where threads run into it that nobody traces, and has the others stay in the cache.
func (p *Process) unpatch() {
	p.KeepTranslated()
	thaw := p.freeze()
	defer thaw()
	p.points.RemoveAll()
}

// borrowSlot gives a thread that is detached another one's slot: state recovery looks at one, though a thread behind a system call
// has nothing there.
func (t *Thread) borrowSlot() {
	t.useSlot(t.p.shm.Slots[0])
	t.budget.Attach(t.slot, &t.p.translator.Budgets)
}

// afterClone turns the registers of a new thread, which stands behind the
// system call in the cache, into the application's.
func (t *Thread) afterClone(regs *sys.Regs) error {
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
	if !t.recoverState(regs, false) {
		return t.lost(regs)
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
		tr.status.Detached++
	}
	t.borrowSlot()
	if err := t.afterClone(regs); err != nil {
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
	t.tracee.PID = t.tid
	if t.fate == Detach {
		return t.tracee.DetachHolding()
	}
	tr.followed.Watch(t.tid)
	return t.follow(t.tid)
}

// errFiltered is why a process is not traced that was created behind a filter of system calls.
var errFiltered = errors.New("a filter of system calls may forbid those that tracing it needs")

// unmapFrom takes our mappings out of a forked child that stands at regs.
func (p *Process) unmapFrom(t *Thread, mem *sys.ProcessMemory, regs *sys.Regs) error {
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
		from.sequences = t.p.calls.HasSequences()
	}
	err := errFiltered
	var p *Process
	if !from.filtered {
		if t.p != nil && !t.p.dropped { // else nobody keeps what its creator had
			from.heir = t.p.takeHeir()
		}
		p, err = newProcess(tr, t.tid, from, mapping.Forked)
	}
	if err != nil {
		from.heir.close()
		syscalls.Narrow(t.tid, from.widened)
		if err := t.closed.Again(&t.tracee, regs); err != nil {
			return err
		}
		t.tracee.PID = t.tid
		sig, serr := t.tracee.ToDetach()
		if serr != nil {
			return serr
		}
		return tr.untraced(t.tid, sig, err)
	}
	child := p.threads[t.tid]
	child.appGS = t.appGS
	if err := tr.begin(p, child, regs); err != nil {
		return err
	}
	if t.p != nil && !t.p.dropped && p.mode != ModeNative {
		p.inherit(t.p, from.heir, child.due())
	}
	if err := t.closed.Again(&t.tracee, regs); err != nil {
		return err
	}
	child.tracee.HoldAll(&t.tracee)
	p.watchCalls()
	return child.enter(regs, 0)
}

// adoptFollowed decides about what a thread that is followed has brought forth.
func (tr *Tracer) adoptFollowed(tid, event int, k told) error {
	switch {
	case event == tracee.EventClone:
		return tr.followBorn(tid, k.follower, k)
	case k.fate == Detach:
		tr.status.Detached++
		tr.followed.Forsake(tid, k.follower, event == tracee.EventVfork)
		return tr.stops.Bare(tid).Detach(0)
	case k.fate == Trace && event == tracee.EventFork:
		var regs sys.Regs
		if err := tr.stops.Bare(tid).GetRegs(&regs); err != nil {
			return err
		}
		tr.followed.Forsake(tid, k.follower, false)
		t := tr.newThread(nil, tid)
		t.appGS = regs.Gs_base
		return tr.traceForked(t, &regs)
	}
	tr.followed.Inherit(tid, k.follower, event == tracee.EventVfork)
	return tr.followBorn(tid, tid, k)
}

// followBorn is follow for what a thread that is followed has brought forth.
func (tr *Tracer) followBorn(tid, pid int, k told) error {
	if tr.followed.Quitting() {
		if tid != pid { // a thread: its process is let go by itself
			return tr.stops.Bare(tid).Detach(0)
		}
		return tr.detach(pid, 0, nil)
	}
	return tr.followed.FollowBorn(tid, pid, k.follower, k.has)
}

// A process that is killed within fork has created a child, and its event is never reported (package followed says why): the
// child is seized with it, stops before its first instruction, and nobody says whose it is. The same happens to a thread
// that forks while another one of its process ends it or executes a program. Who is followed is asked for such children in front of its end, or known by where their stacks begin. Whose memory a child
// of a traced process has is known by what is mapped there. One that none of this tells of (its creator was followed, and its first thread had ended before) has no
// number, since there is nobody that it could be counted for, and runs untraced.

// remember keeps the memory of a process that may have created something that nobody has told of; false for any other.
func (tr *Tracer) remember(p *Process) bool {
	killed := p.end != nil && p.end.Signal == tracee.SIGKILL || p.lastNum > 1
	if !killed || tr.done || p.closed {
		return false
	}
	if !p.kept {
		p.kept = true
		tr.untold = time.Now().Add(untoldFor)
		tr.remembered.Keep(p, time.Now())
	}
	return true
}

// untoldFor is for how long after a process was killed its last child's first stop is awaited, at the end of a run: it is
// created by then, and has a processor to get first.
const untoldFor = 2 * time.Second

// strays sees to children whose creator is gone.
func (tr *Tracer) strays() {
	now := time.Now()
	ours := func(pid int) bool { return tr.followed.Follows(pid) || tr.threads[pid] != nil }
	for _, tid := range tr.births.Strays(now, ours, tr.orphaned) {
		tr.fail(tr.adoptStray(tid))
	}
	for id, c := range tr.births.Missed(now) {
		tr.endedUnseen(id, c.Event, c.Told, End{})
	}
	tr.remembered.Expire(now)
	tr.lookWhetherDone()
}

// orphaned tells whether a child has the memory of a program that is gone, so that nobody tells of it any more.
func (tr *Tracer) orphaned(pid int) bool {
	if !tr.remembered.Empty() {
		if p := tr.creatorOf(pid); p != nil {
			return p.dropped
		}
	}
	_, ok := tr.followed.Orphaned(pid)
	return ok
}

// adoptStray is adopt for a process that nobody will say anything of.
func (tr *Tracer) adoptStray(tid int) error {
	p := tr.creatorOf(tid)
	if creator, ok := tr.followed.Orphaned(tid); ok && p == nil {
		// Its creator cannot be asked for anything any more: what it has of breakpoints it has itself.
		k := told{follower: tid, fate: tr.client.Orphaned(creator, tid)}
		if err := tr.adoptFollowed(tid, tracee.EventFork, k); err != nil {
			return tr.notAdopted(tid, tracee.EventFork, k.fate, err)
		}
		return nil
	}
	if p == nil { // it was followed: nothing of ours is there
		tr.status.Detached++
		tr.followed.Forsake(tid, 0, false)
		if err := tr.stops.Bare(tid).Detach(0); !tracee.Passing(err) {
			return err
		}
		return nil
	}
	fate := p.client.Orphan(tid)
	if err := tr.adoptCopy(p, tid, fate); err != nil {
		return tr.notAdopted(tid, tracee.EventFork, fate, err)
	}
	return nil
}

// adoptCopy is adoptNew for a process that has a copy of p's memory, whose creator does not say how it was created.
func (tr *Tracer) adoptCopy(p *Process, tid int, fate Fate) error {
	var regs sys.Regs
	if err := tr.stops.Bare(tid).GetRegs(&regs); err != nil {
		return err
	}
	t := tr.newThread(p, tid)
	t.appGS, t.fate = regs.Gs_base, fate
	if gs := regs.Gs_base; gs >= p.shm.BellAt() && gs < p.shm.Control()+shm.SharedBytes { // its creator was in the cache
		t.appGS = 0
		for _, s := range p.shm.Slots {
			if s.Base == gs {
				t.bornAt = s.Get(layout.ReqArg)
			}
		}
	}
	return tr.adoptForked(t, &regs)
}

// creatorOf finds the process whose memory a forked child has a copy of, by what is mapped there; nil if it was not traced.
func (tr *Tracer) creatorOf(pid int) *Process {
	maps, err := sys.Maps(pid)
	if err != nil {
		return nil
	}
	known := make(map[uint64]*Process)
	for _, p := range tr.procs {
		known[sys.Inode(p.shm.File)] = p
	}
	for p := range tr.remembered.All() {
		known[sys.Inode(p.shm.File)] = p
	}
	for i := range maps {
		if p := known[maps[i].Inode]; p != nil && maps[i].Inode != 0 {
			return p
		}
	}
	return nil
}
