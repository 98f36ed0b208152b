package asm

import "alleria/engine/x86"

// Mem is a memory operand: base + index*scale + displacement, in a segment.
//
// A base or index of NoReg is none; with base RIP, Disp is the absolute address, and whether it
// is encoded as such or relative to the instruction is up to the Writer. The zero
// value is no useful operand, since register 0 is rax: At and its like make one.
type Mem struct {
	Base, Index x86.Reg
	Scale       uint8 // 1, 2, 4 or 8; 0 is 1
	Seg         uint8 // x86.SegNone, SegFS or SegGS
	Addr32      bool  // the address is formed with 32 bits
	Disp        int64
}

// At is [base+disp].
func At(base x86.Reg, disp int) Mem { return Mem{Base: base, Index: x86.NoReg, Disp: int64(disp)} }

// Sum is [base+index*scale+disp].
func Sum(base, index x86.Reg, scale uint8, disp int) Mem {
	return Mem{Base: base, Index: index, Scale: scale, Disp: int64(disp)}
}

// Abs is what lies at an address.
func Abs(addr uint64) Mem { return Mem{Base: x86.RIP, Index: x86.NoReg, Disp: int64(addr)} }

// Word is what lies off bytes into the thread's area.
func Word(off int) Mem {
	return Mem{Base: x86.NoReg, Index: x86.NoReg, Seg: x86.SegGS, Disp: int64(off)}
}

// WordBy is an element of a table off bytes into the thread's area.
func WordBy(off int, index x86.Reg, scale uint8) Mem {
	return Mem{Base: x86.NoReg, Index: index, Scale: scale, Seg: x86.SegGS, Disp: int64(off)}
}

// sib is the scale and index part of a SIB byte.
func (m *Mem) sib() byte {
	if m.Index == x86.NoReg {
		return 4 << 3
	}
	var s byte
	switch m.Scale {
	case 2:
		s = 1
	case 4:
		s = 2
	case 8:
		s = 3
	}
	return s<<6 | byte(m.Index&7)<<3
}
