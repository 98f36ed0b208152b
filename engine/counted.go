package engine

import (
	"alleria/engine/asm"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
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
	each use // of an iteration, or of a lane
	rep  bool
	op   x86.Operand // the masked one
}

// countedAround finds out what has to be counted around an instruction; false:
// nothing, or nobody wants it.
// No instruction has both iterations and lanes, nor lanes of two operands.
func (u *unit) countedAround(in *x86.Insn) (c counted, ok bool) {
	if !u.p.countsAccesses || in.NMem == 0 {
		return c, false
	}
	from := len(u.opBuf)
	u.opBuf = in.Accesses(u.opBuf)
	ops := u.opBuf[from:]
	u.opBuf = u.opBuf[:from]
	for i := range ops {
		if o := &ops[i]; dynamic(o) {
			ok = true
			c.each.access(o.Store, 1)
			c.rep, c.op = o.Kind == records.AccessString, *o
		}
	}
	return c, ok
}

// untilCounted returns how many of the instructions a block may have: what uses
// a budget up as it executes is noticed at the start of the next.
// Such an instruction is therefore the last of its block.
func (u *unit) untilCounted(ins []x86.Insn) int {
	for i := range ins {
		if _, ok := u.countedAround(&ins[i]); ok {
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
func (u *unit) countBefore(c *counted, in *x86.Insn) {
	a := &u.asm
	if c.rep {
		a.StoreWord(layout.CountLanes, x86.RCX)
		return
	}
	// rax is needed for the flags; g must be neither it nor a part of the operand.
	g := scratchFor(in.Mentions() | 1<<x86.RAX)
	a.StoreWord(layout.CountReg, g)
	a.StoreWord(layout.CountRax, x86.RAX)
	a.FlagsToRAX()
	a.StoreWord(layout.CountFlags, x86.RAX)
	moveMask(a, g, &c.op)
	switch n := max(c.op.Lanes, c.op.AnyOf); {
	case n == 32:
		a.Mov32(g, g)
	// 64 lanes fill the register: nothing to cut off.
	case n < 32:
		a.AndImm32(g, 1<<n-1)
	}
	if c.op.AnyOf != 0 || c.op.Kind == records.AccessPacked { // one access if any
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
func (u *unit) countAfter(c *counted, in *x86.Insn) {
	a := &u.asm
	g := scratchFor(in.Mentions() | 1<<x86.RCX)
	h := scratchFor(in.Mentions() | 1<<x86.RCX | 1<<uint(g))
	a.StoreWord(layout.CountReg, g)
	a.StoreWord(layout.CountRax, h)
	a.LoadWord(h, layout.CountLanes)
	if c.rep { // iterations: what rcx was less what it is
		a.Not(h)
		a.Lea(h, asm.Sum(h, x86.RCX, 1, 0))
		a.Not(h)
	}
	for m := MetricAccesses; m < NumMetrics; m++ {
		k := c.each[m]
		if k == 0 || !u.p.metrics[m] {
			continue
		}
		off := budgetOff(m, u.p.lastWord)
		a.LoadWord(g, off)
		a.Not(g)
		a.Lea(g, asm.Sum(g, h, uint8(k), 0)) // 1, or 2 of an instruction with two operands
		a.Not(g)
		a.StoreWord(off, g)
	}
	u.counted = c.each
	a.LoadWord(h, layout.CountRax)
	a.LoadWord(g, layout.CountReg)
}

// askCounted writes, at the end of a block whose last instruction has been counted
// as it executed, the request for when that has used a budget up. The next block
// would not notice: it uses another word. One that is used once asks anyway.
func (u *unit) askCounted(next uint64) {
	each := u.counted
	u.counted = use{}
	for m := MetricAccesses; m < NumMetrics; m++ {
		if each[m] == 0 || !u.p.metrics[m] || u.limit > 0 {
			continue
		}
		ask := u.p.newExit(exit{target: next, area: u.ar, v: u.v, fixed: true, spent: true})
		u.subtract(budgetOff(m, u.p.lastWord), 0, false, ask)
	}
}

// settle counts the iterations that a repeated string instruction, i of block b,
// had made when the thread left it between two of them.
// rcx is what is left of the iterations at that moment.
func (t *Thread) settle(b *block, i int, regs *sys.Regs) {
	if !t.p.countsAccesses || i >= len(t.p.uses(b)) {
		return
	}
	var code [15]byte
	at := t.p.insAddr(b, i)
	n, _ := t.p.mem.ReadAt(code[:], int64(at))
	var one [1]x86.Insn
	if k, _ := x86.Decode(code[:n], at, one[:]); k == 0 {
		return
	}
	c, ok := t.p.scratch.countedAround(&one[0])
	if ok && c.rep {
		t.spent(c.each, t.slot.get(layout.CountLanes)-regs.Rcx)
	}
}

// spent subtracts what was done k times from the budgets.
func (t *Thread) spent(each use, k uint64) {
	for m, n := range each {
		if n > 0 && t.p.metrics[m] {
			t.take(Metric(m), int64(uint64(n)*k))
		}
	}
}

// countExecuted subtracts what the instruction of block b, which the tracer
// executed, has accessed besides what its block subtracted.
func (tr *Tracer) countExecuted(t *Thread, b *block, before, after *sys.Regs) {
	var code [15]byte
	n, _ := t.p.mem.ReadAt(code[:], int64(before.Rip))
	var one [1]x86.Insn
	if k, _ := x86.Decode(code[:n], before.Rip, one[:]); k == 0 {
		return
	}
	c, ok := t.p.scratch.countedAround(&one[0])
	switch {
	// A repeated instruction stays where it is after every iteration but the last.
	case after.Rip == before.Rip && !c.rep: // it faulted
		t.refund(b, 0)
	case !ok:
	case c.rep:
		n := before.Rcx - after.Rcx
		// ecx counts, and rcx's upper half is cleared by the first iteration.
		if one[0].AddrBits == 32 {
			n = uint64(uint32(n))
		}
		t.spent(c.each, n)
	default: // lanes at gs: as if all were accessed
		t.spent(c.each, uint64(c.op.Lanes))
	}
}
