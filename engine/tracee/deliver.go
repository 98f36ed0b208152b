package tracee

import "alleria/internal/sys"

// A signal that was held can be delivered by the kernel only where it was about to deliver one: a thread that stands elsewhere, behind a system call
// that was made in its name or at a handler's first instruction, would lose it, or be stopped for it once more at what it has executed by then. Such
// a thread is sent a signal first, which it stops for before it executes anything.

// SetInfo brings a stopped thread to a signal-delivery stop, if it is in none, and gives it what the signal comes with
// that is delivered then. Signals that come in between are held.
func (t *Thread) SetInfo(h *Signal) error {
	if !t.GroupStopped && !t.delivers() {
		if err := t.toDelivery(); err != nil {
			return err
		}
	}
	return t.kernel().SetSiginfo(t.TID, &h.Info)
}

// delivers tells whether a stopped thread is in a signal-delivery stop. In others the kernel tells the stop's own code.
func (t *Thread) delivers() bool {
	var info sys.Siginfo
	if t.kernel().GetSiginfo(t.TID, &info) != nil {
		return false
	}
	code := info.Code()
	event := code >= 1<<8 // PTRACE_EVENT_*
	return !event && (info.Signal() != SIGTRAP || code != SIGTRAP && code != CallStop)
}

// goads are signals that a thread may be sent to stop for them: none of those that job control or instructions raise.
var goads = [...]sys.Signal{23, 28, 17, 12, 10} // URG WINCH CHLD USR2 USR1

// toDelivery has a stopped thread stop for a signal that it is sent. All others are blocked meanwhile.
func (t *Thread) toDelivery() error {
	sig, err := t.goad()
	if err != nil {
		return err
	}
	return t.only(sig, func() error { return t.kernel().SendSignal(t.PID, t.TID, sig) })
}

// only lets a stopped thread run to the stop for a signal that waits for it once send has been called, before it executes anything. All others are blocked meanwhile.
func (t *Thread) only(sig sys.Signal, send func() error) error {
	k := t.kernel()
	mask, err := k.SignalMask(t.TID)
	if err != nil {
		return err
	}
	if err := k.SetSignalMask(t.TID, ^uint64(1<<(sig-1))); err != nil {
		return err
	}
	if err := send(); err != nil {
		return err
	}
	for {
		if err := k.Cont(t.TID, 0); err != nil {
			return err
		}
		s, err := t.alive()
		switch {
		case err != nil:
			return err
		case s.Event() != 0 || s.Signal() == CallStop:
			continue
		case s.Signal() == sig:
			return k.SetSignalMask(t.TID, mask)
		}
		if err := t.hold(s.Signal()); err != nil {
			return err
		}
	}
}

// goad is one of them that does not wait for the thread already, with which ours would be merged.
func (t *Thread) goad() (sys.Signal, error) {
	for _, sig := range goads {
		waits, err := t.waits(func(h *sys.Siginfo) bool { return h.Signal() == sig })
		if err != nil || !waits {
			return sig, err
		}
	}
	return goads[0], nil
}

// waits tells whether one of the first signals that wait for a stopped thread is such a one.
func (t *Thread) waits(is func(*sys.Siginfo) bool) (bool, error) {
	var infos [32]sys.Siginfo
	n, err := t.kernel().PendingSignals(t.TID, 0, infos[:])
	for i := range infos[:n] {
		if is(&infos[i]) {
			return true, err
		}
	}
	return false, err
}
