package engine

import (
	"alleria/engine/codecache"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// System calls that do not come back, or not to where they were made.
const (
	sysVfork     = 58
	sysExit      = 60
	sysFork      = 57
	sysExecve    = 59
	sysExitGroup = 231
	sysExecveat  = 322
)

// leaves tells calls that are looked at when they begin, because they may not come
// back.
func leaves(nr uint64) bool {
	switch nr {
	case sysExit, sysExitGroup, sysExecve, sysExecveat, sysSigreturn:
		return true
	}
	return false
}

// WatchReturns asks for Handler.CallReturned, or no longer. Translated code makes
// calls by itself and then tells of them through the mailbox, with the time when
// they began: no stop. What is not told of is a call that was under way when the
// process, or the recording, came to its end.
func (p *Process) WatchReturns(on bool) {
	if p.hearCalls == on {
		return
	}
	p.hearCalls = on
	for nr := range uint32(layout.SyscallEntries) {
		p.setCallTable(nr)
	}
}

// callBegins notes a call that the tracer sees begin. recorded: its instruction is
// part of the records.
func (tr *Tracer) callBegins(t *Thread, regs *sys.Regs, recorded bool) {
	t.call = nil
	if !t.p.hearCalls || t.vfork {
		return
	}
	c := callRegs(regs, regs.Rax, regs.Rip+2)
	c.Recorded = recorded
	switch c.Number {
	// Told of at once, as not returned: nobody will be there to do it later.
	case sysExit, sysExitGroup, sysSigreturn:
		t.p.client.CallReturned(t, c)
	default:
		t.call = c
	}
}

// callDone tells of the return of the call that callBegins noted, if any.
func (tr *Tracer) callDone(t *Thread, result uint64) {
	c := t.call
	if c == nil {
		return
	}
	t.call = nil
	c.Returned, c.Result, c.EndTSC = true, int64(result), sys.TSC()
	t.p.client.CallReturned(t, c)
}

// notedCall tells of a call that translated code has made by itself; regs are those
// behind it, with the arguments and the result.
func (tr *Tracer) notedCall(t *Thread, nr uint64, regs *sys.Regs, recorded bool) {
	if !t.p.hearCalls || t.vfork {
		return
	}
	c := callRegs(regs, nr, 0)
	c.TSC, c.EndTSC = t.slot.Get(layout.CallTSC), t.slot.Get(layout.CallEnd)
	if c.EndTSC < c.TSC { // a signal came first
		c.EndTSC = sys.TSC()
	}
	c.Recorded, c.Returned, c.Result = recorded, true, int64(regs.Rax)
	t.p.client.CallReturned(t, c)
}

// bornHere tells a new thread or process, which stands behind the call that its
// parent has made.
func bornHere(regs *sys.Regs) bool {
	switch regs.Orig_rax {
	case sysClone, sysClone3, sysFork, sysVfork:
		return regs.Rax == 0
	}
	return false
}

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
func (tr *Tracer) callBy32Bits(t *Thread, b *codecache.Block, regs *sys.Regs) error {
	var rec *emulated
	if b.Rec.ID != 0 {
		rec = tr.beforeEmulation(t, b, regs)
	}
	after := *regs
	after.Rip += interruptLength
	if t.p.translator.CountsAccesses {
		tr.countExecuted(t, b, regs, &after)
	}
	if b.Variant == codecache.Count {
		t.countEmulated(b.App)
	}
	if rec != nil {
		tr.afterEmulation(t, b, rec, &after)
	}
	if err := t.p.points.Uncover(regs.Rip); err != nil {
		return err
	}
	r := *regs
	r.Orig_rax, r.Gs_base = ^uint64(0), t.appGS
	if err := t.tracee.SetRegs(&r); err != nil {
		return err
	}
	if err := t.giveUserDispatch(); err != nil {
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
	const low = 1<<32 - 1
	addr, length, prot := regs.Rbx&low, regs.Rcx&low, regs.Rdx
	if regs.Rax > ^uint64(4095) {
		switch regs.Orig_rax { // they may have failed halfway
		case sys32Mprotect, sys32PkeyMprot, sys32Munmap, sys32Mmap2:
			p.mapped(addr, length, true)
		}
		return
	}
	p.changedCode() // maybe
	switch regs.Orig_rax {
	case sys32Munmap:
		p.unmapped(addr, length)
	case sys32Mprotect, sys32PkeyMprot:
		p.mapped(addr, length, prot&tracee.ProtExec != 0)
	case sys32Mmap2:
		p.mapped(regs.Rax&low, length, prot&tracee.ProtExec != 0)
	case sys32Mmap, sys32Mremap, sys32IPC, sys32Shmat, sys32Shmdt:
		p.code.Remapped()
		p.code.Invalidate(0, 1<<47)
		p.client.ImagesChanged(p)
	case sys32Prctl, sys32Seccomp:
		t.noteFilters()
	}
}
