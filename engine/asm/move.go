package asm

import (
	"encoding/binary"

	"alleria/engine/x86"
)

// Mov writes mov dst, src.
func (w *Writer) Mov(dst, src x86.Reg) { w.regs(wide|0x89, byte(src), byte(dst)) }

// Mov32 writes mov of the low halves; the upper half of dst becomes zero.
func (w *Writer) Mov32(dst, src x86.Reg) { w.regs(0x89, byte(src), byte(dst)) }

// MovLow is Mov32 with a REX prefix also where none is needed.
func (w *Writer) MovLow(dst, src x86.Reg) { w.regs(rex|0x89, byte(src), byte(dst)) }

// MovImm writes the shortest mov reg, v.
// Not xor for zero: that would change the flags.
func (w *Writer) MovImm(reg x86.Reg, v uint64) {
	r := byte(0)
	if reg >= 8 {
		r = rexB
	}
	switch {
	case v < 1<<32:
		if r != 0 {
			w.b1(r)
		}
		w.b1(0xb8 | byte(reg&7))
		w.u32(uint32(v))
	case int64(v) == int64(int32(v)):
		w.b3(rexW|r, 0xc7, 0xc0|byte(reg&7))
		w.u32(uint32(v))
	default:
		w.MovImm64(reg, v)
	}
}

// MovImm64 writes mov reg, v in ten bytes, whatever the value.
func (w *Writer) MovImm64(reg x86.Reg, v uint64) {
	b := w.room(10)
	if b == nil {
		return
	}
	b[0], b[1] = rexW, 0xb8|byte(reg&7)
	if reg >= 8 {
		b[0] |= rexB
	}
	binary.LittleEndian.PutUint64(b[2:], v)
}

// Put writes mov [base+disp], reg.
func (w *Writer) Put(base x86.Reg, disp int, reg x86.Reg) {
	w.onMem(wide|0x89, byte(reg), At(base, disp), 0)
}

// PutLow writes mov of the low 1, 2, 4 or 8 bytes of reg to [base+disp], with a REX prefix in any
// case.
func (w *Writer) PutLow(base x86.Reg, disp int, reg x86.Reg, size int) {
	f := rex | 0x89
	switch size {
	case 8:
		f = wide | 0x89
	case 2:
		f = half | rex | 0x89
	case 1:
		f = rex | 0x88
	}
	w.onMem(f, byte(reg), At(base, disp), 0)
}

// PutImm writes mov qword [base+disp], v, sign-extended. The constant is the last four bytes.
func (w *Writer) PutImm(base x86.Reg, disp int, v uint32) {
	w.onMem(wide|0xc7, 0, At(base, disp), 4)
	w.u32(v)
}

// Get writes mov reg, [base+disp].
func (w *Writer) Get(reg, base x86.Reg, disp int) {
	w.onMem(wide|0x8b, byte(reg), At(base, disp), 0)
}

// Load writes the load of 1, 2, 4 or 8 bytes, extended with zeros; false if the
// displacement cannot be expressed.
// No partial register is written, which later reads would have to wait for.
func (w *Writer) Load(dst x86.Reg, m Mem, size int) bool {
	return w.onMem(loadForm(size), byte(dst), m, 0)
}

// LoadRex is Load with a REX prefix also where none is needed.
func (w *Writer) LoadRex(dst x86.Reg, m Mem, size int) bool {
	return w.onMem(loadForm(size)|rex, byte(dst), m, 0)
}

func loadForm(size int) form {
	switch size {
	case 8:
		return wide | 0x8b
	case 4:
		return 0x8b
	case 2:
		return esc | 0xb7
	}
	return esc | 0xb6
}

// Store writes the store of a register's low 1, 2, 4 or 8 bytes.
func (w *Writer) Store(m Mem, size int, src x86.Reg) {
	w.onMem(form(0x88).sized(size), byte(src), m, 0)
}

// StoreImm16 writes mov word m, v.
func (w *Writer) StoreImm16(m Mem, v uint16) {
	w.b1(0x66) // in front of a segment's, unlike where half puts it
	w.onMem(0xc7, 0, m, 2)
	w.u16(v)
}

// Lea writes lea reg, m; false if the address cannot be expressed.
// It is the adder of instrumentation: it changes no flags.
func (w *Writer) Lea(reg x86.Reg, m Mem) bool { return w.onMem(wide|0x8d, byte(reg), m, 0) }

// LeaBits is Lea of an address of 32 or 64 bits; 32 leave the upper half zero.
func (w *Writer) LeaBits(reg x86.Reg, m Mem, bits uint8) bool {
	if bits == 32 {
		return w.onMem(0x8d, byte(reg), m, 0)
	}
	return w.Lea(reg, m)
}

// LeaDisp writes lea reg, [base+disp].
func (w *Writer) LeaDisp(reg, base x86.Reg, disp int64) {
	w.Lea(reg, Mem{Base: base, Index: x86.NoReg, Disp: disp})
}

// LeaLong is LeaDisp in seven bytes, whatever the displacement. Neither register may be r8 to r15, nor
// base rsp.
func (w *Writer) LeaLong(dst, base x86.Reg, disp int32) {
	w.b3(rexW, 0x8d, 0x80|byte(dst&7)<<3|byte(base&7))
	w.u32(uint32(disp))
}

// MovzxByte writes movzx dst32, the low byte of src.
func (w *Writer) MovzxByte(dst, src x86.Reg) {
	f := esc | 0xb6
	if src >= x86.RSP { // else it would be ah to bh
		f |= rex
	}
	w.regs(f, byte(dst), byte(src))
}

// MovzxByteWide writes movzx dst, the low byte of src, with a REX.W that changes nothing.
func (w *Writer) MovzxByteWide(dst, src x86.Reg) { w.regs(wide|esc|0xb6, byte(dst), byte(src)) }

// MovzxHalf writes movzx dst32, src16.
func (w *Writer) MovzxHalf(dst, src x86.Reg) { w.regs(esc|0xb7, byte(dst), byte(src)) }

// ZeroExtend writes the extension of a register's low 1 or 2 bytes.
func (w *Writer) ZeroExtend(reg x86.Reg, size int) {
	f := rex | esc | 0xb6
	if size == 2 {
		f = rex | esc | 0xb7
	}
	w.regs(f, byte(reg), byte(reg))
}

// SignExtend writes the extension of src's low 1, 2 or 4 bytes to 8 in dst.
func (w *Writer) SignExtend(dst, src x86.Reg, size int) {
	f := wide | esc | 0xbe
	switch size {
	case 4:
		f = wide | 0x63
	case 2:
		f = wide | esc | 0xbf
	}
	w.regs(f, byte(dst), byte(src))
}

// Cmov writes a move of src to dst that is made if the condition holds.
func (w *Writer) Cmov(c Cond, dst, src x86.Reg) {
	w.regs(wide|esc|0x40|form(c), byte(dst), byte(src))
}

// SetCond writes setcc of a register's low byte.
func (w *Writer) SetCond(c Cond, reg x86.Reg) {
	f := esc | 0x90 | form(c)
	if reg >= x86.RSP {
		f |= rex
	}
	w.regs(f, 0, byte(reg))
}

// PutCond writes setcc byte [base+disp], with a REX prefix in any case.
func (w *Writer) PutCond(c Cond, base x86.Reg, disp int) {
	w.onMem(rex|esc|0x90|form(c), 0, At(base, disp), 0)
}

// Push writes push reg.
func (w *Writer) Push(reg x86.Reg) {
	if reg >= 8 {
		w.b1(rexB)
	}
	w.b1(0x50 | byte(reg&7))
}

// Pop writes pop reg.
func (w *Writer) Pop(reg x86.Reg) {
	if reg >= 8 {
		w.b1(rexB)
	}
	w.b1(0x58 | byte(reg&7))
}

// PushImm writes the push of eight bytes, v sign-extended.
func (w *Writer) PushImm(v uint32) {
	w.b1(0x68)
	w.u32(v)
}

// PushFlags writes pushfq.
func (w *Writer) PushFlags() { w.b1(0x9c) }

// Lodsb writes lodsb: al from [rsi], and rsi moves by one.
func (w *Writer) Lodsb() { w.b1(0xac) }

// Movs writes a movs of 1, 2, 4 or 8 bytes.
func (w *Writer) Movs(size int) {
	switch size {
	case 8:
		w.b2(rexW, 0xa5)
	case 2:
		w.b2(0x66, 0xa5)
	case 1:
		w.b1(0xa4)
	default:
		w.b1(0xa5)
	}
}

// Rdtsc writes rdtsc: the time-stamp counter to edx:eax.
func (w *Writer) Rdtsc() { w.b2(0x0f, 0x31) }
