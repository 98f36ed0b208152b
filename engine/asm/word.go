package asm

import (
	"encoding/binary"

	"alleria/engine/x86"
)

// onWord writes an instruction on reg and the word at gs:off: onMem's hot case.
// ModRM 04 with SIB 25 is a plain displacement: the shorter form without SIB means
// RIP-relative in 64-bit mode.
func (w *Writer) onWord(f form, reg byte, off int) {
	r := f.rexBits()
	if reg >= 8 {
		r |= rexR
	}
	if r == 0 {
		b := w.room(8)
		if b == nil {
			return
		}
		b[0], b[1], b[2], b[3] = 0x65, byte(f), reg&7<<3|4, 0x25
		binary.LittleEndian.PutUint32(b[4:], uint32(off))
		return
	}
	b := w.room(9)
	if b == nil {
		return
	}
	b[0], b[1], b[2], b[3], b[4] = 0x65, r, byte(f), reg&7<<3|4, 0x25
	binary.LittleEndian.PutUint32(b[5:], uint32(off))
}

// StoreWord writes mov gs:[off], reg.
func (w *Writer) StoreWord(off int, reg x86.Reg) { w.onWord(wide|0x89, byte(reg), off) }

// LoadWord writes mov reg, gs:[off].
func (w *Writer) LoadWord(reg x86.Reg, off int) { w.onWord(wide|0x8b, byte(reg), off) }

// StoreWord32 writes mov dword gs:[off], reg.
func (w *Writer) StoreWord32(off int, reg x86.Reg) { w.onWord(0x89, byte(reg), off) }

// StoreWordImm writes mov dword gs:[off], v.
func (w *Writer) StoreWordImm(off int, v uint32) {
	w.onWord(0xc7, 0, off)
	w.u32(v)
}

// CmpWord writes cmp reg, gs:[off].
func (w *Writer) CmpWord(reg x86.Reg, off int) { w.onWord(wide|0x3b, byte(reg), off) }

// IncWord writes add qword gs:[off], 1.
// Not inc, which leaves the carry flag and so depends on the flags before.
func (w *Writer) IncWord(off int) {
	w.onWord(wide|0x83, 0, off)
	w.b1(1)
}

// SubWord writes sub qword gs:[off], n. n is at most 1<<31 - 1.
func (w *Writer) SubWord(off int, n uint32) {
	if n < 1<<7 {
		w.onWord(wide|0x83, 5, off)
		w.b1(byte(n))
		return
	}
	w.onWord(wide|0x81, 5, off)
	w.u32(n)
}

// BitWord writes bt dword gs:[off], n: the bit goes to the carry flag.
func (w *Writer) BitWord(off int, n uint8) {
	w.onMem(esc|0xba, 4, Word(off), 1)
	w.b1(n)
}

// MovsxByteWord writes movsx reg, byte gs:[off].
func (w *Writer) MovsxByteWord(reg x86.Reg, off int) { w.onMem(wide|esc|0xbe, byte(reg), Word(off), 0) }

// PextWord writes pext dst, src, gs:[off]: the bits of src that the word has set, from bit 0 on.
// The processor must have BMI2.
func (w *Writer) PextWord(dst, src x86.Reg, off int) {
	w.vexMem(vex{m: 2, pp: 2, w: true, op: 0xf5, reg: byte(dst), v: byte(src)}, Word(off))
}

// JmpWord writes jmp gs:[off].
func (w *Writer) JmpWord(off int) { w.onWord(0xff, 4, off) }

// JmpTable writes jmp gs:[index*8+off].
func (w *Writer) JmpTable(off int, index x86.Reg) { w.onMem(0xff, 4, WordBy(off, index, 8), 0) }

// CmpWordImm writes cmp dword gs:[off], v.
func (w *Writer) CmpWordImm(off int, v uint32) {
	w.onWord(0x81, 7, off)
	w.u32(v)
}
