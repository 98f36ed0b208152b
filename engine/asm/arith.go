package asm

import "alleria/engine/x86"

// FlagsToRAX writes lahf and seto al: all arithmetic flags, as FlagsFromRAX takes them. It changes none.
func (w *Writer) FlagsToRAX() { w.b4(0x9f, 0x0f, 0x90, 0xc0) }

// FlagsFromRAX writes add al, 127 and sahf. The sum sets the overflow flag from al being 1, sahf
// the others from ah. What was in rax is lost.
func (w *Writer) FlagsFromRAX() { w.b3(0x04, 0x7f, 0x9e) }

// SetFlags writes mov ah, v and sahf: all arithmetic flags but overflow.
func (w *Writer) SetFlags(v byte) { w.b3(0xb4, v, 0x9e) }

// Not writes not reg, which changes no flags.
func (w *Writer) Not(reg x86.Reg) { w.regs(wide|0xf7, 2, byte(reg)) }

// Bswap writes bswap reg, which changes no flags.
func (w *Writer) Bswap(reg x86.Reg) {
	r := byte(rexW)
	if reg >= 8 {
		r |= rexB
	}
	w.b3(r, 0x0f, 0xc8|byte(reg&7))
}

// Dec writes dec reg: all flags but carry.
func (w *Writer) Dec(reg x86.Reg) { w.regs(wide|0xff, 1, byte(reg)) }

// Clear32 writes xor reg, reg on the low half: flags as for zero.
func (w *Writer) Clear32(reg x86.Reg) { w.regs(0x31, byte(reg), byte(reg)) }

// AndImm32 writes and reg32, v.
func (w *Writer) AndImm32(reg x86.Reg, v uint32) {
	w.regs(0x81, 4, byte(reg))
	w.u32(v)
}

// CmpImm writes cmp reg, v, whose highest bit is not set.
func (w *Writer) CmpImm(reg x86.Reg, v uint32) {
	w.regs(wide|0x81, 7, byte(reg))
	w.u32(v)
}

// TestLow writes test reg8, v, of the lowest byte.
func (w *Writer) TestLow(reg x86.Reg, v byte) {
	if reg >= x86.RSP && reg <= x86.RDI { // without a prefix these are ah to bh
		w.regs(rex|0xf6, 0, byte(reg))
	} else {
		w.regs(0xf6, 0, byte(reg))
	}
	w.b1(v)
}

// ShrImm writes shr reg, n.
func (w *Writer) ShrImm(reg x86.Reg, n uint8) {
	w.regs(wide|0xc1, 5, byte(reg))
	w.b1(n)
}

// ImulImm writes imul dst, src, v, whose highest bit is not set.
func (w *Writer) ImulImm(dst, src x86.Reg, v uint32) {
	w.regs(wide|0x69, byte(dst), byte(src))
	w.u32(v)
}

// Imul writes imul dst, src.
func (w *Writer) Imul(dst, src x86.Reg) { w.regs(wide|esc|0xaf, byte(dst), byte(src)) }

// Xor writes xor dst, src.
func (w *Writer) Xor(dst, src x86.Reg) { w.regs(wide|0x31, byte(src), byte(dst)) }

// TestSelf writes test reg, reg.
func (w *Writer) TestSelf(reg x86.Reg) { w.regs(wide|0x85, byte(reg), byte(reg)) }

// TestBits writes test m, v of two or four bytes.
func (w *Writer) TestBits(m Mem, size int, v uint16) {
	f, n := form(0xf7), 4
	if size == 2 {
		f, n = half|0xf7, 2
	}
	w.onMem(f, 0, m, n)
	w.b2(byte(v), byte(v>>8))
	if n == 4 {
		w.b2(0, 0)
	}
}

// Popcnt writes popcnt dst, src.
func (w *Writer) Popcnt(dst, src x86.Reg) { w.regs(rep|wide|esc|0xb8, byte(dst), byte(src)) }

// MovToRAX writes mov al, ax, eax or rax, the same part of reg.
func (w *Writer) MovToRAX(size int, reg x86.Reg) { w.ontoRAX(0x88, size, reg) }

// CmpRAX writes the comparison of al, ax, eax or rax with the same part of reg.
func (w *Writer) CmpRAX(size int, reg x86.Reg) { w.ontoRAX(0x38, size, reg) }

// ontoRAX writes an instruction on rax, with a REX prefix in any case.
func (w *Writer) ontoRAX(f form, size int, reg x86.Reg) {
	w.regs(f.sized(size)|rex, byte(reg), byte(x86.RAX))
}

// Cmp writes the comparison of 1, 2, 4 or 8 bytes of memory with a register.
func (w *Writer) Cmp(m Mem, size int, reg x86.Reg) {
	w.onMem(form(0x38).sized(size), byte(reg), m, 0)
}

// LockXadd writes lock xadd m, reg of 1, 2, 4 or 8 bytes: reg gets what was there.
func (w *Writer) LockXadd(m Mem, size int, reg x86.Reg) {
	w.onMem((lock | esc | 0xc0).sized(size), byte(reg), m, 0)
}

// LockCmpxchg writes lock cmpxchg m, reg of 1, 2, 4 or 8 bytes: compared with rax.
func (w *Writer) LockCmpxchg(m Mem, size int, reg x86.Reg) {
	w.onMem((lock | esc | 0xb0).sized(size), byte(reg), m, 0)
}

// LockDec writes lock dec qword m; false if the address cannot be expressed.
func (w *Writer) LockDec(m Mem) bool { return w.onMem(lock|wide|0xff, 1, m, 0) }

// Op writes an instruction of application code, by its one-byte opcode of the form "op r/m, r", on
// other registers, and with a REX prefix in any case. bits is 16, 32 or 64, or 8 if the opcode
// says so.
func (w *Writer) Op(opcode byte, bits uint8, dst, src x86.Reg) {
	f := rex | form(opcode)
	switch bits {
	case 64:
		f |= wide
	case 16:
		f |= half
	}
	w.regs(f, byte(src), byte(dst))
}

// Shrx writes shrx dst, src, by: a shift to the right. Like the others of BMI2 it changes no flags.
func (w *Writer) Shrx(dst, src, by x86.Reg) {
	w.vexRegs(vex{m: 2, pp: 3, w: true, op: 0xf7, reg: byte(dst), v: byte(by)}, byte(src))
}

// Shlx writes shlx dst, src, by: a shift to the left.
func (w *Writer) Shlx(dst, src, by x86.Reg) {
	w.vexRegs(vex{m: 2, pp: 1, w: true, op: 0xf7, reg: byte(dst), v: byte(by)}, byte(src))
}

// Rorx writes rorx dst, src, n: a rotation to the right.
func (w *Writer) Rorx(dst, src x86.Reg, n uint8) {
	w.vexRegs(vex{m: 3, pp: 3, w: true, op: 0xf0, reg: byte(dst)}, byte(src))
	w.b1(n)
}

// Pext writes pext dst, src, mask: the bits of src that mask has set, from bit 0 on.
func (w *Writer) Pext(dst, src, mask x86.Reg) {
	w.vexRegs(vex{m: 2, pp: 2, w: true, op: 0xf5, reg: byte(dst), v: byte(src)}, byte(mask))
}
