package asm

import (
	"encoding/binary"

	"alleria/engine/x86"
)

// Instructions of the application with another operand in place of their memory operand. Opcode, constants
// and what else they say stay. in is the decoded instruction, code its bytes; it must have a memory
// form (x86.Insn.MemoryForm) or, where that is said, an operand relative to RIP.

// CopyDisp writes an instruction with another displacement of four bytes at an offset of it.
func (w *Writer) CopyDisp(code []byte, at int, disp uint32) {
	w.Copy(code[:at])
	w.u32(disp)
	w.Copy(code[at+4:])
}

// CopyAbs writes an instruction with an operand relative to RIP so that the operand is an address
// below two gigabytes.
func (w *Writer) CopyAbs(in *x86.Insn, code []byte, addr uint32) {
	w.Copy(code[:in.ModRMOff])
	w.b2(in.ModRM&^7|4, 0x25)
	w.u32(addr)
	w.Copy(code[in.DispOff+4:])
	w.clearXB(in, len(code)+1)
}

// CopyAt writes an instruction with an operand relative to RIP so that the operand is [base]. base
// is one of the first eight registers, and neither rsp nor rbp.
func (w *Writer) CopyAt(in *x86.Insn, code []byte, base x86.Reg) {
	w.Copy(code[:in.ModRMOff])
	w.b1(in.ModRM&^7 | byte(base))
	w.Copy(code[in.DispOff+4:])
	w.clearXB(in, len(code)-4)
}

// clearXB clears the bits that extend a base and an index register in the
// instruction of n bytes just written: a RIP-relative operand ignores them, the
// operand that replaced it would not.
// VEX prefixes of two bytes have neither bit.
func (w *Writer) clearXB(in *x86.Insn, n int) {
	if w.full {
		return
	}
	ins := w.Last(n)
	p := int(in.PrefixEnd)
	switch in.Enc {
	case x86.EncLegacy:
		if in.Rex != 0 {
			ins[p] &^= 3
		}
	case x86.EncVEX, x86.EncEVEX:
		for i, b := range ins { // the first C4 or 62 is the prefix: only 67, 2e … come before it
			if b == 0xc4 || b == 0x62 {
				ins[i+1] |= 0x60
				return
			}
			if b == 0xc5 {
				return
			}
		}
	}
}

// prefixes copies an instruction's legacy prefixes to out, without those for
// its memory operand and without lock, and returns where the rest begins: its
// REX prefix or what follows. Other REX prefixes, which stand in front of that or of a legacy prefix, say nothing.
func prefixes(in *x86.Insn, code []byte, out []byte) ([]byte, int) {
	for i, b := range code {
		switch {
		case b == 0x26, b == 0x2e, b == 0x36, b == 0x3e, b == 0x64, b == 0x65, b == 0x67, b == 0xf0:
		case b == 0xf2, b == 0xf3:
			if !in.Has(x86.AttrLock) { // with lock they are hints
				out = append(out, b)
			}
		case b == 0x66:
			out = append(out, b)
		case b&0xf0 == rexAny && (in.Rex == 0 || i != int(in.PrefixEnd)):
		default:
			return out, i
		}
	}
	return out, len(code)
}

// CopyReg writes an instruction with general register rm in place of its
// memory operand, and without lock; false if it can't be encoded: then nothing is written.
//
// ModRM, REX and VEX are rewritten. EVEX forms cannot be led to a general register.
func (w *Writer) CopyReg(in *x86.Insn, code []byte, rm x86.Reg) bool {
	var room [24]byte
	out, at := prefixes(in, code, room[:0])
	m := int(in.ModRMOff)
	switch in.Enc {
	case x86.EncLegacy:
		r := in.Rex &^ 3
		if in.Rex != 0 {
			at++
		}
		if rm >= 8 {
			r |= rexB
		}
		// Without REX these numbers are ah to bh.
		if rm >= x86.RSP && in.Mems[0].Size == 1 {
			r |= rexAny
		}
		if r != 0 {
			// With REX they are not: the two cannot stand in one instruction.
			if in.HighByte() {
				return false
			}
			out = append(out, r|rexAny)
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
	w.Copy(out)
	return true
}

// CopyWord writes an instruction with gs:[off] in place of its
// memory operand, and without lock. Every form can be led there: gs and a displacement need no
// register.
//
// A 32-bit displacement without base and index needs ModRM 04 and SIB 25; bits that would
// extend registers are cleared.
func (w *Writer) CopyWord(in *x86.Insn, code []byte, off uint32) {
	var room [32]byte
	out, at := prefixes(in, code, append(room[:0], 0x65))
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
	out = append(out, in.ModRM&0x38|4, 0x25)
	out = binary.LittleEndian.AppendUint32(out, off)
	out = append(out, code[in.TailOff():]...)
	w.Copy(out)
}

// CopyShort writes a branch that exists with a displacement of 8 bits only (loop, jrcxz) so that it leads over
// the next n bytes.
func (w *Writer) CopyShort(code []byte, n int8) {
	w.Copy(code[:len(code)-1])
	w.b1(byte(n))
}
