package engine

import (
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// clean rebuilds the application's registers if the thread stands where that is
// possible. exact is true for a fault: the instruction at RIP itself faulted.
//
// It has an effect only if it succeeds. A thread in a stub is a few instructions away from a
// block or a routine.
func (tr *Tracer) clean(t *Thread, regs *sys.Regs, exact bool) bool {
	p := t.p
	a := p.areaAt(regs.Rip)
	if a == nil {
		return true // outside the cache
	}
	off := regs.Rip - a.base
	if off < a.rt.size {
		return tr.cleanRoutine(t, a, off, regs)
	}
	b := p.blockAt(a, regs.Rip)
	if b == nil {
		return false // a stub: a few instructions lead out of it
	}
	return tr.cleanBlock(t, b, regs, exact)
}

// cleanBlock rebuilds the registers at a place in a block.
//
// Besides the registers it takes back what the block has done ahead of its instructions:
// the budget, the count and the record are corrected for those that were not executed.
func (tr *Tracer) cleanBlock(t *Thread, b *block, regs *sys.Regs, exact bool) bool {
	at := uint32(regs.Rip - b.code)
	// clean: nothing of instruction i has been executed, and what was before it is
	// done.
	pos := t.p.positionsOf(b)
	i, clean := pos.find(at)
	last := i == pos.n-1
	if b.term == termSyscall && last && at > uint32(pos.at[i].start) {
		return tr.cleanSyscall(t, b, i, at, regs)
	}
	if exact && at < uint32(b.compared) { // the code itself cannot be read
		regs.Rcx, regs.Rdx, regs.Rip = t.slot.get(layout.S0), t.slot.get(layout.S1), b.app
		t.stands = stand{b.app, regs.Rsp, b.counting()}
		return true
	}
	if b.counts && !exact && i == 0 && at > 0 && !t.p.repeatsAt(b.app) {
		// An instruction that jumps to itself may never get any further.
		if at == uint32(b.body) && b.insns == 1 {
			regs.Rip = b.app
			t.stands = stand{b.app, regs.Rsp, past}
			return true
		}
		return false // going back to the block's start would count the arrival again
	}
	switch {
	// the load of an indirect branch's target faulted: rcx is in its spill word
	case exact && last && b.term == termIndirect && at > uint32(pos.at[i].exec):
		regs.Rcx = t.slot.get(layout.S0)
	case exact:
		b.unspill(t, at, regs)
		t.wrote = b.rec.id != 0 && b.rec.writes(t.p, at)
	case clean, at == uint32(pos.at[i].exec), b.rec.id != 0 && b.rec.again(t.p, at): // also between the iterations of a repeated string instruction
		b.unspill(t, at, regs)
	default:
		return false
	}
	// At its very start a block has done nothing that would have to be taken back.
	if at > 0 {
		t.refund(b, i)
	}
	if at > 0 && (at == uint32(pos.at[i].exec) || b.rec.loops(t.p) && b.rec.again(t.p, at)) {
		t.settle(b, i, regs)
	}
	switch {
	case b.rec.id != 0 && b.term != termTrap:
		t.cut(b, i, at, regs)
	// Counters go by blocks: what of this one was not executed is subtracted when
	// they are read.
	case b.variant == Count && at > 0:
		t.partial = append(t.partial, partial{b, i})
	}
	regs.Rip = t.p.insAddr(b, i)
	return true
}

// cleanSyscall rebuilds the registers within a translated system call: before
// the call nothing of the application's has changed but what the call itself
// destroys, after it the next address is where it continues.
// Offsets are those of the parts that syscall writes.
func (tr *Tracer) cleanSyscall(t *Thread, b *block, i int, at uint32, regs *sys.Regs) bool {
	size := b.size
	plain := size - sysTail // the last syscall instruction
	notify := plain - askSize - (syscallEnd + 10 + askSize) - 2
	switch {
	case at <= notify-syscallStamp || at == notify || at == plain || at == plain-askSize:
		t.refund(b, i)
		if b.rec.id != 0 {
			t.cut(b, i, at, regs)
		} else if b.variant == Count {
			t.partial = append(t.partial, partial{b, i})
		}
		regs.Rip = t.p.insAddr(b, i)
	case at == plain+2 || at == notify+2:
		if at == notify+2 && !restarting(regs) && !bornHere(regs) {
			t.p.callEnded(regs.Orig_rax, regs.Rax, regs)
			tr.notedCall(t, regs.Orig_rax, regs, b.lastRecorded)
		}
		regs.Rip = t.p.insAddr(b, i+1)
		regs.Rcx = regs.Rip
	default:
		return false
	}
	return true
}

// unspill takes the registers that the block borrowed from the spill words.
func (b *block) unspill(t *Thread, at uint32, regs *sys.Regs) {
	if r := &b.rec; r.id != 0 && at >= uint32(r.from) && at < uint32(r.to) {
		*regOf(regs, r.ra) = t.slot.get(spillA)
		if r.hasB {
			*regOf(regs, r.rb) = t.slot.get(spillB)
		}
		r.fix(t, at, regs)
	}
}

// cleanRoutine rebuilds the registers of a thread in an assembly routine.
// A thread in the chunk routine has to get out of it: the record is not complete
// yet.
func (tr *Tracer) cleanRoutine(t *Thread, a *area, off uint64, regs *sys.Regs) bool {
	switch {
	case off >= a.rt.requestCore && off <= a.rt.requestEnd:
		side := t.wantedSide()
		app, how, ok := t.wanted(regs)
		if !ok {
			return false
		}
		t.savedRegs(regs)
		if side != nil {
			t.completeSide(side, regs)
		}
		regs.Rip = app
		t.stands = stand{app, regs.Rsp, how}
		t.slot.u32(layout.Req).Store(0)
		t.slot.set(layout.Resp, 0)
		return true
	// behind a call that was restarted, or interrupted for good
	case off == a.rt.syscallAfter:
		if !restarting(regs) {
			tr.callDone(t, regs.Rax)
		}
		regs.Rip = t.slot.get(layout.ReqArg)
		regs.Rcx = regs.Rip
		return true
	// in front of it: the kernel has moved the thread back, to make the call again
	case off == a.rt.syscall:
		t.call = nil // it will be made anew
		regs.Rip = t.slot.get(layout.ReqArg) - 2
		return true
	}
	return false
}

// wanted is the application address that a thread in the request routine asks
// for, and what of the arrival there has been counted; false once it has been answered.
func (t *Thread) wanted(regs *sys.Regs) (uint64, arrival, bool) {
	req := t.slot.u32(layout.Req).Load()
	switch {
	case req == 0:
		return 0, fresh, false
	case req == layout.ReqIndirect:
		return t.slot.get(layout.ReqArg), fresh, true
	case req == layout.ReqEntered: // it will arrive once more
		pl := t.p.places[t.slot.u32(layout.Place).Load()]
		pl.again()
		if at := t.p.placeAt[pl.addr]; at != nil && at.within == pl {
			return pl.addr, within, true
		}
		return pl.addr, fresh, true
	case req == layout.ReqReturned: // it will not return once more
		site := t.slot.get(layout.ReqArg)
		t.p.tr.reached(t, t.p.places[t.slot.u32(layout.Place).Load()], site)
		return site, fresh, true
	}
	switch req {
	case layout.ReqCapture: // it will arrive once more
		return t.p.captures.points[t.slot.u32(layout.CaptureAsked).Load()].entry, fresh, true
	case layout.ReqLeft: // the return is captured and goes on by itself
		t.p.tr.captureLeft(t)
		return 0, fresh, false
	}
	if s := t.p.sideOf(req); s != nil {
		return s.target, t.p.arrivalBy(s), true
	}
	e := t.p.exitAt(int(req - 1))
	if e.call {
		t.p.tr.afterCall(t, &e)
	}
	if e.trap != nil {
		return e.target, t.untrapped(e.trap, regs), true
	}
	if e.need != nil { // the block will subtract itself once more
		t.giveBack(e.need)
	}
	if e.spent {
		t.deal()
	}
	return e.target, e.how, true
}

// untrapped takes back what a block has done ahead of its last instruction, which it
// asks the tracer to execute and which is to be translated once more: subtracted, counted,
// recorded. It returns what has been counted of the arrival there.
//
// Of what the tracer executes only system calls are recorded by the block.
func (t *Thread) untrapped(b *block, regs *sys.Regs) arrival {
	i := int(b.insns) - 1
	t.refund(b, i)
	if b.term == termSyscall {
		switch {
		case b.rec.id != 0:
			t.cut(b, i, b.size-sysTail-askSize, regs)
		case b.variant == Count:
			t.partial = append(t.partial, partial{b, i})
		}
	}
	if i == 0 {
		return b.counting()
	}
	return fresh
}
