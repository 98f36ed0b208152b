package translate

import (
	"alleria/engine/asm"
	"alleria/engine/x86"
	"alleria/internal/records"
)

// before writes what is recorded ahead of instruction i: addresses, masks,
// indices, values that it will read or overwrite.
//
// What is put into the record here is as before the instruction, which is what an address is
// formed from.
func (r *recorder) before(i int) {
	if i == 0 {
		r.sym.Start()
		r.sym.known = r.sym.known[:0]
	}
	if len(r.want[i].Regs) > 0 {
		r.registers(i)
	}
	for j := range r.ops[i] {
		o := &r.ops[i][j]
		// What the operand itself says is copied; where its words are is found out
		// here.
		acc := o.Access
		acc.Word, acc.AuxWord, acc.IndexWord, acc.Value = records.NoWord, records.NoWord, records.NoWord, records.NoWord
		r.address(o, &acc)
		r.lanesOf(o, &acc)
		r.facts.Ins[i].Accesses[j] = acc
	}
	if r.want[i].Flags&records.InsValues != 0 {
		r.valuesBefore(i)
	}
}

// address makes the word for an operand's address, if it needs a new one.
//
// Constant addresses need no word at all, addresses of a known unknown part none either: the
// facts say which word and what to add.
func (r *recorder) address(o *x86.Operand, acc *records.Access) {
	if o.AL {
		r.addressAL(o, acc)
		return
	}
	// The address is a constant: RIP-relative, or absolute.
	if o.Base == x86.NoReg && o.Index == x86.NoReg {
		acc.Offset = o.Disp
		return
	}
	if o.Kind == records.AccessString && o.AddrBits == 32 {
		acc.Word = r.pointer32(o)
		return
	}
	// Formed from the same unknowns as an earlier one, its word serves.
	k, constant := r.sym.key(o)
	// A repeated string instruction's word is its pointer as it is: where it ends
	// is compared with it.
	if e := r.sym.find(k); e != nil && (o.Kind != records.AccessString || constant == e.off) {
		acc.Word, acc.Offset = e.word, constant-e.off
		return
	}
	w, off := r.newWord()
	k.word = w
	a := &r.u.asm
	if o.Index == x86.NoReg {
		a.Put(r.rec.RA, off, o.Base)
	} else {
		a.Lea(r.rec.RB, asm.Sum(o.Base, o.Index, o.IndexScale, 0))
		a.Put(r.rec.RA, off, r.rec.RB)
	}
	r.sym.known = append(r.sym.known, k)
	acc.Word, acc.Offset = w, constant-k.off
}

// pointer32 makes a word for the pointer of a repeated string instruction with
// 32-bit addresses: only its low half counts, and the instruction clears the
// other.
func (r *recorder) pointer32(o *x86.Operand) int16 {
	w, off := r.newWord()
	r.u.asm.MovLow(r.rec.RB, o.Base)
	r.u.asm.Put(r.rec.RA, off, r.rec.RB)
	return w
}

// addressAL makes the word for xlat: rbx plus the zero-extended al.
func (r *recorder) addressAL(o *x86.Operand, acc *records.Access) {
	a := &r.u.asm
	w, off := r.newWord()
	acc.Word = w
	a.MovzxByteWide(r.rec.RB, x86.RAX)
	a.Lea(r.rec.RB, asm.Sum(o.Base, r.rec.RB, 1, int(o.Disp)))
	a.Put(r.rec.RA, off, r.rec.RB)
}

// lanesOf makes the words beside the address that an access needs: mask,
// indices, bit offset. What a string instruction needs comes after it.
func (r *recorder) lanesOf(o *x86.Operand, acc *records.Access) {
	switch o.Kind {
	case records.AccessBits:
		w, off := r.newWord()
		acc.AuxWord = w
		r.bitOffset(o, off)
	case records.AccessMasked, records.AccessPacked:
		w, off := r.newWord()
		acc.AuxWord = w
		r.mask(o, off)
	case records.AccessGather:
		n := (int(o.IndexBytes) + 7) / 8
		if o.IndexBytes < 16 {
			n = 2 // a vector store writes sixteen bytes
		}
		w, off := r.newWord()
		acc.IndexWord = w
		r.words += n - 1
		r.indices(o, off)
		w, off = r.newWord()
		acc.AuxWord = w
		r.mask(o, off)
	}
}

// bitOffset writes the sign-extended bit offset of a bit-string instruction.
// The operand's size says how much of the register counts.
func (r *recorder) bitOffset(o *x86.Operand, off int) {
	a := &r.u.asm
	if o.Size == 8 {
		a.Put(r.rec.RA, off, o.BitReg)
		return
	}
	size := 2
	if o.Size == 4 {
		size = 4
	}
	a.SignExtend(r.rec.RB, o.BitReg, size)
	a.Put(r.rec.RA, off, r.rec.RB)
}

// mask writes a word with a bit for each lane.
//
// Vector masks become bits by (v)movmsk, whose order is that of the lanes. None of these
// instructions changes flags.
func (r *recorder) mask(o *x86.Operand, off int) {
	moveMask(&r.u.asm, r.rec.RB, o)
	if o.AnyOf != 0 {
		r.anyOf(o.AnyOf)
	}
	r.u.asm.Put(r.rec.RA, off, r.rec.RB)
}

// moveMask writes the move of an operand's mask to a register, a bit for each lane;
// bits above are whatever they are.
func moveMask(a *asm.Writer, to x86.Reg, o *x86.Operand) {
	switch {
	case o.Mask == x86.MaskK && max(o.Lanes, o.AnyOf) <= 16:
		a.MoveMask16(to, o.MaskReg)
	case o.Mask == x86.MaskK:
		a.MoveMask64(to, o.MaskReg)
	case o.Mask == x86.MaskSigns:
		a.AvxSigns(to, o.MaskReg, int(o.Size), o.MaskWide)
	case o.Mask == x86.MaskBytes:
		a.SseSigns(to, o.MaskReg)
	default:
		a.MmxSigns(to, o.MaskReg)
	}
}

// anyOf makes bit 0 of rb tell whether any of its low n bits is set: the value
// extracted from itself has as many ones as it had, from bit 0 on. No flags
// change. Processors with mask registers have the instructions.
func (r *recorder) anyOf(n uint8) {
	a, rb := &r.u.asm, r.rec.RB
	if n < 8 { // the low bits to the top, then to the lowest byte
		a.Rorx(rb, rb, n)
		a.Bswap(rb)
	}
	switch {
	case n <= 8:
		a.MovzxByteWide(rb, rb)
	case n == 32:
		a.MovLow(rb, rb)
	}
	a.Pext(rb, rb, rb)
}

// indices writes the vector register of a gather's indices.
// Lanes that the mask leaves out are recorded as well: that costs nothing more.
func (r *recorder) indices(o *x86.Operand, off int) {
	size := int(o.IndexBytes)
	r.putVector(off, o.VIndex, size, o.EVEX)
}

// putVector writes the low size bytes of a vector register into the record: at
// least sixteen.
//
// The form is chosen by what leaves no trace: an SSE store after AVX code would cost a
// transition on older processors, an AVX one needs the processor to have it. Sixteen bytes go by halves, because words of records are aligned to
// eight and a program may have alignment checked.
func (r *recorder) putVector(off int, v uint8, size int, evex bool) {
	a, ra := &r.u.asm, r.rec.RA
	switch {
	case evex:
		a.EvexStore(asm.At(ra, off), v, size)
	case size <= 16 && r.u.HasAVX:
		a.AvxPut(ra, off, v, false)
		a.AvxPut(ra, off+8, v, true)
	case size <= 32 && r.u.HasAVX:
		a.AvxStore(asm.At(ra, off), v, 32)
	default:
		a.SsePut(ra, off, v, false)
		a.SsePut(ra, off+8, v, true)
	}
}

// after writes what is recorded behind instruction i: the pointers of a
// repeated string instruction, values it has read into registers or stored.
func (r *recorder) after(i int) {
	for j := range r.ops[i] {
		o := &r.ops[i][j]
		if o.Kind == records.AccessString {
			acc := &r.facts.Ins[i].Accesses[j]
			if o.Store && r.want[i].Flags&records.InsValues != 0 { // stos: the same each time
				acc.Lanes = 1
			}
			if o.AddrBits == 32 {
				acc.AuxWord = r.pointer32(o)
				continue
			}
			w, off := r.newWord()
			acc.AuxWord = w
			r.u.asm.Put(r.rec.RA, off, o.Base)
		}
	}
	if len(r.ops[i]) == 1 && r.ops[i][0].Kind == records.AccessSized {
		r.stateSize(i)
	}
	if r.want[i].Flags&records.InsValues != 0 {
		r.valuesAfter(i)
	}
}
