package engine

import (
	"alleria/engine/asm"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// Captures in the code cache.

// captureEntered writes, at a block's start, the capture of a function that is entered there.
func (u *unit) captureEntered(c *capturePoint) {
	a := &u.asm
	site := a.JmpLater()
	back := a.Here()
	u.cold = append(u.cold, coldStub{site, func(u *unit) {
		u.asm.StoreWordImm(layout.CaptureAsked, c.number)
		u.asm.StoreWord(layout.S0, x86.RCX)
		u.askCaptured(layout.ReqCapture, back, c.needs.entry, false)
	}})
}

// askCaptured writes the request of a capture. rcx is free, its value is in S0. What the routine does not save
// itself is put where the tracer looks for it.
func (u *unit) askCaptured(req uint32, back uint64, vectors uint32, x87 bool) {
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
		case u.p.hasAVX512:
			a.EvexStore(m, v, 64)
		case u.p.hasAVX:
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
	u.ask(req)
}

// checkCaptured writes, before a return loads its target, the look whether a captured call ends with it: as
// checkReturn, by a stack pointer of its own.
func (u *unit) checkCaptured() {
	if !u.p.captures.returns || u.v == Aside {
		return
	}
	a := &u.asm
	a.LoadWord(x86.RCX, layout.CaptureAwait)
	u.reached(func(u *unit, back uint64) {
		u.asm.LoadWord(x86.RCX, layout.S0)
		needs := u.p.captures.needs // who returns is not known here
		u.askCaptured(layout.ReqLeft, back, needs.exit, needs.x87)
	})
}

// reached goes to what then writes, if the stack pointer plus rcx is not negative. rcx is free.
func (u *unit) reached(then func(u *unit, back uint64)) {
	a := &u.asm
	a.Lea(x86.RCX, asm.Sum(x86.RSP, x86.RCX, 1, 0))
	if u.p.hasBMI2 {
		a.Rorx(x86.RCX, x86.RCX, 56)
		a.SignExtend(x86.RCX, x86.RCX, 1)
	} else {
		a.StoreWord(layout.S2, x86.RCX)
		a.MovsxByteWord(x86.RCX, layout.S2+7)
	}
	a.LeaDisp(x86.RCX, x86.RCX, 1)
	site := a.JnrcxzLater()
	back := a.Here()
	u.cold = append(u.cold, coldStub{site, func(u *unit) { then(u, back) }})
}
