package engine

import (
	"fmt"
	"slices"

	"alleria/engine/codecache"
	"alleria/engine/emulate"
	"alleria/engine/syscalls"
	"alleria/engine/tracee"
	"alleria/engine/translate"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// enter lets a stopped thread go on from the application state regs, as the
// process's mode says: in the cache or natively. Signals that were held come
// first.
//
// Everything that a stopped thread was stopped for ends here: it is the one way back. sig is
// delivered by the kernel to what the registers then are, so that it is only given for a
// signal whose frame the application may see.
func (t *Thread) enter(regs *sys.Regs, sig sys.Signal) error {
	return t.enterPast(regs, sig, codecache.Uncounted)
}

// enterPast is enter; how is what has been counted of the entry at the address.
func (t *Thread) enterPast(regs *sys.Regs, sig sys.Signal, how codecache.Entry) error {
	p := t.p
	t.atNowhere(regs)
	t.sync()
	if how == codecache.Uncounted {
		how = t.resume.Recall(regs)
	}
	if how != codecache.Counted && !t.native {
		t.stands = regs
		t.askSpent(regs.Rip)
		t.stands = nil
	}
	t.dropHit(regs)
	// A signal comes before anything else that could happen here.
	if h, ok := t.tracee.Next(); ok {
		t.resume.At(regs, how)
		return t.deliver(regs, h)
	}
	t.away = false
	if elsewhere(regs) && (p.mode != ModeNative || t.vfork) {
		return t.runElsewhere(regs, sig)
	}
	if p.mode == ModeNative && !t.native && !t.vfork {
		t.stayIfInsideFunction(regs)
	}
	if how != codecache.Counted && !t.vfork {
		how = t.arrived(regs, how)
	}
	if p.mode == ModeNative && !t.vfork {
		if !t.native {
			if err := t.leaveCache(sig); err != nil {
				return err
			}
		}
		p.watchLibrary()
		if err := t.noteActions(sig); err != nil {
			return err
		}
		return t.runNatively(regs, sig)
	}
	if t.native {
		if err := t.calls.TakeRefused(); err != nil {
			return err
		}
		_ = t.calls.SeeSequences() // none where the kernel cannot say
		t.segmentChanged(regs)     // no call of it that set a base natively was seen
		p.calls.Look(t.tid)        // nor one that installed a filter
		p.calls.LookAtWrites()     // nor one that opened a file
		p.checkCode(t)
	}
	t.native, t.wild = false, 0
	p.hush()
	p.unmute()
	return t.enterCache(regs, sig, how)
}

// hush has code that captures calls natively wake nobody and sleep nowhere, unless the program's code says when it may have installed a filter of system calls (noteActions): nobody hears of it
// otherwise, and a call of ours would kill the program. Processing threads are woken by the tracer then (ringForMute), and who waits for room spins.
//
// Refused: to have it so wherever calls are captured natively. Four threads on two processors take 281 ns a call instead of 133, as those that wait leave the processor to nobody.
func (p *Process) hush() {
	if quiet := p.points.CapturesByJump() && !p.noted.hears(); quiet || p.calls.Hushed() {
		p.calls.Hush(quiet && slices.ContainsFunc(p.running(), func(t *Thread) bool { return t.native }))
	}
}

// unmute takes back what the program's code has said of calls of ours, once no thread runs natively and none is limited: the call was refused, as one that only probes for filters is, or asked
// something. Else the tracer would be asked by who may not wake it, for good.
func (p *Process) unmute() {
	if p.calls.Filtered || p.calls.Hushed() || !p.mute() || slices.ContainsFunc(p.running(), func(t *Thread) bool { return t.native }) {
		return
	}
	for _, t := range p.running() {
		p.calls.Look(t.tid)
	}
	p.calls.Unmute()
}

// dropHit takes the trap of an int3 of ours from the signals that are held for a native thread which was stopped behind it: it is in front of
// it now. It comes before all other signals, in whatever order they were held, since those are delivered to where the thread is.
func (t *Thread) dropHit(regs *sys.Regs) {
	if t.native {
		t.tracee.Drop(func(h *tracee.Signal) bool { return t.p.hitProbe(regs, h) })
	}
}

// arrived tells the client what the address is that a thread is about to execute, and
// what of the entry there has been counted then. In the cache the code counts it.
func (t *Thread) arrived(regs *sys.Regs, how codecache.Entry) codecache.Entry {
	if t.p.cache.Watched[regs.Rip] {
		t.p.client.Notified(t, regs.Rip, NotifiedRegs{regs.Rsp, regs.Rdi})
	}
	if t.native {
		t.captures.Returned(regs)
		t.returnedNatively(regs)
	}
	if t.p.mode != ModeNative {
		c := t.p.points.CapturesAt(regs.Rip)
		if c != nil && t.native && how == codecache.Uncounted && !t.p.points.Counted(regs.Rip) && t.loopsTo(c, regs) {
			return codecache.BackEdge // the loop goes on in the cache
		}
		return how
	}
	if t.calls.IsAgain() && t.p.points.ProbedCall(regs.Rip) { // the kernel makes the same call again
		return codecache.Counted
	}
	if how == codecache.Uncounted {
		at := regs.Rip
		if t.enteredCaptured(regs); regs.Rip != at && t.p.jumpsOn(at) {
			return t.arrived(regs, codecache.Uncounted)
		}
	}
	captured := t.p.points.CapturesAt(regs.Rip) != nil
	t.enteredNatively(regs, how)
	if c := t.p.points.CapturesAt(regs.Rip); c != nil && !captured && how == codecache.Uncounted { // a window has opened here
		t.captureEntry(c, regs)
	}
	return codecache.Counted
}

// enterCache lets a thread go on in the cache, in the variant that is due.
func (t *Thread) enterCache(regs *sys.Regs, sig sys.Signal, how codecache.Entry) error {
	p := t.p
	v := t.due()
	if t.vfork {
		v = codecache.Aside
	}
	waitForTable := t.tableAhead(v)
	if !t.vfork {
		p.takeOver(v)
	}
	waitForTable()
	t.useVariant(v)
	if !t.vfork {
		t.stands = regs
		t.p.client.Entering(t)
		t.stands = nil
	}
	if regs.Eflags&translate.FlagTrap != 0 {
		return t.stepOwn(regs, v)
	}
	// No code there: the thread runs natively into the fault that belongs there.
	code := p.codeFor(regs.Rip, v, how)
	if code == 0 {
		return t.runNatively(regs, sig)
	}
	t.readyToggle()
	t.slot.Set(layout.AppGS, t.appGS)
	r := *regs
	r.Rip, r.Gs_base = code, t.slot.Base
	if tracee.Restarting(&r) {
		// The kernel will restart a call: two bytes before the address must lie
		// a syscall instruction.
		a := p.cache.Regions[0]
		t.calls.Restarts(regs)
		t.slot.Set(layout.ReqArg, regs.Rip)
		r.Rip = a.Base + a.Routines.SyscallAfter
	}
	t.tracee.LetInAt(r.Rip)
	if err := t.tracee.SetRegs(&r); err != nil {
		return err
	}
	return t.run(sig)
}

// nowhere is an address of the kernel's half, where no program may execute.
const nowhere = 0xffff800000000000

// raiseAt is where a thread goes that is to run into the fault that belongs at an address. Where memory of ours is nothing is natively: what lies there may
// not be executed, and the fault of another place is told to be that one's (atWild).
func (t *Thread) raiseAt(app uint64) uint64 {
	t.wild = 0
	if t.p.mode == ModeNative || t.vfork || !t.p.ours(app) {
		return app
	}
	t.wild = app
	return nowhere
}

// atNowhere tells whether a thread with these registers stands in front of such a fault, or has run into it, and gives them the address that it belongs to.
func (t *Thread) atNowhere(regs *sys.Regs) bool {
	if t.wild == 0 || regs.Rip != nowhere {
		return false
	}
	regs.Rip = t.wild
	return true
}

// atWild is atNowhere for what the thread has reported, which gets the address, too.
func (t *Thread) atWild(regs *sys.Regs, h *tracee.Signal) bool {
	if !t.atNowhere(regs) {
		return false
	}
	if h.Fault() {
		h.Info.SetAddr(t.wild)
	}
	return true
}

// runNatively lets a stopped thread run its own code.
//
// Held signals are handed to the kernel one by one; each but the last gets its handler
// entered by a step, so that none is lost by another one of the same number.
func (t *Thread) runNatively(regs *sys.Regs, sig sys.Signal) error {
	if nr, ok := vsyscallNumber(regs.Rip); ok && t.p.mode != ModeNative && sig == 0 {
		return t.vsyscall(regs, nr)
	}
	if !t.native && !t.vfork {
		t.p.client.Entering(t) // its records of the mode that it leaves end here
	}
	if err := t.leaveGuards(); err != nil {
		return err
	}
	t.native = true
	t.p.hush()
	t.p.calls.HandlersChange()
	t.calls.Leave()
	t.p.runsNatively()
	r := *regs
	r.Gs_base = t.nativeGS()
	if t.tracee.Holds() { // their handlers will return to where it is
		if err := t.p.points.Uncover(r.Rip); err != nil {
			return err
		}
	}
	r.Rip = t.raiseAt(t.p.points.CopyOf(r.Rip))
	if err := t.tracee.SetRegs(&r); err != nil {
		return err
	}
	// It must not run into the probe that it stands on.
	if sig == 0 && !t.tracee.Holds() && r.Eflags&translate.FlagTrap == 0 && t.p.points.ProbedCall(r.Rip) {
		next, err := t.calls.AtProbe(&r)
		return t.behindCall(&r, next, err)
	}
	// What it has replaced may be a zero byte, as of an add.
	if _, on := t.p.points.Original(r.Rip); on {
		if err := t.overProbe(r.Rip); err != nil {
			return err
		}
		if r.Eflags&translate.FlagTrap != 0 && sig == 0 && !t.tracee.Holds() { // the step was the application's, too
			return t.run(tracee.SIGTRAP)
		}
	}
	if t.tracee.Holds() {
		return t.handHeld(regs)
	}
	return t.run(sig)
}

// handHeld hands the signals that are held for a thread in native code to the kernel, of which there are some. regs is where its
// mode changed: it may have made a step since.
func (t *Thread) handHeld(regs *sys.Regs) error {
	var r sys.Regs
	if err := t.tracee.GetRegs(&r); err != nil {
		return err
	}
	t.p.points.InterruptedAt(r.Rip)
	t.tracee.Each(func(h *tracee.Signal) { t.signalled(h, regs) })
	return t.handNext()
}

// handNext hands them to the kernel, of which the client knows.
func (t *Thread) handNext() error {
	h, err := t.tracee.HandOver()
	if err != nil {
		return err
	}
	if h.Number == 0 { // taken back meanwhile
		return t.run(0)
	}
	return t.passOn(h)
}

// trapped handles a thread that waits for the tracer to execute the last
// instruction of b.
func (t *Thread) trapped(b *codecache.Block) error {
	if b.Term == codecache.TermSyscall {
		return t.callTrapped(b)
	}
	if t.iretInCache(b) {
		return nil
	}
	regs, err := t.fetchWaiting(t.p.cache.InsAddr(b, int(b.Insns)-1))
	if err != nil {
		return err
	}
	t.p.stats.Traps++
	if regs.Eflags&translate.FlagTrap == 0 && t.p.calls.By32Bits(regs.Rip+syscalls.Length) {
		return t.callBy32Bits(b, regs)
	}
	return t.emulate(b, regs)
}

// emulate lets the thread execute one instruction natively, in the
// application's own code, and goes on in the cache behind it.
//
// The application's code is executed where it lies, by one step, with the application's gs:
// whatever the instruction does is then right by itself.
func (t *Thread) emulate(b *codecache.Block, regs *sys.Regs) error {
	r := *regs
	r.Gs_base = t.appGS
	var rec *emulate.Execution
	if b.Rec.ID != 0 {
		rec = t.beforeEmulation(b, &r)
	}
	own, call := r.Eflags&translate.FlagTrap != 0, t.p.calls.At(r.Rip)
	for again := true; again; { // a repeated string instruction stops at each iteration
		if err := t.execute(&r); err != nil {
			return err
		}
		if again = !own && r.Rip == regs.Rip && !t.tracee.Holds() && emulate.RepeatsAt(t.p.mem, r.Rip); again && rec != nil {
			rec.Again(&r)
		}
	}
	t.appGS = r.Gs_base
	if t.p.translator.CountsAccesses {
		t.countExecuted(b, regs, &r)
	} else if t.p.translator.Budgeted && r.Rip == regs.Rip { // it faulted, or is to go on
		t.recovery.Refund(b, 0)
	}
	if b.Variant == codecache.Count && r.Rip != regs.Rip {
		t.counts.Executed(b.App, 1)
		t.ledBy(b, regs, &r, 1)
	}
	if raised := t.tracee.Raised(); raised != nil {
		h := *raised
		t.tracee.DropLast()
		if rec != nil && r.Rip == rec.Next() { // a trap, such as int3's, not a fault
			t.mark(rec.After(&r)...)
		}
		return t.deliver(&r, h)
	}
	if rec != nil {
		t.mark(rec.After(&r)...)
	}
	t.segmentChanged(&r)
	if own && !call {
		return t.trapOwn(&r)
	}
	return t.enter(&r, 0)
}

// ledBy counts where a branch has led that was executed for the thread, from its registers before and behind it. A return leads into no function.
func (t *Thread) ledBy(b *codecache.Block, was, is *sys.Regs, times int) {
	if is.Rip != was.Rip+uint64(b.AppSize) && is.Rsp <= was.Rsp {
		t.counts.Led(translate.Edge{From: was.Rip, To: is.Rip, Jump: is.Rsp == was.Rsp}, uint64(times))
	}
}

// inCache tells whether a thread is in the cache at an address.
func (t *Thread) inCache(addr uint64) bool { return t.p.cache.RegionAt(addr) != nil }

// lost reports a thread whose state could not be rebuilt: a defect. It says
// where, for those who look for it.
func (t *Thread) lost(regs *sys.Regs) error {
	where := "a stub"
	if a := t.p.cache.RegionAt(regs.Rip); a == nil {
		where = "outside the cache"
	} else if off := regs.Rip - a.Base; off < a.Routines.Size {
		where = fmt.Sprintf("routine+%#x", off)
	} else if b := t.p.cache.BlockAt(a, regs.Rip); b != nil {
		where = fmt.Sprintf("code of %#x+%#x, variant %d, end %d", b.App, regs.Rip-b.Code, b.Variant, b.Term)
	}
	return fmt.Errorf("the application's state at cache address %#x (%s) cannot be rebuilt", regs.Rip, where)
}
