package engine

import (
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// place is a memory operand as code of ours names it: a prefix for its segment
// and its address size, and the operand itself.
type place struct {
	prefix []byte
	operand
}

// at is the memory that an access names before the instruction. tmp takes the
// address of one that is too far for a displacement; ok is false if there is
// none and it is needed.
// Operands by way of gs are never copied: the tracer executes such instructions.
func (r *recorder) at(o *x86.Operand, tmp x86.Reg) (pl place, ok bool) {
	switch o.Seg {
	case layout.SegFS:
		pl.prefix = append(pl.prefix, 0x64)
	case layout.SegGS:
		return pl, false
	}
	pl.operand = operand{base: o.Base, index: o.Index, scale: o.IndexScale, disp: o.Disp}
	if o.Base != x86.NoReg || o.Index != x86.NoReg {
		if o.AddrBits == 32 {
			pl.prefix = append(pl.prefix, 0x67)
		}
		return pl, o.Disp == int64(int32(o.Disp))
	}
	addr := uint64(o.Disp)
	if o.AddrBits == 32 {
		// An address-size prefix without registers cuts the displacement off.
		addr = uint64(uint32(addr))
	}
	switch {
	case int64(addr) == int64(int32(addr)):
		pl.operand = operand{base: x86.NoReg, index: x86.NoReg, disp: int64(addr)}
	// Near means from any place of the area: where this code comes to does not
	// matter.
	case r.u.ar.near(addr):
		pl.operand = operand{base: x86.RIP, index: x86.NoReg, disp: int64(addr)}
	case tmp == x86.NoReg:
		return pl, false
	default:
		r.u.asm.movImm(tmp, addr)
		pl.operand = operand{base: tmp, index: x86.NoReg}
	}
	return pl, true
}

// reaches tells whether the access can be named without a register for its
// address.
func (r *recorder) reaches(o *x86.Operand) bool {
	if o.Base != x86.NoReg || o.Index != x86.NoReg {
		return o.Seg != layout.SegGS && o.Disp == int64(int32(o.Disp))
	}
	addr := uint64(o.Disp)
	return o.Seg != layout.SegGS && (int64(addr) == int64(int32(addr)) || o.AddrBits == 64 && r.u.ar.near(addr))
}

// loadFrom writes the load of 1, 2, 4 or 8 bytes, extended with zeros.
// No partial register is written, which later reads would have to wait for.
func (a *asm) loadFrom(pl place, size int, dst x86.Reg) {
	switch size {
	case 8:
		a.mem(pl.prefix, rexW, []byte{0x8b}, byte(dst), pl.operand, 0)
	case 4:
		a.mem(pl.prefix, 0, []byte{0x8b}, byte(dst), pl.operand, 0)
	case 2:
		a.mem(pl.prefix, 0, []byte{0x0f, 0xb7}, byte(dst), pl.operand, 0)
	default:
		a.mem(pl.prefix, 0, []byte{0x0f, 0xb6}, byte(dst), pl.operand, 0)
	}
}

// storeTo writes the store of a register's low 1, 2, 4 or 8 bytes.
func (a *asm) storeTo(pl place, size int, src x86.Reg) {
	a.sized(pl, size, []byte{0x88}, src)
}

// sized writes an instruction whose opcode has a form for bytes, as given, and
// one for words, the next number.
func (a *asm) sized(pl place, size int, opcode []byte, reg x86.Reg) {
	op := append([]byte{}, opcode...)
	prefix, rex := pl.prefix, byte(0)
	if size > 1 {
		op[len(op)-1]++
	}
	switch size {
	case 8:
		rex = rexW
	case 2:
		// The capacity is cut, so that a place used twice does not share the
		// appended prefix.
		prefix = append(prefix[:len(prefix):len(prefix)], 0x66)
	case 1:
		rex = 0x40
	}
	a.mem(prefix, rex, op, byte(reg), pl.operand, 0)
}

// inSlot is a word of the thread's area as a place.
func inSlot(off int) place {
	return place{[]byte{0x65}, operand{base: x86.NoReg, index: x86.NoReg, disp: int64(off)}}
}

// prefixes copies an instruction's legacy prefixes to out, without those for
// its memory operand and without lock, and returns where the rest begins: its
// REX prefix or what follows.
func prefixes(code []byte, locked bool, out []byte) ([]byte, int) {
	for i, b := range code {
		switch b {
		case 0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x67, 0xf0:
		case 0xf2, 0xf3:
			if !locked { // with lock they are hints
				out = append(out, b)
			}
		case 0x66:
			out = append(out, b)
		default:
			return out, i
		}
	}
	return out, len(code)
}

// onRegister writes the instruction with general register rm in place of its
// memory operand; false if it can't be encoded.
//
// ModRM, REX and VEX are rewritten; opcode and constants stay. EVEX forms go by the copy in
// the slot instead.
func (r *recorder) onRegister(in *x86.Insn, rm x86.Reg) bool {
	code := r.u.p.insBytes(in)
	var room [24]byte
	out, at := prefixes(code, in.Has(x86.AttrLock), room[:0])
	m := int(in.ModRMOff)
	switch in.Enc {
	case x86.EncLegacy:
		rex := in.Rex &^ 3
		if in.Rex != 0 {
			at++
		}
		if rm >= 8 {
			rex |= rexB
		}
		// Without REX these numbers are ah to bh.
		if rm >= x86.RSP && in.Mems[0].Size == 1 {
			rex |= 0x40
		}
		if rex != 0 {
			// With REX they are not: the two cannot stand in one instruction.
			if in.HighByte() {
				return false
			}
			out = append(out, rex|0x40)
		}
		out = append(out, code[at:m]...)
	case x86.EncVEX:
		// The three-byte form has all the bits; the two-byte one is rewritten as
		// it.
		b1, b2 := byte(0xe1), code[at+1]
		if code[at] == 0xc4 {
			b1, b2 = code[at+1], code[at+2]
		} else { // C5 has R where C4 has W
			b1 = b2&0x80 | 0x61
			b2 &= 0x7f
		}
		b1 |= 0x60
		if rm >= 8 {
			b1 &^= 0x20
		}
		out = append(out, 0xc4, b1, b2, code[m-1])
	default:
		return false
	}
	out = append(out, 0xc0|in.ModRM&0x38|byte(rm&7))
	out = append(out, code[in.TailOff():]...)
	r.u.asm.bytes(out...)
	return true
}

// onSlot writes the instruction with the thread's operand copy in place of its
// memory operand. Every form can be led there: gs and a displacement need no
// register.
//
// A 32-bit displacement without base and index needs ModRM 04 and SIB 25; bits that would
// extend registers are cleared.
func (r *recorder) onSlot(in *x86.Insn) {
	code := r.u.p.insBytes(in)
	var room [32]byte
	out, at := prefixes(code, in.Has(x86.AttrLock), append(room[:0], 0x65))
	m := int(in.ModRMOff)
	from := len(out)
	out = append(out, code[at:m]...)
	switch in.Enc { // no register extends base or index
	case x86.EncLegacy:
		if in.Rex != 0 {
			out[from] &^= 3
		}
	case x86.EncVEX:
		if out[from] == 0xc4 {
			out[from+1] |= 0x60
		}
	case x86.EncEVEX:
		out[from+1] |= 0x60
	}
	off := uint32(layout.Operand)
	out = append(out, in.ModRM&0x38|4, 0x25, byte(off), byte(off>>8), 0, 0)
	out = append(out, code[in.TailOff():]...)
	r.u.asm.bytes(out...)
}

// apply lets the instruction work on the low bytes of rb instead of on memory.
func (r *recorder) apply(in *x86.Insn) {
	if r.onRegister(in, r.rec.rb) {
		return
	}
	r.u.asm.store(layout.Operand, r.rec.rb)
	r.onSlot(in)
	r.u.asm.load(r.rec.rb, layout.Operand)
}
