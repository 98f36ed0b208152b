package translate

import (
	"cmp"
	"math"
	"slices"

	"alleria/engine/asm"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// Instructions that save and restore processor state access what the header of their area says: which
// components are marked in it once a save has written it, and in the compacted format which ones have a
// place. So they execute as they are, and code behind them forms the size from the header.
//
// The dynamic linker's resolver saves state so each time a function is called first, which is why such
// instructions are not left to the tracer, as they were: a single step takes 0.1 ms.

// byCode tells such an instruction whose header can be read without a third register.
func byCode(in *x86.Insn) bool {
	m := &in.Mems[0]
	return in.NMem > 0 && m.Disp <= math.MaxInt32-stateHeaderEnd && (in.AddrBits == 64 || m.Base != x86.NoReg)
}

// stateHeaderEnd is behind the two words of the header that say what is in an area.
const stateHeaderEnd = x86.StateLegacy + 16

// stateAccess leaves of the instruction's accesses the one that is recorded: what a save reads of its header
// is part of what it writes.
func stateAccess(in *x86.Insn, ops []x86.Operand) []x86.Operand {
	for i := range ops {
		if !headerOnly(in, &ops[i]) {
			ops[i].Kind = records.AccessSized
			return ops[i : i+1]
		}
	}
	return ops[:0]
}

// stateSize writes, behind the instruction, the word for the size of what it has accessed. None of its registers
// has changed.
func (r *recorder) stateSize(i int) {
	a, in, o := &r.u.asm, &r.ins[i], r.ops[i][0]
	w, off := r.newWord()
	r.facts.Ins[i].Accesses[0].AuxWord = w
	o.Disp += x86.StateLegacy
	for k, word := range [...]int{layout.Scratch0, layout.Scratch1} {
		at := o
		at.Disp += int64(8 * k)
		m, _ := r.at(&at, r.rec.RB)
		a.Load(r.rec.RB, m, 8)
		a.StoreWord(word, r.rec.RB)
	}
	live := !r.flagsFree(i)
	if live {
		r.saveFlags()
	}
	a.PutImm(r.rec.RA, off, x86.StateLegacy+x86.StateHeader)
	if in.Compacts() != x86.Always {
		var compact asm.Site
		if in.Compacts() == x86.AsHeaderSays {
			a.BitWord(layout.Scratch1+4, 31)
			compact = a.JccLater(asm.IfCarry)
		}
		r.standardEnd(off)
		if in.Compacts() == x86.AsHeaderSays {
			done := a.JmpLater()
			a.Link(compact, a.Here())
			r.compactEnd(off)
			a.Link(done, a.Here())
		}
	} else {
		r.compactEnd(off)
	}
	if live {
		r.setFlags()
		a.LoadWord(x86.RAX, spillF)
	}
}

// standardEnd writes the end of the last marked component in the standard format, where each has a place of its own.
func (r *recorder) standardEnd(off int) {
	a := &r.u.asm
	byPlace := slices.SortedFunc(slices.Values(r.u.States()), func(x, y x86.State) int { return cmp.Compare(x.Offset, y.Offset) })
	for _, c := range byPlace {
		marked := r.unlessIn(layout.Scratch0, c.N)
		a.PutImm(r.rec.RA, off, c.Offset+c.Size)
		a.Link(marked, a.Here())
	}
}

// compactEnd writes the same for the compacted format: those that are there lie one behind the other.
func (r *recorder) compactEnd(off int) {
	a, end := &r.u.asm, r.rec.RB
	a.MovImm(end, x86.StateLegacy+x86.StateHeader)
	for _, c := range r.u.States() {
		present := r.unlessIn(layout.Scratch1, c.N)
		if c.Aligned {
			a.LeaDisp(end, end, 63)
			a.AndImm32(end, ^uint32(63))
		}
		a.LeaDisp(end, end, int64(c.Size))
		marked := r.unlessIn(layout.Scratch0, c.N)
		a.Put(r.rec.RA, off, end)
		a.Link(marked, a.Here())
		a.Link(present, a.Here())
	}
}

// unlessIn writes a branch for where bit n of a word of the area is not set.
func (r *recorder) unlessIn(word, n int) asm.Site {
	r.u.asm.BitWord(word+n/32*4, uint8(n%32))
	return r.u.asm.JccLater(asm.IfNotCarry)
}
