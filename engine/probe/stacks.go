package probe

import (
	"cmp"
	"maps"
	"slices"

	"alleria/engine/shm"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Frames of programs with several stacks a thread: coroutines, and handlers of signals on a stack of their own. Which stack a thread is on only its stack pointer says: each has a
// mapping of its own, mostly with a guard page. A program is taken to have one stack a thread until frames are about to be dropped, because the stack pointer is above them, that lie
// in another mapping than it does (Suspect). From then on code looks, where a function is entered or returns, whether the stack pointer is where the frames in the slot lie, and asks if not.
// Those of other stacks are parked meanwhile, by where their stack ends; those from before, of which nobody knows it, come by where they lie. A coroutine may go on in another thread.
//
// Stacks that lie in one mapping, as small ones from malloc do, are not told apart, and programs in Go have goroutines instead.

// mostPooled bounds the frames of which it is not known on which stack they are, and leastWaiting is from how many stacks with frames on those are looked for that nobody returns to.
const (
	mostPooled   = 1 << 16
	leastWaiting = 1024
)

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
	p.captures.goroutines = newGoroutines(true)
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

// turnToStack puts the frames of the stack from lo to hi into a slot. It tells whether these were others.
func (p *Points) turnToStack(s *shm.Slot, lo, hi uint64) bool {
	return p.captures.goroutines.stand(s, lo, hi, p.returnsTo)
}

// stand is turnToStack; waits tells whether a frame is still waited for.
func (gs *goroutines) stand(s *shm.Slot, lo, hi uint64, waits func(sp, site uint64) bool) bool {
	was, _ := FramesOf(s)
	if l, h := RangeOf(s); was != layout.OwnStack && l == lo && h == hi {
		return false
	}
	gs.putAway(s)
	id := hi | 1 // stacks grow downwards
	now := gs.fetch(s, id)
	now.hi = hi
	gs.addLoose(&now, lo, hi)
	if !now.waited(waits) { // another stack was there
		now = parkedFrames{hi: hi}
	}
	setFrames(s, id, hi, now)
	setRange(s, lo, hi)
	if len(gs.parked) > gs.waiting {
		maps.DeleteFunc(gs.parked, func(_ uint64, f parkedFrames) bool { return !f.waited(waits) })
		gs.waiting = max(2*len(gs.parked), leastWaiting)
	}
	return true
}

// waited tells whether the outermost of a stack's frames are waited for.
func (f *parkedFrames) waited(waits func(sp, site uint64) bool) bool {
	return (len(f.frames) == 0 || waits(f.frames[0].word(layout.CaptureSP), f.frames[0].word(layout.CaptureSite))) && (len(f.returns) == 0 || waits(f.returns[0].sp, f.returns[0].site))
}

// loose takes frames of which it is not known on which stacks they are.
func (gs *goroutines) loose(of parkedFrames) {
	gs.pool.frames = append(gs.pool.frames, of.frames...)
	gs.pool.returns = append(gs.pool.returns, of.returns...)
	if n := len(gs.pool.frames) - mostPooled; n > 0 {
		gs.pool.frames = slices.Delete(gs.pool.frames, 0, n)
	}
	if n := len(gs.pool.returns) - mostPooled; n > 0 {
		gs.pool.returns = slices.Delete(gs.pool.returns, 0, n)
	}
}

// addLoose adds those from lo to hi, which are further out than what is there.
func (gs *goroutines) addLoose(to *parkedFrames, lo, hi uint64) {
	var out parkedFrames
	gs.pool.frames = slices.DeleteFunc(gs.pool.frames, func(f savedFrame) bool {
		sp := f.word(layout.CaptureSP)
		in := sp >= lo && sp < hi
		if in {
			out.frames = append(out.frames, f)
		}
		return in
	})
	gs.pool.returns = slices.DeleteFunc(gs.pool.returns, func(f savedReturn) bool {
		in := f.sp >= lo && f.sp < hi
		if in {
			out.returns = append(out.returns, f)
		}
		return in
	})
	if out.empty() {
		return
	}
	to.frames, to.returns = append(out.frames, to.frames...), append(out.returns, to.returns...)
	slices.SortStableFunc(to.frames, func(a, b savedFrame) int { return cmp.Compare(b.word(layout.CaptureSP), a.word(layout.CaptureSP)) })
	slices.SortStableFunc(to.returns, func(a, b savedReturn) int { return cmp.Compare(b.sp, a.sp) })
}
