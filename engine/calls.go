package engine

import (
	"alleria/engine/asking"
	"alleria/engine/codecache"
	"alleria/engine/emulate"
	"alleria/engine/sigframe"
	"alleria/engine/syscalls"
	"alleria/engine/tracee"
	"alleria/engine/translate"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Threads that make system calls, as far as it matters where they are in the cache: what calls mean is a matter of package syscalls.

// Call is a system call of the target.
type Call = syscalls.Call

// WatchCall asks for Handler.CallEntered, or no longer, and WatchReturns for Handler.CallReturned.
func (p *Process) WatchCall(nr uint32, on bool) { p.calls.Watch(nr, on) }
func (p *Process) WatchReturns(on bool)         { p.calls.WatchReturns(on) }

// WatchMappings asks for Handler.Mapped.
func (p *Process) WatchMappings() { p.calls.WatchMappings() }

// Mapped says what a call has mapped, in the cache or where native calls are watched.
type Mapped = syscalls.Mapped

// What is known of a mapping without asking the kernel.
const (
	MappedAnonymous = syscalls.MappedAnonymous
	MappedNamed     = syscalls.MappedNamed
	MappedMoved     = syscalls.MappedMoved
	MappedBreak     = syscalls.MappedBreak
	MappedAnything  = syscalls.MappedAnything
)

// Codes of arch_prctl.
const (
	archSetGS = 0x1001
	archGetGS = 0x1004
)

// callHost is a process as its system calls see it.
type callHost struct{ p *Process }

func (h callHost) Native() bool               { return h.p.mode == ModeNative }
func (h callHost) Changed()                   { h.p.modeChanged = true }
func (h callHost) ChangedCode()               { h.p.changedCode() }
func (h callHost) StayTranslated()            { h.p.KeepTranslated() }
func (h callHost) ImagesChanged()             { h.p.client.ImagesChanged(h.p) }
func (h callHost) Unmapped(start, end uint64) { h.p.client.Unmapped(h.p, start, end) }
func (h callHost) Mapped(m Mapped)            { h.p.client.Mapped(h.p, m) }
func (h callHost) Lost(start, end uint64)     { h.p.points.Lost(start, end) }
func (h callHost) Touched(start, end uint64)  { h.p.written.Touch(start, end) }
func (h callHost) Replaced(start, end uint64) { h.p.written.Replace(start, end) }
func (h callHost) Ours(addr uint64) bool      { return h.p.ours(addr) }
func (h callHost) OwnCall() uint64            { return h.p.ownCall() }

// ownCall is the cache address of a syscall instruction.
func (p *Process) ownCall() uint64 {
	a := p.cache.Regions[0]
	return a.Base + a.Routines.Inject
}

// threadHost is a thread as its requests and its system calls see it.
type threadHost struct{ t *Thread }

// Native tells whether the thread runs its own code.
func (h threadHost) Native() bool { return h.t.native }

// Away tells whether it has left 64-bit code.
func (h threadHost) Away() bool { return h.t.away }

// Shares tells a child that shares the address space.
func (h threadHost) Shares() bool { return h.t.vfork }

// CallEntered and CallReturned tell the handler of a call.
func (h threadHost) CallEntered(c *Call)  { h.t.p.client.CallEntered(h.t, c) }
func (h threadHost) CallReturned(c *Call) { h.t.p.client.CallReturned(h.t, c) }

// Alone tells whether it is the only thread of its process.
func (h threadHost) Alone() bool { return h.t.p == nil || len(h.t.p.threads) < 2 }

// OwnTrap tells whether signal has more to do with a SIGTRAP than to hold it.
func (h threadHost) OwnTrap() bool { return h.t.ownTrap() }

// OwnFault takes a fault that our code has made.
func (h threadHost) OwnFault(s *tracee.Signal) bool { return h.t.faultOfOurs(s) }

// Behind counts a stop in front of the thread's own signal.
func (h threadHost) Behind() { h.t.p.stats.Behind++ }

// callTrapped handles a thread that waits at the system call at the end of b, which translated code does not just make. Most need
// no stop.
func (t *Thread) callTrapped(b *codecache.Block) error {
	p := t.p
	at := p.cache.InsAddr(b, int(b.Insns)-1)
	plain := b.Code + uint64(b.Size) - translate.SyscallTail // the call itself
	refused := t.calls.IsRefused(at + syscalls.Length)
	reached, written := t.reachedByCall()
	if !refused && len(reached) == 0 {
		if notify, ok := t.calls.MayMake(uint32(t.slot.Get(layout.Save))); ok {
			if notify {
				plain -= translate.SyscallNotifyBack
			}
			t.reply(plain)
			return nil
		}
		var saved sys.Regs
		if t.recovery.Saved(&saved); p.calls.PlainClone(&saved) {
			t.calls.NotAgain()
			t.reply(plain)
			return nil
		}
		if t.returnInCache(b) {
			return nil
		}
	}
	regs, err := t.fetchWaiting(at)
	if err != nil {
		return err
	}
	if err := t.giveBack(reached, written); err != nil {
		return err
	}
	if refused {
		h, err := t.calls.Refuse(regs)
		if err != nil {
			return err
		}
		regs.Gs_base = t.appGS
		return t.deliver(regs, h)
	}
	p.stats.Traps++
	regs.Rcx, regs.R11 = 0, 0
	t.calls.Begin(regs, b.Is(codecache.LastRecorded))
	return t.answerCall(regs, plain)
}

// answerCall handles the call that a stopped thread stands at. regs is
// the application's state at the syscall instruction; plain is the cache
// address of a syscall instruction that goes on after the call.
func (t *Thread) answerCall(regs *sys.Regs, plain uint64) error {
	switch uint32(regs.Rax) {
	case syscalls.Rseq: // there is nothing to watch for any more, should it go on natively
		t.p.endStart()
		t.p.calls.SetStarting(0)
	case syscalls.Sigreturn:
		return t.sigreturn(regs)
	case syscalls.Ptrace:
		switch regs.Rdi {
		case asking.TraceMe:
			return t.traceMe(regs)
		case asking.Attach, asking.Seize:
			return t.p.tr.attached(t, int(int32(regs.Rsi)), regs, func() error { return t.letCall(regs, plain) })
		}
	case syscalls.ArchPrctl:
		switch regs.Rdi {
		case archSetGS:
			t.appGS = regs.Rsi
			t.slot.Set(layout.AppGS, regs.Rsi)
			return t.finishCall(regs, 0)
		case archGetGS:
			result := uint64(0)
			if t.p.putWord(regs.Rsi, t.appGS) != nil {
				efault := int64(-14)
				result = uint64(efault)
			}
			return t.finishCall(regs, result)
		}
	}
	next, err := t.calls.Answer(regs, plain)
	return t.behindCall(regs, next, err)
}

// letCall has a stopped thread make a call that the tracer has only to know of.
func (t *Thread) letCall(regs *sys.Regs, plain uint64) error {
	next, err := t.calls.Let(regs, plain)
	return t.behindCall(regs, next, err)
}

// finishCall answers a system call without executing it.
func (t *Thread) finishCall(regs *sys.Regs, result uint64) error {
	next, err := t.calls.Finish(regs, result)
	return t.behindCall(regs, next, err)
}

// behindCall does with a stopped thread what its system call is followed by.
func (t *Thread) behindCall(regs *sys.Regs, next syscalls.Next, err error) error {
	if err != nil {
		return err
	}
	switch next {
	case syscalls.Enter:
		t.segmentChanged(regs) // the tracer has set gs
		return t.enter(regs, 0)
	case syscalls.Again:
		return t.createAgain(regs)
	case syscalls.Over:
		t.segmentChanged(regs)
		if t.isBack(regs) || t.modeDiffers() || t.tracee.Holds() || t.native && t.vfork {
			return t.switchStopped()
		}
	}
	return t.run(0)
}

// callStop handles a stop at a system call, at its entry or its end.
func (t *Thread) callStop() error {
	var regs sys.Regs
	if err := t.tracee.GetRegs(&regs); err != nil {
		return err
	}
	if t.native && t.inCache(regs.Rip) { // a call of the routines that capture
		return t.run(0)
	}
	next, err := t.calls.Stop(&regs)
	return t.behindCall(&regs, next, err)
}

// createAgain has a thread make the call once more, from the program's own instruction: the kernel would make it again
// as it is now, with the flag. Calls of the family are always begun again.
func (t *Thread) createAgain(regs *sys.Regs) error {
	t.calls.MadeAgain()
	regs.Rax, regs.Orig_rax = regs.Orig_rax, ^uint64(0)
	if t.inCache(regs.Rip) && !t.recoverState(regs, false) {
		return t.lost(regs)
	}
	regs.Rip -= syscalls.Length
	return t.enter(regs, 0)
}

// afterCall looks at what a SyscallNotify call did, which a thread that waits has
// made before it left through exit e.
func (t *Thread) afterCall(e *codecache.Exit) {
	regs := &sys.Regs{}
	t.recovery.Saved(regs)
	regs.Rsp, regs.Rip = t.recovery.SavedSP(), regs.Rcx // as the call leaves it
	t.calls.Noted(t.slot.Get(layout.ReqArg), regs, e.Recorded)
}

// callBy32Bits has a thread that stands at an int 0x80, the instruction of block b, make the call.
//
// int 0x80 enters the kernel by another table of calls, from 64-bit code as well. The tracer has the thread make such
// a call from the program's own code: it may create processes, execute programs, wait, and be begun again, and is none of
// those that translated code makes. The thread comes back at the call's end.
func (t *Thread) callBy32Bits(b *codecache.Block, regs *sys.Regs) error {
	var rec *emulate.Execution
	if b.Rec.ID != 0 {
		rec = t.beforeEmulation(b, regs)
	}
	after := *regs
	after.Rip += syscalls.Length
	if t.p.translator.CountsAccesses {
		t.countExecuted(b, regs, &after)
	}
	if b.Variant == codecache.Count {
		t.counts.Executed(b.App, 1)
	}
	if rec != nil {
		t.mark(rec.After(&after)...)
	}
	if err := t.p.points.Uncover(regs.Rip); err != nil {
		return err
	}
	r := *regs
	r.Orig_rax, r.Gs_base = ^uint64(0), t.appGS
	if err := t.tracee.SetRegs(&r); err != nil {
		return err
	}
	if err := t.leaveGuards(); err != nil {
		return err
	}
	t.native = true
	t.p.calls.HandlersChange()
	t.calls.AwaitReturn(false)
	return t.run(0)
}

// A return from a handler. The kernel takes all registers from a frame on the stack, the instruction pointer among them, which is
// the application's. Translated code asks for it like for any address: the tracer copies the frame to the thread's slot, with the
// translation's address for the application's, and the thread makes the call itself, with its stack pointer at the copy. No
// stop is needed, and the application's own frame stays as it was: a program may return through it once more.
//
// Refused: changing the frame where it lies, for that reason. Where something is to happen at the return (another mode, held
// signals, steps, a rest from signals) the thread is stopped and the tracer makes the call in its name.

// returnInCache lets a thread that waits at an rt_sigreturn, the last instruction of b, return in the cache; false if that takes a stop.
func (t *Thread) returnInCache(b *codecache.Block) bool {
	p, s := t.p, t.slot
	if uint32(s.Get(layout.Save)) != syscalls.Sigreturn || !t.plainReturn() {
		return false
	}
	f, ok := sigframe.Read(p.mem, s.Get(layout.Save+4*8))
	rip := f.Rip()
	if !ok || f.Flags()&translate.FlagTrap != 0 || f.CS() != tracee.UserCS || p.cache.Watched[rip] {
		return false
	}
	t.entries.leftBy(&f)
	to := sys.Regs{Rip: rip, Rsp: f.Rsp()}
	takeBack := t.resume.Return(&to)
	code := p.codeFor(rip, t.variant, t.resume.Recall(&to))
	if code == 0 {
		takeBack()
		return false
	}
	t.restores(p.cache.InsAddr(b, int(b.Insns)-1), rip, 1)
	f.Copy(s.Mem[layout.SigFrame:], code)
	s.Set(layout.SigCopy, s.Base+layout.SigFrame)
	t.returning = b
	t.calls.NotAgain()
	a := p.cache.RegionAt(b.Code)
	t.tracee.LetInAt(code)
	t.reply(a.Base + a.Routines.Sigreturn)
	t.tracee.Calm()
	p.stats.Returns++
	return true
}

// plainReturn tells whether nothing but the return is to happen to a thread that waits at an rt_sigreturn.
func (t *Thread) plainReturn() bool {
	p := t.p
	return !p.tr.opts.NoReturn && !p.calls.Hears(syscalls.Sigreturn) && !t.tracee.Storming() && t.goesOn() // see tracee.Thread.RestFrom
}

// goesOn tells whether a thread that waits has nothing else to do than to go on in the cache, as it is.
func (t *Thread) goesOn() bool {
	p := t.p
	if t.vfork || t.calls.Awaits() || t.tracee.Sheltered() || t.tracee.Holds() || t.modeDiffers() {
		return false
	}
	if p.translator.Budgeted {
		for m := range NumMetrics {
			if p.translator.Metrics[m] && t.Budget(m) <= 0 {
				return false
			}
		}
	}
	return true
}

// recoverReturn rebuilds the registers of a thread that has not made that call, or whose frame the kernel has refused without
// taking anything from it: SIGSEGV comes next, behind the program's call.
func (t *Thread) recoverReturn(regs *sys.Regs, refused bool) {
	b := t.returning
	regs.Rsp = t.slot.Get(layout.Save + 4*8)
	if refused {
		regs.Rip = t.p.cache.InsAddr(b, int(b.Insns)-1) + 2
		return
	}
	how := t.untrapped(b, regs)
	regs.Rip = t.p.cache.InsAddr(b, int(b.Insns)-1)
	if f, ok := sigframe.Read(t.p.mem, regs.Rsp); ok {
		t.restores(regs.Rip, f.Rip(), -1)
	}
	t.resume.At(regs, how)
}

// restores counts the function that makes rt_sigreturn by an instruction as entered from where the thread was interrupted, which it goes on
// at: the handler has returned to it, and is none of its callers. times of -1 is for a call that was not made after all.
func (t *Thread) restores(call, interrupted uint64, times int) {
	if !t.p.translator.Entries.Edges.On {
		return
	}
	if start, end := t.p.translator.Entries.Function(call); end > start {
		t.counts.Led(translate.Edge{From: interrupted, To: start, Jump: true}, uint64(times))
	}
}

// sigreturn executes rt_sigreturn from the cache's own syscall instruction and
// goes on with the translation of where it returned to.
// The kernel takes the frame from the stack pointer: where the call is made from
// does not matter to it.
func (t *Thread) sigreturn(regs *sys.Regs) error {
	a := t.p.cache.Regions[0]
	r := *regs
	r.Rip = a.Base + a.Routines.Inject
	if err := t.tracee.CallWith(&r); err != nil {
		return err
	}
	if r.Rip == a.Base+a.Routines.Inject+2 { // there was no frame: SIGSEGV comes next, behind the program's call
		r.Rip, r.Rcx, r.Gs_base = regs.Rip+2, regs.Rip+2, t.appGS
		return t.enter(&r, 0)
	}
	t.restores(regs.Rip, r.Rip, 1)
	t.entries = entries{} // the frame may have had another alternate stack
	t.resume.Return(&r)
	if !t.vfork {
		if err := t.tracee.RestFrom(&r); err != nil {
			return err
		}
	}
	err := t.enter(&r, 0)
	t.tracee.Calm()
	return err
}
