package translate

import (
	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// useOf is what all instructions of a block do. What each does stands with the
// block where it is not just itself, so that what was not executed can be given back.
func (u *Translator) useOf(b *codecache.Block, ins []x86.Insn) (sum codecache.Use) {
	b.Note(codecache.Spends)
	if !u.CountsAccesses {
		sum[codecache.MetricInstructions] = uint32(len(ins))
		return sum
	}
	uses := u.UsesOf(ins)
	u.cache.SetUses(b, uses)
	for i := range uses {
		sum.Add(uses[i])
	}
	return sum
}

// UsesOf counts what instructions do, each by itself, but for accesses whose
// number is known only when they execute (see counted).
func (u *Translator) UsesOf(ins []x86.Insn) []codecache.Use {
	out := make([]codecache.Use, len(ins))
	for i := range ins {
		out[i][codecache.MetricInstructions] = 1
		if !u.CountsAccesses || ins[i].NMem == 0 {
			continue
		}
		from := len(u.opBuf)
		u.opBuf = ins[i].Accesses(u.opBuf)
		for j := range u.opBuf[from:] {
			if o := &u.opBuf[from+j]; !dynamic(o) && !headerOnly(&ins[i], o) {
				out[i].Access(o.Store, 1)
			}
		}
		u.opBuf = u.opBuf[:from]
	}
	return out
}

// headerOnly tells the read of an instruction that saves processor state: the
// header that it reads is part of what it writes.
func headerOnly(in *x86.Insn, o *x86.Operand) bool {
	return in.Complex() && !o.Store && in.Mnem != x86.MXRSTOR && in.Mnem != x86.MXRSTOR64
}

// spend writes, at a block's start, the subtraction of what its instructions do
// from the budgets, and the dispatch for when one does not suffice. A block that is
// used once has been made for what is left and does not ask.
func (u *Translator) spend(b *codecache.Block, ins []x86.Insn) {
	if !u.Budgeted {
		return
	}
	sum := u.useOf(b, ins)
	word := 0
	if !u.RecordedInOne || !u.Variant.Records() {
		u.lastWord = (u.lastWord + 1) % u.Words
		word = u.lastWord
	}
	b.Word = uint8(word)
	need := &codecache.Shortage{Word: word}
	for m := range codecache.NumMetrics {
		if !u.Metrics[m] {
			continue
		}
		need.Subtracted[m], need.Use[m] = true, sum[m]
		ask := -1
		if u.limit == 0 {
			ask = u.cache.NewExit(codecache.Exit{Target: b.App, Region: u.ar, Variant: u.Variant, Fixed: true, Entry: b.Counting(), RareExit: codecache.RareExit{Need: need.Copy()}})
		}
		u.subtract(codecache.BudgetOff(m, need.Word), sum[m], u.flagsFree(ins), ask)
	}
}

// subtract writes the subtraction of n from the word of a budget at off, and, unless ask is
// negative, the dispatch of that number for when it falls below zero.
//
// The sign of the result decides, by one of three means: a conditional jump where
// the flags are dead; pext of the sign bit and jrcxz; lahf and seto around the jump
// on processors without BMI2. Counting down was chosen over counting up because the
// comparison is then with zero.
func (u *Translator) subtract(off int, n uint32, dead bool, ask int) {
	a := &u.asm
	switch {
	case dead:
		a.SubWord(off, n)
		if ask >= 0 {
			u.coldDispatch(a.JccLater(asm.IfNegative), ask, nil)
		}
	case ask < 0 || u.HasBMI2:
		a.StoreWord(spillF, x86.RCX)
		a.LoadWord(x86.RCX, off)
		a.LeaDisp(x86.RCX, x86.RCX, -int64(n))
		a.StoreWord(off, x86.RCX)
		if ask >= 0 {
			a.PextWord(x86.RCX, x86.RCX, layout.SignMask)
			u.coldDispatch(a.JnrcxzLater(), ask, func(u *Translator) { u.asm.LoadWord(x86.RCX, spillF) })
		}
		a.LoadWord(x86.RCX, spillF)
	default:
		a.StoreWord(spillF, x86.RAX)
		a.FlagsToRAX()
		a.StoreWord(spillF+8, x86.RAX)
		a.SubWord(off, n)
		below := a.JccLater(asm.IfNegative)
		back := func(u *Translator) {
			u.asm.LoadWord(x86.RAX, spillF+8)
			u.asm.FlagsFromRAX()
			u.asm.LoadWord(x86.RAX, spillF)
		}
		u.coldDispatch(below, ask, back)
		back(u)
	}
}

// coldDispatch notes that the branch at site leads to a dispatch, with first before it.
// first restores what the way there has borrowed.
func (u *Translator) coldDispatch(site asm.Site, n int, first func(*Translator)) {
	u.cold = append(u.cold, coldStub{site, func(u *Translator) {
		if first != nil {
			first(u)
		}
		u.dispatch(uint32(n) + 1)
	}})
}

// TranslateShort translates the first n instructions at app, for one use.
// It is a block like any other for signals, but nothing leads to it.
func (u *Translator) TranslateShort(app uint64, v codecache.Variant, n int) *codecache.Block {
	ar := u.cache.RegionFor(app)
	if ar == nil {
		return nil
	}
	return u.write(ar, v, func(u *Translator) *codecache.Block {
		u.limit = n
		defer func() { u.limit = 0 }()
		b, next := u.block(app)
		if b == nil {
			return nil
		}
		if next != 0 {
			u.askSpent(u.asm.JmpLater(), next, codecache.Uncounted)
		}
		return b
	})
}
