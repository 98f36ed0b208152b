package step

import (
	"encoding/binary"

	"alleria/internal/records"
)

// resumeFlag is in the flags that the kernel tells after a fault. No program sees
// it: pushf pushes 0.
const resumeFlag = 0x10000

// Register returns what a register held before the instruction; nil if it is
// none that this engine knows. Vector and mask registers need
// Options.VectorState.
func (i *Ins) Register(reg records.Reg) []byte {
	n := uint8(reg)
	word := func(v uint64, from, size int) []byte {
		return binary.LittleEndian.AppendUint64(nil, v)[from : from+size]
	}
	g := generals(&i.Regs)
	switch reg &^ 0xff {
	case records.RegGPR64:
		return word(g[n], 0, 8)
	case records.RegGPR32:
		return word(g[n], 0, 4)
	case records.RegGPR16:
		return word(g[n], 0, 2)
	case records.RegGPR8:
		return word(g[n], 0, 1)
	case records.RegHigh:
		return word(g[n], 1, 1)
	case records.RegXMM:
		return i.state.vector(n)[:16]
	case records.RegYMM:
		return i.state.vector(n)[:32]
	case records.RegZMM:
		return i.state.vector(n)
	case records.RegMask:
		return word(i.state.opmask(n), 0, 8)
	case records.RegMMX:
		return i.state.mmx(n)
	case records.RegX87:
		return i.state.stretch(32+16*uint32(n), 10)
	}
	switch reg {
	case records.RegRIP:
		return word(i.Addr, 0, 8)
	case records.RegFlags:
		return word(i.Regs.Eflags&^(trapFlag|resumeFlag), 0, 8)
	case records.RegMXCSR:
		return i.state.stretch(24, 4)
	case records.RegFSBase:
		return word(i.Regs.Fs_base, 0, 8)
	case records.RegGSBase:
		return word(i.Regs.Gs_base, 0, 8)
	}
	return nil
}
