package engine

import (
	"alleria/engine/codecache"
	"alleria/engine/tracee"
	"alleria/engine/translate"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Syscall user dispatch (prctl PR_SET_SYSCALL_USER_DISPATCH): a thread has the kernel turn its system calls into SIGSYS, but for those
// from a range of addresses and while a byte of its memory allows them. Wine has the system calls of Windows programs so. In the
// cache all calls come from other addresses, ours as well: the kernel is not told, and the tracer decides by the application's. It
// does so by mailbox for what is allowed. For what is not, the kernel is told to refuse all, and the thread makes the
// call: the signal is the kernel's own, with its rules for threads that block or ignore it. A thread that runs natively has its
// setting in the kernel, and has it read from there when it comes back.
//
// Refused: a range that holds the cache, in which no call is refused; sending the signal, which would be neither forced nor have its siginfo.

const (
	prSetUserDispatch = 59
	dispatchOff       = 0
	dispatchOn        = 1 // but for calls from the range
	dispatchIn        = 2 // calls from the range
	sigSys            = 31
	codeUserDispatch  = 2 // SYS_USER_DISPATCH
)

// verdict is what becomes of a call.
type verdict uint8

const (
	allowed  verdict = iota
	refused          // by SIGSYS
	unusable         // the byte that should say so cannot be read, or says something else: the thread is ended
)

// judge decides on a call of the thread's behind which the application goes on at next.
func (t *Thread) judge(next uint64) verdict {
	d := &t.userDispatch
	inside := next-d.Offset < d.Length
	switch {
	case d.Mode == dispatchOff, d.Mode == dispatchOn && inside, d.Mode == dispatchIn && !inside:
		return allowed
	case d.Selector == 0:
		return refused
	}
	var b [1]byte
	switch _, err := sys.ReadForeign(t.p.pid, b[:], d.Selector); {
	case err != nil:
		return unusable
	case b[0] == 0:
		return allowed
	case b[0] == 1:
		return refused
	}
	return unusable
}

// setUserDispatch answers the call that sets it: the kernel says whether it would take it.
func (tr *Tracer) setUserDispatch(t *Thread, regs *sys.Regs, plain uint64) error {
	d := sys.UserDispatch{Mode: regs.Rsi, Offset: regs.Rdx, Length: regs.R10, Selector: regs.R8}
	err := sys.SetUserDispatch(t.tid, &d)
	if no, is := sys.AsErrno(err); is && no == eio { // a kernel that cannot be asked
		return tr.guardedCall(t, regs, plain)
	} else if is {
		return tr.finishSyscall(t, regs, -uint64(no))
	} else if err != nil {
		return err
	}
	if err := sys.SetUserDispatch(t.tid, &sys.UserDispatch{}); err != nil {
		return err
	}
	t.userDispatch = d
	if d.Mode != dispatchOff {
		t.p.judgeCalls()
	}
	return tr.finishSyscall(t, regs, 0)
}

// eio is what a kernel says to a request of ptrace that it does not know.
const eio = 5

// judgeCalls has translated code ask before each call, of this process and from now on.
func (p *Process) judgeCalls() {
	if p.judged {
		return
	}
	p.judged = true
	for nr := range uint32(layout.SyscallEntries) {
		p.setCallTable(nr)
	}
}

// allowCall lets a thread that waits at the system call at the end of b make it in the cache; false if the tracer has a part in it,
// or it is refused.
func (tr *Tracer) allowCall(t *Thread, b *codecache.Block) bool {
	p := t.p
	if !p.judged || t.judge(p.cache.InsAddr(b, int(b.Insns)-1)+2) != allowed {
		return false
	}
	at := b.Code + uint64(b.Size) - translate.SyscallTail
	switch p.callTable(uint32(t.slot.Get(layout.Save)) % layout.SyscallEntries) {
	case layout.SyscallTracer:
		return false
	case layout.SyscallNotify:
		at -= translate.SyscallNotifyBack
	}
	t.restarted = false
	tr.reply(t, at)
	return true
}

// refuseCall has the kernel refuse a call of a stopped thread whose registers are the application's; next is the address behind it.
func (tr *Tracer) refuseCall(t *Thread, regs *sys.Regs, how verdict) error {
	a, next := t.p.cache.Regions[0], regs.Rip+2
	all := sys.UserDispatch{Mode: dispatchOn}
	if how == unusable {
		all.Selector = t.userDispatch.Selector
	}
	if err := sys.SetUserDispatch(t.tid, &all); err != nil {
		return err
	}
	r := *regs
	r.Rip, r.Orig_rax, r.Gs_base = a.Base+a.Routines.Inject, ^uint64(0), t.slot.Base
	if err := t.tracee.SetRegs(&r); err != nil {
		return err
	}
	h, err := t.tracee.RunTo(func(h *tracee.Signal) bool { return h.Number == sigSys && h.Info.Code() > 0 })
	if err != nil {
		return err
	}
	if err := sys.SetUserDispatch(t.tid, &sys.UserDispatch{}); err != nil {
		return err
	}
	if err := t.tracee.GetRegs(&r); err != nil {
		return err
	}
	r.Rip, r.Rcx, r.Gs_base, r.Orig_rax = next, next, t.appGS, ^uint64(0)
	h.Info.SetAddr(next)
	return tr.deliver(t, &r, h)
}

// refused is refuseCall for a thread that waits at the system call at the end of b.
func (tr *Tracer) refused(t *Thread, b *codecache.Block) error {
	regs, err := tr.fetchWaiting(t, t.p.cache.InsAddr(b, int(b.Insns)-1))
	if err != nil {
		return err
	}
	how := t.judge(regs.Rip + 2)
	if how == allowed { // another thread allows it by now
		how = refused
	}
	regs.R11 = regs.Eflags
	return tr.refuseCall(t, regs, how)
}

// giveUserDispatch has the kernel look after the calls of a thread that is about to run natively. Code of ours there, which captures
// calls or changes chunks, must not make any.
func (t *Thread) giveUserDispatch() error {
	if t.userDispatch.Mode == dispatchOff {
		return nil
	}
	t.p.forbidCalls()
	return sys.SetUserDispatch(t.tid, &t.userDispatch)
}

// takeUserDispatch takes that back from a thread that has run natively. Kernels that cannot be asked have it, or don't.
func (t *Thread) takeUserDispatch() error {
	var d sys.UserDispatch
	if sys.ReadUserDispatch(t.tid, &d) != nil {
		return nil
	}
	if t.userDispatch.Mode == dispatchIn && d.Mode == dispatchOn && d.Length == -t.userDispatch.Length { // as the kernel keeps it
		d = t.userDispatch
	}
	t.userDispatch = d
	if d.Mode == dispatchOff {
		return nil
	}
	t.p.judgeCalls()
	return sys.SetUserDispatch(t.tid, &sys.UserDispatch{})
}
