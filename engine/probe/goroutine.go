package probe

import (
	"encoding/binary"
	"slices"

	"alleria/engine/shm"
	"alleria/engine/translate"
	"alleria/internal/layout"
)

// Frames of goroutines. A goroutine's stack is none of the thread's: another goroutine runs on the thread while it waits, it goes on in another thread, and its stack is
// copied elsewhere when it grows or shrinks. So a thread's slot has the frames of one goroutine at a time, or of the thread's own stack, and says which (layout.CaptureG).
// A function in Go is entered with its goroutine in r14, and returns with it. Where code finds another one there than the slot has, or finds that its stack
// ends elsewhere, it asks; the tracer puts the right frames into the slot, from where they were last, with stack pointers as they are now. So a call costs as much as
// any other, and a goroutine that comes to a thread one question.
//
// The frames of a goroutine are in the slot of the thread that it was on last, or parked here. They are taken out of the slot of a thread that runs: its code looks at frames
// only if its goroutine is the slot's, and that one is here.
//
// Refused: frames in a table by goroutine and depth, which code would search at each call, and which would have to say which of them are dead.

// Of a goroutine (runtime.g): where its stack begins and ends, and its thread (runtime.m), which begins with the goroutine of the scheduler.
const (
	goStackStart = 0
	goStackEnd   = 8
	goThread     = 48
)

// goroutines says where frames are that are in no slot now, and which slots have a goroutine's.
type goroutines struct {
	parked map[uint64]parkedFrames    // by goroutine
	own    map[*shm.Slot]parkedFrames // of a thread's own stack, while its slot has others
	in     map[uint64]*shm.Slot       // by goroutine; the slot may have others by now
}

// parkedFrames are frames, from the outermost, of a stack that ended at hi.
type parkedFrames struct {
	hi     uint64
	frames []savedFrame
}

type savedFrame [layout.CaptureFrame]byte

func (f *savedFrame) word(off int) uint64 { return binary.LittleEndian.Uint64(f[off:]) }

// OfGoroutine tells whether a function's calls belong to goroutines.
func (c *Interception) OfGoroutine(p *Points) bool {
	return p.captures.goroutines != nil && c.Prog.Goroutine
}

// Goroutines tells whether some function's calls do.
func (p *Points) Goroutines() bool { return p.captures.goroutines != nil }

// followGoroutines has calls of functions in Go belong to goroutines from now on. It tells whether they did not.
func (p *Points) followGoroutines() bool {
	if p.captures.goroutines != nil || p.off.OneStack {
		return false
	}
	p.captures.goroutines = &goroutines{parked: make(map[uint64]parkedFrames), own: make(map[*shm.Slot]parkedFrames), in: make(map[uint64]*shm.Slot)}
	return true
}

// goCode notes that c's program has code whose returns look for goroutines. It tells whether it was not known.
func (p *Points) goCode(c *Interception) bool {
	if !c.OfGoroutine(p) {
		return false
	}
	known := func(r translate.CodeRange) bool { return c.Entry >= r.Start && c.Entry < r.End }
	if slices.ContainsFunc(p.captures.goCode, known) {
		return false
	}
	m := p.code.Mapping(c.Entry)
	p.captures.goCode = append(p.captures.goCode, translate.CodeRange{Start: m.Start, End: m.End})
	return true
}

// goSite notes whose return site an address is.
func (cs *captures) goSite(c *Interception, site uint64) {
	if cs.goroutines == nil || c == nil || !c.Prog.Goroutine || cs.goSites[site] {
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
func FramesOf(s *shm.Slot) (g, hi uint64) { return s.Get(layout.CaptureG), s.Get(layout.CaptureHi) }

// TurnTo puts the frames of a goroutine whose stack ends at hi into a slot, or those of the thread's own stack (layout.OwnStack). The thread waits or is stopped.
// It tells whether that was something else than before.
func (p *Points) TurnTo(s *shm.Slot, g, hi uint64) bool {
	gs := p.captures.goroutines
	was, ended := FramesOf(s)
	if gs == nil || was == g && ended == hi {
		return false
	}
	old := parkedFrames{ended, takeFrames(s)}
	if was == g { // its stack has moved
		setFrames(s, g, hi, old)
		gs.awaitOwn(s)
		return true
	}
	switch {
	case was == layout.OwnStack:
		gs.own[s] = old
	case was != layout.NoStack && len(old.frames) > 0:
		gs.parked[was] = old
		fallthrough
	default:
		delete(gs.in, was)
	}
	if g == layout.OwnStack {
		setFrames(s, g, hi, gs.own[s])
		delete(gs.own, s)
		return true
	}
	now := gs.parked[g]
	delete(gs.parked, g)
	if from := gs.in[g]; from != nil && from != s {
		if at, end := FramesOf(from); at == g {
			now = parkedFrames{end, takeFrames(from)}
			setFrames(from, layout.NoStack, 0, parkedFrames{})
			gs.awaitOwn(from)
		}
	}
	gs.in[g] = s
	setFrames(s, g, hi, now)
	gs.awaitOwn(s)
	return true
}

// awaitOwn has returns look for the thread's own frames while its slot has others: C code may have called into Go.
func (gs *goroutines) awaitOwn(s *shm.Slot) {
	if sp, ok := gs.reachedBy(s); ok {
		s.Set(layout.CaptureAwait, -sp)
	}
}

// reachedBy is where the innermost of a thread's own frames is returned to, while its slot has others; false: there is none.
func (gs *goroutines) reachedBy(s *shm.Slot) (sp uint64, ok bool) {
	own := gs.own[s].frames
	if len(own) == 0 {
		return 0, false
	}
	return own[len(own)-1].word(layout.CaptureSP), true
}

// OwnReached tells whether a return whose address lies at rsp has reached a frame of the thread's own stack, while its slot has others.
func (p *Points) OwnReached(s *shm.Slot, rsp uint64) bool {
	sp, ok := p.captures.goroutines.reachedBy(s)
	return ok && rsp >= sp
}

// takeFrames takes a slot's frames off.
func takeFrames(s *shm.Slot) []savedFrame {
	var all []savedFrame
	eachCapture(s, func(f Frame) { all = append(all, savedFrame(s.Mem[f.off:f.off+layout.CaptureFrame])) })
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
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
}

// setFrames puts frames into a slot that has none, and says whose they are.
func setFrames(s *shm.Slot, g, hi uint64, of parkedFrames) {
	minus := func(v uint64) uint64 { return -v }
	s.Set(layout.CaptureG, g)
	s.Set(layout.CaptureNotG, minus(g))
	s.Set(layout.CaptureHi, hi)
	s.Set(layout.CaptureNotHi, minus(hi))
	for i := range of.frames {
		f := &of.frames[i]
		PushFrame(s, f, f.word(layout.CaptureSP)+hi-of.hi)
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
	s.Set(layout.CaptureNotG0, minus)
}

// parkedSites calls f for each frame that is in no slot.
func (gs *goroutines) parkedSites(f func(point uint32, site uint64)) {
	if gs == nil {
		return
	}
	each := func(of parkedFrames) {
		for i := range of.frames {
			f(uint32(of.frames[i].word(layout.CapturePoint)), of.frames[i].word(layout.CaptureSite))
		}
	}
	for _, of := range gs.parked {
		each(of)
	}
	for _, of := range gs.own {
		each(of)
	}
}
