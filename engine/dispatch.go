package engine

import (
	"encoding/binary"
	"time"

	"alleria/engine/appcode"
	"alleria/engine/codecache"
	"alleria/engine/recovery"
	"alleria/engine/translate"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// dispatch answers what a running thread asks for through its mailbox.
//
// The thread waits in the dispatch routine with all registers in its save area. What it asks
// is one of: an indirect branch, a direct one, a changed block, a budget that is too small
// or used up, a system call that has been made, an instruction to be executed for it.
func (t *Thread) dispatch(req uint32) error {
	p, s := t.p, t.slot
	p.stats.Dispatches++
	defer func(from time.Time) { p.stats.DispatchTime += time.Since(from) }(time.Now())
	if p.cache.Ahead {
		p.cache.AheadLeft = aheadBudget
	}
	t.sync()
	t.budget.Call(false)
	switch req {
	case layout.ReqIndirect, layout.ReqBranched:
		t.branched()
		p.stats.Indirect++
		t.calls.Done(s.Get(layout.Save)) // one that the kernel has made again
		return t.answer(s.Get(layout.ReqArg), true)
	case layout.ReqEntered:
		return t.placeEntered()
	case layout.ReqReturned:
		return t.placeReturned()
	case layout.ReqCapture:
		return t.captureAsked()
	case layout.ReqLeft, layout.ReqTurn, layout.ReqOwn, layout.ReqSuspect:
		t.frameAsked(req)
		return nil
	}
	if s := p.cache.SideExitOf(req); s != nil {
		return t.takeSide(s)
	}
	e := p.cache.ExitAt(int(req - 1))
	target := e.Target
	if e.Call {
		t.afterCall(&e)
		if t.tracee.Stopped {
			return nil
		}
	}
	t.p.fixPointer(t, s.Get(layout.ReqArg), e.X87)
	switch {
	case e.Trap != nil:
		return t.trapped(e.Trap)
	case e.Stale != nil:
		p.stale(e.Stale)
	case e.Need != nil:
		return t.shortBudget(target, e.Need)
	case e.Spent:
		t.askSpent(target)
		t.budget.Deal()
	case !e.Fixed:
		// Its target may have been translated before it was written, into a region that
		// it does not reach: it was not linked then, and would ask each time.
		if b := p.cache.BlockOf(target, e.Variant); b != nil && !p.cache.Watched[target] {
			p.cache.Link(int(req-1), b)
		}
	}
	if e.Entry != codecache.Uncounted {
		return t.answerPast(target, e.Entry)
	}
	return t.answer(target, false)
}

// aheadBudget is how many groups may be translated ahead of each dispatch,
// with Options.Ahead.
const aheadBudget = 8

// answer lets a thread that waits in the dispatch routine go on at app.
//
// The client may change the mode when it is notified: the thread then goes over to the new
// one at exactly this address.
func (t *Thread) answer(app uint64, indirect bool) error {
	p, s := t.p, t.slot
	t.askSpent(app)
	if p.cache.Watched[app] {
		t.p.client.Notified(t, app, NotifiedRegs{t.recovery.SavedSP(), s.Get(layout.Save + 7*8)})
	}
	if t.modeDiffers() {
		return t.switchWaiting(app, codecache.Uncounted)
	}
	var b *codecache.Block
	missed := false
	// A watched address gets no entry in the look-up table, which would lead past
	// this function the next time.
	if indirect && !p.cache.Watched[app] {
		missed = !p.cache.HasCheck(app, t.variant)
		b = p.indirect(t, app)
	} else if b = p.cache.BlockOf(app, t.variant); b == nil {
		missed = true
		b = p.translator.Translate(app, t.variant)
	}
	if missed && b != nil {
		p.prefetch(app, t.variant, indirect)
	}
	if b == nil {
		return t.goNativeAt(app)
	}
	t.reply(b.Code)
	return nil
}

// reply writes the answer and wakes the thread if it sleeps.
//
// REQ is cleared before RESP is set: the thread may ask again at once, and that dispatch must
// not be lost. It looks at ASLEEP after RESP, the tracer the other way round.
func (t *Thread) reply(code uint64) {
	s := t.slot
	s.U32(layout.Req).Store(0)
	s.Set(layout.Resp, code)
	if s.U32(layout.Asleep).Swap(0) != 0 {
		sys.FutexWake(s.Word(layout.Asleep), 1)
	}
}

// goNativeAt lets a thread that waits run natively at an address that has no
// translatable code: the kernel raises the fault that belongs there.
func (t *Thread) goNativeAt(app uint64) error {
	regs, err := t.fetchWaiting(app)
	if err != nil {
		return err
	}
	return t.runNatively(regs, 0)
}

// goOnAt has regs, with which a thread asks for the code of app, be those of a thread that stands there, or at the branch that has led there: if app is not
// canonical the branch itself faults.
func (t *Thread) goOnAt(app uint64, regs *sys.Regs) {
	regs.Rip = app
	if recovery.Canonical(app) {
		return
	}
	if n := t.faulting; n != 0 { // it was in front of the look-up, whose code knows the branch
		t.faulting = 0
		s := t.counts.Site(n - 1)
		if regs.Rip = s.Addr; !s.Jump {
			regs.Rsp += 8 // of a call
		}
		return
	}
	if at, sp, ok := t.recovery.Branch(app, regs, t.variant, t.p.code.Fetch); ok {
		regs.Rip, regs.Rsp = at, sp
	}
}

// fetchWaiting stops a thread that waits in the dispatch routine and returns the
// application's registers, as before the instruction at app.
//
// The thread may have been anywhere in the routine when the stop came; registers that the
// routine had not saved yet, or had restored already, are the application's as they are.
func (t *Thread) fetchWaiting(app uint64) (*sys.Regs, error) {
	regs, err := t.tracee.Halt()
	if err != nil {
		return nil, err
	}
	p := t.p
	if a := p.cache.RegionAt(regs.Rip); a != nil && a.InDispatch(regs.Rip) {
		t.recovery.Saved(regs)
	}
	t.slot.U32(layout.Req).Store(0)
	t.slot.Set(layout.Resp, 0)
	t.goOnAt(app, regs)
	return regs, nil
}

// takeSide answers a thread that takes a side exit which has no code yet, or had none when the
// thread read its branch. Only the engine's part in the side exit happens here: whatever
// is to happen where it leads happens there, when the record is complete.
func (t *Thread) takeSide(s *codecache.LazySideExit) error {
	p := t.p
	b := p.cache.BlockPool.At(int(s.Block))
	if s.Ins&codecache.LazyWritten == 0 {
		if !p.cache.Watched[s.Target] && p.cache.BlockOf(s.Target, b.Variant) == nil {
			p.translator.Translate(s.Target, b.Variant)
		}
		if !p.translator.WriteLazySideExit(s, b, p.entryBy(s)) {
			return t.goNativeBySide(s)
		}
	}
	ar := p.cache.RegionAt(b.Code)
	t.reply(ar.Base + uint64(s.Site+4+binary.LittleEndian.Uint32(ar.Mem[s.Site:])))
	return nil
}

// entryBy is what of an entry by a side exit counts.
func (p *Process) entryBy(s *codecache.LazySideExit) codecache.Entry {
	return p.points.EntryFrom(p.cache.InsAddr(p.cache.BlockPool.At(int(s.Block)), int(s.Ins&codecache.LazyIns)-1), s.Target)
}

// sideExitAsked is the side exit that a thread which waits in the dispatch routine takes, nil if it
// asks for something else.
func (t *Thread) sideExitAsked() *codecache.LazySideExit {
	return t.p.cache.SideExitOf(t.slot.U32(layout.Req).Load())
}

// goNativeBySide lets a thread that takes a side exit go on natively: the cache is full.
func (t *Thread) goNativeBySide(s *codecache.LazySideExit) error {
	regs, err := t.fetchWaiting(s.Target)
	if err != nil {
		return err
	}
	t.recovery.CompleteSide(s, regs)
	return t.runNatively(regs, 0)
}

// indirect finds or makes the target check of app and its block; nil if there is no
// code at app. It also points the thread's table at the target check.
//
// Only this thread's table is updated: others find the target check when they miss.
func (p *Process) indirect(t *Thread, app uint64) *codecache.Block {
	v := t.variant
	s := codecache.SlotOf(app)
	b, ok := p.translator.FindCheck(app, v)
	if !ok {
		return nil
	}
	t.slot.Set(int(codecache.TableOff(v))+8*int(s), p.cache.SlotCheck(v, s))
	if b == nil {
		b = p.translator.Translate(app, v)
	}
	return b
}

// translateAhead translates one address that recent translations lead to. It
// tells whether there was one.
//
// It works while threads wait for nothing: one group at a time, so that a dispatch is never
// kept waiting for more than that. aheadLeft bounds what one dispatch may lead to, since
// code that is never executed costs room in every cache.
func (p *Process) translateAhead() bool {
	for len(p.cache.AheadQueue) > 0 {
		k := len(p.cache.AheadQueue) - 1
		it := p.cache.AheadQueue[k]
		p.cache.AheadQueue = p.cache.AheadQueue[:k]
		if it.Variant.Records() != p.variant.Records() || !it.Variant.Records() && it.Variant != p.variant || p.cache.Watched[it.App] || p.cache.AheadLeft <= 0 {
			continue
		}
		if p.cache.BlockOf(it.App, it.Variant) != nil {
			continue
		}
		p.translator.Translate(it.App, it.Variant)
		p.cache.AheadLeft--
		return true
	}
	return false
}

// publishChecks points the threads' tables at the target checks of the group just
// written. The threads may be looking at the entries: both what one held and
// what it holds now lead on to every older target check of the slot.
func (p *Process) publishChecks(checks []uint64, v codecache.Variant) {
	for _, t := range p.running() {
		if !t.filled[v] || t.epoch[v] != p.cache.Epoch[v] {
			continue
		}
		for _, app := range checks {
			s := codecache.SlotOf(app)
			t.slot.Set(int(codecache.TableOff(v))+8*int(s), p.cache.SlotCheck(v, s))
		}
	}
}

// publishTaken is publishChecks of target checks that were taken over, which were translated at addresses shift bytes below.
func (p *Process) publishTaken(checks []codecache.CheckAt, shift uint64) {
	for _, t := range p.running() {
		for i := range checks {
			v, s := checks[i].Variant, codecache.SlotOf(checks[i].App+shift)
			if t.filled[v] && t.epoch[v] == p.cache.Epoch[v] {
				t.slot.Set(int(codecache.TableOff(v))+8*int(s), p.cache.SlotCheck(v, s))
			}
		}
	}
}

// prefetchMost is how much is translated with a dispatch because it followed the last time.
const prefetchMost = 32

// prefetch remembers that app was asked for, and translates what followed the last time that the program ran.
func (p *Process) prefetch(app uint64, v codecache.Variant, indirect bool) {
	h := &p.tr.history
	if p.past == nil || h.Off || v == codecache.Aside || !p.code.Executable(app) {
		return
	}
	place, ok := h.PlaceIn(p.code.Mapping(app), app, indirect)
	if !ok {
		return
	}
	left := prefetchMost
	past := p.past.Asked(v)
	for n, end := past.After(place); n < end && left > 0; n++ {
		next := past.At(n)
		if at := h.AddressOf(next, p.code.Maps()); at != 0 && !p.cache.Watched[at] && p.makeReady(at, v, next.Indirect()) {
			left--
		}
	}
}

// makeReady translates what an address needs that is about to be asked for; false if it is there.
func (p *Process) makeReady(at uint64, v codecache.Variant, indirect bool) bool {
	if indirect {
		if p.cache.HasCheck(at, v) {
			return false
		}
		_, ok := p.translator.FindCheck(at, v)
		return ok
	}
	return p.cache.BlockOf(at, v) == nil && p.translator.Translate(at, v) != nil
}

// target is a process as its translator sees it.
type target struct{ p *Process }

// Made is also of pages of files that the program could write, whatever rights they have by now.
func (g target) Made(addr uint64) bool { return g.p.code.Made(addr) || g.p.written.Patched(addr) }

// LookAround is for what was taken over, and for what was set aside.
func (g target) LookAround(addr uint64) bool {
	g.p.lookAround()
	return g.p.code.PutBack(addr&^(appcode.PageSize-1)) || g.p.from != nil
}

func (g target) Fetch(addr uint64, n int) []byte              { return g.p.code.Fetch(addr, n) }
func (g target) Executable(addr uint64) bool                  { return g.p.code.Executable(addr) }
func (g target) Changing(addr uint64) bool                    { return g.p.code.Changing(addr) }
func (g target) Changes(ins []x86.Insn) bool                  { return g.p.code.Changes(ins) }
func (g target) Guarded(addr uint64) bool                     { return g.p.code.Guarded(addr) }
func (g target) Splits(addr uint64) bool                      { return g.p.points.Splits(addr) }
func (g target) EntryFrom(from, to uint64) codecache.Entry    { return g.p.points.EntryFrom(from, to) }
func (g target) Publish(checks []uint64, v codecache.Variant) { g.p.publishChecks(checks, v) }

func (g target) WithProbes(code []byte, addr uint64) []byte { return g.p.points.WithProbes(code, addr) }

func (g target) Mapping(addr uint64) (start, end uint64) {
	m := g.p.code.Mapping(addr)
	if m == nil {
		return 0, 0
	}
	return m.Start, m.End
}

func (g target) Plan(plan int, ins []x86.Insn, want []translate.Want) (image uint32) {
	return g.p.client.Plan(g.p, plan, ins, want)
}

func (g target) Captures() translate.Captures                 { return g.p.points.Captures() }
func (g target) Point(addr uint64) (translate.Point, bool)    { return g.p.points.At(addr) }
func (g target) EntriesAround(addr uint64) (entries []uint64) { return g.p.points.EntriesAround(addr) }
