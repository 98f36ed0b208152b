package asm

import "alleria/engine/x86"

// form is how an instruction is encoded but for its operands: the opcode's last byte, and bits for
// what stands in front of it.
type form uint16

// Bits of a form.
const (
	esc  form = 0x100 << iota // 0f: the opcode is of the second map
	wide                      // REX.W: an operand of 64 bits
	rex                       // a REX prefix also where it has no bit to say
	half                      // 66: an operand of 16 bits
	lock                      // f0
	rep                       // f3, where it is part of the opcode
)

// Bits of a REX prefix: W makes an operand 64 bits wide, R, X and B extend the register, index and
// base of ModRM and SIB to r8 … r15 (Intel SDM volume 2, section 2.2.1).
const (
	rexAny = 0x40
	rexW   = 0x48
	rexR   = 0x44
	rexX   = 0x42
	rexB   = 0x41
)

// sized gives an instruction that has an opcode for bytes, as given, and the next number for
// words, the form for an operand of 1, 2, 4 or 8 bytes.
func (f form) sized(size int) form {
	switch size {
	case 8:
		return f + 1 | wide
	case 4:
		return f + 1
	case 2:
		return f + 1 | half
	}
	return f | rex // sil and dil need one
}

// rexBits is the REX prefix that the form asks for, 0 if none.
func (f form) rexBits() byte {
	switch {
	case f&wide != 0:
		return rexW
	case f&rex != 0:
		return rexAny
	}
	return 0
}

// opcode writes REX, if there is one, and the opcode.
func (w *Writer) opcode(r byte, f form) {
	switch {
	case r != 0 && f&esc != 0:
		w.b3(r, 0x0f, byte(f))
	case r != 0:
		w.b2(r, byte(f))
	case f&esc != 0:
		w.b2(0x0f, byte(f))
	default:
		w.b1(byte(f))
	}
}

// legacy writes the prefixes that a form names. They stand in front of REX.
func (w *Writer) legacy(f form) {
	if f&half != 0 {
		w.b1(0x66)
	}
	if f&rep != 0 {
		w.b1(0xf3)
	}
}

// regs writes an instruction on two registers: reg is the one in ModRM's reg field, or what
// extends the opcode there, rm the other.
func (w *Writer) regs(f form, reg, rm byte) {
	r := f.rexBits()
	if reg >= 8 {
		r |= rexR
	}
	if rm >= 8 {
		r |= rexB
	}
	if f&(half|rep) != 0 {
		w.legacy(f)
	}
	w.opcode(r, f)
	w.b1(0xc0 | reg&7<<3 | rm&7)
}

// onMem writes an instruction with a register and a memory operand: prefixes, REX, opcode, ModRM,
// SIB and displacement. immLen is how many bytes of the instruction follow, for
// addresses relative to it. Its result is false if the displacement cannot be expressed.
// On false nothing useful was written: the caller must have another way.
func (w *Writer) onMem(f form, reg byte, m Mem, immLen int) bool {
	r := f.rexBits()
	if reg >= 8 {
		r |= rexR
	}
	if m.Index >= 8 && m.Index < x86.RIP {
		r |= rexX
	}
	if m.Base >= 8 && m.Base < x86.RIP {
		r |= rexB
	}
	if f&lock != 0 {
		w.b1(0xf0)
	}
	w.memPrefixes(&m)
	if f&(half|rep) != 0 {
		w.legacy(f)
	}
	w.opcode(r, f)
	if m.Base == x86.RIP {
		return w.absolute(reg&7<<3, uint64(m.Disp), immLen)
	}
	if m.Disp != int64(int32(m.Disp)) {
		return false
	}
	w.modrm(reg&7<<3, &m)
	return true
}

// memPrefixes writes the prefixes for an operand's segment and for 32-bit addresses.
func (w *Writer) memPrefixes(m *Mem) {
	switch m.Seg {
	case x86.SegFS:
		w.b1(0x64)
	case x86.SegGS:
		w.b1(0x65)
	}
	if m.Addr32 {
		w.b1(0x67)
	}
}

// absolute writes ModRM for an absolute address: a 32-bit one where it fits,
// else relative.
func (w *Writer) absolute(r byte, addr uint64, immLen int) bool {
	if addr < 1<<31 {
		w.b2(r|4, 0x25)
		w.u32(uint32(addr))
		return true
	}
	d := int64(addr) - int64(w.Here()+5+uint64(immLen))
	if d != int64(int32(d)) {
		return false
	}
	w.b1(r | 5)
	w.Far = append(w.Far, w.pos)
	w.u32(uint32(d))
	return true
}

// modrm writes ModRM, SIB and displacement in the shortest form. rsp and r12 as a base need
// a SIB byte, rbp and r13 a displacement.
func (w *Writer) modrm(r byte, m *Mem) {
	if m.Base == x86.NoReg { // [index*scale+disp32] or [disp32]
		w.b2(r|4, m.sib()|5)
		w.u32(uint32(m.Disp))
		return
	}
	mod := byte(0x80)
	switch {
	case m.Disp == 0 && m.Base&7 != 5:
		mod = 0
	case m.Disp == int64(int8(m.Disp)):
		mod = 0x40
	}
	w.based(mod|r, m)
	switch mod {
	case 0x40:
		w.b1(byte(m.Disp))
	case 0x80:
		w.u32(uint32(m.Disp))
	}
}

// long is modrm, but with a displacement of 32 bits wherever there is a base: EVEX scales those
// of one byte by the operand's size. RIP takes an absolute address.
func (w *Writer) long(r byte, m *Mem) {
	switch m.Base {
	case x86.RIP:
		w.absolute(r, uint64(m.Disp), 0)
	case x86.NoReg:
		w.modrm(r, m)
	default:
		w.based(0x80|r, m)
		w.u32(uint32(m.Disp))
	}
}

// based writes ModRM and SIB of an operand with a base; r has mod and reg.
func (w *Writer) based(r byte, m *Mem) {
	if m.Index != x86.NoReg || m.Base&7 == 4 {
		w.b2(r|4, m.sib()|byte(m.Base&7))
	} else {
		w.b1(r | byte(m.Base&7))
	}
}
