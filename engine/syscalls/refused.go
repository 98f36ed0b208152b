package syscalls

import (
	"alleria/engine/tracee"
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
	dispatchOff = 0
	dispatchOn  = 1 // but for calls from the range
	dispatchIn  = 2 // calls from the range
)

// SIGSYS is the signal that a refused call becomes.
const SIGSYS = 31

// verdict is what becomes of a call.
type verdict uint8

const (
	allowed  verdict = iota
	refused          // by SIGSYS
	unusable         // the byte that should say so cannot be read, or says something else: the thread is ended
)

// judge decides on a call of the thread's behind which the application goes on at next.
func (t *Thread) judge(next uint64) verdict {
	d := &t.refuses
	inside := next-d.Offset < d.Length
	switch {
	case d.Mode == dispatchOff, d.Mode == dispatchOn && inside, d.Mode == dispatchIn && !inside:
		return allowed
	case d.Selector == 0:
		return refused
	}
	var b [1]byte
	switch _, err := sys.ReadForeign(t.calls.pid, b[:], d.Selector); {
	case err != nil:
		return unusable
	case b[0] == 0:
		return allowed
	case b[0] == 1:
		return refused
	}
	return unusable
}

// IsRefused tells whether a call is refused behind which the application goes on at next.
func (t *Thread) IsRefused(next uint64) bool {
	return t.refuses.Mode != dispatchOff && t.judge(next) != allowed
}

// MayMake tells whether a thread that asks only because calls are judged, and has not been refused this one, because the call changes a handler, or because it may write to guarded pages, may make it in the cache by itself; notify: it
// tells of the call then.
func (t *Thread) MayMake(nr uint32) (notify, ok bool) {
	changes := changesHandlers(nr)
	if changes {
		t.calls.HandlersChange()
	}
	t.changes = changes && !t.host.Alone() // others must not go by what was until the call has been made
	if !t.calls.judged && !(changes && t.calls.handlers.asked) && !(t.calls.guarding && mayWrite(nr)) {
		return false, false
	}
	switch t.calls.table(nr % layout.SyscallEntries) {
	case layout.SyscallTracer:
		return false, false
	case layout.SyscallNotify, layout.SyscallOpens:
		notify = true
	}
	t.restarted = false
	return notify || t.changes, true
}

// setRefused answers the call that sets it: the kernel says whether it would take it.
func (t *Thread) setRefused(regs *sys.Regs, plain uint64) (Next, error) {
	d := sys.UserDispatch{Mode: regs.Rsi, Offset: regs.Rdx, Length: regs.R10, Selector: regs.R8}
	err := t.tracee.RefuseCalls(&d)
	if no, is := sys.AsErrno(err); is && no == eio { // a kernel that cannot be asked
		return t.guarded(regs, plain)
	} else if is {
		return t.Finish(regs, -uint64(no))
	} else if err != nil {
		return Resume, err
	}
	if err := t.tracee.RefuseCalls(&sys.UserDispatch{}); err != nil {
		return Resume, err
	}
	t.refuses = d
	if d.Mode != dispatchOff {
		t.calls.judge()
	}
	return t.Finish(regs, 0)
}

// Refuse has the kernel refuse the call that a stopped thread stands at with these registers, which are the application's. They are those
// behind it then, to which the signal is to be delivered.
func (t *Thread) Refuse(regs *sys.Regs) (h tracee.Signal, err error) {
	how, next := t.judge(regs.Rip+Length), regs.Rip+Length // another thread may allow it by now: it is refused then
	regs.R11 = regs.Eflags
	all := sys.UserDispatch{Mode: dispatchOn}
	if how == unusable {
		all.Selector = t.refuses.Selector
	}
	if err := t.tracee.RefuseCalls(&all); err != nil {
		return h, err
	}
	r := *regs
	r.Rip, r.Orig_rax, r.Gs_base = t.calls.host.OwnCall(), ^uint64(0), t.slot.Base
	if err := t.tracee.SetRegs(&r); err != nil {
		return h, err
	}
	if h, err = t.tracee.RunTo(func(h *tracee.Signal) bool { return h.Number == SIGSYS && h.Info.Code() > 0 }); err != nil {
		return h, err
	}
	if err := t.tracee.RefuseCalls(&sys.UserDispatch{}); err != nil {
		return h, err
	}
	if err := t.tracee.GetRegs(&r); err != nil {
		return h, err
	}
	r.Rip, r.Rcx, r.Orig_rax = next, next, ^uint64(0)
	h.Info.SetAddr(next)
	*regs = r
	return h, nil
}

// GiveRefused has the kernel look after the calls of a thread that is about to run natively. Code of ours there, which captures
// calls or changes chunks, must not make any.
func (t *Thread) GiveRefused() error {
	if t.refuses.Mode == dispatchOff {
		return nil
	}
	t.calls.forbid()
	return t.tracee.RefuseCalls(&t.refuses)
}

// Look is Calls.Look for a stopped thread, whose calls the kernel may also turn into signals, as it was told natively.
func (t *Thread) Look() bool {
	var d sys.UserDispatch
	if t.calls.May() && t.tracee.RefusedCalls(&d) == nil && d.Mode != dispatchOff {
		t.calls.forbid()
	}
	return t.calls.Look(t.tracee.TID)
}

// TakeRefused takes that back from a thread that has run natively. Kernels that cannot be asked have it, or don't.
func (t *Thread) TakeRefused() error {
	var d sys.UserDispatch
	if t.tracee.RefusedCalls(&d) != nil {
		return nil
	}
	if t.refuses.Mode == dispatchIn && d.Mode == dispatchOn && d.Length == -t.refuses.Length { // as the kernel keeps it
		d = t.refuses
	}
	t.refuses = d
	if d.Mode == dispatchOff {
		return nil
	}
	t.calls.judge()
	return t.tracee.RefuseCalls(&sys.UserDispatch{})
}
