package translate

import (
	"math/bits"

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
	switch {
	case u.flagsFree(ins), u.flagsDeadAhead(b, ins):
		u.asm.IncWord(off)
	case u.PlainCounts:
		u.increment(off, x86.RAX)
	default:
		u.increment(off, unread(ins))
	}
}

// unread is the register that a count in front of instructions borrows: one that they overwrite before they read it, so that nothing waits for its value to come
// back from memory; else one that they do not read. Behind a call rax is what it has returned, and read most of the time.
func unread(ins []x86.Insn) x86.Reg {
	var read uint16
	for i := range ins {
		in := &ins[i]
		read |= in.GPRRead | in.GPRPartial
		if over := in.GPRWrite &^ (read | 1<<x86.RSP); over != 0 && in.Cat != x86.CatCONDBR {
			return x86.Reg(bits.TrailingZeros16(over))
		}
	}
	for _, r := range []x86.Reg{x86.R11, x86.R10, x86.RCX} {
		if read>>r&1 == 0 {
			return r
		}
	}
	return x86.RAX
}

// maxAhead is how many instructions behind a block are looked at for what they do with flags.
const maxAhead = 32

// flagsDeadAhead tells whether flags are written before they are read from a block's start on, whichever way is gone behind it. Only instructions of the block's own page are
// looked at: what changes them has the block forgotten, too. That is not so of code that changes, or may change, without the page's being forgotten as a whole.
func (u *Translator) flagsDeadAhead(b *codecache.Block, ins []x86.Insn) bool {
	last := &ins[len(ins)-1]
	if u.KeepFlags || u.PlainCounts || u.guarded || u.limit > 0 || last.Addr&^(codePage-1) != b.App&^(codePage-1) ||
		u.target.Made(b.App) || u.target.Changing(b.App) {
		return false
	}
	left := uint8(x86.AllFlags)
	for i := range ins {
		if ins[i].FlagsRead&left != 0 {
			return false
		}
		left &^= ins[i].FlagsAlways()
	}
	budget := maxAhead
	return u.deadBehind(last, left, &budget)
}

// deadBehind tells whether the flags left are written before they are read behind an instruction that ends a block, or is followed by one.
func (u *Translator) deadBehind(in *x86.Insn, left uint8, budget *int) bool {
	if left == 0 {
		return true
	}
	next, target := in.Next(), in.Target()
	switch {
	case in.Mnem == x86.MXBEGIN, in.Mnem == x86.MXABORT:
		return false
	case in.Cat == x86.CatCONDBR:
		return u.deadFrom(next, in.Addr, left, budget) && u.deadFrom(target, in.Addr, left, budget)
	case in.Cat == x86.CatUNCONDBR && in.Opcode != 0xff, in.Cat == x86.CatCALL && in.Opcode == 0xe8:
		return u.deadFrom(target, in.Addr, left, budget)
	case in.Cat == x86.CatUNCONDBR, in.Cat == x86.CatCALL, in.Cat == x86.CatRET, in.Cat == x86.CatSYSCALL:
		return false
	}
	return u.deadFrom(next, in.Addr, left, budget)
}

// deadFrom is deadBehind from the instruction at an address on, which must lie in the same page as near does. Fetching what does not reach beyond its page leaves
// what has been fetched before as it is.
func (u *Translator) deadFrom(addr, near uint64, left uint8, budget *int) bool {
	for *budget > 0 && addr&^(codePage-1) == near&^(codePage-1) {
		*budget--
		code := u.target.Fetch(addr, min(longestInsn, codePage-int(addr&(codePage-1))))
		n, why := u.decoder.Decode(code, addr, u.ahead[:])
		if n != 1 {
			return false
		}
		in := u.ahead[0]
		if in.FlagsRead&left != 0 || u.MustTrap(&in) || popsFlags(&in) {
			return false
		}
		if left &^= in.FlagsAlways(); left == 0 {
			return true
		}
		if why == x86.EndOfBlock {
			return in.Cat != x86.CatINTERRUPT && u.deadBehind(&in, left, budget)
		}
		addr = in.Next()
	}
	return false
}

// longestInsn is the most bytes that an instruction has.
const longestInsn = 15

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
// It looks at where popf does, so that a fault is told to be there.
func (u *Translator) checkPopped(b *codecache.Block, in *x86.Insn) {
	n := u.cache.NewExit(codecache.Exit{Target: b.App, Region: u.ar, Variant: u.Variant, Fixed: true, RareExit: codecache.RareExit{Trap: b}})
	a := &u.asm
	back := func(*Translator) {}
	if u.KeepFlags { // they are recorded in front of it, too
		a.StoreWord(spillF, x86.RAX)
		a.Load(x86.RAX, asm.At(x86.RSP, 0), 1) // faults with all as it was
		a.FlagsToRAX()
		back = func(u *Translator) {
			u.asm.FlagsFromRAX()
			u.asm.LoadWord(x86.RAX, spillF)
		}
	}
	size := 4
	if in.Mnem == x86.MPOPF {
		size = 2
	}
	a.TestBits(asm.At(x86.RSP, 0), size, FlagTrap)
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
