package engine

import (
	"fmt"

	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// ownTrap tells whether a SIGTRAP of a native thread that is being stopped is one that signal has
// more to do with than to hold it: that of a breakpoint of a native start, or of a program
// that steps itself, within a jump's code.
func (tr *Tracer) ownTrap(t *Thread) bool {
	var regs sys.Regs
	if !t.native || t.tracee.GetRegs(&regs) != nil {
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
	const bit = 1 << (tracee.SIGTRAP - 1)
	p := t.p
	sets, err := sys.ReadSignalSets(t.tid)
	if err != nil {
		return nil // it is gone
	}
	handled := (sets.Caught|sets.Ignored)&bit != 0
	if !handled && !p.trap.known {
		if !tracee.AllBut(sets.Blocked, bit) {
			return nil
		}
		return t.tracee.SetMask(sets.Blocked | bit)
	}
	if !p.calls.Look(t.tid) {
		return nil
	}
	if handled {
		p.trap.known = true
		return t.trapAction(0, t.slot.Base+layout.Scratch)
	}
	if p.trap.words[0] != 1 { // not just ignored
		if err := t.tracee.SetMask(sets.Blocked | bit); err != nil {
			return err
		}
	}
	for i, w := range p.trap.words {
		t.slot.Set(layout.Scratch+8*i, w)
	}
	return t.trapAction(t.slot.Base+layout.Scratch, 0)
}

// trapAction has a stopped thread set or read what its process does with SIGTRAP: addresses of it, or 0.
func (t *Thread) trapAction(set, get uint64) error {
	a := t.p.cache.Regions[0]
	in, err := t.tracee.Inject(a.Base + a.Routines.Inject)
	if err != nil {
		return err
	}
	_, err = in.Call(tracee.SysSigaction, tracee.SIGTRAP, set, get, 8)
	if cerr := in.Close(); cerr != nil {
		return cerr
	}
	if err != nil {
		t.p.trap.known = false
		return nil
	}
	if get != 0 {
		for i := range t.p.trap.words {
			t.p.trap.words[i] = t.slot.Get(layout.Scratch + 8*i)
		}
	}
	return nil
}

// mergedTrap tells whether a SIGTRAP that was sent to a native thread stands for the hit of an int3 of ours as well: one
// that is pending and blocked takes the hit's place, and gets through. It is given back to the kernel.
func (tr *Tracer) mergedTrap(t *Thread, regs *sys.Regs, h *tracee.Signal) bool {
	p := t.p
	if !t.native || h.Fault() || !p.trap.known {
		return false
	}
	if _, ok := p.points.Original(regs.Rip - 1); !ok {
		return false
	}
	const bit = 1 << (tracee.SIGTRAP - 1)
	sets, err := sys.ReadSignalSets(t.tid)
	if err != nil || (sets.Caught|sets.Ignored)&bit != 0 || tr.mendTrap(t) != nil {
		return false
	}
	t.tracee.SentAgain(h)
	t.tracee.Held = append(t.tracee.Held, *h)
	t.tracee.SendTrapsBack(len(t.tracee.Held) - 1)
	return true
}

// ignoreTrap makes the kernel ignore SIGTRAP again.
// It is done in the program's name because dispositions can be set by nobody else.
func (t *Thread) ignoreTrap() error {
	if !t.p.calls.Look(t.tid) {
		return nil
	}
	a := t.p.cache.Regions[0]
	in, err := t.tracee.Inject(a.Base + a.Routines.Inject)
	if err != nil {
		return err
	}
	for i, w := range []uint64{1, 0, 0, 0} { // SIG_IGN, no flags, no restorer, no mask
		t.slot.Set(layout.Scratch+8*i, w)
	}
	if _, err := in.Call(tracee.SysSigaction, tracee.SIGTRAP, t.slot.Base+layout.Scratch, 0, 8); err != nil {
		return fmt.Errorf("disposition of SIGTRAP: %w", err)
	}
	return in.Close()
}
