package syscalls

import (
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Begin notes the call that a thread in the cache has been stopped in front of.
func (t *Thread) Begin(regs *sys.Regs, recorded bool) {
	t.Entered(regs, regs.Rax, regs.Rip+Length)
	t.begins(regs, recorded)
}

// Answer makes the call that a thread stands at, or answers it as the kernel would. regs is
// the application's state at the syscall instruction; plain is the cache
// address of a syscall instruction that goes on after the call.
func (t *Thread) Answer(regs *sys.Regs, plain uint64) (Next, error) {
	c := t.calls
	switch nr := uint32(regs.Rax); nr {
	case Rseq:
		return t.register(regs, plain)
	case sysMembarrier:
		return t.barrier(regs, plain)
	case sysGetrlimit, sysSetrlimit, sysPrlimit64:
		if _, _, ok := c.limits(regs); ok {
			return t.limitCall(regs, plain)
		}
		return t.Let(regs, plain)
	case Clone, Clone3:
		r := *regs
		if err := t.hide(&r); err != nil {
			return Resume, err
		}
		return t.Let(&r, plain)
	case Prctl:
		if uint32(regs.Rdi) == prSetUserDispatch {
			return t.setRefused(regs, plain)
		}
		return t.guarded(regs, plain)
	default:
		if nr >= layout.SyscallEntries || c.special[int(nr)] != layout.SyscallTracer {
			return t.Let(regs, plain)
		}
		return t.guarded(regs, plain)
	}
}

// guarded makes a call behind which calls of ours may be forbidden, or that locks memory.
func (t *Thread) guarded(regs *sys.Regs, plain uint64) (Next, error) {
	// From the moment that a filter may be in force no call of ours must be made by
	// translated code: that is said before the call, and taken back if it failed.
	filter := uint32(regs.Rax) == sysSeccomp || uint32(regs.Rax) == Prctl && regs.Rdi == prSetSeccomp
	calls := t.calls.noCalls()
	had := calls.Load()
	if filter {
		calls.Store(1)
	}
	r := *regs
	r.Rip, r.Gs_base = plain, t.slot.Base
	// What is locked is locked as it is touched: else each page of the code cache
	// and of this thread's ring would be made.
	lock := uint32(regs.Rax) == sysMlockall && regs.Rdi&mclCurrent != 0
	if lock {
		r.Rdi |= mclOnFault
	}
	if err := t.tracee.CallWith(&r); err != nil {
		return Resume, err
	}
	if lock {
		r.Rdi = regs.Rdi
		if r.Rax == ^uint64(enomem)+1 {
			switch done, err := t.lockOwn(regs.Rdi); {
			case err != nil:
				return Resume, err
			case done:
				r.Rax = 0
			}
		}
		if err := t.tracee.SetRegs(&r); err != nil {
			return Resume, err
		}
	}
	switch failed := Failed(r.Rax); {
	case filter && failed:
		calls.Store(had)
	case filter:
		t.calls.forbid()
	}
	if !tracee.Restarting(&r) {
		t.Done(r.Rax)
	}
	*regs = r
	return Over, nil
}

// Let lets a thread make a call that the tracer stopped it for only to
// know of it.
func (t *Thread) Let(regs *sys.Regs, plain uint64) (Next, error) {
	r := *regs
	r.Rip, r.Gs_base = plain, t.slot.Base
	if err := t.tracee.SetRegs(&r); err != nil {
		return Resume, err
	}
	t.AwaitReturn(false)
	return Resume, nil
}

// Finish answers a system call without executing it.
// rcx and r11 are what the instruction would have left there.
func (t *Thread) Finish(regs *sys.Regs, result uint64) (Next, error) {
	t.Done(result)
	regs.Rax = result
	regs.Rip += Length
	regs.Rcx, regs.R11 = regs.Rip, regs.Eflags
	regs.Orig_rax = ^uint64(0)
	return Enter, nil
}

// AtProbe lets a native thread make the system call at regs.Rip, under a probe:
// from another syscall instruction, up to where it has entered the kernel, which is
// then made to believe that it came from here. Other signals than those of faults wait
// until then.
//
// Refused: a single step like that over any other probe. The kernel reports
// no call in a step, so that whoever watches calls would miss it; a step over a call
// that blocks would hold up the tracer, and what it reports of a clone or an execve is
// lost on somebody who waits for a trap.
func (t *Thread) AtProbe(regs *sys.Regs) (Next, error) {
	next := regs.Rip + Length
	r := *regs
	r.Rip, r.Orig_rax = t.calls.host.OwnCall(), ^uint64(0)
	if err := t.tracee.SetRegs(&r); err != nil {
		return Resume, err
	}
	if err := t.tracee.Undisturbed(func() error { return t.tracee.CallStops(1) }); err != nil {
		return Resume, err
	}
	if err := t.tracee.GetRegs(&r); err != nil {
		return Resume, err
	}
	r.Rip, r.Rcx = next, next
	if err := t.tracee.SetRegs(&r); err != nil {
		return Resume, err
	}
	if err := t.Natively(&r); err != nil {
		return Resume, err
	}
	t.AwaitReturn(true)
	return Resume, nil
}
