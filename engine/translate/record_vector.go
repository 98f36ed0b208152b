package translate

import (
	"alleria/engine/asm"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
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
		return transitsLegacy(in, o)
	}
	if !r.u.HasAVX512 {
		return in.Enc == x86.EncVEX && o.Kind == records.AccessPlain && (o.Size == 16 || o.Size == 32)
	}
	switch {
	case o.Kind == records.AccessPlain:
		return vectorSize(o.Size)
	case o.Mask != x86.MaskK:
		return false
	case o.Kind == records.AccessPacked:
		return vectorSize(o.Size*uint32(o.Lanes)) && (o.Size >= 4 || r.u.HasVBMI2)
	case o.AnyOf != 0:
		return powerOfTwo(o.Size) && vectorSize(o.Size*uint32(o.AnyOf)) && (o.Size >= 4 || r.u.HasVBMI2)
	case o.Lanes == 1:
		return o.Size == 4 || o.Size == 8
	}
	return powerOfTwo(o.Size) && (vectorSize(o.Size*uint32(o.Lanes)) || asm.CanWiden(int(o.Size), int(o.Lanes)))
}

// transitsLegacy is transits for legacy code. Whether SHA's operands have to be aligned is said differently by manuals and processors.
func transitsLegacy(in *x86.Insn, o *x86.Operand) bool {
	return o.Kind == records.AccessPlain && o.Size == 16 && in.Cat != x86.CatSHA
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
	m, _ := r.at(o, r.rec.RB)
	record := asm.At(r.rec.RA, off)
	save, slot := asm.Word(layout.VecSave), asm.Word(layout.Operand)
	a := &r.u.asm
	switch {
	// legacy code: a register that it can name, moved by legacy instructions
	case in.Enc == x86.EncLegacy:
		a.SseStore(save, transitLow, false)
		switch in.Mnem {
		case x86.MPCMPESTRI, x86.MPCMPESTRM, x86.MPCMPISTRI, x86.MPCMPISTRM:
			a.SseLoad(transitLow, m, false)
		default:
			a.SseLoadOperand(transitLow, m)
		}
		a.SsePut(r.rec.RA, off, transitLow, false)
		a.SsePut(r.rec.RA, off+8, transitLow, true)
		a.SseStore(slot, transitLow, true)
		a.SseLoad(transitLow, save, false)
	// a high register: its use does not dirty the state that AVX code cares for
	case r.u.HasAVX512:
		a.EvexStore(save, transitHigh, 64)
		r.masked(in, o, m)
		a.EvexStore(record, transitHigh, size)
		a.EvexStore(slot, transitHigh, size)
		a.EvexLoad(transitHigh, save, 64)
	default:
		a.AvxStore(save, transitLow, 32)
		a.AvxLoad(transitLow, m, size)
		if size == 16 {
			a.AvxPut(r.rec.RA, off, transitLow, false)
			a.AvxPut(r.rec.RA, off+8, transitLow, true)
		} else {
			a.AvxStore(record, transitLow, size)
		}
		a.AvxStore(slot, transitLow, size)
		a.AvxLoad(transitLow, save, 32)
	}
	r.onSlot(in)
}

// masked loads the operand into the transit register, its bytes in the order in
// which they are in memory, zeros where lanes are inactive.
func (r *recorder) masked(in *x86.Insn, o *x86.Operand, m asm.Mem) {
	a := &r.u.asm
	l := asm.Masked{V: transitHigh, K: in.MaskReg, Elem: int(o.Size), Size: int(o.Size) * int(max(o.Lanes, 1))}
	switch {
	case o.Kind == records.AccessPlain:
		a.EvexLoad(transitHigh, m, int(o.Size))
	case o.Kind == records.AccessPacked: // expanded as the instruction does it, and compressed again
		l.Expand(a, m)
		l.Compress(a)
	case o.AnyOf != 0: // broadcast to the lanes that want it, of which the first is left
		l.Size = int(o.Size) * int(o.AnyOf)
		l.Broadcast(a, m)
		l.Compress(a)
	case o.Lanes == 1:
		l.LoadOne(a, m)
	case l.Size < 16:
		// A move would touch the lanes behind the operand if the mask had bits for them.
		l.Widen(a, m, int(o.Lanes))
		l.Narrow(a, int(o.Lanes))
	default:
		l.Load(a, m)
	}
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
