package translate

import (
	"alleria/engine/codecache"
	"alleria/engine/x86"
)

// Within the code of one instruction, recording may hold more of the
// application's state in memory than the two registers that the block borrows.
// Each such stretch is noted, so that a fault or a signal finds all of it.

func (r *recorder) note(f codecache.Fixup)      { r.u.cache.Oddly(r.rec).Note(f) }
func (r *recorder) stretch(s codecache.Stretch) { r.u.cache.Oddly(r.rec).Stretch(s) }

// offset is where the next byte lies in the block's code.
func (r *recorder) offset() uint32 { return uint32(r.u.asm.Here() - r.b.Code) }

// borrow saves a register that the instruction does not mention and returns a
// function that gives it back.
// The function that gives it back must be called in the same block, on every way
// through it.
func (r *recorder) borrow(g x86.Reg, word int) (giveBack func()) {
	r.u.asm.StoreWord(word, g)
	from := r.offset()
	return func() {
		r.u.asm.LoadWord(g, word)
		r.note(codecache.Fixup{From: from, To: r.offset(), Reg: g, Word: word})
	}
}

// another returns a register that neither the instruction nor the block's code
// uses nor is in the set.
// Ten candidates are enough: no instruction mentions so many.
func (r *recorder) another(in *x86.Insn, not uint16) x86.Reg {
	used := in.Mentions() | 1<<x86.RSP | 1<<uint(r.rec.RA) | 1<<uint(r.rec.RB) | not
	for _, g := range []x86.Reg{x86.RDX, x86.RBX, x86.RSI, x86.RDI, x86.RCX, x86.RAX, x86.R8, x86.R9, x86.R10, x86.R11} {
		if used&(1<<uint(g)) == 0 {
			return g
		}
	}
	panic("no register to borrow")
}

// saveFlags keeps the flags in the area, rax being as it was in spillF.
func (r *recorder) saveFlags() {
	a := &r.u.asm
	a.StoreWord(spillF, x86.RAX)
	a.FlagsToRAX()
	a.StoreWord(spillF+8, x86.RAX)
	a.LoadWord(x86.RAX, spillF)
}

// setFlags makes the flags what saveFlags found; rax is left with garbage.
func (r *recorder) setFlags() {
	r.u.asm.LoadWord(x86.RAX, spillF+8)
	r.u.asm.FlagsFromRAX()
}

// flagsSavedSince notes that the flags are in the area from an offset up to here.
func (r *recorder) flagsSavedSince(from uint32) {
	r.note(codecache.Fixup{From: from, To: r.offset(), Reg: x86.NoReg, Word: spillF + 8})
}
