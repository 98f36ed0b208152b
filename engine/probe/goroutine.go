package probe

import (
	"encoding/binary"
	"slices"

	"alleria/engine/shm"
	"alleria/engine/translate"
	"alleria/internal/layout"
)

// Frames of goroutines. A goroutine's stack is none of the thread's: another goroutine runs on the thread while it waits, it goes on in another thread, and its stack is
// copied elsewhere when it grows or shrinks. So a thread's slot has the frames of one goroutine at a time, or of the thread's own stack, and says which (layout.FramesG).
// A function in Go is entered with its goroutine in r14, and returns with it. Where code finds another one there than the slot has, or finds that its stack
// ends elsewhere, it asks; the tracer puts the right frames into the slot, from where they were last, with stack pointers as they are now. So a call costs as much as
// any other, and a goroutine that comes to a thread one question.
//
// The frames of a goroutine are in the slot of the thread that it was on last, or parked here. They are taken out of the slot of a thread that runs: its code looks at frames
// only if its goroutine is the slot's, and that one is here.
//
// Refused: frames in a table by goroutine and depth, which code would search at each call, and which would have to say which of them are dead.

// goroutines says where frames are that are in no slot now, and which slots have a goroutine's.
type goroutines struct {
	parked map[uint64]parkedFrames    // by goroutine
	own    map[*shm.Slot]parkedFrames // of a thread's own stack, while its slot has others
	in     map[uint64]*shm.Slot       // by goroutine; the slot may have others by now
	// stacks: it is not goroutines that are told apart, but the program's stacks (stacks.go), by an odd number; pool has frames from before, and waiting is how many of parked make it
	// worth while to look for those that nobody returns to.
	stacks  bool
	pool    parkedFrames
	waiting int
}

// parkedFrames are frames, from the outermost, of a stack that ended at hi.
type parkedFrames struct {
	hi      uint64
	frames  []savedFrame
	returns []savedReturn
}

// empty tells that there are none.
func (f *parkedFrames) empty() bool { return len(f.frames)+len(f.returns) == 0 }

// savedReturn is a frame of an awaited return.
type savedReturn struct {
	sp, site uint64
	place    uint16
}

type savedFrame [layout.CaptureFrame]byte

func (f *savedFrame) word(off int) uint64 { return binary.LittleEndian.Uint64(f[off:]) }

// OfGoroutine tells whether a function's calls belong to goroutines.
func (c *Interception) OfGoroutine(p *Points) bool {
	return p.Goroutines() && c.Prog.Goroutine
}

// Goroutines tells whether some function's calls do.
func (p *Points) Goroutines() bool {
	return p.captures.goroutines != nil && !p.captures.goroutines.stacks
}

// followGoroutines has calls of functions in Go belong to goroutines from now on. It tells whether they did not.
func (p *Points) followGoroutines() bool {
	if p.captures.goroutines != nil || p.off.OneStack {
		return false
	}
	p.captures.goroutines = newGoroutines(false)
	return true
}

func newGoroutines(stacks bool) *goroutines {
	return &goroutines{parked: make(map[uint64]parkedFrames), own: make(map[*shm.Slot]parkedFrames), in: make(map[uint64]*shm.Slot), stacks: stacks}
}

// goCode notes that c's program has code whose returns look for goroutines. It tells whether it was not known.
func (p *Points) goCode(c *Interception) bool {
	if !c.OfGoroutine(p) || p.inGoCode(c.Entry) {
		return false
	}
	p.addGoCode(c.Entry)
	return true
}

// inGoCode tells whether an address is in code that is known to be a Go program's.
func (p *Points) inGoCode(addr uint64) bool {
	return slices.ContainsFunc(p.captures.goCode, func(r translate.CodeRange) bool { return addr >= r.Start && addr < r.End })
}

// InGo says that the function at entry is written in Go, so that its returns, if they are awaited, are of goroutines.
func (p *Points) InGo(entry uint64) { p.pointAt(entry).inGo = true }

// returnsOfGo finds out whether the returns of a function in Go, which are about to be awaited, are of a goroutine that is in r14.
func (p *Points) returnsOfGo(entry uint64, at *point) {
	if !at.inGo || p.off.OneStack {
		return
	}
	if at.goroutine = p.inGoCode(entry); at.goroutine || !p.goroutineIn(entry) {
		return
	}
	p.followGoroutines()
	p.addGoCode(entry)
	p.host.Invalidate(0, 1<<47)
}

// addGoCode notes that a program has code whose returns look for goroutines, of which entry is a part.
func (p *Points) addGoCode(entry uint64) {
	m := p.code.Mapping(entry)
	p.captures.goCode = append(p.captures.goCode, translate.CodeRange{Start: m.Start, End: m.End})
	for addr, at := range p.at {
		at.goroutine = at.goroutine || at.inGo && addr >= m.Start && addr < m.End
	}
}

// ofGoroutine tells whether what returns there is a goroutine's.
func (at *point) ofGoroutine() bool { return at != nil && at.goroutine }

// EnteredByGoroutine tells whether a function whose returns are awaited is in Go.
func (p *Points) EnteredByGoroutine(entry uint64) bool { return p.at[entry].ofGoroutine() }

// goSite notes whose return site an address is.
func (cs *captures) goSite(goes bool, site uint64) {
	if cs.goroutines == nil || !goes || cs.goSites[site] {
		return
	}
	if cs.goSites == nil {
		cs.goSites = make(map[uint64]bool)
	}
	cs.goSites[site] = true
}

// GoSite tells whether a function in Go returns to an address.
func (p *Points) GoSite(site uint64) bool { return p.captures.goSites[site] }

// BeginFrames makes a slot have no frame, as that of a thread that begins. What it has of a goroutine that was on a thread before is kept.
func (p *Points) BeginFrames(s *shm.Slot) {
	if gs := p.captures.goroutines; gs != nil {
		if g, _ := FramesOf(s); gs.in[g] == s {
			p.TurnTo(s, layout.OwnStack, 0)
		}
		delete(gs.own, s)
	}
	InitCaptureFrames(s)
}

// FramesOf tells whose frames a slot has: a goroutine, or layout.OwnStack or NoStack, and where its stack ended.
func FramesOf(s *shm.Slot) (g, hi uint64) { return s.Get(layout.FramesG), s.Get(layout.FramesHi) }

// TurnTo puts the frames of a goroutine whose stack ends at hi into a slot, or those of the thread's own stack (layout.OwnStack). The thread waits or is stopped.
// It tells whether that was something else than before.
func (p *Points) TurnTo(s *shm.Slot, g, hi uint64) bool {
	gs := p.captures.goroutines
	was, ended := FramesOf(s)
	if !p.Goroutines() || was == g && (g == layout.OwnStack || ended == hi) {
		return false
	}
	if was == g { // its stack has moved
		setFrames(s, g, hi, takeFrames(s))
	} else {
		gs.putAway(s)
		setFrames(s, g, hi, gs.fetch(s, g))
	}
	if g != layout.OwnStack {
		gs.awaitOwn(s)
	}
	return true
}

// putAway takes the frames that a slot has to where they are while it has others.
func (gs *goroutines) putAway(s *shm.Slot) {
	was, _ := FramesOf(s)
	switch old := takeFrames(s); {
	case was == layout.OwnStack && gs.stacks:
		gs.loose(old)
	case was == layout.OwnStack:
		gs.own[s] = old
	case !old.empty():
		gs.parked[was] = old
	}
	if gs.in[was] == s {
		delete(gs.in, was)
	}
}

// fetch takes the frames of a stack from where they are, for a slot.
func (gs *goroutines) fetch(s *shm.Slot, g uint64) parkedFrames {
	if g == layout.OwnStack {
		own := gs.own[s]
		delete(gs.own, s)
		return own
	}
	now := gs.parked[g]
	delete(gs.parked, g)
	if from := gs.in[g]; from != nil && from != s {
		if at, _ := FramesOf(from); at == g {
			now = takeFrames(from)
			setFrames(from, layout.NoStack|g&1, 0, parkedFrames{}) // of the same kind
			gs.awaitOwn(from)
		}
	}
	gs.in[g] = s
	return now
}

// awaitOwn has returns look for the thread's own frames while its slot has others: C code may have called into Go.
func (gs *goroutines) awaitOwn(s *shm.Slot) {
	own := gs.own[s]
	if n := len(own.frames); n > 0 {
		s.Set(layout.CaptureAwait, -own.frames[n-1].word(layout.CaptureSP))
	}
	if n := len(own.returns); n > 0 {
		s.Set(layout.Await, -own.returns[n-1].sp)
	}
}

// Parked tells whether a goroutine has frames that are in no slot.
func (p *Points) Parked(g uint64) bool {
	of := p.captures.goroutines.parked[g]
	return !of.empty()
}

// OwnReached tells whether a return whose address lies at rsp has reached a frame of the thread's own stack, while its slot has others.
func (p *Points) OwnReached(s *shm.Slot, rsp uint64) bool {
	g, _ := FramesOf(s)
	return g != layout.OwnStack && rsp >= -s.Get(layout.CaptureAwait)
}

// turnAll puts the threads' own frames into all slots.
func (p *Points) turnAll() {
	if !p.Goroutines() {
		return
	}
	thaw := p.host.Freeze()
	for _, s := range p.shm.Slots {
		if g, _ := FramesOf(s); g > layout.NoStack {
			p.TurnTo(s, layout.OwnStack, 0)
		}
	}
	thaw()
}

// takeFrames takes a slot's frames off.
func takeFrames(s *shm.Slot) parkedFrames {
	var all parkedFrames
	if g, hi := FramesOf(s); g&1 == 0 { // only goroutines' stacks move
		all.hi = hi
	}
	eachCapture(s, func(f Frame) { all.frames = append(all.frames, savedFrame(s.Mem[f.off:f.off+layout.CaptureFrame])) })
	eachReturn(s, func(f savedReturn) { all.returns = append(all.returns, f) })
	slices.Reverse(all.frames)
	slices.Reverse(all.returns)
	emptyFrames(s)
	return all
}

// emptyFrames makes a slot have no frame.
func emptyFrames(s *shm.Slot) {
	eachCapture(s, func(f Frame) { s.Set(f.off+layout.CaptureSP, layout.FrameNone) })
	none := int64(-layout.FrameNone)
	s.Set(layout.CaptureAwait, uint64(none))
	s.Set(layout.CaptureGoAwait, uint64(none))
	s.Set(layout.CaptureFrames+layout.CaptureSP, layout.FrameNone)
	s.Set(layout.CaptureTop, 0)
	for top := uint16(s.Get(layout.Top)); s.Get(layout.FrameSP+8*int(top)) < layout.FrameNone; top-- {
		s.Set(layout.FrameSP+8*int(top), layout.FrameNone)
	}
	InitFrames(s)
}

// setFrames puts frames into a slot that has none, and says whose they are.
func setFrames(s *shm.Slot, g, hi uint64, of parkedFrames) {
	minus := func(v uint64) uint64 { return -v }
	s.Set(layout.FramesG, g)
	s.Set(layout.FramesNotG, minus(g))
	setRange(s, 0, hi)
	for i := range of.frames {
		f := &of.frames[i]
		PushFrame(s, f, f.word(layout.CaptureSP)+hi-of.hi)
	}
	for _, f := range of.returns {
		pushReturn(s, f.sp+hi-of.hi, f.site, f.place)
	}
}

// PushFrame pushes a frame that was saved, with another stack pointer.
func PushFrame(s *shm.Slot, from *savedFrame, sp uint64) {
	f, top := nextFrame(s)
	copy(s.Mem[f.off:f.off+layout.CaptureFrame], from[:])
	setTop(s, f, top, sp)
}

// NotScheduler notes that a goroutine is the one that the thread's scheduler runs on: returns on its stack are not looked at while the slot has another one's frames.
func NotScheduler(s *shm.Slot, g uint64) {
	minus := -g
	s.Set(layout.FramesNotG0, minus)
}

// parkedSites calls f for each frame that is in no slot.
func (gs *goroutines) parkedSites(f func(point uint32, site uint64)) {
	if gs == nil {
		return
	}
	gs.each(func(of parkedFrames) {
		for i := range of.frames {
			f(uint32(of.frames[i].word(layout.CapturePoint)), of.frames[i].word(layout.CaptureSite))
		}
	})
}

// parkedReturns is parkedSites of awaited returns.
func (gs *goroutines) parkedReturns(f func(savedReturn)) {
	if gs == nil {
		return
	}
	gs.each(func(of parkedFrames) {
		for _, r := range of.returns {
			f(r)
		}
	})
}

// each calls f for all that are in no slot.
func (gs *goroutines) each(f func(parkedFrames)) {
	for _, of := range gs.parked {
		f(of)
	}
	for _, of := range gs.own {
		f(of)
	}
	f(gs.pool)
}
