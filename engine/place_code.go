package engine

import (
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// arrivals writes, at a block's start, the counting of what begins there: the
// frame of a return that is awaited, then the entry's own count. A block for one
// use continues one that has counted already.
//
// It comes before everything else in the block, so that a window which the arrival opens
// has the block's first instruction in it. Jumps from within the function lead behind it, so
// that what has to be done each time, such as the comparison of code that changes, comes later.
//
// A child in the same memory has code of its own without it. Refused: to give back what the
// child has counted, for which its code would have to count a second time, and which
// comes too late for a threshold that the child reaches while the parent's other
// threads run.
func (u *unit) arrivals(b *block, ins []x86.Insn, changing bool) {
	at := u.p.placeAt[b.app]
	if at == nil || u.limit > 0 || u.v == Aside {
		return
	}
	if changing { // what the instructions do with the flags is not known yet
		ins = nil
	}
	if at.returns != nil {
		u.push1(at.returns)
	}
	if at.entry != nil {
		u.countDown(at.entry, ins)
	}
	b.inner = uint16(u.asm.here() - b.code)
	if at.within != nil {
		u.asm.bytes(0xeb, 0) // over what only jumps from within are counted by
		from := u.asm.pos
		b.inner += 2
		u.countDown(at.within, ins)
		u.asm.buf[from-1] = byte(u.asm.pos - from)
	}
	b.body = uint16(u.asm.here() - b.code)
	b.counts = true
}

// push1 writes the push of a frame (see pushFrame). Dead frames below it stay
// until a return passes them.
//
// The stack of frames wraps around after FrameMax of them: a recursion that deep forgets
// its outermost frames. Flags stay as they are throughout.
func (u *unit) push1(pl *Place) {
	a := &u.asm
	a.store(layout.S0, x86.RCX)
	a.store(layout.S1, x86.RDX)
	a.load(x86.RCX, layout.Top)
	a.leaDisp(x86.RCX, x86.RCX, 1)
	a.bytes(0x0f, 0xb7, 0xc9) // movzx ecx, cx
	a.gsIndexed(rexW, 0x89, x86.RSP, x86.RCX, 8, layout.FrameSP)
	a.get(x86.RDX, x86.RSP, 0)
	a.gsIndexed(rexW, 0x89, x86.RDX, x86.RCX, 8, layout.FrameSite)
	a.bytes(0x66) // mov word gs:[rcx*2+FramePlace], index
	a.gsIndexed(0, 0xc7, 0, x86.RCX, 2, layout.FramePlace)
	a.bytes(byte(pl.index), byte(pl.index>>8))
	a.store(layout.Top, x86.RCX)
	a.mov(x86.RDX, x86.RSP)
	a.bytes(rexW, 0xf7, 0xd2) // not rdx
	a.leaDisp(x86.RDX, x86.RDX, 1)
	a.store(layout.Await, x86.RDX)
	a.load(x86.RDX, layout.S1)
	a.load(x86.RCX, layout.S0)
}

// gsIndexed writes an instruction on reg and gs:[index*scale+off].
func (a *asm) gsIndexed(rex, opcode byte, reg, index x86.Reg, scale uint8, off int) {
	a.bytes(0x65)
	a.mem(nil, rex, []byte{opcode}, byte(reg), operand{base: x86.NoReg, index: index, scale: scale, disp: int64(off)}, 0)
}

// countDown writes the count of an entry. With the flags dead, which they are at
// nearly every function's entry, they need not be saved.
//
// The decrement is locked, since the count is one for all threads; its zero flag tells the
// thread that used the count up, and no other.
func (u *unit) countDown(pl *Place, ins []x86.Insn) {
	a := &u.asm
	dec := func(r x86.Reg) {
		a.load(r, layout.ControlPtr)
		a.bytes(0xf0) // lock dec qword [r+off]
		a.mem(nil, rexW, []byte{0xff}, 1, operand{base: r, index: x86.NoReg, disp: int64(pl.offset())}, 0)
	}
	ask := func(u *unit) {
		u.asm.storeImm(layout.Place, uint32(pl.index))
		u.asm.jmp(u.ar.base + u.ar.rt.entered)
	}
	if u.flagsFree(ins) {
		a.store(layout.S0, x86.RCX)
		dec(x86.RCX)
		a.load(x86.RCX, layout.S0)
		a.bytes(0x0f, 0x84) // jz
		u.cold = append(u.cold, coldStub{a.pos, ask})
		a.u32(0)
		return
	}
	a.store(spillF, x86.RAX)
	a.bytes(0x9f, 0x0f, 0x90, 0xc0) // lahf; seto al
	a.store(spillF+8, x86.RAX)
	dec(x86.RAX)
	back := func(a *asm) {
		a.load(x86.RAX, spillF+8)
		a.bytes(0x04, 0x7f, 0x9e) // add al, 127; sahf
		a.load(x86.RAX, spillF)
	}
	a.bytes(0x0f, 0x84)
	u.cold = append(u.cold, coldStub{a.pos, func(u *unit) { back(&u.asm); ask(u) }})
	a.u32(0)
	back(a)
}

// checkReturn writes, before a return loads its target, the look whether it is
// awaited: whether the stack pointer has reached the innermost frame's. rcx is
// free. The sign comes out of the difference's top byte, which is 0 or 0xff,
// without touching the flags.
//
// A program without awaited returns pays nothing; one with some pays a load, a subtraction
// and a branch that is hardly ever taken at each return.
func (u *unit) checkReturn(in *x86.Insn) {
	if !u.p.awaits || u.v == Aside {
		return
	}
	a := &u.asm
	a.load(x86.RCX, layout.Await)
	a.lea(x86.RCX, operand{x86.RSP, x86.RCX, 1, 0})
	if u.p.hasBMI2 {
		a.bytes(0xc4, 0xe3, 0xfb, 0xf0, 0xc9, 56) // rorx rcx, rcx, 56
		a.bytes(rexW, 0x0f, 0xbe, 0xc9)           // movsx rcx, cl
	} else {
		a.store(layout.S2, x86.RCX)
		a.bytes(0x65, rexW, 0x0f, 0xbe, 0x0c, 0x25) // movsx rcx, byte gs:[S2+7]
		a.u32(layout.S2 + 7)
	}
	a.leaDisp(x86.RCX, x86.RCX, 1)
	a.bytes(0xe3, 5, 0xe9) // jrcxz over the jump
	pop := uint32(8)
	if in.ImmSize > 0 {
		pop += uint32(uint16(in.Imm))
	}
	site := a.pos
	a.u32(0)
	back := a.here()
	u.cold = append(u.cold, coldStub{site, func(u *unit) {
		a := &u.asm
		a.bytes(rexW, 0x8d, 0x0d) // lea rcx, [rip+back]
		a.rel32(back)
		a.store(layout.Back, x86.RCX)
		a.storeImm(layout.Pop, pop)
		if u.p.noFastReturn {
			a.jmp(u.ar.base + u.ar.rt.retAny)
			return
		}
		a.jmp(u.ar.base + u.ar.rt.ret)
	}})
}
