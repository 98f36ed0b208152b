package engine

import (
	"encoding/binary"
	"fmt"
	"time"

	"alleria/engine/translate"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// heldSignal is a signal that the kernel was about to deliver.
// info is delivered as it came: sender, value and address are what the handler
// sees.
type heldSignal struct {
	sig  sys.Signal
	info sys.Siginfo
}

// hold takes the signal of a signal-delivery stop out of the kernel's hands.
func hold(t *Thread, sig sys.Signal) (heldSignal, error) {
	h := heldSignal{sig: sig}
	return h, sys.GetSiginfo(t.tid, &h.info)
}

// fault tells whether the signal was raised by the instruction that the thread
// stands at, not sent.
// si_code is positive for what the kernel found, zero or negative for what somebody
// sent (sigaction(2)).
func (h *heldSignal) fault() bool {
	switch h.sig {
	case 4, 5, 7, 8, 11: // ILL, TRAP, BUS, FPE, SEGV
		return h.info.Code() > 0
	}
	return false
}

// Codes of SIGTRAP.
const (
	codeBreak  = 1
	codeTrace  = 2
	codeKernel = 0x80 // int3
	codeTKill  = -6   // of any signal: sent by tgkill
	codeUser   = 0    // by kill
	codeQueue  = -1   // by sigqueue
)

// signal handles a signal-delivery stop.
//
// A SIGTRAP may be a probe's, the application's own int3, or the trace trap of a program
// that has set the trap flag; steps of ours never come this way, as step waits for them.
func (tr *Tracer) signal(t *Thread, sig sys.Signal) error {
	p := t.p
	regs := new(sys.Regs)
	if err := sys.GetRegs(t.tid, regs); err != nil {
		return err
	}
	h, err := hold(t, sig)
	if err != nil {
		return err
	}
	if sig == sigTrap {
		code := h.info.Code()
		if tr.mergedTrap(t, regs, &h) {
			code = codeKernel
		}
		switch code {
		case codeKernel, codeBreak:
			if done, err := tr.breakpoint(t, regs); done {
				return err
			}
		case codeTrace:
			if j := p.points.JumpAt(regs.Rip); j != nil && t.native {
				if done, err := tr.trapInJump(t, j, regs); done {
					return err
				}
			}
			// The application has set the trap flag: it sees a trap behind each
			// instruction of its own, not behind those between.
			if tr.inCache(t, regs.Rip) && !tr.recoverState(t, regs, false) {
				return tr.resume(t, 0)
			}
		}
	}
	if tr.inCache(t, regs.Rip) && p.lostOurs(&h) {
		return errUnmapped
	}
	if tr.stampFault(t, regs, &h) {
		if err := sys.SetRegs(t.tid, regs); err != nil {
			return err
		}
		return tr.resume(t, 0)
	}
	if j := p.captureJump(regs.Rip, &h); j != nil {
		t.noteGS(regs)
		tr.probeHit(p)
		regs.Rip = j.Entry
		return tr.enter(t, regs, 0)
	}
	if tr.bailOut(t, regs, &h) {
		return tr.resume(t, 0)
	}
	p.stats.Signals++
	if tr.postpone(t, regs, &h) {
		return tr.resume(t, 0)
	}
	return tr.deliver(t, regs, h)
}

// deliver delivers a signal: with the application's registers where it has a
// handler or ends the process.
//
// The kernel writes the frame itself, from the registers that are set here: its layout, the
// vector state and the alternate stack are its business. The step with the signal stops at
// the handler's first instruction, from where the thread goes on in the cache. A signal
// without a handler is handed over with the application's registers, so that a core dump
// shows the application.
func (tr *Tracer) deliver(t *Thread, regs *sys.Regs, h heldSignal) error {
	if err := tr.outOfJump(t, regs, &h); err != nil {
		return err
	}
	// A thread may also be native because it went where there is no code: its
	// fault is delivered here and it goes on in the cache.
	native := t.native && t.p.mode == ModeNative && !tr.inCache(t, regs.Rip)
	if native {
		tr.signalled(t, &h, regs)
		t.p.points.InterruptedAt(regs.Rip)
		if t.p.mode == ModeNative {
			return tr.ignore(t, regs, h)
		}
		t.noteGS(regs)
	}
	sets, err := sys.ReadSignalSets(t.tid)
	if err != nil {
		return tr.passOn(t, h)
	}
	passes := h.passes(&sets)
	// A thread that is not in the cache has been taken out of it, to execute an instruction
	// natively, say: resumed as it stands, it would run on untraced.
	if passes && !native && !t.p.hearSignals && tr.inCache(t, regs.Rip) {
		return tr.ignore(t, regs, h)
	}
	if !native {
		if err := tr.toSafePoint(t, regs, &h); err != nil {
			return err
		}
		tr.signalled(t, &h, regs)
	}
	if passes {
		if err := sys.SetSiginfo(t.tid, &h.info); err != nil {
			return err
		}
		return tr.enter(t, regs, h.sig)
	}
	return tr.handOver(t, regs, &h, &sets)
}

// passes tells whether a signal changes nothing for a program with these dispositions: nobody handles it, and it ends nothing.
func (h *heldSignal) passes(sets *sys.SignalSets) bool {
	bit := uint64(1) << (h.sig - 1)
	return sets.Caught&bit == 0 && !h.fault() && (sets.Ignored&bit != 0 || harmless(h.sig))
}

// handOver has the kernel deliver a signal that has a handler, or ends the process, to a thread with the application's registers.
func (tr *Tracer) handOver(t *Thread, regs *sys.Regs, h *heldSignal, sets *sys.SignalSets) error {
	switch h.sig {
	case sigIll, sigTrap, sigFPE: // si_addr is where the instruction is
		if h.fault() && tr.inCache(t, h.info.Addr()) {
			h.info.SetAddr(regs.Rip)
		}
	}
	if h.sig == sigSys && h.info.Code() > 0 && tr.inCache(t, h.info.Addr()) { // si_call_addr is behind the call
		h.info.SetAddr(regs.Rip)
	}
	bit := uint64(1) << (h.sig - 1)
	if err := sys.SetRegs(t.tid, regs); err != nil {
		return err
	}
	if err := sys.SetSiginfo(t.tid, &h.info); err != nil {
		return err
	}
	if sets.Caught&bit == 0 || h.fault() && sets.Blocked&bit != 0 { // it ends the process
		return tr.resume(t, h.sig)
	}
	return tr.enterHandler(t, regs, h.sig)
}

// enterHandler has the kernel deliver a signal that has a handler to a thread with
// the application's registers, and lets the thread go on with the translation of
// the handler. What the step has left in the frame is put right.
func (tr *Tracer) enterHandler(t *Thread, regs *sys.Regs, sig sys.Signal) error {
	own := regs.Eflags&translate.FlagTrap != 0
	t.p.points.InterruptedAt(regs.Rip)
	t.noteInterrupted(regs)
	t.toReturn, t.inCall = t.toReturn && !t.native, t.inCall && !t.native // the handler comes between
	if err := sys.Step(t.tid, sig); err != nil {
		return err
	}
	if err := tr.stepped(t); err != nil {
		return err
	}
	if err := sys.GetRegs(t.tid, regs); err != nil {
		return err
	}
	if !own {
		t.p.cleanFrame(regs)
	}
	if t.wrote {
		t.wrote = false
		t.p.frameOfWrite(regs)
	}
	return tr.enter(t, regs, 0)
}

// frameFlags is where a handler's ucontext, to which rdx points, has the flags.
const frameFlags = 40 + 17*8

// signalled tells the client of a signal that is about to be delivered to a
// thread with the application's registers in regs.
func (tr *Tracer) signalled(t *Thread, h *heldSignal, regs *sys.Regs) {
	if t.p.hearSignals && !t.vfork {
		t.p.client.Signalled(t, &h.info, h.sig, regs.Rip)
	}
}

// WatchSignals asks for Handler.Signalled, or no longer.
func (p *Process) WatchSignals(on bool) { p.hearSignals = on }

// cleanFrame takes the trap flag of the step out of a signal's frame: the kernel
// leaves it there if the interrupted instruction is a popf or iret. A program
// that reads a frame which is gone finds what it deserves, so errors are none.
func (p *Process) cleanFrame(regs *sys.Regs) {
	var b [8]byte
	at := regs.Rdx + frameFlags
	if _, err := p.mem.ReadAt(b[:], int64(at)); err != nil {
		return
	}
	if f := binary.LittleEndian.Uint64(b[:]); f&translate.FlagTrap != 0 {
		_ = p.putWord(at, f&^translate.FlagTrap)
	}
}

// passOn delivers a signal to a thread as it stands.
// The kernel does with it what it would have done without the stop.
func (tr *Tracer) passOn(t *Thread, h heldSignal) error {
	t.storm.calm = time.Now()
	if err := sys.SetSiginfo(t.tid, &h.info); err != nil {
		return err
	}
	return tr.resume(t, h.sig)
}

// harmless tells signals whose default action neither ends the process nor
// looks at its registers.
// An ignored signal, or one of these without a handler, does not end anything:
// where it finds the thread does not matter.
func harmless(sig sys.Signal) bool {
	switch sig {
	case 17, 18, 19, 20, 21, 22, 23, 28: // CHLD CONT STOP TSTP TTIN TTOU URG WINCH
		return true
	}
	return false
}

// faultSignals is the signals that instructions raise; blocked, they would end
// the process.
const faultSignals = 1<<(sigIll-1) | 1<<(sigTrap-1) | 1<<(sigBus-1) | 1<<(sigFPE-1) | 1<<(sigSegv-1)

// toSafePoint turns the registers of a thread that a signal found in the cache into
// the application's: at once for a fault or at a safe point, else after
// stepping to the next one. Other signals stay with the kernel meanwhile: the
// handler of the one that is being delivered may block them, and a held one
// could not be given back.
//
// h may be replaced: a fault of the application's own that comes up while stepping is
// delivered instead, and the signal is held.
func (tr *Tracer) toSafePoint(t *Thread, regs *sys.Regs, h *heldSignal) error {
	if err := tr.outOfJump(t, regs, h); err != nil {
		return err
	}
	if tr.recoverState(t, regs, h.fault()) {
		return nil
	}
	return undisturbed(t, func() error { return tr.stepToSafePoint(t, regs, h) })
}

// undisturbed calls steps with the signals of a stopped thread blocked, but for those
// that instructions raise: a timer may fire faster than the tracer steps, and the
// thread would get nowhere.
func undisturbed(t *Thread, steps func() error) error {
	mask, err := sys.SignalMask(t.tid)
	if err != nil {
		return err
	}
	if err := sys.SetSignalMask(t.tid, mask|^uint64(faultSignals)); err != nil {
		return err
	}
	if err := steps(); err != nil {
		return err
	}
	return sys.SetSignalMask(t.tid, mask)
}

// stepToSafePoint steps until the thread is at a safe point.
// Four hundred steps are several times the longest way out of a routine or an
// instruction's instrumentation: more means a defect, and an error is better than a
// hang.
func (tr *Tracer) stepToSafePoint(t *Thread, regs *sys.Regs, h *heldSignal) error {
	most := 400
	if t.slot.Slotted() { // who leaves a chunk fills what is left of it
		most = 20000
	}
	for n := 0; ; n++ {
		if n > 0 && tr.recoverState(t, regs, false) {
			return nil
		}
		tr.hurry(t, regs)
		if did, err := tr.leaveChunk(t, regs); err != nil {
			return err
		} else if did {
			continue
		}
		if a := t.p.cache.RegionAt(regs.Rip); n > most && (a == nil || !a.InReturn(regs.Rip)) { // which may drop many frames
			return tr.lost(t, regs)
		}
		tr.awaitRoom(t, regs)
		if err := tr.stepHidden(t, regs); err != nil {
			return err
		}
		if tr.dropOurFault(t, regs) {
			continue
		}
		if t.faultFirst(h) { // the application's own comes first
			if !tr.recoverState(t, regs, true) {
				return tr.lost(t, regs)
			}
			return nil
		}
	}
}

// awaitRoom waits, if a thread that is to be stepped waits for room in its ring
// itself, until there is some: a thread that is stepped would spin or sleep.
// Processing threads work meanwhile.
func (tr *Tracer) awaitRoom(t *Thread, regs *sys.Regs) {
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
func (tr *Tracer) leaveChunk(t *Thread, regs *sys.Regs) (did bool, err error) {
	a := t.p.cache.RegionAt(regs.Rip)
	if a == nil {
		return false, nil
	}
	rt := &a.Routines
	if off := regs.Rip - a.Base; off < rt.Chunk || off >= rt.ChunkTail {
		return false, nil
	}
	const bit = 1 << (sigTrap - 1)
	if mask, err := sys.SignalMask(t.tid); err != nil || mask&bit != 0 || t.p.trapIgnored || regs.Eflags&translate.FlagTrap != 0 {
		return false, err
	}
	tr.awaitRoom(t, regs)
	next, stop := t.slot.Get(layout.Resume), a.Base+rt.InjectAfter
	t.slot.Set(layout.Resume, stop)
	if err := tr.runTo(t, stop, regs); err != nil {
		return false, err
	}
	t.slot.Set(layout.Resume, next)
	regs.Rip = next
	return true, sys.SetRegs(t.tid, regs)
}

// runTo lets a stopped thread run to an int3 of ours at an address that only it gets to, and reads the registers there. Signals
// that come meanwhile are held.
func (tr *Tracer) runTo(t *Thread, stop uint64, regs *sys.Regs) error {
	for {
		if err := sys.Cont(t.tid, 0); err != nil {
			return err
		}
		s, err := tr.waitFor(t)
		if err != nil {
			return err
		}
		if s.Status.Exited() || s.Status.Signaled() {
			tr.later = append(tr.later, s)
			return errEnded
		}
		if s.Event() != 0 {
			continue
		}
		if err := sys.GetRegs(t.tid, regs); err != nil {
			return err
		}
		h, err := hold(t, s.Signal())
		if err != nil {
			return err
		}
		if h.breakpoint() && regs.Rip == stop+1 {
			return nil
		}
		tr.sentAgain(t, &h)
		t.held = append(t.held, h)
	}
}

// stepHidden executes one instruction of the cache and reads the registers
// again. Unless the application has set the trap flag itself, it does not find
// the step's: pushf would push it. A popf is done by hand: once the kernel has
// stepped one, it takes the trap flag of all further steps for the
// application's own, until the thread runs freely again.
func (tr *Tracer) stepHidden(t *Thread, regs *sys.Regs) error {
	own := regs.Eflags&translate.FlagTrap != 0
	var code [2]byte
	n, _ := t.p.mem.ReadAt(code[:], int64(regs.Rip))
	pushes := n == 2 && (code[0] == 0x9c || code == [2]byte{0x66, 0x9c})
	if t.p.popFlags(regs) {
		return sys.SetRegs(t.tid, regs)
	}
	if err := tr.step(t); err != nil {
		return err
	}
	if err := sys.GetRegs(t.tid, regs); err != nil {
		return err
	}
	if k := len(t.held); k > 0 && tr.stampFault(t, regs, &t.held[k-1]) {
		t.held = t.held[:k-1]
		return sys.SetRegs(t.tid, regs)
	}
	if own {
		return nil
	}
	if k := len(t.held); pushes && (k == 0 || !t.held[k-1].fault()) {
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
	return sys.SetRegs(t.tid, regs)
}

// frameError is where a handler's ucontext has the page fault's error code, and
// its bit for a write.
const (
	frameError = 40 + 19*8
	errorWrite = 2
)

// frameOfWrite makes a signal's frame tell of a write: the processor reports one
// for an instruction that reads and writes the same place, of which recording
// executes the read first.
func (p *Process) frameOfWrite(regs *sys.Regs) {
	at := regs.Rdx + frameError
	var b [8]byte
	if _, err := p.mem.ReadAt(b[:], int64(at)); err == nil { // a frame that is gone: see cleanFrame
		_ = p.putWord(at, binary.LittleEndian.Uint64(b[:])|errorWrite)
	}
}
