package translate

import (
	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// Captures in the code cache.

// captureEntered writes, at a block's start, the capture of a function that is entered there.
func (u *Translator) captureEntered(c *CapturedEntry) {
	a := &u.asm
	site := a.JmpLater()
	back := a.Here()
	u.cold = append(u.cold, coldStub{site, func(u *Translator) {
		u.asm.StoreWordImm(layout.CaptureAsked, c.Number)
		u.asm.StoreWord(layout.S0, x86.RCX)
		u.askCaptured(layout.ReqCapture, back, c.Vectors, false)
	}})
}

// askCaptured writes the request of a capture. rcx is free, its value is in S0. What the routine does not save
// itself is put where the tracer looks for it.
func (u *Translator) askCaptured(req uint32, back uint64, vectors uint32, x87 bool) {
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
	u.ask(req)
}

// checkCaptured writes, before a return loads its target, the look whether a captured call ends with it: as
// checkReturn, by a stack pointer of its own.
func (u *Translator) checkCaptured() {
	returns, needs := u.target.Captures() // who returns is not known here
	if !returns || u.Variant == codecache.Aside {
		return
	}
	a := &u.asm
	a.LoadWord(x86.RCX, layout.CaptureAwait)
	u.reached(func(u *Translator, back uint64) {
		u.asm.LoadWord(x86.RCX, layout.S0)
		u.askCaptured(layout.ReqLeft, back, needs.Exit, needs.X87)
	})
}

// reached goes to what then writes, if the stack pointer plus rcx is not negative. rcx is free.
func (u *Translator) reached(then func(u *Translator, back uint64)) {
	a := &u.asm
	a.Lea(x86.RCX, asm.Sum(x86.RSP, x86.RCX, 1, 0))
	if u.HasBMI2 {
		a.Rorx(x86.RCX, x86.RCX, 56)
		a.SignExtend(x86.RCX, x86.RCX, 1)
	} else {
		a.StoreWord(layout.S2, x86.RCX)
		a.MovsxByteWord(x86.RCX, layout.S2+7)
	}
	a.LeaDisp(x86.RCX, x86.RCX, 1)
	site := a.JnrcxzLater()
	back := a.Here()
	u.cold = append(u.cold, coldStub{site, func(u *Translator) { then(u, back) }})
}
