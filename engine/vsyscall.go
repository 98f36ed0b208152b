package engine

import (
	"encoding/binary"

	"alleria/internal/sys"
)

// vsyscallPage is where three calls lie, 1 KiB apart, that old programs make as
// functions. The kernel emulates each as a whole when it is jumped to.
const vsyscallPage = 0xffffffffff600000

// vsyscallNumber is the system call that an address in the page stands for.
// Addresses between them raise SIGSEGV, which is left to the kernel.
func vsyscallNumber(addr uint64) (nr uint64, ok bool) {
	switch addr {
	case vsyscallPage:
		return 96, true // gettimeofday
	case vsyscallPage + 0x400:
		return 201, true // time
	case vsyscallPage + 0x800:
		return 309, true // getcpu
	}
	return 0, false
}

// vsyscall executes the call that regs, the application's, are about to make
// through the page, and goes on where it returns to. Left to the kernel, the
// thread would return to the application's own code and escape.
func (tr *Tracer) vsyscall(t *Thread, regs *sys.Regs, nr uint64) error {
	var ret [8]byte
	if _, err := t.p.mem.ReadAt(ret[:], int64(regs.Rsp)); err != nil {
		return tr.vsyscallFaults(t, regs)
	}
	a := t.p.areas[0]
	r := *regs
	r.Rip, r.Rax, r.Orig_rax = a.base+a.rt.inject, nr, ^uint64(0)
	if err := tr.callWith(t, &r); err != nil {
		return err
	}
	if efault := int64(-14); r.Rax == uint64(efault) {
		return tr.vsyscallFaults(t, regs)
	}
	// As the emulated call does: a result, and a return by popping the address.
	regs.Rax = r.Rax
	regs.Rip, regs.Rsp = binary.LittleEndian.Uint64(ret[:]), regs.Rsp+8
	return tr.enter(t, regs, 0)
}

// vsyscallFaults leaves a call to the kernel whose stack or pointers cannot be used: it raises SIGSEGV, in front of
// the return.
func (tr *Tracer) vsyscallFaults(t *Thread, regs *sys.Regs) error {
	t.native = true
	r := *regs
	r.Gs_base = t.appGS
	if err := sys.SetRegs(t.tid, &r); err != nil {
		return err
	}
	return tr.resume(t, 0)
}

// A program may have the processor refuse it the time-stamp counter (PR_SET_TSC, strict seccomp). Translated code that
// takes the time faults then, in front of nothing of the program's: it is given the time by the tracer, and goes on.

// stampFault gives a thread the time that translated code could not take at regs; false if the fault is the
// program's own.
func (tr *Tracer) stampFault(t *Thread, regs *sys.Regs, h *heldSignal) bool {
	if h.sig != sigSegv || h.info.Code() != codeKernel || !tr.ownStamp(t, regs.Rip) {
		return false
	}
	now := sys.TSC()
	regs.Rax, regs.Rdx = now&(1<<32-1), now>>32
	regs.Rip += 2
	return true
}

// ownStamp tells whether at a cache address lies an rdtsc that is not a copy of the program's.
func (tr *Tracer) ownStamp(t *Thread, addr uint64) bool {
	a := t.p.areaAt(addr)
	if a == nil {
		return false
	}
	var code [2]byte
	if n, _ := t.p.mem.ReadAt(code[:], int64(addr)); n != 2 || code != [2]byte{0x0f, 0x31} {
		return false
	}
	b := t.p.blockAt(a, addr)
	if b == nil {
		return true // a routine or a stub
	}
	at, pos := uint32(addr-b.code), t.p.positionsOf(b)
	i, _ := pos.find(at)
	return at != uint32(pos.at[i].exec) || b.term == termSyscall && i == pos.n-1
}
