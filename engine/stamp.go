package engine

import "alleria/internal/sys"

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
