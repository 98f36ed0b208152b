package engine

import (
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// CountInstructions makes every block of every variant count against its
// thread's budget, so that the client is asked at exact instructions. Called from
// Client.Started, before anything is translated.
func (p *Process) CountInstructions() { p.budgeted = true }

// Budget is how many instructions the thread may still execute before the
// client is asked. It is exact while the thread is stopped or waits.
func (t *Thread) Budget() uint64 { return t.slot.get(layout.Budget) }

// SetBudget replaces the budget of a thread that is stopped or waits.
func (t *Thread) SetBudget(n uint64) { t.slot.set(layout.Budget, n) }

// Rebudget makes Client.Entering be called for every thread, so that budgets can be
// changed: those that run are stopped one by one.
func (p *Process) Rebudget() {
	p.budgetEpoch++
	p.tr.modeChanged = true
}

// spend writes, at a block's start, the subtraction of its instructions from
// the budget, and the request for when it does not suffice.
func (u *unit) spend(b *block, ins []x86.Insn) {
	if !u.p.budgeted {
		return
	}
	n := len(ins)
	a := &u.asm
	ask := u.p.newExit(exit{target: b.app, area: u.ar, v: u.v, fixed: true, need: uint16(n)})
	switch {
	case flagsDead(ins, 0):
		a.bytes(0x65, 0x48, 0x81, 0x2c, 0x25) // sub qword gs:[Budget], n
		a.u32(layout.Budget)
		a.u32(uint32(n))
		a.bytes(0x0f, 0x88) // js
		u.coldAsk(ask, nil)
	case u.p.hasBMI2:
		a.store(spillF, x86.RCX)
		a.load(x86.RCX, layout.Budget)
		a.leaDisp(x86.RCX, x86.RCX, -int64(n))
		a.store(layout.Budget, x86.RCX)
		a.bytes(0x65, 0xc4, 0xe2, 0xf2, 0xf5, 0x0c, 0x25) // pext rcx, rcx, gs:[SignMask]
		a.u32(layout.SignMask)
		a.bytes(0xe3, 5, 0xe9) // jrcxz over the jump
		u.coldAsk(ask, func(u *unit) { u.asm.load(x86.RCX, spillF) })
		a.load(x86.RCX, spillF)
	default:
		a.store(spillF, x86.RAX)
		a.bytes(0x9f, 0x0f, 0x90, 0xc0) // lahf; seto al
		a.store(spillF+8, x86.RAX)
		a.bytes(0x65, 0x48, 0x81, 0x2c, 0x25)
		a.u32(layout.Budget)
		a.u32(uint32(n))
		a.bytes(0x0f, 0x88)
		back := func(u *unit) {
			u.asm.load(x86.RAX, spillF+8)
			u.asm.bytes(0x04, 0x7f, 0x9e) // add al, 127; sahf
			u.asm.load(x86.RAX, spillF)
		}
		u.coldAsk(ask, back)
		back(u)
	}
}

// coldAsk writes the displacement of a branch to a request, with first before it.
func (u *unit) coldAsk(n int, first func(*unit)) {
	u.cold = append(u.cold, coldStub{u.asm.pos, func(u *unit) {
		if first != nil {
			first(u)
		}
		u.ask(uint32(n) + 1)
	}})
	u.asm.u32(0)
}

// shortBudget answers a thread whose budget does not suffice for the block at
// app: the client is asked, and if it grants too little, as many instructions
// as there are get a translation of their own that asks again behind them.
func (tr *Tracer) shortBudget(t *Thread, app uint64, need uint16) error {
	p := t.p
	left := t.Budget() + uint64(need) // the block has subtracted itself
	t.SetBudget(left)
	tr.client.BudgetLow(t, app)
	if tr.modeDiffers(t) {
		return tr.switchWaiting(t, app)
	}
	left = t.Budget()
	if left >= uint64(need) {
		return tr.answer(t, app, false)
	}
	if left == 0 { // the client has nothing to wait for and did not say so
		t.SetBudget(1 << 62)
		return tr.answer(t, app, false)
	}
	b := p.translateShort(app, t.variant, int(left))
	if b == nil {
		return tr.leaveAt(t, app)
	}
	tr.reply(t, b.code)
	return nil
}

// translateShort translates the first n instructions at app, for one use.
func (p *Process) translateShort(app uint64, v Variant, n int) *block {
	ar := p.areaFor(app)
	if ar == nil {
		return nil
	}
	return p.unit(ar, v, func(u *unit) *block {
		u.limit = n
		defer func() { u.limit = 0 }()
		b, next := u.block(app)
		if b == nil {
			return nil
		}
		if next != 0 {
			u.asm.bytes(0xe9)
			u.coldAsk(p.newExit(exit{target: next, area: ar, v: v, fixed: true, spent: true}), nil)
		}
		return b
	})
}

// refund gives back what a block subtracted for the instructions from i on that
// were not executed.
func (t *Thread) refund(b *block, i int) {
	if t.p.budgeted {
		t.slot.set(layout.Budget, t.slot.get(layout.Budget)+uint64(len(b.lens)-i))
	}
}
