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
	return t.p.start != nil || t.p.points.JumpAt(regs.Rip) != nil
}

// An int3 of ours that a thread hits while it blocks or ignores SIGTRAP makes the kernel forget what the program does
// with that signal, and the block. So what the program does is asked at each hit, while it can be: programs that handle
// SIGTRAP are few. A handler that is gone with a hit was lost by it, and the thread had the signal blocked. A handler
// that was installed natively, with no hit since, cannot be known.

// trapAction is what a program does with SIGTRAP, where that is not the default.
type trapAction struct {
	known bool
	words [4]uint64 // as rt_sigaction wants it: handler, flags, restorer, mask
}

// mendTrap puts right what a hit of an int3 of ours has done to a stopped native thread.
func (tr *Tracer) mendTrap(t *Thread) error {
	const bit = 1 << (sigTrap - 1)
	p := t.p
	sets, err := sys.ReadSignalSets(t.tid)
	if err != nil {
		return nil // it is gone
	}
	handled := (sets.Caught|sets.Ignored)&bit != 0
	if !handled && !p.trap.known {
		if !allBut(sets.Blocked, bit) {
			return nil
		}
		return sys.SetSignalMask(t.tid, sets.Blocked|bit)
	}
	if t.noteFilters(); !p.mayCall() {
		return nil
	}
	if handled {
		p.trap.known = true
		return t.trapAction(0, t.slot.Base+scratchInSlot)
	}
	if p.trap.words[0] != 1 { // not just ignored
		if err := sys.SetSignalMask(t.tid, sets.Blocked|bit); err != nil {
			return err
		}
	}
	for i, w := range p.trap.words {
		t.slot.Set(scratchInSlot+8*i, w)
	}
	return t.trapAction(t.slot.Base+scratchInSlot, 0)
}

// allBut tells a mask that has every signal but one, and those that cannot be blocked or that the C library keeps open.
func allBut(mask, bit uint64) bool {
	const never = 1<<(sigKill-1) | 1<<(sigStop-1) | 1<<31 | 1<<32
	return mask&bit == 0 && mask|bit|never == ^uint64(0)
}

// scratchInSlot is where in a slot calls of ours may have arguments: nothing else uses it.
const scratchInSlot = 0x800

// trapAction has a stopped thread set or read what its process does with SIGTRAP: addresses of it, or 0.
func (t *Thread) trapAction(set, get uint64) error {
	const sysSigaction = 13
	a := t.p.cache.Regions[0]
	in := &injector{t: t, at: a.Base + a.Routines.Inject}
	if err := sys.GetRegs(t.tid, &in.saved); err != nil {
		return err
	}
	_, err := in.call(sysSigaction, sigTrap, set, get, 8)
	if cerr := in.close(); cerr != nil {
		return cerr
	}
	if err != nil {
		t.p.trap.known = false
		return nil
	}
	if get != 0 {
		for i := range t.p.trap.words {
			t.p.trap.words[i] = t.slot.Get(scratchInSlot + 8*i)
		}
	}
	return nil
}

// mergedTrap tells whether a SIGTRAP that was sent to a native thread stands for the hit of an int3 of ours as well: one
// that is pending and blocked takes the hit's place, and gets through. It is given back to the kernel.
func (tr *Tracer) mergedTrap(t *Thread, regs *sys.Regs, h *heldSignal) bool {
	p := t.p
	if !t.native || h.fault() || !p.trap.known {
		return false
	}
	if _, ok := p.points.Original(regs.Rip - 1); !ok {
		return false
	}
	const bit = 1 << (sigTrap - 1)
	sets, err := sys.ReadSignalSets(t.tid)
	if err != nil || (sets.Caught|sets.Ignored)&bit != 0 || tr.mendTrap(t) != nil {
		return false
	}
	tr.sentAgain(t, h)
	t.held = append(t.held, *h)
	tr.sendTrapsBack(t, len(t.held)-1)
	return true
}
