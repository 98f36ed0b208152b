package translate

import (
	"alleria/engine/asm"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// stringElement executes a string instruction without prefix: its loads go by
// way of rb, its pointers are moved by hand.
//
// The instruction itself is not executed: it would read its memory a second time.
func (r *recorder) stringElement(i int, in *x86.Insn) {
	a, ops, rb := &r.u.asm, r.ops[i], r.rec.RB
	size := int(ops[0].Size)
	// rb is a target that the address may be formed in as well: a load reads it
	// first.
	m, _ := r.at(&ops[0], rb)
	first := r.valueWord(i, 0)
	a.Load(rb, m, size)
	a.Put(r.rec.RA, first, rb)
	switch {
	case len(ops) == 1: // scas
		// Pointers before the comparison: its flags are the last thing that is
		// made.
		r.movePointers(in, first, size)
		// movePointers has used rb: the value is fetched from the record.
		a.Get(rb, r.rec.RA, first)
		a.CmpRAX(size, rb)
	case ops[1].Store: // movs
		// What was loaded is what is stored.
		r.facts.Ins[i].Accesses[1].Value = r.facts.Ins[i].Accesses[0].Value
		m, _ = r.at(&ops[1], x86.NoReg)
		a.Store(m, size, rb)
		r.movePointers(in, first, size)
	default: // cmps
		second := r.valueWord(i, 1)
		// The comparison needs one operand in memory: the copy in the slot, since
		// the application's own could have changed.
		a.StoreWord(layout.Operand, rb)
		m, _ = r.at(&ops[1], rb)
		a.Load(rb, m, size)
		a.Put(r.rec.RA, second, rb)
		r.movePointers(in, first, size)
		a.Get(rb, r.rec.RA, second)
		a.Cmp(asm.Word(layout.Operand), size, rb) // first with second
	}
}

// movePointers adds an element's size to the pointers that the instruction uses,
// or subtracts it, as the direction flag says: a movs of a word of the record
// onto itself tells which. Flags stay as they are; rb is lost.
func (r *recorder) movePointers(in *x86.Insn, off, size int) {
	a, rb := &r.u.asm, r.rec.RB
	a.StoreWord(layout.Scratch0, x86.RSI)
	a.StoreWord(layout.Scratch1, x86.RDI)
	a.LeaDisp(x86.RSI, r.rec.RA, int64(off))
	a.Mov(x86.RDI, x86.RSI)
	a.Mov(rb, x86.RSI)
	// Now rsi is off by the size, up or down; not rb + rsi + 1 is the difference.
	a.Movs(size)
	a.Not(rb)
	a.Lea(rb, asm.Sum(rb, x86.RSI, 1, 1))
	a.LoadWord(x86.RSI, layout.Scratch0)
	a.LoadWord(x86.RDI, layout.Scratch1)
	for _, p := range []x86.Reg{x86.RSI, x86.RDI} {
		// scas moves rdi alone, movs and cmps both.
		if in.GPRWrite&(1<<uint(p)) != 0 {
			addTo(a, p, rb, in.AddrBits)
		}
	}
}

// addTo writes lea p, [p+by], on the low half with 32-bit addresses.
func addTo(a *asm.Writer, p, by x86.Reg, bits uint8) { a.LeaBits(p, asm.Sum(p, by, 1, 0), bits) }
