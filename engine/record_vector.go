package engine

import (
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// Operands of more than eight bytes, and masked ones, are loaded into a vector
// register that is saved around it, as the instruction itself would load them:
// with its alignment and its mask, so that they fault alike. From there they go
// into the record and into the thread's operand copy, which the instruction then
// works on.
//
// The refused alternative gives the instruction the register: while it executes
// the application's own value would be in memory, and a floating-point exception
// would have to bring it back into a register that ptrace hands out only with
// all of the others.

// The vector register by whose way operands go: one that legacy code can name,
// or with AVX-512 one whose use costs no other code anything.
const (
	transitLow  = 0
	transitHigh = 31
)

// transits tells whether the operand can be recorded by way of a vector
// register.
//
// Which sizes and masks there are instructions for is the processor's affair: everything
// else stays as it is.
func (r *recorder) transits(in *x86.Insn, o *x86.Operand) bool {
	if in.Enc == x86.EncLegacy {
		return o.Kind == layout.AccessPlain && o.Size == 16
	}
	if !r.u.p.hasAVX512 {
		return in.Enc == x86.EncVEX && o.Kind == layout.AccessPlain && (o.Size == 16 || o.Size == 32)
	}
	switch {
	case o.Kind == layout.AccessPlain:
		return vectorSize(o.Size)
	case o.Mask != x86.MaskK:
		return false
	case o.Kind == layout.AccessPacked:
		return vectorSize(o.Size*uint32(o.Lanes)) && (o.Size >= 4 || r.u.p.hasVBMI2)
	case o.AnyOf != 0:
		return powerOfTwo(o.Size) && vectorSize(o.Size*uint32(o.AnyOf)) && (o.Size >= 4 || r.u.p.hasVBMI2)
	case o.Lanes == 1:
		return o.Size == 4 || o.Size == 8
	}
	return powerOfTwo(o.Size) && (vectorSize(o.Size*uint32(o.Lanes)) || widening(o) != 0)
}

// widening is the opcode of the vpmovzx that gives an operand of less than
// sixteen bytes lanes that fill them, and of the vpmov that takes it back. A move
// would touch the lanes behind the operand if the mask had bits for them.
func widening(o *x86.Operand) byte {
	switch o.Size<<8 | uint32(o.Lanes) {
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

// vectorSize tells the sizes of vector registers, in bytes.
func vectorSize(n uint32) bool { return n == 16 || n == 32 || n == 64 }

// transit records the operand by way of a vector register and executes the
// instruction on the copy.
// The register is saved and restored around it: nothing of the application's vector
// state is different when the instruction executes.
func (r *recorder) transit(i int, in *x86.Insn) {
	o := &r.ops[i][0]
	off := r.vectorRoom(i, 0)
	size := max(8*valueWords(o), 16)
	pl, _ := r.at(o, r.rec.rb)
	record := place{nil, operand{base: r.rec.ra, index: x86.NoReg, disp: int64(off)}}
	save, slot := inSlot(layout.VecSave), inSlot(layout.Operand)
	a := &r.u.asm
	switch {
	// legacy code: a register that it can name, moved by legacy instructions
	case in.Enc == x86.EncLegacy:
		load := []byte{0x0f, 0x28} // movaps faults as the instruction would
		switch in.Mnem {
		case x86.MPCMPESTRI, x86.MPCMPESTRM, x86.MPCMPISTRI, x86.MPCMPISTRM:
			load[1] = 0x10
		}
		move := func(op []byte, pl place) { a.mem(pl.prefix, 0, op, transitLow, pl.operand, 0) }
		move([]byte{0x0f, 0x11}, save)
		move(load, pl)
		move([]byte{0x0f, 0x11}, record)
		move([]byte{0x0f, 0x29}, slot)
		move([]byte{0x0f, 0x10}, save)
	// a high register: its use does not dirty the state that AVX code cares for
	case r.u.p.hasAVX512:
		a.evexMove(0x7f, 64, transitHigh, save)
		r.masked(in, o, pl)
		a.evexMove(0x7f, size, transitHigh, record)
		a.evexMove(0x7f, size, transitHigh, slot)
		a.evexMove(0x6f, 64, transitHigh, save)
	default:
		a.vexMove(0x7f, 32, save)
		a.vexMove(0x6f, size, pl)
		a.vexMove(0x7f, size, record)
		a.vexMove(0x7f, size, slot)
		a.vexMove(0x6f, 32, save)
	}
	r.onSlot(in)
}

// masked loads the operand into the transit register, its bytes in the order in
// which they are in memory, zeros where lanes are inactive.
func (r *recorder) masked(in *x86.Insn, o *x86.Operand, pl place) {
	a := &r.u.asm
	k := in.MaskReg
	e := evex{reg: transitHigh, k: k, zero: k != 0}
	size := int(o.Size) * int(max(o.Lanes, 1))
	compress := false
	switch {
	case o.Kind == layout.AccessPlain:
		a.evexMove(0x6f, int(o.Size), transitHigh, pl)
		return
	case o.Kind == layout.AccessPacked: // expanded as the instruction does it, and compressed again
		compress = true
		e.m, e.pp, e.op, e.w = 2, 1, 0x89, o.Size == 8
		if o.Size < 4 {
			e.op, e.w = 0x62, o.Size == 2
		}
	case o.AnyOf != 0: // broadcast to the lanes that want it, of which the first is left
		compress = true
		size = int(o.Size) * int(o.AnyOf)
		e.m, e.pp, e.w = 2, 1, o.Size == 8
		e.op = map[uint32]byte{1: 0x78, 2: 0x79, 4: 0x58, 8: 0x59}[o.Size]
	case o.Lanes == 1: // vmovss, vmovsd
		e.m, e.op, e.pp, e.w = 1, 0x10, 2, o.Size == 8
		if e.w {
			e.pp = 3
		}
		size = 16
	case size < 16:
		e.m, e.pp, e.op, e.size = 2, 1, widening(o), 16
		a.evex(e, pl)
		a.evexSelf(evex{reg: transitHigh, m: 2, pp: 2, op: e.op, size: 16})
		return
	default: // vmovdqu8 to vmovdqu64
		e.m, e.op, e.pp, e.w = 1, 0x6f, 2, o.Size == 8 || o.Size == 2
		if o.Size < 4 {
			e.pp = 3
		}
	}
	e.size = size
	a.evex(e, pl)
	if !compress {
		return
	}
	c := evex{reg: transitHigh, k: k, zero: true, m: 2, pp: 1, op: 0x8b, w: o.Size == 8, size: size}
	if o.Size < 4 {
		c.op, c.w = 0x63, o.Size == 2
	}
	a.evexSelf(c)
}

// evex is one instruction with that encoding: its register and mask, its prefix,
// map and opcode, how many bytes it works on.
// Bits are named as in the Intel SDM (volume 2, section 2.7): R, X, B and V' are
// inverted.
type evex struct {
	reg, k    byte
	zero, w   bool
	m, pp, op byte
	size      int
}

// head makes the prefix; x and b are the inverted bits of index and base.
func (e *evex) head(x, b byte) [4]byte {
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
	return [4]byte{0x62, p0, p1, p2}
}

// evex writes an instruction with a memory operand.
func (a *asm) evex(e evex, pl place) {
	x, b := byte(0x40), byte(0x20)
	if pl.index >= 8 && pl.index < x86.RIP {
		x = 0
	}
	if pl.base >= 8 && pl.base < x86.RIP {
		b = 0
	}
	h := e.head(x, b)
	a.bytes(pl.prefix...)
	a.bytes(h[:]...)
	a.bytes(e.op)
	a.wideOperand(e.reg&7<<3, pl.operand)
}

// evexSelf writes an instruction whose operands are both its register.
func (a *asm) evexSelf(e evex) {
	x, b := byte(0x40), byte(0x20)
	if e.reg&16 != 0 {
		x = 0
	}
	if e.reg&8 != 0 {
		b = 0
	}
	h := e.head(x, b)
	a.bytes(h[:]...)
	a.bytes(e.op, 0xc0|e.reg&7<<3|e.reg&7)
}

// evexMove writes vmovdqu64 of 16, 32 or 64 bytes: 0x6f loads, 0x7f stores.
func (a *asm) evexMove(op byte, size int, reg byte, pl place) {
	a.evex(evex{reg: reg, m: 1, pp: 2, op: op, w: true, size: size}, pl)
}

// vexMove writes vmovdqu of 16 or 32 bytes of the transit register.
func (a *asm) vexMove(op byte, size int, pl place) {
	b1, b2 := byte(0xe1), byte(0x7a)
	if pl.index >= 8 && pl.index < x86.RIP {
		b1 &^= 0x40
	}
	if pl.base >= 8 && pl.base < x86.RIP {
		b1 &^= 0x20
	}
	if size > 16 {
		b2 |= 4
	}
	a.bytes(pl.prefix...)
	a.bytes(0xc4, b1, b2, op)
	a.wideOperand(transitLow<<3, pl.operand)
}

// wideOperand writes ModRM, SIB and displacement, never a displacement of one
// byte, which EVEX would scale.
func (a *asm) wideOperand(r byte, m operand) {
	switch {
	case m.base == x86.RIP:
		a.memAbsolute(r, uint64(m.disp), 0)
		return
	case m.base == x86.NoReg:
		a.modrm(r, m)
		return
	case m.index != x86.NoReg || m.base&7 == 4:
		a.bytes(0x84|r, sib(m)|byte(m.base&7))
	default:
		a.bytes(0x80 | r | byte(m.base&7))
	}
	a.u32(uint32(m.disp))
}

// vectorRoom reserves the words of a value that a vector register is stored to:
// sixteen bytes at least.
func (r *recorder) vectorRoom(i, j int) int {
	off := r.valueWord(i, j)
	if n := valueWords(&r.ops[i][j]); n < 2 {
		r.words += 2 - n
	}
	return off
}
