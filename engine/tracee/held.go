package tracee

import (
	"os"
	"slices"

	"alleria/internal/sys"
)

// Signals that are held: taken out of the kernel's hands where they could not be delivered. The one that the thread's last step has ended in is the last of them.

// Holds tells whether signals are held.
func (t *Thread) Holds() bool { return len(t.held) > 0 }

// First is the number of the first signal that is held, 0 for none.
func (t *Thread) First() sys.Signal {
	if len(t.held) == 0 {
		return 0
	}
	return t.held[0].Number
}

// Next takes the first signal that is held; false: there is none.
func (t *Thread) Next() (h Signal, ok bool) {
	if len(t.held) == 0 {
		return h, false
	}
	h, t.held = t.held[0], t.held[1:]
	return h, true
}

// Each calls f for the signals that are held, in their order.
func (t *Thread) Each(f func(h *Signal)) {
	for i := range t.held {
		f(&t.held[i])
	}
}

// Drop forgets the first of the signals that are held for which is says so.
func (t *Thread) Drop(is func(h *Signal) bool) {
	for i := range t.held {
		if is(&t.held[i]) {
			t.held = slices.Delete(t.held, i, i+1)
			return
		}
	}
}

// HoldFirst holds a signal in front of the others.
func (t *Thread) HoldFirst(h Signal) { t.held = slices.Insert(t.held, 0, h) }

// Hold holds one behind the others, as what the last step has ended in.
func (t *Thread) Hold(h Signal) { t.keep(h) }

// HoldAll holds what is held for another thread, which t stands for from now on, in front of what has come since.
func (t *Thread) HoldAll(of *Thread) {
	since := t.held
	t.held = nil
	for _, h := range slices.Concat(of.held, since) {
		t.keep(h)
	}
}

// keep holds a signal behind the others.
func (t *Thread) keep(h Signal) {
	t.held = append(t.held, h)
	if h.byJobControl() && !slices.Contains(t.stops.halting, t) {
		t.stops.halting = append(t.stops.halting, t)
	}
}

// byJobControl tells the signals that stop a process.
func (h *Signal) byJobControl() bool {
	switch h.Number {
	case SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU:
		return true
	}
	return false
}

// Overtaken tells whether SIGCONT waits for the process of a thread that stands where the kernel delivers a signal, which is one that would stop it: it has come behind that. What
// comes from here on the kernel looks after.
func (t *Thread) Overtaken(h *Signal) bool {
	if !h.byJobControl() {
		return false
	}
	sets, err := t.kernel().ReadSignalSets(t.TID)
	return err == nil && sets.Pending&(1<<(SIGCONT-1)) != 0
}

// continued forgets the signals that were to stop the process of a thread which is told of SIGCONT, as the kernel forgets those that wait when that is sent: delivered later they would stop what nobody
// continues any more.
func (s *Stops) continued(by *Thread) {
	for _, t := range s.halting {
		if t.TID == by.TID || t.PID == by.PID && t.PID != 0 {
			t.held = slices.DeleteFunc(t.held, func(h Signal) bool { return h.byJobControl() })
		}
	}
	s.halting = slices.DeleteFunc(s.halting, func(t *Thread) bool {
		return !slices.ContainsFunc(t.held, func(h Signal) bool { return h.byJobControl() })
	})
}

// Last is the signal that was held last, that of the last step if it has ended in one; nil: none is held.
func (t *Thread) Last() *Signal {
	if len(t.held) == 0 {
		return nil
	}
	return &t.held[len(t.held)-1]
}

// DropLast forgets it.
func (t *Thread) DropLast() { t.held = t.held[:len(t.held)-1] }

// Raised is the fault that the last step has ended in; nil: it has ended in none.
func (t *Thread) Raised() *Signal {
	if h := t.Last(); h != nil && h.Fault() {
		return h
	}
	return nil
}

// FaultFirst puts the fault that a step has ended in, if it has, in the place of the signal h that is being delivered, which
// is held instead; h may be none.
func (t *Thread) FaultFirst(h *Signal) bool {
	raised := t.Raised()
	if raised == nil {
		return false
	}
	first := *raised
	if *raised = *h; h.Number == 0 { // no signal is being delivered
		t.DropLast()
	}
	*h = first
	return true
}

// GiveBackTrap gives a SIGTRAP back to the kernel that was sent to the thread, which has to take it at another time.
func (t *Thread) GiveBackTrap(h *Signal) {
	t.SentAgain(h)
	t.keep(*h)
	t.SendTrapsBack(len(t.held)-1, nil)
}

// HandOver has the kernel deliver the signals that are held for a thread which runs its own code, of which there are some, but for the last, which it takes. Each handler is entered
// before the next signal, so that none is lost by another one of the same number.
func (t *Thread) HandOver() (last Signal, err error) {
	for {
		h, ok := t.Next()
		if !ok || len(t.held) == 0 { // SIGCONT may have taken the last back meanwhile
			return h, nil
		}
		if err := t.SetInfo(&h); err != nil {
			return last, err
		}
		if t.Overtaken(&h) {
			continue
		}
		if err := t.enterBefore(h.Number); err != nil {
			return last, err
		}
	}
}

// enterBefore has the kernel deliver a signal to a thread that stands where it takes one, whose handler's first instruction it then stands at. Of a signal that has no handler, or that the
// thread blocks, the kernel makes what it does with such ones, and the thread stands where it stood. It stops as it was asked to before, which comes first of all,
// and has executed nothing: a step would, where no handler is entered.
func (t *Thread) enterBefore(sig sys.Signal) error {
	k := t.kernel()
	if err := k.Interrupt(t.TID); err != nil {
		return err
	}
	for {
		if err := k.Cont(t.TID, sig); err != nil {
			return err
		}
		s, err := t.alive()
		if err != nil || s.Event() == EventStop {
			return err
		}
		if sig = 0; s.Event() == 0 && s.Signal() != CallStop {
			if err := t.hold(s.Signal()); err != nil {
				return err
			}
		}
	}
}

// ToDetach has the kernel deliver what is held for a stopped thread that runs its own code and is to be detached, and what was postponed for it. The last is what it is
// to be detached with, 0 for none: the thread stands where the kernel delivers it, with what it came with. One that job control has stopped
// is stopped again by the kernel when it is detached.
func (t *Thread) ToDetach() (last sys.Signal, err error) {
	if err := t.holdPostponed(); err != nil || len(t.held) == 0 {
		return 0, err
	}
	t.GroupStopped = false
	for {
		h, ok := t.Next()
		if !ok {
			return 0, nil
		}
		if err := t.SetInfo(&h); err != nil { // which may hold more
			return 0, err
		}
		if t.Overtaken(&h) {
			h.Number = 0
		}
		if len(t.held) == 0 {
			return h.Number, nil
		}
		if err := t.enterBefore(h.Number); err != nil {
			return 0, err
		}
	}
}

// DetachHolding detaches a stopped thread that runs its own code, with all that is held for it.
func (t *Thread) DetachHolding() error {
	last, err := t.ToDetach()
	if err != nil {
		return err
	}
	return t.Detach(last)
}

// holdPostponed holds the signals of a stopped thread that were to be sent again, or have been and have not come: they would come with the tracer as their sender.
func (t *Thread) holdPostponed() error {
	for i := 0; i < len(t.stops.postponed); i++ {
		q := t.stops.postponed[i]
		if q.t != t {
			continue
		}
		if q.sent {
			came, err := t.fetch(q.held.Number)
			if err != nil {
				return err
			}
			if !came { // the kernel has merged it with another, which comes by itself
				continue
			}
		} else {
			t.stops.postponed = append(t.stops.postponed[:i], t.stops.postponed[i+1:]...)
			t.keep(q.held)
		}
		i = -1 // they have changed places
	}
	return nil
}

// fetch takes a signal that waits for a stopped thread from the kernel, blocked or not, and holds it; false: none waits that was sent again.
func (t *Thread) fetch(sig sys.Signal) (bool, error) {
	waits, err := t.waits(func(h *sys.Siginfo) bool {
		return h.Signal() == sig && h.Code() == CodeTKill && h.Sender() == os.Getpid()
	})
	if err != nil || !waits {
		return false, err
	}
	if err := t.only(sig, func() error { return nil }); err != nil {
		return false, err
	}
	h, err := t.Take(sig)
	if err != nil {
		return false, err
	}
	t.SentAgain(&h)
	t.keep(h)
	return true, nil
}
