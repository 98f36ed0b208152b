package engine

import (
	"errors"
	"fmt"

	"alleria/engine/codecache"
	"alleria/engine/sigframe"
	"alleria/engine/syscalls"
	"alleria/engine/tracee"
	"alleria/engine/translate"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// signal handles a signal-delivery stop.
//
// A SIGTRAP may be a probe's, the application's own int3, or the trace trap of a program
// that has set the trap flag; steps of ours never come this way, as step waits for them.
func (t *Thread) signal(sig sys.Signal) error {
	p := t.p
	regs := new(sys.Regs)
	if err := t.tracee.GetRegs(regs); err != nil {
		return err
	}
	h, err := t.tracee.Take(sig)
	if err != nil {
		return err
	}
	if sig == tracee.SIGTRAP {
		if done, err := t.trap(regs, &h); done {
			return err
		}
	}
	if t.atWild(regs, &h) {
		p.stats.Signals++
		return t.deliver(regs, h)
	}
	if done, err := t.writesAgain(regs, &h); done {
		return err
	}
	if t.inCache(regs.Rip) && p.lostOurs(&h) {
		return errUnmapped
	}
	if over, err := t.overUnaligned(regs, &h); over {
		if err != nil {
			return err
		}
		return t.run(0)
	}
	if own, err := t.ownFault(regs, &h); own {
		if err == nil {
			err = t.tracee.SetRegs(regs)
		}
		if err != nil {
			return err
		}
		return t.run(0)
	}
	if j := p.captureJump(regs.Rip, &h); j != nil {
		t.noteGS(regs)
		p.probeHit()
		regs.Rip = j.Entry
		return t.enter(regs, 0)
	}
	if t.bailOut(regs, &h) {
		return t.run(0)
	}
	p.stats.Signals++
	if !t.vfork && t.tracee.Postpone(regs, &h) {
		return t.run(0)
	}
	t.tracee.PostponedFirst(&h)
	return t.deliver(regs, h)
}

// trap handles a SIGTRAP that is no signal of the application's; false for one that is.
func (t *Thread) trap(regs *sys.Regs, h *tracee.Signal) (done bool, err error) {
	code := h.Info.Code()
	if t.mergedTrap(regs, h) {
		code = tracee.CodeKernel
	}
	switch code {
	case tracee.CodeKernel, tracee.CodeBreak:
		return t.breakpoint(regs)
	case tracee.CodeTrace:
		if j := t.p.points.JumpAt(regs.Rip); j != nil && t.native {
			if done, err := t.trapInJump(j, regs); done {
				return true, err
			}
		}
		// The application has set the trap flag: it sees a trap behind each
		// instruction of its own, not behind those between.
		if t.inCache(regs.Rip) && !t.recoverState(regs, false) {
			return true, t.run(0)
		}
	}
	return false, nil
}

// deliver delivers a signal: with the application's registers where it has a
// handler or ends the process.
//
// The kernel writes the frame itself, from the registers that are set here: its layout, the
// vector state and the alternate stack are its business. The step with the signal stops at
// the handler's first instruction, from where the thread goes on in the cache. A signal
// without a handler is handed over with the application's registers, so that a core dump
// shows the application.
//
// A write that was caught is no signal of the application's: one that another stop came in front of gets here as well.
func (t *Thread) deliver(regs *sys.Regs, h tracee.Signal) error {
	if done, err := t.writesAgain(regs, &h); done {
		return err
	}
	if err := t.outOfJump(regs, &h); err != nil {
		return err
	}
	// A thread may also be native because it went where there is no code: its
	// fault is delivered here and it goes on in the cache.
	native := t.native && t.p.mode == ModeNative && !t.inCache(regs.Rip)
	if native {
		t.signalled(&h, regs)
		t.p.points.InterruptedAt(regs.Rip)
		if t.p.mode == ModeNative {
			// A signal that was held while the thread was looked after at an int3 of ours, behind which it still stands.
			if err := t.tracee.SetRegs(regs); err != nil {
				return err
			}
			if !t.tracee.Holds() {
				return t.ignore(regs, h)
			}
			t.tracee.Each(func(h *tracee.Signal) { t.signalled(h, regs) }) // held with it
			t.tracee.HoldFirst(h)
			return t.handNext()
		}
		t.noteGS(regs)
	}
	sets, err := sys.ReadSignalSets(t.tid)
	if err != nil {
		return t.passOnGone(h, err)
	}
	passes := h.Passes(&sets)
	// A thread that is not in the cache has been taken out of it, to execute an instruction
	// natively, say: resumed as it stands, it would run on untraced.
	if passes && !native && !t.p.hearSignals && t.inCache(regs.Rip) {
		return t.ignore(regs, h)
	}
	if !native {
		if err := t.toSafePoint(regs, &h); err != nil {
			return err
		}
		if done, err := t.writesAgain(regs, &h); done { // caught on the way there: the signal is held
			return err
		}
		t.signalled(&h, regs)
	}
	if passes {
		if err := t.tracee.SetInfo(&h); err != nil {
			return err
		}
		if t.tracee.Overtaken(&h) {
			h.Number = 0
		}
		return t.enter(regs, h.Number)
	}
	return t.handOver(regs, &h, &sets)
}

// handOver has the kernel deliver a signal that has a handler, or ends the process, to a thread with the application's registers.
func (t *Thread) handOver(regs *sys.Regs, h *tracee.Signal, sets *sys.SignalSets) error {
	switch h.Number {
	case tracee.SIGILL, tracee.SIGTRAP, tracee.SIGFPE: // si_addr is where the instruction is
		if h.Fault() && t.inCache(h.Info.Addr()) {
			h.Info.SetAddr(regs.Rip)
		}
	}
	if h.Number == syscalls.SIGSYS && h.Info.Code() > 0 && t.inCache(h.Info.Addr()) { // si_call_addr is behind the call
		h.Info.SetAddr(regs.Rip)
	}
	if err := t.giveBackFrame(regs.Rsp); err != nil {
		return err
	}
	bit := uint64(1) << (h.Number - 1)
	if sets.Caught&bit != 0 && t.plainEntry(regs, h, sets) {
		if did, err := t.makeEntry(regs, h, sets); did || err != nil {
			return err
		}
	}
	if err := t.forceTrap(h, sets); err != nil {
		return err
	}
	if err := t.tracee.SetRegs(regs); err != nil {
		return err
	}
	if err := t.tracee.SetInfo(h); err != nil {
		return err
	}
	if sets.Caught&bit == 0 || h.Fault() && sets.Blocked&bit != 0 { // it ends the process
		return t.run(h.Number)
	}
	return t.enterHandler(regs, h, sets)
}

// forceTrap has the kernel take SIGTRAP's handler and the bit of the mask from a thread that blocks the signal and is to get one that an instruction has
// raised. The kernel does it by itself where instructions raise blocked signals; but those that raise SIGTRAP are stepped, with the signal unblocked, and one
// that is handed to the kernel while it is blocked would be kept for later. What raises it once more is an int3 of ours that the thread runs into.
func (t *Thread) forceTrap(h *tracee.Signal, sets *sys.SignalSets) error {
	if h.Number != tracee.SIGTRAP || !h.Fault() || sets.Blocked>>(tracee.SIGTRAP-1)&1 == 0 {
		return nil
	}
	a, r := t.p.cache.Regions[0], sys.Regs{}
	if err := t.tracee.GetRegs(&r); err != nil {
		return err
	}
	r.Rip, r.Orig_rax = a.Base+a.Routines.InjectAfter, ^uint64(0)
	r.Eflags &^= translate.FlagTrap
	if err := t.tracee.SetRegs(&r); err != nil {
		return err
	}
	_, err := t.tracee.RunTo(func(h *tracee.Signal) bool { return h.Breakpoint() })
	return err
}

// enterHandler has the kernel deliver a signal that has a handler to a thread with
// the application's registers, and lets the thread go on with the translation of
// the handler. What the step has left in the frame is put right.
func (t *Thread) enterHandler(regs *sys.Regs, h *tracee.Signal, sets *sys.SignalSets) error {
	own, from := regs.Eflags&translate.FlagTrap != 0, regs.Rip
	t.p.points.InterruptedAt(regs.Rip)
	t.resume.Interrupt(regs)
	t.calls.Interrupted()
	entry := t.watchEntry(regs, h, sets)
	if err := t.tracee.Enter(h.Number); err != nil {
		return err
	}
	if err := t.tracee.GetRegs(regs); err != nil {
		return err
	}
	t.learn(entry, regs)
	t.counts.Led(translate.Edge{From: from, To: regs.Rip, Jump: true}, 1)
	step := uint64(translate.FlagTrap)
	if own {
		step = 0
	}
	if ptr, ok := sigframe.Clean(t.p.mem, regs.Rdx, step); ok {
		t.p.fixPointer(t, ptr, codecache.X87Pointer{Size: 8})
	}
	if t.recovery.Wrote() {
		sigframe.OfWrite(t.p.mem, regs.Rdx)
	}
	return t.enter(regs, 0)
}

// signalled tells the client of a signal that is about to be delivered to a
// thread with the application's registers in regs.
func (t *Thread) signalled(h *tracee.Signal, regs *sys.Regs) {
	if t.p.hearSignals && !t.vfork {
		t.p.client.Signalled(t, &h.Info, h.Number, regs.Rip)
	}
}

// WatchSignals asks for Handler.Signalled, or no longer.
func (p *Process) WatchSignals(on bool) { p.hearSignals = on }

// passOnGone is passOn for a thread that err says is gone. With any other error it would run a handler untraced, as it stands.
func (t *Thread) passOnGone(h tracee.Signal, err error) error {
	if !sys.Gone(err) {
		return err
	}
	return t.passOn(h)
}

// passOn delivers a signal to a thread as it stands.
// The kernel does with it what it would have done without the stop.
func (t *Thread) passOn(h tracee.Signal) error {
	t.tracee.Calm()
	if err := t.tracee.SetInfo(&h); err != nil {
		return err
	}
	if t.tracee.Overtaken(&h) {
		h.Number = 0
	}
	return t.run(h.Number)
}

// toSafePoint turns the registers of a thread that a signal found in the cache into
// the application's: at once for a fault or at a safe point, else after
// stepping to the next one. Other signals stay with the kernel meanwhile: the
// handler of the one that is being delivered may block them, and a held one
// could not be given back.
//
// h may be replaced: a fault of the application's own that comes up while stepping is
// delivered instead, and the signal is held.
func (t *Thread) toSafePoint(regs *sys.Regs, h *tracee.Signal) error {
	if err := t.outOfJump(regs, h); err != nil {
		return err
	}
	if t.native && t.wild != 0 && regs.Rip == t.wild || t.recoverState(regs, h.Fault()) {
		return nil
	}
	return t.tracee.Undisturbed(func() error { return t.stepToSafePoint(regs, h) })
}

// ignore lets a thread run on with a signal that changes nothing for it, or that the
// kernel handles as it would natively. One that does nothing costs nothing natively:
// a thread that gets two of them in a row is sheltered.
func (t *Thread) ignore(regs *sys.Regs, h tracee.Signal) error {
	if !t.vfork {
		if err := t.tracee.Shelter(regs, &h); err != nil {
			return err
		}
	}
	t.tracee.LetInAt(regs.Rip)
	return t.passOn(h)
}

// stepToSafePoint steps until the thread is at a safe point.
// Four hundred steps are several times the longest way out of a routine or an
// instruction's instrumentation: more means a defect, and an error is better than a
// hang.
func (t *Thread) stepToSafePoint(regs *sys.Regs, h *tracee.Signal) error {
	most := 400
	if t.slot.Slotted() { // who leaves a chunk fills what is left of it
		most = 20000
	}
	for n := 0; ; n++ {
		if n > 0 && t.recoverState(regs, false) {
			return nil
		}
		t.hurry(regs)
		if did, err := t.leaveChunk(regs); err != nil {
			return err
		} else if did {
			continue
		}
		if a := t.p.cache.RegionAt(regs.Rip); n > most && (a == nil || !a.InReturn(regs.Rip)) { // which may drop many frames
			return t.lost(regs)
		}
		t.awaitRoom(regs)
		if err := t.stepHidden(regs); err != nil {
			return err
		}
		if t.dropOurFault(regs) {
			continue
		}
		if t.tracee.FaultFirst(h) { // the application's own comes first
			if !t.recoverState(regs, true) {
				return t.lost(regs)
			}
			return nil
		}
	}
}

// awaitRoom waits, if a thread that is to be stepped waits for room in its ring
// itself, until there is some: a thread that is stepped would spin or sleep.
// Processing threads work meanwhile.
func (t *Thread) awaitRoom(regs *sys.Regs) {
	a := t.p.cache.RegionAt(regs.Rip)
	if a == nil {
		return
	}
	if off := regs.Rip - a.Base; off < a.Routines.ChunkCore || off >= a.Routines.ChunkTail {
		return
	}
	t.slot.AwaitRoom(t.slot.Get(layout.Head))
}

// leaveChunk lets a thread that changes chunks do so by one stop instead of some fifty, since that is where signals find one that
// waits for room: the routine's end leads to an int3 meanwhile. false if the thread is elsewhere, or could not take a SIGTRAP.
func (t *Thread) leaveChunk(regs *sys.Regs) (did bool, err error) {
	a := t.p.cache.RegionAt(regs.Rip)
	if a == nil {
		return false, nil
	}
	rt := &a.Routines
	if off := regs.Rip - a.Base; off < rt.Chunk || off >= rt.ChunkTail {
		return false, nil
	}
	const bit = 1 << (tracee.SIGTRAP - 1)
	if mask, err := t.tracee.Mask(); err != nil || mask&bit != 0 || t.p.trap.Ignores() || regs.Eflags&translate.FlagTrap != 0 {
		return false, err
	}
	t.awaitRoom(regs)
	next, stop := t.slot.Get(layout.Resume), a.Base+rt.InjectAfter
	t.slot.Set(layout.Resume, stop)
	// The routine's end is an int3 that only this thread gets to.
	if _, err := t.tracee.RunTo(func(h *tracee.Signal) bool {
		return h.Breakpoint() && t.tracee.GetRegs(regs) == nil && regs.Rip == stop+1
	}); err != nil {
		return false, err
	}
	t.slot.Set(layout.Resume, next)
	regs.Rip = next
	return true, t.tracee.SetRegs(regs)
}

// stepHidden executes one instruction of the cache and reads the registers
// again. Unless the application has set the trap flag itself, it does not find
// the step's: pushf would push it. A popf is done by hand: once the kernel has
// stepped one, it takes the trap flag of all further steps for the
// application's own, until the thread runs freely again.
func (t *Thread) stepHidden(regs *sys.Regs) error {
	own := regs.Eflags&translate.FlagTrap != 0
	var code [2]byte
	n, _ := t.p.mem.ReadAt(code[:], int64(regs.Rip))
	pushes := n == 2 && (code[0] == 0x9c || code == [2]byte{0x66, 0x9c})
	if t.p.popFlags(regs) {
		return t.tracee.SetRegs(regs)
	}
	if err := t.step(); err != nil {
		return err
	}
	if err := t.tracee.GetRegs(regs); err != nil {
		return err
	}
	if h := t.tracee.Last(); h != nil {
		if own, err := t.ownFault(regs, h); own {
			t.tracee.DropLast()
			return errors.Join(err, t.tracee.SetRegs(regs))
		}
	}
	if own {
		return nil
	}
	if pushes && t.tracee.Raised() == nil {
		var b [1]byte
		at := int64(regs.Rsp + 1)
		if _, err := t.p.mem.ReadAt(b[:], at); err != nil {
			return fmt.Errorf("pushed flags: %w", err)
		}
		b[0] &^= translate.FlagTrap >> 8
		if _, err := t.p.mem.WriteAt(b[:], at); err != nil {
			return fmt.Errorf("pushed flags: %w", err)
		}
	}
	if regs.Eflags&translate.FlagTrap == 0 {
		return nil
	}
	regs.Eflags &^= translate.FlagTrap
	return t.tracee.SetRegs(regs)
}
