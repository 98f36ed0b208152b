package engine

import (
	"alleria/engine/codecache"
	"alleria/engine/sigframe"
	"alleria/engine/syscalls"
	"alleria/engine/translate"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

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
	if !ok || f.Flags()&translate.FlagTrap != 0 || f.CS() != userCS || p.cache.Watched[rip] {
		return false
	}
	to := sys.Regs{Rip: rip, Rsp: f.Rsp()}
	takeBack := t.resume.Return(&to)
	code := p.codeFor(rip, t.variant, t.resume.Recall(&to))
	if code == 0 {
		takeBack()
		return false
	}
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
	if t.p.tr.opts.NoReturn || t.vfork || t.calls.Awaits() || t.tracee.Sheltered() || t.tracee.Holds() || p.calls.Hears(syscalls.Sigreturn) || t.modeDiffers() {
		return false
	}
	if t.tracee.Storming() { // see tracee.Thread.RestFrom
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
	t.resume.At(regs, how)
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
