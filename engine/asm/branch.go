package asm

import "alleria/engine/x86"

// Cond is a condition by its number in encodings. Its lowest bit negates it.
type Cond byte

// The conditions that have names here. Those of application code come from its opcodes.
const (
	IfCarry    Cond = 2
	IfNotCarry Cond = 3
	IfZero     Cond = 4
	IfNotZero  Cond = 5
	IfNotAbove Cond = 6
	IfAbove    Cond = 7
	IfNegative Cond = 8
)

// CondOf is the condition that the opcode of a conditional instruction ends in.
func CondOf(opcode byte) Cond { return Cond(opcode & 0xf) }

// Not is the opposite condition.
func (c Cond) Not() Cond { return c ^ 1 }

// Site is the position of a displacement of 32 bits that leads nowhere yet. Link sets it.
type Site int

// ShortSite is the position of one of 8 bits. Land sets it.
type ShortSite int

// AddrOf is the address of a displacement.
func (w *Writer) AddrOf(s Site) uint64 { return w.base + uint64(s) }

// Link makes a branch lead to target.
// The target must be within two gigabytes.
func (w *Writer) Link(s Site, target uint64) {
	w.Patch32(int(s), uint32(int64(target)-int64(w.AddrOf(s)+4)))
}

// Land makes a short branch lead to the next byte, at most 127 bytes behind it.
func (w *Writer) Land(s ShortSite) { w.buf[s] = byte(w.pos - int(s) - 1) }

// site writes a displacement that is not known yet.
func (w *Writer) site() Site {
	s := Site(w.pos)
	w.u32(0)
	return s
}

// Jmp writes jmp target, in five bytes.
func (w *Writer) Jmp(target uint64) {
	w.b1(0xe9)
	w.rel32(target)
}

// JmpLater is Jmp to a target that is not known yet.
func (w *Writer) JmpLater() Site {
	w.b1(0xe9)
	return w.site()
}

// Jcc writes a conditional jump, in six bytes.
func (w *Writer) Jcc(c Cond, target uint64) {
	w.b2(0x0f, 0x80|byte(c))
	w.rel32(target)
}

// JccLater is Jcc to a target that is not known yet.
func (w *Writer) JccLater(c Cond) Site {
	w.b2(0x0f, 0x80|byte(c))
	return w.site()
}

// JccBack writes a conditional jump of two bytes to an address at most 126 bytes back.
func (w *Writer) JccBack(c Cond, target uint64) {
	w.b2(0x70|byte(c), byte(int64(target)-int64(w.Here()+2)))
}

// JmpShort writes a jump of two bytes over what follows. Land says where it goes on.
func (w *Writer) JmpShort() ShortSite {
	w.b2(0xeb, 0)
	return ShortSite(w.pos - 1)
}

// Jrcxz writes a jump over the next n bytes that is made if rcx is 0. There is no other jump that
// does not go by the flags, and none of this kind that goes farther.
func (w *Writer) Jrcxz(n int8) { w.b2(0xe3, byte(n)) }

// JrcxzLater writes a jump to anywhere that is made if rcx is 0: three instructions, nine bytes.
func (w *Writer) JrcxzLater() Site {
	w.Jrcxz(2)
	w.b2(0xeb, 5) // over the jump
	return w.JmpLater()
}

// JecxzLater is JrcxzLater for ecx.
func (w *Writer) JecxzLater() Site {
	w.b1(0x67)
	return w.JrcxzLater()
}

// JnrcxzLater writes a jump to anywhere that is made if rcx is not 0.
func (w *Writer) JnrcxzLater() Site {
	w.Jrcxz(5)
	return w.JmpLater()
}

// CallLater writes a call whose target is not known yet.
func (w *Writer) CallLater() Site {
	w.b1(0xe8)
	return w.site()
}

// JmpLiteral writes a jump through a literal behind it: to anywhere. The literal is aligned.
func (w *Writer) JmpLiteral(target uint64) {
	w.Align8(6)
	w.b2(0xff, 0x25)
	w.u32(0)
	w.Uint64(target)
}

// Ret writes a return that takes n more bytes from the stack.
func (w *Writer) Ret(n uint16) {
	if n == 0 {
		w.b1(0xc3)
		return
	}
	w.b1(0xc2)
	w.u16(n)
}

// Syscall writes syscall.
func (w *Writer) Syscall() { w.b2(0x0f, 0x05) }

// Int3 writes int3.
func (w *Writer) Int3() { w.b1(0xcc) }

// Nop writes one instruction of n bytes, 1 to 5, that does nothing.
// They are the forms that the Intel SDM recommends (volume 2, NOP).
func (w *Writer) Nop(n int) {
	switch n {
	case 1:
		w.b1(0x90)
	case 2:
		w.b2(0x66, 0x90)
	case 3:
		w.b3(0x0f, 0x1f, 0x00)
	case 4:
		w.b4(0x0f, 0x1f, 0x40, 0x00)
	default:
		w.b4(0x0f, 0x1f, 0x44, 0x00)
		w.b1(0x00)
	}
}

// Align8 pads so that what follows the next n bytes is aligned: a program that
// has alignment checked would otherwise be sent SIGBUS for a literal of ours.
func (w *Writer) Align8(n int) {
	for !w.full && (w.pos+n)&7 != 0 {
		w.b1(0x90)
	}
}

// AlignRel32 pads so that a displacement after opcodeLen bytes does not cross
// a cache line: patching it must be one store that other threads see whole.
// A displacement that does not cross a line is stored and fetched as a whole (Intel SDM volume 3, Guaranteed Atomic Operations).
func (w *Writer) AlignRel32(opcodeLen int) {
	for (w.Here()+uint64(opcodeLen))&63 > 60 {
		w.b1(0x90)
	}
}

// LeaCode writes lea reg, [rip+target], the address of code, and returns where the displacement is.
func (w *Writer) LeaCode(reg x86.Reg, target uint64) Site {
	r := byte(rexW)
	if reg >= 8 {
		r |= rexR
	}
	w.b3(r, 0x8d, 5|byte(reg&7)<<3)
	s := Site(w.pos)
	w.rel32(target)
	return s
}

// PushLiteral writes the push of eight bytes that lie elsewhere.
func (w *Writer) PushLiteral() Site {
	w.b2(0xff, 0x35)
	return w.site()
}
