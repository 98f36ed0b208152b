package engine

import (
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// stringElement executes a string instruction without prefix: its loads go by
// way of rb, its pointers are moved by hand.
//
// The instruction itself is not executed: it would read its memory a second time.
func (r *recorder) stringElement(i int, in *x86.Insn) {
	a, ops, rb := &r.u.asm, r.ops[i], r.rec.rb
	size := int(ops[0].Size)
	// rb is a target that the address may be formed in as well: a load reads it
	// first.
	pl, _ := r.at(&ops[0], rb)
	first := r.valueWord(i, 0)
	a.loadFrom(pl, size, rb)
	a.put(r.rec.ra, first, rb)
	switch {
	case len(ops) == 1: // scas
		// Pointers before the comparison: its flags are the last thing that is
		// made.
		r.movePointers(in, first, size)
		// movePointers has used rb: the value is fetched from the record.
		a.get(rb, r.rec.ra, first)
		a.compareRAX(size, rb)
	case ops[1].Store: // movs
		// What was loaded is what is stored.
		r.facts.Ins[i].Accesses[1].Value = r.facts.Ins[i].Accesses[0].Value
		pl, _ = r.at(&ops[1], x86.NoReg)
		a.storeTo(pl, size, rb)
		r.movePointers(in, first, size)
	default: // cmps
		second := r.valueWord(i, 1)
		// The comparison needs one operand in memory: the copy in the slot, since
		// the application's own could have changed.
		a.store(layout.Operand, rb)
		pl, _ = r.at(&ops[1], rb)
		a.loadFrom(pl, size, rb)
		a.put(r.rec.ra, second, rb)
		r.movePointers(in, first, size)
		a.get(rb, r.rec.ra, second)
		a.sized(inSlot(layout.Operand), size, []byte{0x38}, rb) // cmp first, second
	}
}

// compareRAX writes the comparison of al, ax, eax or rax with a register.
// It sets the flags that scas sets.
func (a *asm) compareRAX(size int, reg x86.Reg) { a.ontoRAX(0x38, size, reg) }

// ontoRAX writes an instruction on al, ax, eax or rax and the same part of a
// register; opcode is its form for bytes, the next number the one for words.
func (a *asm) ontoRAX(opcode byte, size int, reg x86.Reg) {
	rex := byte(0x40) // also for bytes: sil and dil need one
	if reg >= 8 {
		rex |= 4
	}
	if size > 1 {
		opcode++
	}
	switch size {
	case 8:
		rex |= 8
	case 2:
		a.bytes(0x66)
	}
	a.bytes(rex, opcode, 0xc0|byte(reg&7)<<3)
}

// movePointers adds an element's size to the pointers that the instruction uses,
// or subtracts it, as the direction flag says: a movs of a word of the record
// onto itself tells which. Flags stay as they are; rb is lost.
func (r *recorder) movePointers(in *x86.Insn, off, size int) {
	a, rb := &r.u.asm, r.rec.rb
	a.store(layout.Scratch0, x86.RSI)
	a.store(layout.Scratch1, x86.RDI)
	a.leaDisp(x86.RSI, r.rec.ra, int64(off))
	a.mov(x86.RDI, x86.RSI)
	a.mov(rb, x86.RSI)
	// Now rsi is off by the size, up or down; not rb + rsi + 1 is the difference.
	a.selfMove(size)
	a.not(rb)
	a.lea(rb, operand{rb, x86.RSI, 1, 1})
	a.load(x86.RSI, layout.Scratch0)
	a.load(x86.RDI, layout.Scratch1)
	for _, p := range []x86.Reg{x86.RSI, x86.RDI} {
		// scas moves rdi alone, movs and cmps both.
		if in.GPRWrite&(1<<uint(p)) != 0 {
			a.addTo(p, rb, in.AddrBits)
		}
	}
}

// selfMove writes a movs of that size.
func (a *asm) selfMove(size int) {
	switch size {
	case 8:
		a.bytes(rexW)
	case 2:
		a.bytes(0x66)
	case 1:
		a.bytes(0xa4)
		return
	}
	a.bytes(0xa5)
}

// addTo writes lea p, [p+by], on the low half with 32-bit addresses.
func (a *asm) addTo(p, by x86.Reg, bits uint8) {
	rex := byte(rexW)
	if bits == 32 {
		rex = 0
	}
	a.mem(nil, rex, []byte{0x8d}, byte(p), operand{p, by, 1, 0}, 0)
}
