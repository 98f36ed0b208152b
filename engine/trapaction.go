package engine

import "alleria/internal/sys"

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
		return t.trapAction(0, t.slot.base+scratchInSlot)
	}
	if p.trap.words[0] != 1 { // not just ignored
		if err := sys.SetSignalMask(t.tid, sets.Blocked|bit); err != nil {
			return err
		}
	}
	for i, w := range p.trap.words {
		t.slot.set(scratchInSlot+8*i, w)
	}
	return t.trapAction(t.slot.base+scratchInSlot, 0)
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
	a := t.p.areas[0]
	in := &injector{t: t, at: a.base + a.rt.inject}
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
			t.p.trap.words[i] = t.slot.get(scratchInSlot + 8*i)
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
	if _, ok := p.probes[regs.Rip-1]; !ok {
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
