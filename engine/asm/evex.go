package asm

import "alleria/engine/x86"

// evex is an instruction with that encoding: its register and mask, its prefix,
// map and opcode, how many bytes it works on.
// Bits are named as in the Intel SDM (volume 2, section 2.7): R, X, B and V' are
// inverted.
type evex struct {
	reg, k    byte
	zero, w   bool
	m, pp, op byte
	size      int
}

// evexHead writes the prefix and the opcode; x and b are the inverted bits of index and base.
func (w *Writer) evexHead(e *evex, x, b byte) {
	p0 := e.m | x | b
	if e.reg&8 == 0 {
		p0 |= 0x80
	}
	if e.reg&16 == 0 {
		p0 |= 0x10
	}
	p1 := 0x7c | e.pp
	if e.w {
		p1 |= 0x80
	}
	p2 := 0x08 | e.k
	if e.zero {
		p2 |= 0x80
	}
	switch {
	case e.size > 32:
		p2 |= 0x40
	case e.size > 16:
		p2 |= 0x20
	}
	w.b4(0x62, p0, p1, p2)
	w.b1(e.op)
}

// evexMem writes an instruction with a memory operand.
func (w *Writer) evexMem(e evex, m Mem) {
	x, b := byte(0x40), byte(0x20)
	if m.Index >= 8 && m.Index < x86.RIP {
		x = 0
	}
	if m.Base >= 8 && m.Base < x86.RIP {
		b = 0
	}
	w.memPrefixes(&m)
	w.evexHead(&e, x, b)
	w.long(e.reg&7<<3, &m)
}

// evexSelf writes an instruction whose operands are both its register.
func (w *Writer) evexSelf(e evex) {
	x, b := byte(0x40), byte(0x20)
	if e.reg&16 != 0 {
		x = 0
	}
	if e.reg&8 != 0 {
		b = 0
	}
	w.evexHead(&e, x, b)
	w.b1(0xc0 | e.reg&7<<3 | e.reg&7)
}

// EvexLoad writes vmovdqu64 v, m of 16, 32 or 64 bytes.
func (w *Writer) EvexLoad(v uint8, m Mem, size int) {
	w.evexMem(evex{reg: v, m: 1, pp: 2, op: 0x6f, w: true, size: size}, m)
}

// EvexStore writes vmovdqu64 m, v of 16, 32 or 64 bytes.
func (w *Writer) EvexStore(m Mem, v uint8, size int) {
	w.evexMem(evex{reg: v, m: 1, pp: 2, op: 0x7f, w: true, size: size}, m)
}

// Masked is how the loads below fill a vector register: lanes of Elem bytes, as many as make up
// Size bytes of the register, those that mask register K has no bit for with zeros. K 0 is no
// mask.
type Masked struct {
	V, K uint8
	Elem int // 1, 2, 4 or 8
	Size int // 16, 32 or 64
}

// evex is the instruction but for map, prefix and opcode.
func (l *Masked) evex() evex {
	return evex{reg: l.V, k: l.K, zero: l.K != 0, m: 2, pp: 1, w: l.Elem == 8, size: l.Size}
}

// Load writes vmovdqu8, 16, 32 or 64: lanes from as many places in memory.
func (l Masked) Load(w *Writer, m Mem) {
	e := l.evex()
	e.m, e.op, e.pp, e.w = 1, 0x6f, 2, l.Elem == 8 || l.Elem == 2
	if l.Elem < 4 {
		e.pp = 3
	}
	w.evexMem(e, m)
}

// LoadOne writes vmovss or vmovsd: one lane of 4 or 8 bytes. Size does not count.
func (l Masked) LoadOne(w *Writer, m Mem) {
	e := l.evex()
	e.m, e.op, e.pp, e.size = 1, 0x10, 2, 16
	if e.w {
		e.pp = 3
	}
	w.evexMem(e, m)
}

// Expand writes vpexpandb, w, d or q: what lies in memory without gaps, to the lanes of the mask.
func (l Masked) Expand(w *Writer, m Mem) {
	e := l.evex()
	e.op = 0x89
	if l.Elem < 4 {
		e.op, e.w = 0x62, l.Elem == 2
	}
	w.evexMem(e, m)
}

// Broadcast writes vpbroadcastb, w, d or q: the same element to all lanes.
func (l Masked) Broadcast(w *Writer, m Mem) {
	e := l.evex()
	switch l.Elem {
	case 1:
		e.op = 0x78
	case 2:
		e.op = 0x79
	case 4:
		e.op = 0x58
	default:
		e.op = 0x59
	}
	w.evexMem(e, m)
}

// Widen writes vpmovzx of less than 16 bytes of memory, lanes lanes of Elem bytes, to lanes that
// fill 16.
func (l Masked) Widen(w *Writer, m Mem, lanes int) {
	e := l.evex()
	e.op, e.w, e.size = widening(l.Elem, lanes), false, 16
	w.evexMem(e, m)
}

// Narrow writes the vpmov that takes Widen back, within the register.
func (l Masked) Narrow(w *Writer, lanes int) {
	w.evexSelf(evex{reg: l.V, m: 2, pp: 2, op: widening(l.Elem, lanes), size: 16})
}

// CanWiden tells whether there is a Widen of so many lanes.
func CanWiden(elem, lanes int) bool { return widening(elem, lanes) != 0 }

// widening is the opcode of the vpmovzx that gives an operand of less than
// sixteen bytes lanes that fill them, and of the vpmov that takes it back.
func widening(elem, lanes int) byte {
	switch elem<<8 | lanes {
	case 0x108:
		return 0x30
	case 0x104:
		return 0x31
	case 0x102:
		return 0x32
	case 0x204:
		return 0x33
	case 0x202:
		return 0x34
	case 0x402:
		return 0x35
	}
	return 0
}

// Compress writes vpcompressb, w, d or q of the register to itself: the lanes of the mask, without
// gaps, and zeros behind them.
func (l Masked) Compress(w *Writer) {
	e := evex{reg: l.V, k: l.K, zero: true, m: 2, pp: 1, op: 0x8b, w: l.Elem == 8, size: l.Size}
	if l.Elem < 4 {
		e.op, e.w = 0x63, l.Elem == 2
	}
	w.evexSelf(e)
}
