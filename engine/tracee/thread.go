package tracee

import "alleria/internal/sys"

// Host is what a thread's requests ask of who owns it.
type Host interface {
	// Native tells whether the thread runs its own code, where an instruction may have raised a signal that is not
	// reported yet.
	Native() bool
	// Alone tells whether it is the only thread of its process.
	Alone() bool
	// OwnTrap tells whether its owner has more to do with a SIGTRAP than to hold it.
	OwnTrap() bool
	// OwnFault takes a fault that the owner's code has made, which is not to be held; false for any other signal.
	OwnFault(h *Signal) bool
	// Behind is called when the thread is found in front of a signal that it has raised.
	Behind()
}

// Thread is one thread that is traced.
type Thread struct {
	stops *Stops
	host  Host // nil: nobody's yet
	// TID is its id, PID that of the process that signals are sent to it by; 0: it is nobody's yet.
	TID, PID int

	Stopped bool // by the kernel
	// GroupStopped says that job control stopped it: it may only go on when that lets it.
	GroupStopped bool
	// Ending says that it has begun to end, or has ended unreported: it executes nothing any more.
	Ending bool
	// held is signals to be delivered when its owner has brought it to where that can be done, in their order; see held.go.
	held []Signal

	storm     storm
	shelter   uint64 // its mask, from when it was sheltered from signals; see takeShelter
	sheltered bool

	optionsSet bool // stopsAtEnd is what the kernel does
	stopsAtEnd bool // the kernel reports that it begins to end
}

// Init makes t a thread, which is stopped or runs.
func (t *Thread) Init(s *Stops, h Host, tid, pid int, stopped bool) {
	*t = Thread{stops: s, host: h, TID: tid, PID: pid, Stopped: stopped}
}

// GetRegs reads the registers of a stopped thread.
func (t *Thread) GetRegs(r *sys.Regs) error { return t.kernel().GetRegs(t.TID, r) }

// SetRegs sets the registers of a stopped thread.
func (t *Thread) SetRegs(r *sys.Regs) error { return t.kernel().SetRegs(t.TID, r) }

// Detach lets a stopped thread go, untraced, with a signal.
func (t *Thread) Detach(sig sys.Signal) error { return t.kernel().Detach(t.TID, sig) }

// Cont lets a stopped thread run whatever job control says.
func (t *Thread) Cont(sig sys.Signal) error { return t.kernel().Cont(t.TID, sig) }

// Mask reads the mask of a stopped thread's signals, and SetMask sets it.
func (t *Thread) Mask() (uint64, error)     { return t.kernel().SignalMask(t.TID) }
func (t *Thread) SetMask(mask uint64) error { return t.kernel().SetSignalMask(t.TID, mask) }

// XState reads the vector and x87 state of a stopped thread into b, as xsave writes it in the standard format, and returns its length; SetXState writes it, or a
// part from the beginning.
func (t *Thread) XState(b []byte) (int, error) { return t.kernel().XState(t.TID, b) }
func (t *Thread) SetXState(b []byte) error     { return t.kernel().SetXState(t.TID, b) }

// RefusedCalls reads which calls a stopped thread has refused, and RefuseCalls sets it.
func (t *Thread) RefusedCalls(d *sys.UserDispatch) error {
	return t.kernel().ReadUserDispatch(t.TID, d)
}
func (t *Thread) RefuseCalls(d *sys.UserDispatch) error {
	return t.kernel().SetUserDispatch(t.TID, d)
}

// Sequences reads where a stopped thread has registered restartable sequences.
func (t *Thread) Sequences(s *sys.Sequences) error { return t.kernel().ReadSequences(t.TID, s) }

// Message is what comes with the event that a thread has stopped for: the id of what it has brought forth, its own former one, or what it ends with. One that
// was killed meanwhile may stand in front of its end by now, which is another event, with a message of its own: ErrBusy, as that is still to be reported.
func (t *Thread) Message(event int) (int, error) {
	id, err := t.stops.kernel.EventMsg(t.TID)
	if err != nil {
		return 0, err
	}
	return int(id), t.stops.standsAt(t.TID, event)
}

// OnlyMessage is Message of a thread that can have stopped for nothing else meanwhile.
func (t *Thread) OnlyMessage() (int, error) {
	id, err := t.stops.kernel.EventMsg(t.TID)
	return int(id), err
}

// standsAt is nil for a thread that has stopped for an event and still does, ErrBusy for one that stops for something else by now.
func (s *Stops) standsAt(tid, event int) error {
	var info sys.Siginfo
	if err := s.kernel.GetSiginfo(tid, &info); err != nil {
		return err
	}
	if int(info.Code())>>8 != event {
		return ErrBusy
	}
	return nil
}

// GoToEnd lets a thread go on that was reported to stand in front of its end, if it still does; see the end of this file.
func (t *Thread) GoToEnd() error { return t.stops.goToEnd(t.TID) }

// AtEnd does something about a thread that was reported to stand in front of its end, and lets it go on: behind that, or before, where do waits for
// a thread that waits for this end, as one does within an execve.
func (t *Thread) AtEnd(do func()) error {
	s := t.stops
	s.ending = t.TID
	do()
	if s.ending == 0 { // its id may be another's by now
		return nil
	}
	s.ending = 0
	return t.GoToEnd()
}

func (s *Stops) goToEnd(tid int) error {
	s.gone[tid] = true
	if err := s.standsAt(tid, EventExit); err != nil {
		return err
	}
	return s.kernel.Cont(tid, 0)
}

// Interrupt asks a thread to stop, which will report something. ErrEnded: it does not,
// as its end is all that there is to come, maybe long after. ErrBusy: it has reported its end, or that a program has its id, which comes first.
func (t *Thread) Interrupt() error {
	switch {
	case t.stops.leaves(t.TID):
		return ErrBusy
	case t.Ending:
		return ErrEnded
	}
	return t.kernel().Interrupt(t.TID)
}

// endedFirst finds out whether t is the first thread and has ended while others live.
// It is asked when a stop fails to come: beforehand it would cost each of them a look
// into /proc.
func (t *Thread) endedFirst() bool {
	if t.host == nil || t.TID != t.PID || t.host.Alone() || !t.stops.kernel.Zombie(t.TID) {
		return false
	}
	t.Ending = true
	return true
}

// Resume lets a stopped thread run on from where it is, up to the next stop at a system call if toCall says so; or, if
// job control stopped it, once that lets it.
// PTRACE_LISTEN leaves it stopped: SIGCONT is then reported as a stop of its own.
//
// stopsAtEnd has the kernel report the thread's end. What a new thread has inherited from its parent, or a program
// from the one before, is not known: theirs are set once in any case.
func (t *Thread) Resume(sig sys.Signal, toCall, stopsAtEnd bool) error {
	k := t.kernel()
	t.Stopped = false
	if t.GroupStopped {
		t.GroupStopped = false
		if k.Listen(t.TID) == nil {
			return nil
		}
	}
	if err := t.StopAtEnd(stopsAtEnd); err != nil {
		return err
	}
	if toCall || t.sheltered {
		return k.ContToCall(t.TID, sig)
	}
	return k.Cont(t.TID, sig)
}

// StopAtEnd has the kernel report the end of a stopped thread, or no longer.
func (t *Thread) StopAtEnd(on bool) error {
	if t.optionsSet && t.stopsAtEnd == on {
		return nil
	}
	t.optionsSet, t.stopsAtEnd = true, on
	return t.kernel().SetOptions(t.TID, on)
}

// StopsAtEnd tells whether the kernel reports that the thread begins to end.
func (t *Thread) StopsAtEnd() bool { return t.stopsAtEnd }

// Halt stops a running thread and returns its registers. A signal that it was
// about to take instead is held and comes first when the thread is entered
// again; the stop that was asked for then still comes, and means nothing. Of
// anything else the thread reports, ErrBusy: it is put back for later.
func (t *Thread) Halt() (*sys.Regs, error) {
	regs := new(sys.Regs)
	if t.Stopped {
		return regs, t.GetRegs(regs)
	}
	if err := t.Interrupt(); err != nil {
		return nil, err
	}
	s, err := t.stopAsked()
	if err != nil {
		return nil, err
	}
	if s.Status.Exited() || s.Status.Signaled() {
		t.stops.putBack(s)
		return nil, ErrEnded
	}
	if err := t.Unshelter(); err != nil {
		return nil, err
	}
	switch {
	// the stop that was asked for, or job control's
	case s.Event() == EventStop:
		t.Stopped = true
		t.GroupStopped = s.Signal() != SIGTRAP
	// a signal was about to be delivered
	case s.Event() == 0 && s.Signal() != CallStop && !(s.Signal() == SIGTRAP && t.host.OwnTrap()):
		h, err := t.Take(s.Signal())
		if err != nil {
			return nil, err
		}
		t.Stopped = true
		if t.host.OwnFault(&h) {
			break
		}
		t.SentAgain(&h)
		t.keep(h)
	default:
		t.stops.putBack(s)
		return nil, ErrBusy
	}
	return regs, t.GetRegs(regs)
}

// Freeze stops a running thread as it is, for a moment; false if it has something else to report, which is put aside. It has
// stopped then all the same, but for its end.
func (t *Thread) Freeze() (bool, error) {
	if err := t.Interrupt(); err != nil {
		return false, err
	}
	s, err := t.Wait()
	if err != nil {
		return false, err
	}
	if s.Event() != EventStop || s.Status.Exited() || s.Status.Signaled() {
		t.stops.putBack(s)
		return false, nil
	}
	t.Stopped = true
	t.GroupStopped = s.Signal() != SIGTRAP
	return true, nil
}

// When a thread that is not the first executes another program, the kernel kills the first, which wakes it from whatever it has stopped for, and gives
// the other its id. A request that the tracer makes for the first thread then, which it takes to be still in its stop, meets the other, which stands in its
// execve, and lets that go on before its report was looked at: the new program's first instructions were executed while it was thought not to have begun.
//
// So first threads of several stop in front of their end, from before the second executes anything. That holds the other one in its execve until the
// tracer lets the first go on: the request that was late does, or the report of this stop. Whichever comes second must not be made, since
// the id may be the other's by then (GoToEnd); who waits for another stop of a thread hears that it has ended (alive).
//
// Refused: looking whose the id is in front of each request, which leaves time between the two. It does where the first thread ends by itself
// and another executes a program while it stands in front of that end; nothing can be known of that before.
