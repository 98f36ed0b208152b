package engine

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

// faultWaits tells whether a signal that the last instruction of a stopped native thread has raised
// is still to be reported. One that is blocked does not come: the kernel unblocks those that it
// raises, but a program can send itself what looks like one.
func (t *Thread) faultWaits() bool {
	waits := t.native && t.pendingFault(func(h *heldSignal) bool {
		mask, err := sys.SignalMask(t.tid)
		return err == nil && mask>>(h.sig-1)&1 == 0
	})
	if waits {
		t.p.stats.Behind++
	}
	return waits
}

// trapWaits is faultWaits for an int3 alone.
func (t *Thread) trapWaits() bool {
	return t.pendingFault(func(h *heldSignal) bool { return h.breakpoint() })
}

// pendingFault tells whether a fault for which ok holds waits for a stopped thread.
func (t *Thread) pendingFault(ok func(*heldSignal) bool) bool {
	var infos [8]sys.Siginfo
	for from := 0; ; from += len(infos) {
		n, err := sys.PendingSignals(t.tid, from, infos[:])
		if err != nil {
			return false // it has been killed
		}
		for i := range infos[:n] {
			if h := (heldSignal{infos[i].Signal(), infos[i]}); h.fault() && ok(&h) {
				return true
			}
		}
		if n < len(infos) {
			return false
		}
	}
}

// breakpoint tells whether it is the signal of an int3.
func (h *heldSignal) breakpoint() bool {
	return h.sig == sigTrap && (h.info.Code() == codeKernel || h.info.Code() == codeBreak)
}

// stopAsked waits for the report of a thread that was asked to stop. A stop for a signal that the thread
// has raised itself comes instead of one that says nothing. errBusy: job control keeps
// the thread in front of it; what is to happen to the thread happens when that lets it go on.
func (tr *Tracer) stopAsked(t *Thread) (sys.Stop, error) {
	s, err := tr.waitFor(t)
	for err == nil && s.Event() == eventStop && t.faultWaits() {
		if s.Signal() != sigTrap {
			tr.later = append(tr.later, s)
			return s, errBusy
		}
		if err = sys.Cont(t.tid, 0); err == nil {
			s, err = tr.waitFor(t)
		}
	}
	return s, err
}

// hitPending tells whether a thread that freeze has found stopped has executed an int3 whose
// stop is still to be looked at, or to come.
func (tr *Tracer) hitPending(t *Thread) bool {
	for _, s := range tr.later {
		if s.TID == t.tid && s.Event() == 0 && s.Signal() == sigTrap {
			h, err := hold(t, sigTrap)
			return err == nil && h.breakpoint()
		}
	}
	if t.trapWaits() {
		t.p.stats.Behind++
		return true
	}
	return false
}

// ownTrap tells whether a SIGTRAP of a native thread that is being stopped is one that signal has
// more to do with than to hold it: that of a breakpoint of a native start, or of a program
// that steps itself, within a jump's code.
func (tr *Tracer) ownTrap(t *Thread) bool {
	var regs sys.Regs
	if !t.native || sys.GetRegs(t.tid, &regs) != nil {
		return false
	}
	return t.p.start != nil || t.p.jumpAt(regs.Rip) != nil
}
