package translate

import (
	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// dynamic tells accesses whose number is known only when the instruction
// executes: iterations, lanes under a mask.
// All others are counted when the block is translated, see usesOf.
func dynamic(o *x86.Operand) bool {
	switch o.Kind {
	case records.AccessString, records.AccessMasked, records.AccessPacked, records.AccessGather:
		return true
	}
	return false
}

// counted is what there is to be counted around one instruction: how often a
// repeated string instruction reads and writes in each iteration, or the lanes
// of a masked operand.
type counted struct {
	Each codecache.Use // of an iteration, or of a lane
	Rep  bool
	Op   x86.Operand // the masked one
}

// CountedAround finds out what has to be counted around an instruction; false:
// nothing, or nobody wants it.
// No instruction has both iterations and lanes, nor lanes of two operands.
func (u *Translator) CountedAround(in *x86.Insn) (c counted, ok bool) {
	if !u.CountsAccesses || in.NMem == 0 {
		return c, false
	}
	from := len(u.opBuf)
	u.opBuf = in.Accesses(u.opBuf)
	ops := u.opBuf[from:]
	u.opBuf = u.opBuf[:from]
	for i := range ops {
		if o := &ops[i]; dynamic(o) {
			ok = true
			c.Each.Access(o.Store, 1)
			c.Rep, c.Op = o.Kind == records.AccessString, *o
		}
	}
	return c, ok
}

// untilCounted returns how many of the instructions a block may have: what uses
// a budget up as it executes is noticed at the start of the next.
// Such an instruction is therefore the last of its block.
func (u *Translator) untilCounted(ins []x86.Insn) int {
	for i := range ins {
		if _, ok := u.CountedAround(&ins[i]); ok {
			return i + 1
		}
	}
	return len(ins)
}

// countBefore notes, ahead of an instruction, what it is about to access: rcx,
// or the number of lanes in its mask.
//
// The mask may be overwritten by the instruction itself (gathers clear it), which is why
// lanes are counted ahead of it. Flags are saved and restored around the counting.
func (u *Translator) countBefore(c *counted, in *x86.Insn) {
	a := &u.asm
	if c.Rep {
		a.StoreWord(layout.CountLanes, x86.RCX)
		return
	}
	// rax is needed for the flags; g must be neither it nor a part of the operand.
	g := scratchFor(in.Mentions() | 1<<x86.RAX)
	a.StoreWord(layout.CountReg, g)
	a.StoreWord(layout.CountRax, x86.RAX)
	a.FlagsToRAX()
	a.StoreWord(layout.CountFlags, x86.RAX)
	moveMask(a, g, &c.Op)
	switch n := max(c.Op.Lanes, c.Op.AnyOf); {
	case n == 32:
		a.Mov32(g, g)
	// 64 lanes fill the register: nothing to cut off.
	case n < 32:
		a.AndImm32(g, 1<<n-1)
	}
	if c.Op.AnyOf != 0 || c.Op.Kind == records.AccessPacked { // one access if any
		a.TestSelf(g)
		a.SetCond(asm.IfNotZero, x86.RAX)
		a.MovzxByte(g, x86.RAX)
	} else {
		a.Popcnt(g, g)
	}
	a.StoreWord(layout.CountLanes, g)
	a.LoadWord(x86.RAX, layout.CountFlags)
	a.FlagsFromRAX()
	a.LoadWord(x86.RAX, layout.CountRax)
	a.LoadWord(g, layout.CountReg)
}

// countAfter writes, behind an instruction, the subtraction of what it has
// accessed from the budgets. No flags change: x - y is ~(~x + y).
// The two registers are none that the instruction mentions, and are given back.
func (u *Translator) countAfter(c *counted, in *x86.Insn) {
	a := &u.asm
	g := scratchFor(in.Mentions() | 1<<x86.RCX)
	h := scratchFor(in.Mentions() | 1<<x86.RCX | 1<<uint(g))
	a.StoreWord(layout.CountReg, g)
	a.StoreWord(layout.CountRax, h)
	a.LoadWord(h, layout.CountLanes)
	if c.Rep { // iterations: what rcx was less what it is
		a.Not(h)
		a.Lea(h, asm.Sum(h, x86.RCX, 1, 0))
		a.Not(h)
	}
	for m := codecache.MetricAccesses; m < codecache.NumMetrics; m++ {
		k := c.Each[m]
		if k == 0 || !u.Metrics[m] {
			continue
		}
		off := codecache.BudgetOff(m, u.lastWord)
		a.LoadWord(g, off)
		a.Not(g)
		a.Lea(g, asm.Sum(g, h, uint8(k), 0)) // 1, or 2 of an instruction with two operands
		a.Not(g)
		a.StoreWord(off, g)
	}
	u.counted = c.Each
	a.LoadWord(h, layout.CountRax)
	a.LoadWord(g, layout.CountReg)
}

// askCounted writes, at the end of a block whose last instruction has been counted
// as it executed, the dispatch for when that has used a budget up. The next block
// would not notice: it uses another word. One that is used once asks anyway.
func (u *Translator) askCounted(next uint64) {
	each := u.counted
	u.counted = codecache.Use{}
	for m := codecache.MetricAccesses; m < codecache.NumMetrics; m++ {
		if each[m] == 0 || !u.Metrics[m] || u.limit > 0 {
			continue
		}
		ask := u.cache.NewExit(codecache.Exit{Target: next, Region: u.ar, Variant: u.Variant, Fixed: true, Spent: true})
		u.subtract(codecache.BudgetOff(m, u.lastWord), 0, false, ask)
	}
}
