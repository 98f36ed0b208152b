package probe

import (
	"cmp"
	"slices"

	"alleria/engine/shm"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Frames of programs with several stacks a thread: coroutines, and handlers of signals on a stack of their own. Which stack a thread is on only its stack pointer says: each has a
// mapping of its own, mostly with a guard page. A program is taken to have one stack a thread until frames are about to be dropped, because the stack pointer is above them, that lie
// in another mapping than it does (Suspect). From then on code looks, where a function is entered or returns, whether the stack pointer is where the frames in the slot lie, and asks if not.
// Those of other stacks are in a pool meanwhile, from which they come by where they lie. A coroutine may go on in another thread.
//
// Stacks that lie in one mapping, as small ones from malloc do, are not told apart, and programs in Go have goroutines instead.

// mostPooled bounds the frames that are in no slot: those of stacks that nobody returns to any more stay.
const mostPooled = 1 << 16

// Stacks tells whether the program is known to have several stacks a thread.
func (p *Points) Stacks() bool { return p.captures.goroutines != nil && p.captures.goroutines.stacks }

// RangeOf is where the stack lies whose frames a slot has, as far as it is known.
func RangeOf(s *shm.Slot) (lo, hi uint64) { return s.Get(layout.FramesLo), s.Get(layout.FramesHi) }

// setRange says where the stack lies whose frames a slot has.
func setRange(s *shm.Slot, lo, hi uint64) {
	minus := func(v uint64) uint64 { return -v }
	s.Set(layout.FramesLo, lo)
	s.Set(layout.FramesNotLo, minus(lo))
	s.Set(layout.FramesHi, hi)
	s.Set(layout.FramesNotHi, minus(hi))
}

// stackAt is the mapping that an address on a stack lies in; false: it is none that can be written.
func (p *Points) stackAt(sp uint64) (lo, hi uint64, ok bool) {
	m, ok, err := sys.MapAt(p.pid, sp)
	if err != nil || !ok || !m.Writable() {
		return 0, 0, false
	}
	return m.Start, m.End, true
}

// Suspect looks whether frames at sp, which are about to be dropped as the thread's stack pointer is rsp, are of another stack; then it has several from now on. It tells
// whether the slot has others now. The thread waits or is stopped.
func (p *Points) Suspect(s *shm.Slot, sp, rsp uint64) bool {
	lo, hi := RangeOf(s)
	if g, _ := FramesOf(s); g&1 == 0 || sp >= lo && rsp < hi || p.off.OneStack {
		return false
	}
	lo, hi, ok := p.stackAt(rsp)
	if !ok {
		return false
	}
	if sp >= lo && sp < hi {
		if !p.Stacks() {
			setRange(s, lo, hi)
		}
		return false
	}
	if p.captures.goroutines == nil {
		p.followStacks()
	}
	return p.Stacks() && p.turnToStack(s, lo, hi)
}

// OnStack has the frames of the stack in the slot that rsp lies on, where the program has several. It tells whether these were others.
func (p *Points) OnStack(s *shm.Slot, rsp uint64) bool {
	g, hi := FramesOf(s)
	lo, _ := RangeOf(s)
	if !p.Stacks() || g != layout.OwnStack && rsp >= lo && rsp < hi {
		return false
	}
	lo, hi, ok := p.stackAt(rsp)
	return ok && p.turnToStack(s, lo, hi)
}

// followStacks has the program's stacks told apart from now on: code that captures looks for them, and so do returns.
func (p *Points) followStacks() {
	p.captures.goroutines = &goroutines{stacks: true}
	p.host.Invalidate(0, 1<<47)
	thaw := p.host.Freeze()
	defer thaw()
	for _, c := range p.captures.points {
		c.made, c.code = false, 0
	}
	for addr, at := range p.at {
		if at.capture == nil {
			continue
		}
		p.removeProbe(addr)
		if err := p.probeNatively(addr); err != nil {
			p.host.Fail(err)
		}
	}
	for site := range p.captures.sites {
		if p.JumpOf(site) == nil {
			continue
		}
		p.removeProbe(site)
		if err := p.Add(site); err != nil {
			p.host.Fail(err)
		}
	}
}

// turnToStack puts the frames of the stack from lo to hi into a slot.
func (p *Points) turnToStack(s *shm.Slot, lo, hi uint64) bool {
	gs := p.captures.goroutines
	was, _ := FramesOf(s)
	if l, h := RangeOf(s); was != layout.OwnStack && l == lo && h == hi {
		return false
	}
	gs.toPool(takeFrames(s))
	for _, from := range p.shm.Slots { // the thread that was on that stack before is on another one by now, and asks
		if g, _ := FramesOf(from); from == s || g&1 == 0 || g == layout.OwnStack {
			continue
		}
		if l, h := RangeOf(from); l < hi && h > lo {
			gs.toPool(takeFrames(from))
			setFrames(from, layout.NoStack|1, 0, parkedFrames{})
		}
	}
	setFrames(s, hi|1, hi, gs.fromPool(lo, hi, p.returnsTo))
	setRange(s, lo, hi)
	return true
}

// toPool takes frames.
func (gs *goroutines) toPool(of parkedFrames) {
	gs.pool.frames = append(gs.pool.frames, of.frames...)
	gs.pool.returns = append(gs.pool.returns, of.returns...)
	if n := len(gs.pool.frames) - mostPooled; n > 0 {
		gs.pool.frames = slices.Delete(gs.pool.frames, 0, n)
	}
	if n := len(gs.pool.returns) - mostPooled; n > 0 {
		gs.pool.returns = slices.Delete(gs.pool.returns, 0, n)
	}
}

// fromPool takes out those from lo to hi that are still waited for, from the outermost.
func (gs *goroutines) fromPool(lo, hi uint64, waits func(sp, site uint64) bool) parkedFrames {
	out := parkedFrames{hi: hi}
	gs.pool.frames = slices.DeleteFunc(gs.pool.frames, func(f savedFrame) bool {
		sp := f.word(layout.CaptureSP)
		in := sp >= lo && sp < hi
		if in && waits(sp, f.word(layout.CaptureSite)) {
			out.frames = append(out.frames, f)
		}
		return in
	})
	gs.pool.returns = slices.DeleteFunc(gs.pool.returns, func(f savedReturn) bool {
		in := f.sp >= lo && f.sp < hi
		if in && waits(f.sp, f.site) {
			out.returns = append(out.returns, f)
		}
		return in
	})
	slices.SortStableFunc(out.frames, func(a, b savedFrame) int { return cmp.Compare(b.word(layout.CaptureSP), a.word(layout.CaptureSP)) })
	slices.SortStableFunc(out.returns, func(a, b savedReturn) int { return cmp.Compare(b.sp, a.sp) })
	return out
}
