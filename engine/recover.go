package engine

import (
	"encoding/binary"

	"alleria/engine/codecache"
	"alleria/engine/emulate"
	"alleria/engine/syscalls"
	"alleria/engine/tracee"
	"alleria/engine/translate"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// recoverState rebuilds the application's registers if the thread stands where that is
// possible. exact is true for a fault: the instruction at RIP itself faulted.
//
// It has an effect only if it succeeds. A thread in a stub is a few instructions away from a
// block or a routine.
func (t *Thread) recoverState(regs *sys.Regs, exact bool) bool {
	p := t.p
	a := p.cache.RegionAt(regs.Rip)
	if a == nil {
		return true // outside the cache
	}
	off := regs.Rip - a.Base
	if off < a.Routines.Size {
		return t.recoverInRoutine(a, off, regs, exact)
	}
	b := p.cache.BlockAt(a, regs.Rip)
	if b == nil {
		return false // a stub: a few instructions lead out of it
	}
	return t.recoverInBlock(b, regs, exact)
}

// recoverInBlock rebuilds the registers at a place in a block.
//
// Besides the registers it takes back what the block has done ahead of its instructions:
// the budget, the count and the record are corrected for those that were not executed.
func (t *Thread) recoverInBlock(b *codecache.Block, regs *sys.Regs, exact bool) bool {
	at := uint32(regs.Rip - b.Code)
	pos := t.p.cache.PositionsOf(b)
	i, _ := pos.Find(at)
	last := i == pos.N-1
	if b.Term == codecache.TermSyscall && last && at > uint32(pos.At[i].Start) {
		return t.recoverInSyscall(b, i, at, regs)
	}
	if exact && at < uint32(b.Compared) { // the code itself cannot be read
		regs.Rcx, regs.Rdx, regs.Rip = t.slot.Get(layout.S0), t.slot.Get(layout.S1), b.App
		t.resume.At(regs, b.Counting())
		return true
	}
	if b.Is(codecache.HasCounts) && !exact && i == 0 && at > 0 && !emulate.RepeatsAt(t.p.mem, b.App) {
		// An instruction that jumps to itself may never get any further.
		if at == uint32(b.Body) && b.Insns == 1 {
			regs.Rip = b.App
			t.resume.At(regs, codecache.Counted)
			return true
		}
		return false // going back to the block's start would count the entry again
	}
	if !t.recovery.Registers(b, at, regs, exact) {
		return false
	}
	t.recovery.TakeBack(b, i, at, regs)
	regs.Rip = t.p.cache.InsAddr(b, i)
	return true
}

// recoverInSyscall rebuilds the registers within a translated system call: before
// the call nothing of the application's has changed but what the call itself
// destroys, after it the next address is where it continues.
// Offsets are those of the parts that syscall writes.
func (t *Thread) recoverInSyscall(b *codecache.Block, i int, at uint32, regs *sys.Regs) bool {
	size := b.Size
	plain := size - translate.SyscallTail // the last syscall instruction
	notify := plain - translate.DispatchSize - (translate.SyscallEnd + 10 + translate.DispatchSize) - 2
	switch {
	case at < uint32(t.p.cache.PositionsOf(b).At[i].Exec): // what is recorded ahead of it borrows registers
		return false
	case at <= notify-translate.SyscallStamp || at == notify || at == plain || at == plain-translate.DispatchSize:
		t.recovery.TakeBackCall(b, i, at, regs)
		regs.Rip = t.p.cache.InsAddr(b, i)
	case at == plain+2 || at == notify+2:
		if at == notify+2 && !tracee.Restarting(regs) && !syscalls.BornHere(regs) {
			t.calls.Noted(regs.Orig_rax, regs, b.Is(codecache.LastRecorded))
		}
		regs.Rip = t.p.cache.InsAddr(b, i+1)
		regs.Rcx = regs.Rip
	default:
		return false
	}
	return true
}

// recoverInRoutine rebuilds the registers of a thread in an assembly routine.
// A thread in the chunk routine has to get out of it: the record is not complete
// yet.
func (t *Thread) recoverInRoutine(a *codecache.Region, off uint64, regs *sys.Regs, exact bool) bool {
	switch {
	case off >= a.Routines.DispatchCore && off <= a.Routines.DispatchEnd:
		side := t.sideExitAsked()
		app, how, ok := t.dispatchTarget(regs)
		if !ok {
			return false
		}
		t.recovery.Saved(regs)
		if side != nil {
			t.recovery.CompleteSide(side, regs)
		}
		t.goOnAt(app, regs)
		t.resume.At(regs, how)
		t.slot.U32(layout.Req).Store(0)
		t.slot.Set(layout.Resp, 0)
		return true
	// behind a call that was restarted, or interrupted for good
	case off == a.Routines.SyscallAfter:
		if !tracee.Restarting(regs) {
			t.calls.Done(regs.Rax)
		}
		regs.Rip = t.slot.Get(layout.ReqArg)
		regs.Rcx = regs.Rip
		return true
	case off == a.Routines.Sigreturn || off == a.Routines.SigreturnCall || off == a.Routines.SigreturnAfter:
		t.recoverReturn(regs, off == a.Routines.SigreturnAfter)
		return true
	case off == a.Routines.Iret || off == a.Routines.IretCopy:
		t.recoverIret(regs, exact)
		return true
	// in front of it: the kernel has moved the thread back, to make the call again
	case off == a.Routines.Syscall:
		t.calls.Anew() // it will be made anew
		regs.Rip = t.slot.Get(layout.ReqArg) - 2
		return true
	}
	return false
}

// dispatchTarget is the application address that a thread in the dispatch routine asks
// for, and what of the entry there has been counted; false once it has been answered.
func (t *Thread) dispatchTarget(regs *sys.Regs) (uint64, codecache.Entry, bool) {
	req := t.slot.U32(layout.Req).Load()
	switch {
	case req == 0:
		return 0, codecache.Uncounted, false
	case req == layout.ReqIndirect, req == layout.ReqBranched:
		t.branched()
		return t.slot.Get(layout.ReqArg), codecache.Uncounted, true
	case req == layout.ReqEntered: // it will arrive once more
		pl := t.p.points.Counter(t.slot.U32(layout.Place).Load())
		pl.Retry()
		if t.p.points.CountsWithin(pl) {
			return pl.Addr(), codecache.BackEdge, true
		}
		return pl.Addr(), codecache.Uncounted, true
	case req == layout.ReqReturned: // it will not return once more
		site := t.slot.Get(layout.ReqArg)
		t.reached(t.p.points.Counter(t.slot.U32(layout.Place).Load()), site, t.recovery.SavedSP())
		return site, codecache.Uncounted, true
	}
	switch req {
	case layout.ReqCapture: // it will arrive once more
		return t.p.points.Interception(t.slot.U32(layout.CaptureAsked).Load()).Entry, codecache.Uncounted, true
	case layout.ReqLeft, layout.ReqTurn, layout.ReqOwn, layout.ReqSuspect: // the return is captured and goes on by itself, and so does what comes behind a look for frames
		t.frameAsked(req)
		return 0, codecache.Uncounted, false
	}
	if s := t.p.cache.SideExitOf(req); s != nil {
		return s.Target, t.p.entryBy(s), true
	}
	e := t.p.cache.ExitAt(int(req - 1))
	if e.Call {
		t.afterCall(&e)
	}
	if e.Trap != nil {
		return e.Target, t.untrapped(e.Trap, regs), true
	}
	if e.Need != nil { // the block will subtract itself once more
		t.budget.GiveBack(e.Need)
	}
	if e.Spent {
		t.budget.Deal()
	}
	t.p.fixPointer(t, t.slot.Get(layout.ReqArg), e.X87)
	return e.Target, e.Entry, true
}

// fixPointer puts an x87 instruction pointer that was written to addr right: the processor has told where the instruction's copy
// lies. Nothing is done if ptr says that none was written. The program may have unmapped it: errors are none.
func (p *Process) fixPointer(t *Thread, addr uint64, ptr codecache.X87Pointer) {
	if ptr.Size == 0 {
		return
	}
	var b [8]byte
	if _, err := p.mem.ReadAt(b[:ptr.Size], int64(addr)); err != nil {
		return
	}
	if app, ok := t.recovery.X87Pointer(binary.LittleEndian.Uint64(b[:]), ptr.Size); ok {
		binary.LittleEndian.PutUint64(b[:], app)
		_, _ = p.mem.WriteAt(b[:ptr.Size], int64(addr))
	}
}

// untrapped takes back what a block has done ahead of its last instruction, which it
// asks the tracer to execute and which is to be translated once more: subtracted, counted,
// recorded. It returns what has been counted of the entry there.
//
// Of what the tracer executes only system calls are recorded by the block.
func (t *Thread) untrapped(b *codecache.Block, regs *sys.Regs) codecache.Entry {
	i := int(b.Insns) - 1
	if b.Term == codecache.TermSyscall {
		t.recovery.TakeBackCall(b, i, b.Size-translate.SyscallTail-translate.DispatchSize, regs)
	} else {
		t.recovery.Refund(b, i)
	}
	if i == 0 {
		return b.Counting()
	}
	return codecache.Uncounted
}
