package engine

import (
	"fmt"

	"alleria/internal/sys"
)

// They are in the upper bits of a stop's status.
//
// ptrace events (include/uapi/linux/ptrace.h).
const (
	eventFork      = 1
	eventVfork     = 2
	eventClone     = 3
	eventExec      = 4
	eventVforkDone = 5
	eventExit      = 6
	eventStop      = 128
)

const (
	sigIll  = 4
	sigTrap = 5
	sigBus  = 7
	sigKill = 9
	sigFPE  = 8
	sigStop = 19
	sigTstp = 20
	sigTtin = 21
	sigTtou = 22
	sigSegv = 11
)

// stop handles one report of the kernel.
//
// Errors end up in threadError: a thread that cannot be brought on would hang the target.
func (tr *Tracer) stop(s sys.Stop) {
	if f := tr.others[s.TID]; f != nil {
		if err := tr.followerStop(f, s); !passing(err) && !sys.Dying(s.TID) {
			tr.fail(fmt.Errorf("process %d: %w", f.pid, err))
		}
		tr.lookWhetherDone()
		return
	}
	t := tr.threads[s.TID]
	if t == nil {
		tr.processError(nil, tr.unknown(s))
		tr.lookWhetherDone()
		return
	}
	p := t.p
	if s.Status.Exited() || s.Status.Signaled() {
		tr.ended(t, s)
		tr.lookWhetherDone()
		return
	}
	t.stopped = true
	p.stats.Stops++
	tr.sync(t)
	err := t.unshelter()
	if err != nil {
		tr.threadError(t, err)
		return
	}
	switch ev := s.Event(); ev {
	case 0:
		if s.Signal() == sigCall && !t.callStops { // it was sheltered until then
			err = tr.resume(t, 0)
		} else if s.Signal() == sigCall {
			err = tr.callStop(t)
		} else {
			err = tr.signal(t, s.Signal())
		}
	case eventExec:
		err = tr.exec(t)
	case eventFork, eventVfork, eventClone:
		err = tr.born(t, ev)
	case eventExit:
		err = tr.endingStop(t)
	case eventStop:
		err = tr.groupStop(t, s)
	case eventVforkDone:
		t.vforking = false
		if tr.modeDiffers(t) && !t.toReturn {
			err = tr.switchStopped(t)
			break
		}
		err = tr.resume(t, 0)
	}
	tr.threadError(t, err)
}

// groupStop leaves a thread in a stop that job control asked for; other stops of
// the kind are the tracer's own and over.
// The difference is in the signal: SIGTRAP for PTRACE_INTERRUPT's own stop, the
// stopping signal for job control's (ptrace(2), group-stop).
func (tr *Tracer) groupStop(t *Thread, s sys.Stop) error {
	switch s.Signal() {
	case sigStop, sigTstp, sigTtin, sigTtou:
		t.groupStopped = true
		return tr.resume(t, 0)
	}
	if t.faultWaits() { // the signal's own stop comes next
		return tr.resume(t, 0)
	}
	// It was to be stopped for that, and something else came first; or it was, and is about to
	// make a system call by now, behind which callStop takes it over.
	if tr.modeDiffers(t) && !t.toReturn {
		return tr.switchStopped(t)
	}
	return tr.resume(t, 0)
}

// lookWhetherDone ends the run with the last process that is traced or followed.
func (tr *Tracer) lookWhetherDone() {
	tr.done = tr.done || tr.over && len(tr.procs) == 0 && len(tr.others) == 0 && len(tr.children) == 0
}

// ended takes the end of a thread.
// The first thread may end before others: the process's status comes with its
// leader's.
func (tr *Tracer) ended(t *Thread, s sys.Stop) {
	tr.forget(t)
	switch {
	case t.vfork && t.fate != Detach:
		tr.exited(t.tid, endOf(s))
	case !t.vfork && t.tid == t.p.pid:
		end := endOf(s)
		t.p.end = &end
	}
	tr.finished(t.p)
}

// finished takes the end of a process when nothing of it is left but children that share its address space.
func (tr *Tracer) finished(p *Process) {
	for _, t := range p.threads {
		if !t.vfork {
			return
		}
	}
	tr.dropProcess(p)
	if end := p.end; end != nil {
		p.end = nil
		tr.exited(p.pid, *end)
	}
}

// forget removes a thread that is no more.
// Its ring is drained by then, so that the slot may be given to the next thread.
func (tr *Tracer) forget(t *Thread) {
	p := t.p
	tr.ending(t)
	delete(p.threads, t.tid)
	delete(tr.threads, t.tid)
	p.list = nil
	tr.forgetPostponed(t)
	if !t.vfork {
		t.p.points.AbandonReturns(t.slot)
		t.endRing()
		t.p.client.ThreadEnded(t)
	}
	p.shm.GiveBack(t.slot)
}

// resume lets a stopped thread run on from where it is, or, if job control
// stopped it, once that lets it.
// PTRACE_LISTEN leaves it stopped: SIGCONT is then reported as a stop of its own.
func (tr *Tracer) resume(t *Thread, sig sys.Signal) error {
	t.stopped = false
	if t.groupStopped {
		t.groupStopped = false
		if sys.Listen(t.tid) == nil {
			return nil
		}
	}
	if err := t.setOptions(); err != nil {
		return err
	}
	t.callStops = t.native && t.p.wantsCalls() || t.toReturn
	if t.callStops || t.sheltered {
		return sys.ContToCall(t.tid, sig)
	}
	return sys.Cont(t.tid, sig)
}

// halt stops a running thread and returns its registers. A signal that it was
// about to take instead is held and comes first when the thread is entered
// again; the stop that was asked for then still comes, and means nothing. Of
// anything else the thread reports, errBusy: it is put back for later, and
// groupStop does what the caller wanted afterwards.
// The registers may be the cache's; toSafePoint makes them the application's.
func (tr *Tracer) halt(t *Thread) (*sys.Regs, error) {
	regs := new(sys.Regs)
	if !t.stopped {
		if err := t.interrupt(); err != nil {
			return nil, err
		}
		s, err := tr.stopAsked(t)
		if err != nil {
			return nil, err
		}
		if s.Status.Exited() || s.Status.Signaled() {
			tr.later = append(tr.later, s)
			return nil, errEnded
		}
		if err := t.unshelter(); err != nil {
			return nil, err
		}
		switch {
		// the stop that was asked for, or job control's
		case s.Event() == eventStop:
			t.stopped = true
			t.groupStopped = s.Signal() != sigTrap
		// a signal was about to be delivered
		case s.Event() == 0 && s.Signal() != sigCall && !(s.Signal() == sigTrap && tr.ownTrap(t)):
			h, err := hold(t, s.Signal())
			if err != nil {
				return nil, err
			}
			t.stopped = true
			if tr.faultOfOurs(t, &h) {
				break
			}
			tr.sentAgain(t, &h)
			t.held = append(t.held, h)
		default:
			tr.later = append(tr.later, s)
			return nil, errBusy
		}
	}
	return regs, sys.GetRegs(t.tid, regs)
}

// step executes one instruction of a stopped thread and waits for it. Signals
// that arrive instead are held until the thread is at a safe point.
//
// While a thread blocks SIGTRAP, the kernel would take the step's trap as a
// reason to forget the application's handler: the signal is unblocked meanwhile.
// It also does if SIGTRAP is ignored; that is looked after where the program
// was started so, since programs themselves hardly ever do it.
func (tr *Tracer) step(t *Thread) error {
	const bit = 1 << (sigTrap - 1)
	mask, err := sys.SignalMask(t.tid)
	if err != nil {
		return err
	}
	ignored := t.p.trapIgnored && t.slot != nil
	if ignored {
		sets, err := sys.ReadSignalSets(t.tid)
		ignored = err == nil && sets.Ignored&bit != 0
	}
	if mask&bit != 0 {
		if err := sys.SetSignalMask(t.tid, mask&^bit); err != nil {
			return err
		}
	}
	if err := sys.Step(t.tid, 0); err != nil {
		return err
	}
	before := len(t.held)
	err = tr.stepped(t)
	if mask&bit != 0 && err == nil {
		err = sys.SetSignalMask(t.tid, mask)
		tr.sendTrapsBack(t, before)
	}
	if ignored && err == nil {
		err = t.ignoreTrap()
	}
	return err
}

// call executes the system call that a stopped thread stands at, and leaves it
// at the call's end. Unlike a step it raises no signal.
func (tr *Tracer) call(t *Thread) error { return tr.callStops(t, 2) }

// callWith is call with these registers, whose rip leads to a syscall instruction;
// regs is what they are behind it.
func (tr *Tracer) callWith(t *Thread, regs *sys.Regs) error {
	if err := sys.SetRegs(t.tid, regs); err != nil {
		return err
	}
	if err := tr.call(t); err != nil {
		return err
	}
	return sys.GetRegs(t.tid, regs)
}

// callStops lets a thread run to the nth of the stops that a call has at its
// entry and its end.
// Signals that come in between are held, not delivered.
func (tr *Tracer) callStops(t *Thread, n int) error {
	for stops := 0; stops < n; {
		if err := sys.ContToCall(t.tid, 0); err != nil {
			return err
		}
		s, err := tr.waitFor(t)
		if err != nil {
			return err
		}
		switch {
		case s.Status.Exited() || s.Status.Signaled():
			tr.later = append(tr.later, s)
			return errEnded
		case s.Event() == 0 && s.Signal() == sigCall:
			stops++
		case s.Event() == 0:
			h, err := hold(t, s.Signal())
			if err != nil {
				return err
			}
			tr.sentAgain(t, &h)
			t.held = append(t.held, h)
		}
	}
	return nil
}

// stepped waits for the end of a step.
//
// A step that ends in a signal which was not raised by the instruction is repeated: the
// instruction has not been executed then.
func (tr *Tracer) stepped(t *Thread) error {
	for {
		s, err := tr.waitFor(t)
		if err != nil {
			return err
		}
		if s.Status.Exited() || s.Status.Signaled() {
			tr.later = append(tr.later, s)
			return errEnded
		}
		if s.Event() == 0 {
			h, err := hold(t, s.Signal())
			if err != nil {
				return err
			}
			// the step's own trap
			if h.sig == sigTrap && h.info.Code() > 0 && h.info.Code() != codeKernel {
				return nil
			}
			tr.sentAgain(t, &h)
			t.held = append(t.held, h)
			if h.fault() {
				return nil
			}
		}
		if err := sys.Step(t.tid, 0); err != nil {
			return err
		}
	}
}
