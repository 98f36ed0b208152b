package engine

import (
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// before writes what is recorded ahead of instruction i: addresses, masks,
// indices, values that it will read or overwrite.
//
// What is put into the record here is as before the instruction, which is what an address is
// formed from.
func (r *recorder) before(i int) {
	if i == 0 {
		r.sym.start()
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
		acc.Word, acc.AuxWord, acc.IndexWord, acc.Value = layout.NoWord, layout.NoWord, layout.NoWord, layout.NoWord
		r.address(o, &acc)
		r.lanesOf(o, &acc)
		r.facts.Ins[i].Accesses[j] = acc
	}
	if r.want[i].Flags&layout.InsValues != 0 {
		r.valuesBefore(i)
	}
}

// address makes the word for an operand's address, if it needs a new one.
//
// Constant addresses need no word at all, addresses of a known unknown part none either: the
// facts say which word and what to add.
func (r *recorder) address(o *x86.Operand, acc *layout.Access) {
	if o.AL {
		r.addressAL(o, acc)
		return
	}
	// The address is a constant: RIP-relative, or absolute.
	if o.Base == x86.NoReg && o.Index == x86.NoReg {
		acc.Offset = o.Disp
		return
	}
	if o.Kind == layout.AccessString && o.AddrBits == 32 {
		acc.Word = r.pointer32(o)
		return
	}
	// Formed from the same unknowns as an earlier one, its word serves.
	k, constant := r.sym.key(o)
	// A repeated string instruction's word is its pointer as it is: where it ends
	// is compared with it.
	if e := r.sym.find(k); e != nil && (o.Kind != layout.AccessString || constant == e.off) {
		acc.Word, acc.Offset = e.word, constant-e.off
		return
	}
	w, off := r.newWord()
	k.word = w
	a := &r.u.asm
	if o.Index == x86.NoReg {
		a.put(r.rec.ra, off, o.Base)
	} else {
		a.lea(r.rec.rb, operand{o.Base, o.Index, o.IndexScale, 0})
		a.put(r.rec.ra, off, r.rec.rb)
	}
	r.sym.known = append(r.sym.known, k)
	acc.Word, acc.Offset = w, constant-k.off
}

// pointer32 makes a word for the pointer of a repeated string instruction with
// 32-bit addresses: only its low half counts, and the instruction clears the
// other.
func (r *recorder) pointer32(o *x86.Operand) int16 {
	w, off := r.newWord()
	r.u.asm.low32(r.rec.rb, o.Base)
	r.u.asm.put(r.rec.ra, off, r.rec.rb)
	return w
}

// low32 writes mov dst, src of the low half of one of the old eight registers.
func (a *asm) low32(dst, src x86.Reg) {
	rex := byte(0x40)
	if dst >= 8 {
		rex |= rexB
	}
	a.bytes(rex, 0x89, 0xc0|byte(src&7)<<3|byte(dst&7))
}

// addressAL makes the word for xlat: rbx plus the zero-extended al.
func (r *recorder) addressAL(o *x86.Operand, acc *layout.Access) {
	a := &r.u.asm
	w, off := r.newWord()
	acc.Word = w
	rex := byte(rexW)
	if r.rec.rb >= 8 {
		rex |= rexR
	}
	a.bytes(rex, 0x0f, 0xb6, 0xc0|byte(r.rec.rb&7)<<3) // movzx rb, al
	a.lea(r.rec.rb, operand{o.Base, r.rec.rb, 1, o.Disp})
	a.put(r.rec.ra, off, r.rec.rb)
}

// lanesOf makes the words beside the address that an access needs: mask,
// indices, bit offset. What a string instruction needs comes after it.
func (r *recorder) lanesOf(o *x86.Operand, acc *layout.Access) {
	switch o.Kind {
	case layout.AccessBits:
		w, off := r.newWord()
		acc.AuxWord = w
		r.bitOffset(o, off)
	case layout.AccessMasked, layout.AccessPacked:
		w, off := r.newWord()
		acc.AuxWord = w
		r.mask(o, off)
	case layout.AccessGather:
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
	src, dst := o.BitReg, r.rec.rb
	rex := byte(rexW)
	if dst >= 8 {
		rex |= rexR
	}
	if src >= 8 {
		rex |= rexB
	}
	modrm := 0xc0 | byte(dst&7)<<3 | byte(src&7)
	switch o.Size {
	case 8:
		a.put(r.rec.ra, off, src)
		return
	case 4:
		a.bytes(rex, 0x63, modrm) // movsxd
	default:
		a.bytes(rex, 0x0f, 0xbf, modrm) // movsx from 16 bits
	}
	a.put(r.rec.ra, off, dst)
}

// mask writes a word with a bit for each lane.
//
// Vector masks become bits by (v)movmsk, whose order is that of the lanes. None of these
// instructions changes flags.
func (r *recorder) mask(o *x86.Operand, off int) {
	r.u.asm.mask(r.rec.rb, o)
	if o.AnyOf != 0 {
		r.anyOf(o.AnyOf)
	}
	r.u.asm.put(r.rec.ra, off, r.rec.rb)
}

// mask writes the move of an operand's mask to a register, a bit for each lane;
// bits above are whatever they are.
func (a *asm) mask(to x86.Reg, o *x86.Operand) {
	reg := byte(to & 7)
	rbar := byte(0x80) // inverted R of a VEX prefix
	if to >= 8 {
		rbar = 0
	}
	m := o.MaskReg
	bbar := byte(0x20)
	if m >= 8 {
		bbar = 0
	}
	var l byte
	if o.MaskWide {
		l = 4
	}
	switch {
	case o.Mask == x86.MaskK && max(o.Lanes, o.AnyOf) <= 16: // kmovw rb, k
		a.bytes(0xc4, rbar|0x60|1, 0x78, 0x93, 0xc0|reg<<3|m&7)
	case o.Mask == x86.MaskK: // kmovq rb, k
		a.bytes(0xc4, rbar|0x60|1, 0xfb, 0x93, 0xc0|reg<<3|m&7)
	case o.Mask == x86.MaskSigns && o.Size == 8: // vmovmskpd
		a.bytes(0xc4, rbar|0x40|bbar|1, 0x79|l, 0x50, 0xc0|reg<<3|m&7)
	case o.Mask == x86.MaskSigns: // vmovmskps
		a.bytes(0xc4, rbar|0x40|bbar|1, 0x78|l, 0x50, 0xc0|reg<<3|m&7)
	default: // pmovmskb
		if o.Mask == x86.MaskBytes {
			a.bytes(0x66)
		}
		rex := byte(0x40)
		if to >= 8 {
			rex |= 4
		}
		if m >= 8 && o.Mask == x86.MaskBytes {
			rex |= 1
		}
		a.bytes(rex, 0x0f, 0xd7, 0xc0|reg<<3|m&7)
	}
}

// anyOf makes bit 0 of rb tell whether any of its low n bits is set: the value
// extracted from itself has as many ones as it had, from bit 0 on. No flags
// change. Processors with mask registers have the instructions.
func (r *recorder) anyOf(n uint8) {
	a := &r.u.asm
	g := byte(r.rec.rb)
	rbar, xbar, rex, low := byte(0x80), byte(0x20), byte(rexW), g&7
	if g >= 8 {
		rbar, xbar, rex = 0, 0, rexW|1
	}
	if n < 8 { // the low bits to the top, then to the lowest byte
		a.bytes(0xc4, rbar|0x40|xbar|3, 0xfb, 0xf0, 0xc0|low<<3|low, n) // rorx rb, rb, n
		a.bytes(rex, 0x0f, 0xc8|low)                                    // bswap rb
	}
	switch {
	case n <= 8:
		if g >= 8 {
			rex = rexW | 5
		}
		a.bytes(rex, 0x0f, 0xb6, 0xc0|low<<3|low) // movzx rb, its low byte
	case n == 32: // mov rb32, rb32
		rex = 0x40
		if g >= 8 {
			rex = 0x45
		}
		a.bytes(rex, 0x89, 0xc0|low<<3|low)
	}
	a.bytes(0xc4, rbar|0x40|xbar|2, 0x82|(^g&15)<<3, 0xf5, 0xc0|low<<3|low) // pext rb, rb, rb
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
// transition on older processors, an AVX one needs the processor to have it.
func (r *recorder) putVector(off int, v uint8, size int, evex bool) {
	a := &r.u.asm
	ra := r.rec.ra
	if !evex && size <= 32 && r.u.p.hasAVX {
		var l byte
		if size == 32 {
			l = 4
		}
		b1 := byte(0x41) // X not used: inverted 1; map 1
		if v < 8 {
			b1 |= 0x80
		}
		if ra < 8 {
			b1 |= 0x20
		}
		a.bytes(0xc4, b1, 0x7a|l, 0x7f) // vmovdqu [ra+off], v
		a.disp32(byte(v&7)<<3, ra, off)
		return
	}
	if !evex {
		rex := byte(0x40)
		if v >= 8 {
			rex |= 4
		}
		if ra >= 8 {
			rex |= 1
		}
		a.bytes(0xf3, rex, 0x0f, 0x7f) // movdqu
		a.disp32(byte(v&7)<<3, ra, off)
		return
	}
	var ll byte
	switch {
	case size > 32:
		ll = 0x40
	case size > 16:
		ll = 0x20
	}
	p0 := byte(0x41) // X inverted 1, map 1
	if v&8 == 0 {
		p0 |= 0x80
	}
	if ra < 8 {
		p0 |= 0x20
	}
	if v&16 == 0 {
		p0 |= 0x10
	}
	a.bytes(0x62, p0, 0xfe, ll|0x08, 0x7f) // vmovdqu64 [ra+off], v
	a.disp32(byte(v&7)<<3, ra, off)
}

// disp32 writes ModRM, SIB if needed, and a 32-bit displacement.
// EVEX scales displacements of one byte by the operand's size, which a fixed form
// avoids.
func (a *asm) disp32(r byte, base x86.Reg, off int) {
	if base&7 == 4 {
		a.bytes(0x84|r, 0x24)
	} else {
		a.bytes(0x80 | r | byte(base&7))
	}
	a.u32(uint32(off))
}

// after writes what is recorded behind instruction i: the pointers of a
// repeated string instruction, values it has read into registers or stored.
func (r *recorder) after(i int) {
	for j := range r.ops[i] {
		o := &r.ops[i][j]
		if o.Kind == layout.AccessString {
			acc := &r.facts.Ins[i].Accesses[j]
			if o.Store && r.want[i].Flags&layout.InsValues != 0 { // stos: the same each time
				acc.Lanes = 1
			}
			if o.AddrBits == 32 {
				acc.AuxWord = r.pointer32(o)
				continue
			}
			w, off := r.newWord()
			acc.AuxWord = w
			r.u.asm.put(r.rec.ra, off, o.Base)
		}
	}
	if r.want[i].Flags&layout.InsValues != 0 {
		r.valuesAfter(i)
	}
}
