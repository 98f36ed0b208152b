package translate

import (
	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// count writes the increment of the block's counter. With the flags dead it is
// one instruction; else a register is borrowed.
// Blocks beyond the table's end are not counted; a program has to have three
// million.
func (u *Translator) count(b *codecache.Block, ins []x86.Insn) {
	n := u.cache.Counters.N
	if n == layout.MaxCounters {
		return
	}
	u.cache.Counters.Append(b.Num)
	u.noteCall(b, &ins[len(ins)-1])
	off := layout.CounterOff + 8*n
	if u.flagsFree(ins) {
		u.asm.IncWord(off)
		return
	}
	u.increment(off)
}

// flagsFree tells whether code at a block's start may change the flags.
func (u *Translator) flagsFree(ins []x86.Insn) bool { return !u.KeepFlags && FlagsDead(ins, 0) }

// flagsFree tells whether the recording of instruction i may change them.
func (r *recorder) flagsFree(i int) bool { return !r.u.KeepFlags && FlagsDead(r.ins, i) }

// FlagsDead tells whether every arithmetic flag is written before it is read
// from instruction i on.
// The end of the list counts as a reader: what follows the block is not known.
func FlagsDead(ins []x86.Insn, i int) bool {
	left := uint8(x86.AllFlags)
	for ; i < len(ins); i++ {
		in := &ins[i]
		if in.FlagsRead&left != 0 {
			return false
		}
		left &^= in.FlagsAlways()
		if left == 0 {
			return true
		}
		if in.Cat == x86.CatCONDBR { // what its target does with them is not known
			return false
		}
	}
	return false
}

// FlagTrap is the trap flag's bit.
const FlagTrap = 0x100

// popsFlags tells popf of either size. It stands in a block of its own, so that
// nothing has been recorded or borrowed when it is found to set the trap flag.
func popsFlags(in *x86.Insn) bool { return in.Mnem == x86.MPOPF || in.Mnem == x86.MPOPFQ }

// checkPopped writes, before a popf, the dispatch that has the tracer execute it
// if it would set the trap flag. The other flags are free: popf replaces them.
func (u *Translator) checkPopped(b *codecache.Block) {
	n := u.cache.NewExit(codecache.Exit{Target: b.App, Region: u.ar, Variant: u.Variant, Fixed: true, RareExit: codecache.RareExit{Trap: b}})
	a := &u.asm
	back := func(*Translator) {}
	if u.KeepFlags { // they are recorded in front of it, too
		a.StoreWord(spillF, x86.RAX)
		a.Load(x86.RAX, asm.At(x86.RSP, 1), 1) // faults with all as it was
		a.FlagsToRAX()
		back = func(u *Translator) {
			u.asm.FlagsFromRAX()
			u.asm.LoadWord(x86.RAX, spillF)
		}
	}
	a.TestByte(asm.At(x86.RSP, 1), FlagTrap>>8)
	u.coldDispatch(a.JccLater(asm.IfNotZero), n, back)
	back(u)
}

// TranslateSingle makes a block of one instruction that the tracer executes,
// whatever it is. No code leads there: it says what to record.
func (u *Translator) TranslateSingle(app uint64, v codecache.Variant) *codecache.Block {
	ar := u.cache.RegionFor(app)
	if ar == nil {
		return nil
	}
	return u.write(ar, v, func(u *Translator) *codecache.Block {
		u.limit, u.forced = 1, true
		defer func() { u.limit, u.forced = 0, false }()
		b, _ := u.block(app)
		return b
	})
}
