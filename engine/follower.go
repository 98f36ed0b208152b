package engine

import (
	"fmt"

	"alleria/engine/tracee"
	"alleria/internal/sys"
)

// follower is one thread of a process that is followed and not traced: it runs its own code, with nothing of ours
// mapped, and stops for what the kernel reports of processes and programs. There is nothing to
// be answered for it but whether what it creates or executes is to be traced.
type follower struct {
	pid  int
	free bool // it is not even followed: it is the user's own process, whose end is awaited
}

// follow lets a stopped thread run on, untraced but followed, with a signal.
func (tr *Tracer) follow(tid, pid int, sig sys.Signal) error {
	if tr.quitting {
		return tr.detach(pid, nil)
	}
	tr.others[tid] = &follower{pid: pid}
	return tr.stops.Bare(tid).Follow(sig)
}

// detach detaches a stopped process of one thread for good. The end of the user's own is still told: it is our child.
func (tr *Tracer) detach(pid int, why error) error {
	if pid == tr.root {
		tr.others[pid] = &follower{pid: pid, free: true}
		tr.status.Untraced = why
	} else {
		tr.client.Exited(pid, End{})
	}
	// Threads that were detached just before may end the process meanwhile.
	if err := tr.stops.Bare(pid).Detach(0); err != nil && !sys.Gone(err) {
		return err
	}
	return nil
}

// followerStop handles one report about a thread that is followed.
func (tr *Tracer) followerStop(f *follower, s sys.Stop) error {
	tid, bare := s.TID, tr.stops.Bare(s.TID)
	switch {
	case s.Status.Exited() || s.Status.Signaled():
		delete(tr.others, tid)
		if tid == f.pid {
			tr.exited(f.pid, endOf(s))
		}
		return nil
	case f.free: // it has made us, its parent, its tracer: signals are passed on
		sig := s.Signal()
		if sig == tracee.SIGTRAP {
			sig = 0
		}
		return bare.Cont(sig)
	case tr.quitting:
		sig := sys.Signal(0)
		if s.Event() == 0 {
			sig = s.Signal()
		}
		delete(tr.others, tid)
		if tid == f.pid {
			return tr.detachWith(tid, sig)
		}
		return bare.Detach(sig)
	}
	switch ev := s.Event(); ev {
	case tracee.EventFork, tracee.EventVfork, tracee.EventClone:
		return tr.bornFollowed(f, tid, ev)
	case tracee.EventExec:
		for id, o := range tr.others { // the others have ended, and say nothing of it
			if o.pid == f.pid {
				delete(tr.others, id)
			}
		}
		return tr.executed(f.pid, inherited{}, tr.client.Executed(f.pid))
	}
	return bare.PassOn(s)
}

// detachWith is detach with a signal that the process is about to take.
func (tr *Tracer) detachWith(pid int, sig sys.Signal) error {
	if pid == tr.root {
		tr.others[pid] = &follower{pid: pid, free: true}
	} else {
		tr.client.Exited(pid, End{})
	}
	return tr.stops.Bare(pid).Detach(sig)
}

// bornFollowed is born for a parent that is followed.
func (tr *Tracer) bornFollowed(f *follower, tid, event int) error {
	bare := tr.stops.Bare(tid)
	id, err := bare.Message()
	if err != nil {
		return err
	}
	k := tr.children[id]
	k.of, k.event = f, event
	group, err := sys.ThreadGroup(id)
	switch {
	case err != nil || group != id: // a thread, or something that has ended already
		k.event = tracee.EventClone
	case event != tracee.EventVfork && !sys.SharesMemory(id, f.pid):
		k.event = tracee.EventFork
	default:
		k.event = tracee.EventVfork
	}
	if k.event != tracee.EventClone {
		k.fate = tr.client.Born(f.pid, id)
	}
	tr.await(id, &k)
	if k.seen {
		if err := tr.adopt(id, k); err != nil {
			return err
		}
	}
	return bare.Cont(0)
}

// adoptFollowed decides about what a thread that is followed has brought forth.
func (tr *Tracer) adoptFollowed(tid int, k *childKind) error {
	switch {
	case k.event == tracee.EventClone:
		return tr.follow(tid, k.of.pid, 0)
	case k.fate == Detach:
		tr.status.Detached++
		return tr.stops.Bare(tid).Detach(0)
	case k.fate == Trace && k.event == tracee.EventFork:
		var regs sys.Regs
		if err := tr.stops.Bare(tid).GetRegs(&regs); err != nil {
			return err
		}
		t := tr.newThread(nil, tid)
		t.appGS = regs.Gs_base
		return tr.traceForked(t, &regs)
	}
	return tr.follow(tid, tid, 0)
}

// exited takes the end of a process that was followed.
func (tr *Tracer) exited(pid int, end End) {
	if pid == tr.root {
		tr.status.End, tr.over = end, true
	}
	tr.client.Exited(pid, end)
}

// endOf is how a process ended.
func endOf(s sys.Stop) End {
	e := End{Exited: s.Status.Exited(), Code: s.Status.ExitStatus()}
	if s.Status.Signaled() {
		e.Signal = s.Status.Signal()
	}
	if s.Usage != nil {
		e.Usage = *s.Usage
	}
	return e
}

// LetAllGo lets everything that is followed go as soon as it stops, which it is asked for, and follows nothing any more.
// Traced processes go on as they are: Process.LetRun.
func (tr *Tracer) LetAllGo() {
	if tr.quitting {
		return
	}
	tr.quitting = true
	for tid, f := range tr.others {
		if f.free {
			continue
		}
		if err := tr.stops.Bare(tid).Interrupt(); !tracee.Passing(err) {
			tr.fail(fmt.Errorf("letting process %d go: %w", f.pid, err))
		}
	}
}
