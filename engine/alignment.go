package engine

import (
	"alleria/engine/recovery"
	"alleria/engine/tracee"
	"alleria/engine/x86"
	"alleria/internal/sys"
)

// A program may have the alignment of its accesses checked (EFLAGS.AC). Then code of ours that stores a vector to a record faults, since records are words of eight bytes. Where code can
// store halves at no cost it does; else the thread is stepped over the store with the flag cleared. Refused: halves of vectors of 32 and 64 bytes, which would cost
// every program that records values for the sake of those, which hardly anybody has.

// Of EFLAGS and of a signal's si_code.
const (
	alignmentCheck = 1 << 18
	busAlignment   = 1
)

// overUnaligned takes a thread over an access to memory of ours that has faulted because the program has alignment checked; false: that is not what a signal is.
func (t *Thread) overUnaligned(regs *sys.Regs, h *tracee.Signal) (bool, error) {
	if h.Number != tracee.SIGBUS || h.Info.Code() != busAlignment || regs.Eflags&alignmentCheck == 0 || !t.accessesOurs(regs) {
		return false, nil
	}
	regs.Eflags &^= alignmentCheck
	err := t.tracee.SetRegs(regs)
	if err == nil {
		err = t.step()
	}
	if err == nil {
		err = t.tracee.GetRegs(regs)
	}
	if err != nil {
		return true, err
	}
	regs.Eflags |= alignmentCheck
	return true, t.tracee.SetRegs(regs)
}

// accessesOurs tells whether the instruction in the cache at which a thread stands accesses memory of ours.
func (t *Thread) accessesOurs(regs *sys.Regs) bool {
	a := t.p.cache.RegionAt(regs.Rip)
	if a == nil {
		return false
	}
	var one [1]x86.Insn
	if n, _ := x86.Decode(a.Mem[regs.Rip-a.Base:], regs.Rip, one[:]); n != 1 {
		return false
	}
	var gpr [x86.NumRegs]uint64
	for r := range gpr {
		gpr[r] = *recovery.RegOf(regs, x86.Reg(r))
	}
	for _, o := range one[0].Accesses(nil) {
		if t.p.shm.Holds(o.Address(&gpr, regs.Fs_base, regs.Gs_base)) {
			return true
		}
	}
	return false
}
