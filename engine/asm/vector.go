package asm

import "alleria/engine/x86"

// Vector registers are numbers: 0 to 31 with EVEX, 0 to 15 with VEX and SSE. Sizes are in bytes. Methods
// of one name are apart by encoding, since code must not mix them: Sse…, Avx…, Evex….

// vex is an instruction with that encoding, but for its last operand: map, prefix, operand width
// and size, opcode, registers. Bits are named as in the Intel SDM (volume 2, section 2.3.5), of
// which R, X, B and vvvv are inverted.
type vex struct {
	m, pp, op byte
	w, l      bool
	reg, v    byte
}

// head writes the three-byte prefix, which can say everything, and the opcode.
func (w *Writer) vexHead(e *vex, index, base bool) {
	b1, b2 := 0xe0|e.m, ^e.v&15<<3|e.pp
	if e.reg >= 8 {
		b1 &^= 0x80
	}
	if index {
		b1 &^= 0x40
	}
	if base {
		b1 &^= 0x20
	}
	if e.w {
		b2 |= 0x80
	}
	if e.l {
		b2 |= 4
	}
	w.b4(0xc4, b1, b2, e.op)
}

// vexRegs writes an instruction whose last operand is a register.
func (w *Writer) vexRegs(e vex, rm byte) {
	w.vexHead(&e, false, rm >= 8)
	w.b1(0xc0 | e.reg&7<<3 | rm&7)
}

// vexMem writes an instruction with a memory operand, whose displacement is a long one.
func (w *Writer) vexMem(e vex, m Mem) {
	w.memPrefixes(&m)
	w.vexHead(&e, m.Index >= 8 && m.Index < x86.RIP, m.Base >= 8 && m.Base < x86.RIP)
	w.long(e.reg&7<<3, &m)
}

// AvxLoad writes vmovdqu v, m of 16 or 32 bytes.
func (w *Writer) AvxLoad(v uint8, m Mem, size int) { w.avxMove(0x6f, v, m, size) }

// AvxStore writes vmovdqu m, v of 16 or 32 bytes.
func (w *Writer) AvxStore(m Mem, v uint8, size int) { w.avxMove(0x7f, v, m, size) }

func (w *Writer) avxMove(op, v byte, m Mem, size int) {
	w.vexMem(vex{m: 1, pp: 2, l: size > 16, op: op, reg: v}, m)
}

// SsePut writes movlps [base+disp], v or, for the high half, movhps, with a REX prefix in any case and a long displacement.
func (w *Writer) SsePut(base x86.Reg, disp int, v uint8, high bool) {
	r, op := byte(rexAny), byte(0x13)
	if v >= 8 {
		r |= rexR
	}
	if base >= 8 {
		r |= rexB
	}
	if high {
		op = 0x17
	}
	w.b3(r, 0x0f, op)
	m := At(base, disp)
	w.long(v&7<<3, &m)
}

// AvxPut writes vmovlps [base+disp], v or, for the high half, vmovhps.
func (w *Writer) AvxPut(base x86.Reg, disp int, v uint8, high bool) {
	e := vex{m: 1, op: 0x13, reg: v}
	if high {
		e.op = 0x17
	}
	w.vexMem(e, At(base, disp))
}

// SseLoadOperand writes pshufd v, m, which changes no order: a load that faults where instructions do that work on m, aligned or as the
// processor is told by MXCSR.MM.
func (w *Writer) SseLoadOperand(v uint8, m Mem) {
	w.onMem(half|esc|0x70, v, m, 1)
	w.b1(0xe4)
}

// SseLoad writes movups v, m, or movaps, which faults unless m is aligned.
func (w *Writer) SseLoad(v uint8, m Mem, aligned bool) {
	if aligned {
		w.onMem(esc|0x28, v, m, 0)
		return
	}
	w.onMem(esc|0x10, v, m, 0)
}

// SseStore writes movups m, v, or movaps.
func (w *Writer) SseStore(m Mem, v uint8, aligned bool) {
	if aligned {
		w.onMem(esc|0x29, v, m, 0)
		return
	}
	w.onMem(esc|0x11, v, m, 0)
}

// SseEqualBytes writes pcmpeqb v, m, whose memory is aligned.
func (w *Writer) SseEqualBytes(v uint8, m Mem) { w.onMem(half|esc|0x74, v, m, 0) }

// SseAnd writes pand v, by.
func (w *Writer) SseAnd(v, by uint8) { w.regs(half|esc|0xdb, v, by) }

// SseShiftDown writes psrldq v, bytes, which drops the lowest, and SseShiftUp pslldq.
func (w *Writer) SseShiftDown(v, bytes uint8) {
	w.regs(half|esc|0x73, 3, v)
	w.b1(bytes)
}
func (w *Writer) SseShiftUp(v, bytes uint8) {
	w.regs(half|esc|0x73, 7, v)
	w.b1(bytes)
}

// MmxStore writes movq m, mm.
func (w *Writer) MmxStore(m Mem, mm uint8) { w.onMem(esc|0x7f, mm, m, 0) }

// Stmxcsr writes stmxcsr m.
func (w *Writer) Stmxcsr(m Mem) { w.onMem(esc|0xae, 3, m, 0) }

// Fxsave64 writes fxsave64 m.
func (w *Writer) Fxsave64(m Mem) { w.onMem(wide|esc|0xae, 0, m, 0) }

// Masks, a bit for each lane in the order of lanes. None of these changes flags.

// MoveMask16 writes kmovw reg, k.
func (w *Writer) MoveMask16(reg x86.Reg, k uint8) {
	w.vexRegs(vex{m: 1, op: 0x93, reg: byte(reg)}, k)
}

// MoveMask64 writes kmovq reg, k.
func (w *Writer) MoveMask64(reg x86.Reg, k uint8) {
	w.vexRegs(vex{m: 1, pp: 3, w: true, op: 0x93, reg: byte(reg)}, k)
}

// AvxSigns writes vmovmskps reg, v, or vmovmskpd for elements of eight bytes; wide is of 32 bytes, else of
// 16.
func (w *Writer) AvxSigns(reg x86.Reg, v uint8, elem int, wide bool) {
	e := vex{m: 1, l: wide, op: 0x50, reg: byte(reg)}
	if elem == 8 {
		e.pp = 1
	}
	w.vexRegs(e, v)
}

// SseSigns writes pmovmskb reg, v, with a REX prefix in any case.
func (w *Writer) SseSigns(reg x86.Reg, v uint8) { w.regs(half|rex|esc|0xd7, byte(reg), v) }

// MmxSigns writes pmovmskb reg, mm, with a REX prefix in any case. mm is 0 to 7.
func (w *Writer) MmxSigns(reg x86.Reg, mm uint8) { w.regs(rex|esc|0xd7, byte(reg), mm&7) }
