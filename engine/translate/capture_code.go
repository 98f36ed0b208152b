package translate

import (
	"slices"

	"alleria/engine/asm"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// Captures by code. A function's own code (capture_body.go) is written once, and the same in the cache and natively. What leads
// there is a few instructions: in the cache at the block that the function begins with and in front of each return that
// has reached a frame, natively in the code of a jump (capture_native.go). They say where to go on, and where to go instead if the tracer has
// to capture: what code cannot do, memory that cannot be read. Nothing has happened then.

// captureEntered writes, at a block's start, the capture of a function that is entered there.
func (u *Translator) captureEntered(c *CapturedEntry) {
	a := &u.asm
	if c.Code == 0 {
		site := a.JmpLater()
		back := a.Here()
		u.askEntered(c, site, back)
		return
	}
	a.StoreWord(layout.CaptureSpill, x86.RAX)
	a.StoreWord(layout.CaptureSpill+8, x86.RCX)
	ask := a.LeaCode(x86.RCX, a.Here())
	a.StoreWord(layout.CaptureAskAt, x86.RCX)
	next := a.LeaCode(x86.RCX, a.Here())
	a.StoreWord(layout.CaptureBack, x86.RCX)
	a.StoreWordImm(layout.CaptureNative, 0)
	u.jmpFar(c.Code)
	a.Link(next, a.Here())
	c.Saves(a)
	u.askEntered(c, ask, a.Here())
}

// jmpFar goes to code that may lie in another region.
func (u *Translator) jmpFar(target uint64) {
	if u.ar.Contains(target) {
		u.asm.Jmp(target)
		return
	}
	u.asm.JmpLiteral(target)
}

// askEntered is where a thread goes from site to have an entry captured by the tracer; it goes on at back.
func (u *Translator) askEntered(c *CapturedEntry, site asm.Site, back uint64) {
	u.cold = append(u.cold, coldStub{site, func(u *Translator) {
		u.asm.StoreWordImm(layout.CaptureAsked, c.Number)
		u.asm.StoreWord(layout.S0, x86.RCX)
		u.dispatchCapture(layout.ReqCapture, back, c.Vectors, false)
	}})
}

// dispatchCapture writes the dispatch of a capture. rcx is free, its value is in S0. What the routine does not save
// itself is put where the tracer looks for it.
func (u *Translator) dispatchCapture(req uint32, back uint64, vectors uint32, x87 bool) {
	a := &u.asm
	for _, r := range []x86.Reg{x86.RBX, x86.RBP, x86.R12, x86.R13, x86.R14, x86.R15} {
		a.StoreWord(layout.Save+8*int(r), r)
	}
	for v := range uint8(16) {
		if vectors>>v&1 == 0 {
			continue
		}
		m := asm.Word(layout.CaptureVec + 64*int(v))
		switch {
		case u.HasAVX512:
			a.EvexStore(m, v, 64)
		case u.HasAVX:
			a.AvxStore(m, v, 32)
		default:
			a.SseStore(m, v, false)
		}
	}
	if x87 {
		a.Fxsave64(asm.Word(layout.FXSave))
	}
	a.LeaCode(x86.RCX, back)
	a.StoreWord(layout.CaptureBack, x86.RCX)
	a.LoadWord(x86.RCX, layout.S0)
	u.dispatch(req)
}

// inGo tells whether an address is in code whose returns look for goroutines.
func inGo(code []CodeRange, addr uint64) bool {
	return slices.ContainsFunc(code, func(r CodeRange) bool { return addr >= r.Start && addr < r.End })
}

// sameGoroutine writes the look whether the thread's slot has the frames of the goroutine in r14, and where its stack is now. The tracer is asked if not: once for each time that a
// goroutine comes to a thread, and for the runtime's assembly without a goroutine in r14. It turns the slot's frames, and the thread goes on behind the look, or, where it finds no
// goroutine, at what the returned function says of an address. rcx is free.
func (u *Translator) sameGoroutine() (otherwise func(behind uint64)) {
	a := &u.asm
	a.LoadWord(x86.RCX, layout.FramesNotG)
	a.Lea(x86.RCX, asm.Sum(x86.R14, x86.RCX, 1, 0))
	other := a.JnrcxzLater()
	a.StoreWord(layout.CaptureSpill, x86.RAX)
	a.Get(x86.RAX, x86.R14, layout.GoStackEnd)
	a.LoadWord(x86.RCX, layout.FramesNotHi)
	a.Lea(x86.RCX, asm.Sum(x86.RAX, x86.RCX, 1, 0))
	a.LoadWord(x86.RAX, layout.CaptureSpill)
	moved := a.JnrcxzLater()
	back := a.Here()
	return func(behind uint64) {
		ask := askFrames(layout.ReqTurn, back, behind)
		u.cold = append(u.cold, coldStub{other, func(u *Translator) {
			// On the scheduler's own stack, which the runtime goes to all the time, nothing is looked at unless it has frames.
			a := &u.asm
			a.LoadWord(x86.RCX, layout.FramesNotG0)
			a.Lea(x86.RCX, asm.Sum(x86.R14, x86.RCX, 1, 0))
			site := a.JnrcxzLater()
			a.Jmp(behind)
			a.Link(site, a.Here())
			ask(u)
		}}, coldStub{moved, ask})
	}
}

// askFrames is what asks for other frames in the slot. The thread goes on at back, or at other where the tracer's answer says so.
func askFrames(req uint32, back, other uint64) func(u *Translator) {
	return func(u *Translator) {
		u.asm.LeaCode(x86.RCX, other)
		u.asm.StoreWord(layout.CaptureAskAt, x86.RCX)
		u.dispatchCapture(req, back, 0, false)
	}
}

// belowZero makes rcx, a difference of addresses, -1 if it is negative and 0 if not, without a flag: its top byte tells.
func (u *Translator) belowZero() {
	a := &u.asm
	if u.HasBMI2 {
		a.Rorx(x86.RCX, x86.RCX, 56)
		a.SignExtend(x86.RCX, x86.RCX, 1)
		return
	}
	a.StoreWord(layout.S2, x86.RCX)
	a.MovsxByteWord(x86.RCX, layout.S2+7)
}

// sameStack is sameGoroutine for programs that have several stacks a thread: it looks whether the stack pointer is on the stack that the slot has the frames of.
func (u *Translator) sameStack() (otherwise func(behind uint64)) {
	a := &u.asm
	a.LoadWord(x86.RCX, layout.FramesNotLo)
	a.Lea(x86.RCX, asm.Sum(x86.RSP, x86.RCX, 1, 0))
	u.belowZero()
	below := a.JnrcxzLater()
	a.LoadWord(x86.RCX, layout.FramesNotHi)
	a.Lea(x86.RCX, asm.Sum(x86.RSP, x86.RCX, 1, 0))
	u.belowZero()
	a.LeaDisp(x86.RCX, x86.RCX, 1)
	above := a.JnrcxzLater()
	back := a.Here()
	return func(behind uint64) {
		ask := askFrames(layout.ReqTurn, back, behind)
		u.cold = append(u.cold, coldStub{below, ask}, coldStub{above, ask})
	}
}

// suspectReturn asks, where a return has passed the innermost awaited frame and not reached it, whether that is of another stack, unless both are known to lie on one; if it is
// the thread goes on at start, with others. rcx is free.
func (u *Translator) suspectReturn(start uint64) {
	a := &u.asm
	a.LoadWord(x86.RCX, layout.Await)
	a.Lea(x86.RCX, asm.Sum(x86.RSP, x86.RCX, 1, 0))
	passed := a.JnrcxzLater()
	ready := a.Here()
	u.cold = append(u.cold, coldStub{passed, func(u *Translator) {
		a := &u.asm
		a.StoreWord(layout.CaptureSpill, x86.RAX)
		a.LoadWord(x86.RAX, layout.Await)
		a.Not(x86.RAX)
		a.LeaDisp(x86.RAX, x86.RAX, 1)
		a.LoadWord(x86.RCX, layout.FramesNotLo)
		a.Lea(x86.RCX, asm.Sum(x86.RAX, x86.RCX, 1, 0))
		a.LoadWord(x86.RAX, layout.CaptureSpill)
		u.belowZero()
		below := a.JnrcxzLater()
		a.LoadWord(x86.RCX, layout.FramesNotHi)
		a.Lea(x86.RCX, asm.Sum(x86.RSP, x86.RCX, 1, 0))
		u.belowZero()
		a.LeaDisp(x86.RCX, x86.RCX, 1)
		above := a.JnrcxzLater()
		a.Jmp(ready)
		a.Link(below, a.Here())
		a.Link(above, a.Here())
		askFrames(layout.ReqSuspect, ready, start)(u)
	}})
}

// turnAtEntry writes, where a function is entered whose return is awaited, the look whether the slot has the frames of the stack on which it is. rcx is free.
func (u *Translator) turnAtEntry(goroutine bool) {
	a := &u.asm
	captured := u.target.Captures()
	if captured.Stacks {
		otherwise := u.sameStack()
		otherwise(a.Here())
		return
	}
	if len(captured.Goroutines) == 0 {
		return
	}
	own := func(u *Translator, back uint64) { u.dispatchCapture(layout.ReqOwn, back, 0, false) }
	if !goroutine {
		a.LoadWord(x86.RCX, layout.FramesNotG)
		a.LeaDisp(x86.RCX, x86.RCX, layout.OwnStack)
		other := a.JnrcxzLater()
		back := a.Here()
		u.cold = append(u.cold, coldStub{other, func(u *Translator) { own(u, back) }})
		return
	}
	otherwise := u.sameGoroutine()
	a.LoadWord(x86.RCX, layout.FramesNotHi)
	u.reached(own) // C code has the goroutine's registers still
	otherwise(a.Here())
}

// checkOfGo writes, at a return in a Go program's code, the looks whether what ends with it is a goroutine's.
func (u *Translator) checkOfGo(captured *Captures, pop uint32) {
	otherwise := u.sameGoroutine()
	if captured.Returns {
		u.checkReached(captured, layout.CaptureGoAwait)
	}
	if u.Awaits {
		u.asm.LoadWord(x86.RCX, layout.GoAwait)
		u.reached(func(u *Translator, back uint64) {
			a := &u.asm
			a.LoadWord(x86.RCX, layout.FramesNotHi) // see turnAtEntry
			a.Lea(x86.RCX, asm.Sum(x86.RSP, x86.RCX, 1, 0))
			u.belowZero()
			a.LeaDisp(x86.RCX, x86.RCX, 1)
			elsewhere := a.JnrcxzLater()
			u.returnReached(back, pop)
			a.Link(elsewhere, a.Here())
			a.Jmp(back)
		})
	}
	otherwise(u.asm.Here())
}

// checkReached writes the look whether a captured call ends whose stack pointer, negated, is in a word.
func (u *Translator) checkReached(captured *Captures, word int) {
	u.asm.LoadWord(x86.RCX, word)
	u.reached(func(u *Translator, back uint64) {
		a := &u.asm
		if captured.ByCode {
			a.StoreWord(layout.CaptureSpill, x86.RAX)
			a.LoadWord(x86.RAX, layout.S0)
			a.StoreWord(layout.CaptureSpill+8, x86.RAX)
			ask := a.LeaCode(x86.RAX, a.Here())
			a.StoreWord(layout.CaptureAskAt, x86.RAX)
			a.LeaCode(x86.RAX, back)
			a.StoreWord(layout.CaptureBack, x86.RAX)
			a.StoreWord(layout.CaptureLeftSP, x86.RSP)
			a.Get(x86.RAX, x86.RSP, 0)
			a.StoreWord(layout.CaptureLeftTo, x86.RAX)
			a.Jmp(u.ar.Base + u.ar.Routines.Capture.Left)
			a.Link(ask, a.Here())
		}
		needs := &captured.Needs // who returns is not known here
		u.dispatchCapture(layout.ReqLeft, back, needs.Exit, needs.X87)
	})
}

// reached goes to what then writes, if the stack pointer plus rcx is not negative. rcx is free.
func (u *Translator) reached(then func(u *Translator, back uint64)) {
	a := &u.asm
	a.Lea(x86.RCX, asm.Sum(x86.RSP, x86.RCX, 1, 0))
	if u.HasBMI2 {
		a.Rorx(x86.RCX, x86.RCX, 56)
		a.SignExtend(x86.RCX, x86.RCX, 1)
	}
	a.LeaDisp(x86.RCX, x86.RCX, 1)
	site := a.JnrcxzLater()
	back := a.Here()
	u.cold = append(u.cold, coldStub{site, func(u *Translator) { then(u, back) }})
}
