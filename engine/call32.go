package engine

import "alleria/internal/sys"

// int 0x80 enters the kernel by another table of calls, from 64-bit code as well. The tracer has the thread make such
// a call from the program's own code: it may create processes, execute programs, wait, and be begun again, and is none of
// those that translated code makes. The thread comes back at the call's end.

// Numbers of the 32-bit table (arch/x86/entry/syscalls/syscall_32.tbl) that the tracer looks at.
const (
	sys32Mmap       = 90
	sys32Munmap     = 91
	sys32IPC        = 117
	sys32Clone      = 120
	sys32Mprotect   = 125
	sys32Mremap     = 163
	sys32Prctl      = 172
	sys32Mmap2      = 192
	sys32Seccomp    = 354
	sys32PkeyMprot  = 380
	sys32Shmat      = 397
	sys32Shmdt      = 398
	sys32Clone3     = sysClone3
	interruptLength = 2
)

// callBy32Bits has a thread that stands at an int 0x80, the instruction of block b, make the call.
func (tr *Tracer) callBy32Bits(t *Thread, b *block, regs *sys.Regs, rec *emulated) error {
	after := *regs
	after.Rip += interruptLength
	if t.p.countsAccesses {
		tr.countExecuted(t, b, regs, &after)
	}
	if b.variant == Count {
		t.countEmulated(b.app)
	}
	if rec != nil {
		tr.afterEmulation(t, b, rec, &after)
	}
	if err := t.p.uncover(regs.Rip); err != nil {
		return err
	}
	r := *regs
	r.Orig_rax = ^uint64(0)
	if err := sys.SetRegs(t.tid, &r); err != nil {
		return err
	}
	t.native = true
	tr.awaitReturn(t, false)
	return tr.resume(t, 0)
}

// creates32 is creates for a call of the 32-bit table.
func creates32(regs *sys.Regs) (flags, at uint64, ok bool) {
	const low = 1<<32 - 1
	switch regs.Orig_rax {
	case sys32Clone:
		return regs.Rbx & low, 0, true
	case sys32Clone3:
		return 0, regs.Rbx & low, true
	}
	return 0, 0, false
}

// callEnded32 is callEnded for a call of the 32-bit table.
func (t *Thread) callEnded32(regs *sys.Regs) {
	p := t.p
	if regs.Rax > ^uint64(4095) {
		return
	}
	const low = 1<<32 - 1
	addr, length, prot := regs.Rbx&low, regs.Rcx&low, regs.Rdx
	switch regs.Orig_rax {
	case sys32Munmap:
		p.unmapped(addr, length)
	case sys32Mprotect, sys32PkeyMprot:
		p.mapped(addr, length, prot&protExec != 0)
	case sys32Mmap2:
		p.mapped(regs.Rax&low, length, prot&protExec != 0)
	case sys32Mmap, sys32Mremap, sys32IPC, sys32Shmat, sys32Shmdt:
		p.code.valid = false
		p.invalidate(0, 1<<47)
		p.client.ImagesChanged(p)
	case sys32Prctl, sys32Seccomp:
		t.noteFilters()
	}
}
