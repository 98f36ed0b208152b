package engine

import "alleria/internal/sys"

// A program that starts natively would register its restartable sequences with
// the kernel; once it runs in the cache, the answer is ENOSYS (trapSyscall),
// and a C library whose first thread was registered gives up over a second one that
// is not. So the first calls of a native start are watched until that one, and
// it is answered alike: C libraries make it before main, and don't make it for
// later threads if it was refused.
//
// The refused alternatives: a seccomp filter stays for good and is inherited;
// letting later calls through leaves sequences whose abort addresses lie in
// the application's code while the thread is in the cache.

// watchedCalls is how many calls of a native start are watched at most: more
// than a dynamic linker makes for a large program.
const watchedCalls = 4000

// sigCall is how a stop at a system call is reported (PTRACE_O_TRACESYSGOOD).
const sigCall = sigTrap | 0x80

// callStop handles a stop at a system call of a native thread, at its entry or
// its end.
func (tr *Tracer) callStop(t *Thread) error {
	p := t.p
	t.inCall = !t.inCall
	var regs sys.Regs
	if err := sys.GetRegs(t.tid, &regs); err != nil {
		return err
	}
	if !t.inCall {
		// What the dynamic linker maps at the start is seen here; a translated
		// thread reports it itself (afterCall).
		if regs.Orig_rax == sysMmap && regs.Rdx&protExec != 0 && regs.Rax <= ^uint64(4095) {
			tr.client.ImagesChanged(p)
		}
		return tr.resume(t, 0)
	}
	p.watchCalls--
	if regs.Orig_rax == sysRseq {
		regs.Orig_rax = ^uint64(0) // no call: the kernel has put -ENOSYS into rax already
		if err := sys.SetRegs(t.tid, &regs); err != nil {
			return err
		}
		p.watchCalls = 0
	}
	return tr.resume(t, 0)
}
