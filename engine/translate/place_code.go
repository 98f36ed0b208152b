package translate

import (
	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// entryCode writes, at a block's start, the counting of what begins there: the
// frame of a return that is awaited, then the entry's own count. A block for one
// use continues one that has counted already.
//
// It comes before everything else in the block, so that a window which the entry opens
// has the block's first instruction in it. Jumps from within the function lead behind it, so
// that what has to be done each time, such as the comparison of code that changes, comes later.
//
// A child in the same memory has code of its own without it. Refused: to give back what the
// child has counted, for which its code would have to count a second time, and which
// comes too late for a threshold that the child reaches while the parent's other
// threads run.
func (u *Translator) entryCode(b *codecache.Block, ins []x86.Insn, changing bool) {
	if u.limit > 0 || u.Variant == codecache.Aside {
		return
	}
	at, ok := u.target.Point(b.App)
	if !ok {
		return
	}
	if changing { // what the instructions do with the flags is not known yet
		ins = nil
	}
	if at.Capture != nil {
		u.captureEntered(at.Capture)
	}
	if at.Returns != nil {
		u.asm.StoreWord(layout.S0, x86.RCX)
		u.turnAtEntry(at.Returns.Goroutine)
		u.push1(at.Returns)
	}
	if at.Entry != nil {
		u.countDown(at.Entry, ins)
	}
	b.Inner = uint16(u.asm.Here() - b.Code)
	if at.Within != nil {
		over := u.asm.JmpShort() // what only jumps from within are counted by
		b.Inner += 2
		u.countDown(at.Within, ins)
		u.asm.Land(over)
	}
	b.Body = uint16(u.asm.Here() - b.Code)
	b.Note(codecache.HasCounts)
}

// push1 writes the push of a frame (see pushFrame). rcx is in S0. Dead frames below it stay
// until a return passes them.
//
// The stack of frames wraps around after FrameMax of them: a recursion that deep forgets
// its outermost frames. Flags stay as they are throughout.
func (u *Translator) push1(pl *Counter) {
	a := &u.asm
	a.StoreWord(layout.S1, x86.RDX)
	a.LoadWord(x86.RCX, layout.Top)
	a.LeaDisp(x86.RCX, x86.RCX, 1)
	a.MovzxHalf(x86.RCX, x86.RCX)
	a.Store(asm.WordBy(layout.FrameSP, x86.RCX, 8), 8, x86.RSP)
	a.Get(x86.RDX, x86.RSP, 0)
	a.Store(asm.WordBy(layout.FrameSite, x86.RCX, 8), 8, x86.RDX)
	a.StoreImm16(asm.WordBy(layout.FramePlace, x86.RCX, 2), uint16(pl.Index))
	a.StoreWord(layout.Top, x86.RCX)
	a.Mov(x86.RDX, x86.RSP)
	a.Not(x86.RDX)
	a.LeaDisp(x86.RDX, x86.RDX, 1)
	word := layout.Await
	if pl.Goroutine {
		word = layout.GoAwait
	}
	a.StoreWord(word, x86.RDX)
	a.LoadWord(x86.RDX, layout.S1)
	a.LoadWord(x86.RCX, layout.S0)
}

// LoadReturn is the instruction by which push1 gets the return address, for who finds that it has faulted.
func LoadReturn() []byte {
	w := asm.New(make([]byte, 16), 0, 0)
	w.Get(x86.RDX, x86.RSP, 0)
	return w.Last(w.Pos())
}

// countDown writes the count of an entry. With the flags dead, which they are at
// nearly every function's entry, they need not be saved.
//
// The decrement is locked, since the count is one for all threads; its zero flag tells the
// thread that used the count up, and no other.
func (u *Translator) countDown(pl *Counter, ins []x86.Insn) {
	a := &u.asm
	dec := func(r x86.Reg) {
		a.LoadWord(r, layout.ControlPtr)
		a.LockDec(asm.At(r, pl.Offset))
	}
	ask := func(u *Translator) {
		u.asm.StoreWordImm(layout.Place, uint32(pl.Index))
		u.asm.Jmp(u.ar.Base + u.ar.Routines.Entered)
	}
	if u.flagsFree(ins) {
		a.StoreWord(layout.S0, x86.RCX)
		dec(x86.RCX)
		a.LoadWord(x86.RCX, layout.S0)
		u.cold = append(u.cold, coldStub{a.JccLater(asm.IfZero), ask})
		return
	}
	a.StoreWord(spillF, x86.RAX)
	a.FlagsToRAX()
	a.StoreWord(spillF+8, x86.RAX)
	dec(x86.RAX)
	back := func(a *asm.Writer) {
		a.LoadWord(x86.RAX, spillF+8)
		a.FlagsFromRAX()
		a.LoadWord(x86.RAX, spillF)
	}
	u.cold = append(u.cold, coldStub{a.JccLater(asm.IfZero), func(u *Translator) { back(&u.asm); ask(u) }})
	back(a)
}

// checkReturn writes, before a return loads its target, the look whether it is
// awaited: whether the stack pointer has reached the innermost frame's. rcx is
// free. The sign comes out of the difference's top byte, which is 0 or 0xff,
// without touching the flags.
//
// A program without awaited returns pays nothing; one with some pays a load, a subtraction
// and a branch that is hardly ever taken at each return.
//
// A return in a Go program's code looks whose frames the slot has first, if any call of a function in Go is awaited or captured.
func (u *Translator) checkReturn(in *x86.Insn) {
	captured := u.target.Captures()
	if u.Variant == codecache.Aside || !u.Awaits && !captured.Returns {
		return
	}
	pop := uint32(8)
	if in.ImmSize > 0 {
		pop += uint32(uint16(in.Imm))
	}
	if inGo(captured.Goroutines, in.Addr) {
		u.checkOfGo(&captured, pop)
	}
	if captured.Stacks {
		otherwise := u.sameStack()
		defer func() { otherwise(u.asm.Here()) }()
	}
	if captured.Returns {
		u.checkReached(&captured, layout.CaptureAwait)
	}
	if !u.Awaits {
		return
	}
	start := u.asm.Here()
	u.asm.LoadWord(x86.RCX, layout.Await)
	u.reached(func(u *Translator, back uint64) {
		if len(captured.Goroutines) == 0 && !captured.Stacks {
			u.suspectReturn(start)
		}
		if len(captured.Goroutines) > 0 { // the slot may have a goroutine's frames, whose C code returns
			a := &u.asm
			a.LoadWord(x86.RCX, layout.FramesNotG)
			a.LeaDisp(x86.RCX, x86.RCX, layout.OwnStack)
			other := a.JnrcxzLater()
			ready := a.Here()
			u.cold = append(u.cold, coldStub{other, func(u *Translator) { u.dispatchCapture(layout.ReqOwn, ready, 0, false) }})
		}
		u.returnReached(back, pop)
	})
}

// returnReached goes to what counts a return that has reached an awaited frame, and takes pop bytes off the stack. rcx is free.
func (u *Translator) returnReached(back uint64, pop uint32) {
	a := &u.asm
	a.LeaCode(x86.RCX, back)
	a.StoreWord(layout.Back, x86.RCX)
	a.StoreWordImm(layout.Pop, pop)
	if u.NoFastReturn {
		a.Jmp(u.ar.Base + u.ar.Routines.RetAny)
		return
	}
	a.Jmp(u.ar.Base + u.ar.Routines.Ret)
}
