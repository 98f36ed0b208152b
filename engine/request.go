package engine

import (
	"time"

	"alleria/engine/codecache"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// request answers what a running thread asks for through its mailbox.
//
// The thread waits in the request routine with all registers in its save area. What it asks
// is one of: an indirect branch, a direct one, a changed block, a budget that is too small
// or used up, a system call that has been made, an instruction to be executed for it.
func (tr *Tracer) request(t *Thread, req uint32) error {
	p, s := t.p, t.slot
	p.stats.Requests++
	defer func(from time.Time) { p.stats.RequestTime += time.Since(from) }(time.Now())
	if p.cache.Ahead {
		p.cache.AheadLeft = aheadBudget
	}
	tr.sync(t)
	t.setCalled(false)
	switch req {
	case layout.ReqIndirect:
		p.stats.Indirect++
		tr.callDone(t, s.Get(layout.Save)) // one that the kernel has made again
		return tr.answer(t, s.Get(layout.ReqArg), true)
	case layout.ReqEntered:
		return tr.placeEntered(t)
	case layout.ReqReturned:
		return tr.placeReturned(t)
	case layout.ReqCapture:
		return tr.captureAsked(t)
	case layout.ReqLeft:
		tr.captureLeft(t)
		return nil
	}
	if s := p.cache.SideExitOf(req); s != nil {
		return tr.takeSide(t, s)
	}
	e := p.cache.ExitAt(int(req - 1))
	target := e.Target
	if e.Call {
		tr.afterCall(t, &e)
		if t.stopped {
			return nil
		}
	}
	switch {
	case e.Trap != nil:
		return tr.trapped(t, e.Trap)
	case e.Stale != nil:
		p.stale(e.Stale)
	case e.Need != nil:
		return tr.shortBudget(t, target, e.Need)
	case e.Spent:
		tr.askSpent(t, target)
		t.deal()
	case !e.Fixed:
		// Its target may have been translated before it was written, into an area that
		// it does not reach: it was not linked then, and would ask each time.
		if b := p.cache.BlockOf(target, e.Variant); b != nil && !p.cache.Watched[target] {
			p.cache.Link(int(req-1), b)
		}
	}
	if e.Entry != codecache.Uncounted {
		return tr.answerPast(t, target, e.Entry)
	}
	return tr.answer(t, target, false)
}

// aheadBudget is how many units may be translated ahead of each request,
// with Options.Ahead.
const aheadBudget = 8

// answer lets a thread that waits in the request routine go on at app.
//
// The client may change the mode when it is notified: the thread then goes over to the new
// one at exactly this address.
func (tr *Tracer) answer(t *Thread, app uint64, indirect bool) error {
	p, s := t.p, t.slot
	tr.askSpent(t, app)
	if p.cache.Watched[app] {
		t.p.client.Notified(t, app, NotifiedRegs{s.Get(layout.Save + 4*8), s.Get(layout.Save + 7*8)})
	}
	if tr.modeDiffers(t) {
		return tr.switchWaiting(t, app, codecache.Uncounted)
	}
	var b *codecache.Block
	missed := false
	// A watched address gets no entry in the look-up table, which would lead past
	// this function the next time.
	if indirect && !p.cache.Watched[app] {
		missed = !p.cache.HasHead(app, t.variant)
		b = p.indirect(t, app)
	} else if b = p.cache.BlockOf(app, t.variant); b == nil {
		missed = true
		b = p.translator.Translate(app, t.variant)
	}
	if missed && b != nil {
		p.prefetch(app, t.variant, indirect)
	}
	if b == nil {
		return tr.leaveAt(t, app)
	}
	tr.reply(t, b.Code)
	return nil
}

// reply writes the answer and wakes the thread if it sleeps.
//
// REQ is cleared before RESP is set: the thread may ask again at once, and that request must
// not be lost. It looks at ASLEEP after RESP, the tracer the other way round.
func (tr *Tracer) reply(t *Thread, code uint64) {
	s := t.slot
	s.U32(layout.Req).Store(0)
	s.Set(layout.Resp, code)
	if s.U32(layout.Asleep).Swap(0) != 0 {
		sys.FutexWake(s.Word(layout.Asleep), 1)
	}
}

// leaveAt lets a thread that waits run natively at an address that has no
// translatable code: the kernel raises the fault that belongs there.
func (tr *Tracer) leaveAt(t *Thread, app uint64) error {
	regs, err := tr.fetchWaiting(t, app)
	if err != nil {
		return err
	}
	return tr.native(t, regs, 0)
}

// fetchWaiting stops a thread that waits in the request routine and returns the
// application's registers, as before the instruction at app.
//
// The thread may have been anywhere in the routine when the stop came; registers that the
// routine had not saved yet, or had restored already, are the application's as they are.
func (tr *Tracer) fetchWaiting(t *Thread, app uint64) (*sys.Regs, error) {
	regs, err := tr.halt(t)
	if err != nil {
		return nil, err
	}
	p := t.p
	if a := p.cache.RegionAt(regs.Rip); a != nil && a.InRequest(regs.Rip) {
		t.savedRegs(regs)
	}
	t.slot.U32(layout.Req).Store(0)
	t.slot.Set(layout.Resp, 0)
	regs.Rip = app
	return regs, nil
}

// savedRegs replaces the registers that the routines use by what they saved.
// Those that the routines do not use have kept their values.
func (t *Thread) savedRegs(r *sys.Regs) {
	s := t.slot
	get := func(i int) uint64 { return s.Get(layout.Save + 8*i) }
	r.Rax, r.Rcx, r.Rdx, r.Rsi, r.Rdi = get(0), get(1), get(2), get(6), get(7)
	r.R8, r.R9, r.R10, r.R11 = get(8), get(9), get(10), get(11)
	r.Eflags = flagsFrom(r.Eflags, s.Get(layout.SaveFlags))
	r.Orig_rax = ^uint64(0)
}

// flagsFrom puts the arithmetic flags as lahf and seto left them into eflags.
// lahf puts SF, ZF, AF, PF and CF into ah, seto the overflow flag into al.
func flagsFrom(eflags, saved uint64) uint64 {
	const mask = 0x8d5
	f := saved >> 8 & 0xd5
	if saved&1 != 0 {
		f |= 0x800
	}
	return eflags&^mask | f
}
