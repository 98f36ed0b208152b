package tracee

import (
	"fmt"

	"alleria/internal/sys"
)

// Step executes one instruction of a stopped thread and waits for it. Signals
// that arrive instead are held.
//
// While a thread blocks SIGTRAP, the kernel would take the step's trap as a
// reason to forget the application's handler: the signal is unblocked meanwhile.
// It also does if SIGTRAP is ignored, which the caller looks after.
// One that was pending comes then, and is given back: by the thread itself if itself does that, which may be nil.
func (t *Thread) Step(itself func(h *Signal) bool) error {
	const bit = 1 << (SIGTRAP - 1)
	k := t.kernel()
	mask, err := k.SignalMask(t.TID)
	if err != nil {
		return err
	}
	if mask&bit != 0 {
		if err := k.SetSignalMask(t.TID, mask&^bit); err != nil {
			return err
		}
	}
	if err := k.Step(t.TID, 0); err != nil {
		return err
	}
	before := len(t.held)
	err = t.stepped()
	if mask&bit != 0 && err == nil {
		err = k.SetSignalMask(t.TID, mask)
		t.SendTrapsBack(before, itself)
	}
	return err
}

// Enter has the kernel deliver a signal to a stopped thread, whose handler's first instruction it then stands at.
func (t *Thread) Enter(sig sys.Signal) error {
	if err := t.kernel().Step(t.TID, sig); err != nil {
		return err
	}
	return t.stepped()
}

// hush keeps signals from a stopped thread that has been kept from what it was to do by one: a timer may have the next one there before it has executed anything, each
// time. Those that instructions raise come all the same.
type hush struct {
	t    *Thread
	mask uint64
	on   bool
}

// begin blocks them, once.
func (h *hush) begin() (err error) {
	if h.on {
		return nil
	}
	k := h.t.kernel()
	if h.mask, err = k.SignalMask(h.t.TID); err != nil {
		return err
	}
	h.on = true
	return k.SetSignalMask(h.t.TID, h.mask|^uint64(FaultSignals))
}

// end gives the thread, which is stopped, its mask back. What has kept it from that comes first.
func (h *hush) end(err error) error {
	if !h.on || err != nil {
		return err
	}
	h.on = false
	return h.t.kernel().SetSignalMask(h.t.TID, h.mask)
}

// stepped waits for the end of a step.
//
// A step that ends in a signal which was not raised by the instruction is repeated: the
// instruction has not been executed then.
func (t *Thread) stepped() error {
	h := hush{t: t}
	return h.end(t.steppedIn(&h))
}

// steppedIn is stepped with what keeps further signals away.
func (t *Thread) steppedIn(quiet *hush) error {
	for {
		s, err := t.alive()
		if err != nil {
			return err
		}
		if s.Event() == 0 {
			h, err := t.Take(s.Signal())
			if err != nil {
				return err
			}
			// the step's own trap
			if h.Number == SIGTRAP && h.Info.Code() > 0 && h.Info.Code() != CodeKernel {
				return nil
			}
			t.SentAgain(&h)
			t.keep(h)
			if h.Fault() {
				return nil
			}
			if err := quiet.begin(); err != nil {
				return err
			}
		}
		if err := t.kernel().Step(t.TID, 0); err != nil {
			return err
		}
	}
}

// alive is Wait for a stop that is not the thread's end: ErrEnded, and the end is put aside. So is that it stands in front of its end, or that
// another thread has its id by now.
func (t *Thread) alive() (sys.Stop, error) {
	s, err := t.Wait()
	if err == nil && (s.Status.Exited() || s.Status.Signaled() || s.Event() == EventExit || t.replaced(s)) {
		t.stops.putBack(s)
		err = ErrEnded
	}
	return s, err
}

// replaced tells whether a report says that another thread has executed a program and has taken t's id.
func (t *Thread) replaced(s sys.Stop) bool {
	if s.Event() != EventExec {
		return false
	}
	former, err := t.Message(EventExec)
	return err == nil && former != t.TID
}

// Undisturbed calls steps with the signals of a stopped thread blocked, but for those
// that instructions raise: a timer may fire faster than the tracer steps, and the
// thread would get nowhere.
func (t *Thread) Undisturbed(steps func() error) error {
	h := hush{t: t}
	if err := h.begin(); err != nil {
		return err
	}
	return h.end(steps())
}

// Call executes the system call that a stopped thread stands at, and leaves it
// at the call's end. Unlike a step it raises no signal.
func (t *Thread) Call() error { return t.CallStops(2) }

// CallWith is Call with these registers, whose rip leads to a syscall instruction;
// regs is what they are behind it.
func (t *Thread) CallWith(regs *sys.Regs) error {
	if err := t.SetRegs(regs); err != nil {
		return err
	}
	if err := t.Call(); err != nil {
		return err
	}
	return t.GetRegs(regs)
}

// CallStops lets a thread run to the nth of the stops that a call has at its
// entry and its end.
// Signals that come in between are held, not delivered. Once one has come in front of the call no others do until that is entered; they are what ends it then.
func (t *Thread) CallStops(n int) error {
	h := hush{t: t}
	return h.end(t.callStopsIn(n, &h))
}

// callStopsIn is CallStops with what keeps further signals away.
func (t *Thread) callStopsIn(n int, quiet *hush) error {
	for stops := 0; stops < n; {
		if err := t.kernel().ContToCall(t.TID, 0); err != nil {
			return err
		}
		s, err := t.alive()
		switch {
		case err != nil:
			return err
		case s.Event() == 0 && s.Signal() == CallStop:
			stops++
			err = quiet.end(nil)
		case s.Event() == 0:
			if err = t.hold(s.Signal()); err == nil && stops == 0 {
				err = quiet.begin()
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// RunTo lets a stopped thread run to the stop for a signal that is certain to come, which it returns: that for which is holds.
// Others are held.
func (t *Thread) RunTo(is func(*Signal) bool) (h Signal, err error) {
	quiet := hush{t: t}
	h, err = t.runToIn(is, &quiet)
	return h, quiet.end(err)
}

// runToIn is RunTo with what keeps further signals away.
func (t *Thread) runToIn(is func(*Signal) bool, quiet *hush) (h Signal, err error) {
	for {
		if err := t.kernel().Cont(t.TID, 0); err != nil {
			return h, err
		}
		s, err := t.alive()
		if err != nil {
			return h, err
		}
		if s.Event() != 0 {
			continue
		}
		if h, err = t.Take(s.Signal()); err != nil || is(&h) {
			return h, err
		}
		if h.Fault() && h.Number != SIGTRAP { // it would come again for ever
			return h, fmt.Errorf("what was executed for the program faulted at %#x (signal %d)", h.Info.Addr(), h.Number)
		}
		t.SentAgain(&h)
		t.keep(h)
		if err := quiet.begin(); err != nil {
			return h, err
		}
	}
}
