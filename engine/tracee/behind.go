package tracee

import "alleria/internal/sys"

// A native thread that is stopped may have just executed an instruction that raised a signal:
// an int3 of ours or of the application's, or one that faulted. The kernel reports a stop that
// was asked for, and one of job control, before any signal that waits (get_signal in
// kernel/signal.c). Behind an int3 the registers are then in the middle of an instruction; and
// whatever the thread goes on with, the signal comes before that, as if it had been raised there:
// in the code cache nobody knows what to make of it. So such a thread is first let go on to the
// stop for its signal, which executes nothing.
//
// That is not as rare as it looks: where a thread hits breakpoints all the time and the tracer stops it
// from another processor, one stop in ten is such a one, on a single processor one in a hundred.
//
// Refused: taking the thread back to the breakpoint, and the signal for nothing when it comes.
// Everything that waits for a stop would have to know of it.

// FaultWaits tells whether a signal that the last instruction of a stopped native thread has raised
// is still to be reported. One that is blocked does not come: the kernel unblocks those that it
// raises, but a program can send itself what looks like one.
func (t *Thread) FaultWaits() bool {
	waits := t.host.Native() && t.pendingFault(func(h *Signal) bool {
		mask, err := t.kernel().SignalMask(t.TID)
		return err == nil && mask>>(h.Number-1)&1 == 0
	})
	if waits {
		t.host.Behind()
	}
	return waits
}

// HitPending tells whether a thread that was found stopped has executed an int3 whose
// stop is still to be looked at, or to come.
func (t *Thread) HitPending() bool {
	for _, s := range t.stops.later {
		if s.TID == t.TID && s.Event() == 0 && s.Signal() == SIGTRAP {
			h, err := t.Take(SIGTRAP)
			return err == nil && h.Breakpoint()
		}
	}
	if t.pendingFault((*Signal).Breakpoint) {
		t.host.Behind()
		return true
	}
	return false
}

// pendingFault tells whether a fault for which ok holds waits for a stopped thread.
func (t *Thread) pendingFault(ok func(*Signal) bool) bool {
	var infos [8]sys.Siginfo
	for from := 0; ; from += len(infos) {
		n, err := t.kernel().PendingSignals(t.TID, from, infos[:])
		if err != nil {
			return false // it has been killed
		}
		for i := range infos[:n] {
			if h := (Signal{infos[i].Signal(), infos[i]}); h.Fault() && ok(&h) {
				return true
			}
		}
		if n < len(infos) {
			return false
		}
	}
}

// stopAsked waits for the report of a thread that was asked to stop. A stop for a signal that the thread
// has raised itself comes instead of one that says nothing. ErrBusy: job control keeps
// the thread in front of it; what is to happen to the thread happens when that lets it go on.
func (t *Thread) stopAsked() (sys.Stop, error) {
	s, err := t.Wait()
	for err == nil && s.Event() == EventStop && t.FaultWaits() {
		if s.Signal() != SIGTRAP {
			t.stops.putBack(s)
			return s, ErrBusy
		}
		if err = t.kernel().Cont(t.TID, 0); err == nil {
			s, err = t.Wait()
		}
	}
	return s, err
}
