package engine

import (
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// branch writes the block's branch. next is the application address that the
// code goes on with contiguously, 0 if none.
//
// The application's flags, registers and stack are at the target what the branch leaves,
// and the return address that a call pushes is the application's own: unwinders, and
// programs that read it, find what they expect.
func (u *unit) branch(b *block, in *x86.Insn) (next uint64) {
	b.term = termDirect
	switch {
	// The first two are of the categories of branches too.
	case in.Mnem == x86.MXBEGIN: // as if the transaction aborted at once
		u.asm.movImm(x86.RAX, 0)
		return u.direct(in)
	case in.Mnem == x86.MXABORT: // nothing outside a transaction
		return in.Next()
	case in.Cat == x86.CatCONDBR:
		u.cond(in)
		return in.Next()
	case in.Cat == x86.CatSYSCALL:
		b.term = termSyscall
		u.syscall(b, in)
		return in.Next()
	case in.Cat == x86.CatRET:
		b.term = termIndirect
		u.ret(in)
		return 0
	case in.Opcode == 0xe8:
		target := in.Target() // the instruction is overwritten before the closure runs
		return u.call(in, func(u *unit) { u.jumpTo(target, fresh) })
	case in.Opcode == 0xff:
		b.term = termIndirect
		return u.indirect(b, in)
	}
	return u.direct(in)
}

// direct goes on with a branch's target: contiguously, if it has no translation yet and
// belongs in this area.
// Following a jump saves executing it and makes two blocks one stretch of memory.
func (u *unit) direct(in *x86.Insn) (next uint64) {
	target := in.Target()
	how := u.p.arrivalFrom(in.Addr, target)
	if how == fresh && u.p.blockOf(target, u.v) == nil && u.p.areaFor(target) == u.ar && !u.p.noFollow {
		return target
	}
	u.jumpTo(target, how)
	return 0
}

// jumpTo writes a jump to the translation of target, by way of an exit if there
// is none yet or it is too far.
// A jump that can be patched later is written with its displacement in one cache
// line. A block that is used once asks in any case.
func (u *unit) jumpTo(target uint64, how arrival) {
	if u.limit > 0 {
		u.asm.bytes(0xe9)
		u.askSpent(target, how)
		return
	}
	if b := u.linkable(target); b != nil {
		u.asm.jmp(b.at(how))
		return
	}
	u.asm.alignRel32(1)
	u.asm.bytes(0xe9)
	u.exit(target, how)
}

// linkable returns target's block if a displacement reaches it.
// A watched address is never linked: the tracer is asked each time.
func (u *unit) linkable(target uint64) *block {
	if b := u.p.blockOf(target, u.v); b != nil && u.ar.contains(b.code) && !u.p.notify[target] {
		return b
	}
	return nil
}

// exit writes the displacement of a branch to target and its cold stub, which
// asks the tracer for the translation.
//
// The branch leads to the stub until it is linked, so that nothing has to be patched for
// one that is never taken.
func (u *unit) exit(target uint64, how arrival) {
	n := u.p.newExit(exit{site: u.asm.here(), target: target, area: u.ar, v: u.v, how: how})
	u.asks = append(u.asks, askStub{u.asm.pos, uint32(n) + 1})
	u.asm.u32(0)
}

// askSpent writes the displacement of a branch out of a block that is used once. It has used
// a budget up: the client is asked before anything counts the arrival at the target.
func (u *unit) askSpent(target uint64, how arrival) {
	u.coldAsk(u.p.newExit(exit{target: target, area: u.ar, v: u.v, fixed: true, spent: true, how: how}), nil)
}

// ask writes the request for an exit.
// It leaves no register changed but rip: the routine saves them all.
func (u *unit) ask(req uint32) {
	u.asm.storeImm(layout.Ask, req)
	u.asm.jmp(u.ar.base + u.ar.rt.request)
}

// cond writes a conditional branch; the fall-through follows.
//
// The condition is the instruction's own, in the four low bits of its opcode: nothing of
// the flags is decoded.
func (u *unit) cond(in *x86.Insn) {
	target := in.Target()
	how := u.p.arrivalFrom(in.Addr, target)
	switch in.Mnem {
	case x86.MLOOP, x86.MLOOPE, x86.MLOOPNE, x86.MJRCXZ, x86.MJECXZ:
		u.shortCond(in, target, how)
		return
	}
	cc := in.Opcode & 0xf
	if u.limit > 0 {
		u.asm.bytes(0x0f, 0x80|cc)
		u.askSpent(target, how)
		return
	}
	if b := u.linkable(target); b != nil {
		u.asm.bytes(0x0f, 0x80|cc)
		u.asm.rel32(b.at(how))
		return
	}
	u.asm.alignRel32(2)
	u.asm.bytes(0x0f, 0x80|cc)
	u.exit(target, how)
}

// shortCond writes a branch that exists with an 8-bit displacement only: over a
// jump past the one to its target.
// The counting of rcx and the prefix for ecx stay the instruction's own.
func (u *unit) shortCond(in *x86.Insn, target uint64, how arrival) {
	code := u.p.insBytes(in)
	u.asm.bytes(code[:len(code)-1]...)
	u.asm.bytes(2)       // taken: over the next jump
	u.asm.bytes(0xeb, 0) // not taken: over the jump to the target; patched below
	skip := u.asm.pos - 1
	u.jumpTo(target, how)
	u.asm.buf[skip] = byte(u.asm.pos - skip - 1)
}

// call writes a call so that the processor's return predictor learns of it: a
// real call, whose return address in the cache is the head of the
// application's, to a place that puts the application's own return address
// in the slot and goes on with then. The code behind the call follows.
// then writes what goes on to the callee. Without prediction there is only a push:
// a real call would push a cache address, which the application must not see.
func (u *unit) call(in *x86.Insn, then func(*unit)) (next uint64) {
	ret := in.Next()
	u.headFor = ret
	if !u.p.predict || u.limit > 0 {
		u.push(ret)
		then(u)
		return ret
	}
	u.asm.bytes(0xe8)
	u.warm = append(u.warm, coldStub{u.asm.pos, func(u *unit) {
		u.asm.leaDisp(x86.RSP, x86.RSP, 8)
		u.push(ret)
		then(u)
	}})
	u.asm.u32(0)
	return ret
}

// push writes the push of an application return address.
// A push of a constant is sign-extended from 32 bits; others come from a literal.
func (u *unit) push(ret uint64) {
	if ret < 1<<31 {
		u.asm.bytes(0x68)
		u.asm.u32(uint32(ret))
		return
	}
	u.asm.bytes(0xff, 0x35)
	u.lits = append(u.lits, literal{u.asm.pos, ret})
	u.asm.u32(0)
}

// ret writes a return: the target from the stack into rcx, then the look-up.
// A fault of the load is the ret's own: the stack pointer has not moved.
func (u *unit) ret(in *x86.Insn) {
	a := &u.asm
	a.store(layout.S0, x86.RCX)
	u.checkReturn(in)
	a.get(x86.RCX, x86.RSP, 0)
	u.retLookUp(in)
}

// retLookUp goes on to the translation of the return address in rcx. It is put
// into the slot that the return frees, so that a real ret, which the processor
// predicts by the calls it has seen, gets there.
//
// rsp moves before the look-up, by lea, which changes no flags; with prediction the slot that
// it leaves behind holds a cache address for a moment, below the stack pointer, where the
// red zone of a function that has returned is nobody's.
func (u *unit) retLookUp(in *x86.Insn) {
	a := &u.asm
	pop := uint16(0)
	if in.ImmSize > 0 {
		pop = uint16(in.Imm)
	}
	if !u.p.predict || u.limit > 0 {
		a.leaDisp(x86.RSP, x86.RSP, 8+int64(pop))
		u.lookUp()
		return
	}
	a.store(layout.S1, x86.RDX)
	a.bytes(0x0f, 0xb7, 0xd1)             // movzx edx, cx
	a.bytes(0x65, 0x48, 0x8b, 0x14, 0xd5) // mov rdx, gs:[rdx*8+table]
	a.u32(tableOff(u.v))
	a.put(x86.RSP, 0, x86.RDX)
	if pop == 0 {
		a.bytes(0xc3)
	} else {
		a.bytes(0xc2, byte(pop), byte(pop>>8))
	}
}

// indirect writes an indirect jump or call.
func (u *unit) indirect(b *block, in *x86.Insn) (next uint64) {
	a := &u.asm
	a.store(layout.S0, x86.RCX)
	last := len(u.pos) - 1
	u.pos[last].exec = uint16(a.here() - b.code)
	u.loadTarget(in)
	if in.Cat == x86.CatCALL {
		return u.call(in, (*unit).lookUp)
	}
	u.lookUpFrom(in)
	return 0
}

// loadTarget writes the load of an indirect branch's target into rcx.
//
// It may fault: that is the branch's own fault, at exec, and rcx is then still in S0.
func (u *unit) loadTarget(in *x86.Insn) {
	if in.NMem == 0 || in.ModRM>>6 == 3 {
		r := x86.Reg(in.ModRM&7) | x86.Reg(in.Rex&1)<<3
		if r != x86.RCX {
			u.asm.mov(x86.RCX, r)
		}
		return
	}
	m := &in.Mems[0]
	var prefix []byte
	if m.Seg == x86.SegFS {
		prefix = append(prefix, 0x64)
	}
	if in.AddrBits == 32 {
		prefix = append(prefix, 0x67)
	}
	op := operand{m.Base, m.Index, m.Scale, m.Disp}
	if m.Base == x86.RIP {
		addr := u.ripTarget(in)
		op.disp = int64(addr)
		if addr >= 1<<31 && !u.ar.near(addr) {
			u.asm.movImm(x86.RCX, addr)
			op = operand{x86.RCX, x86.NoReg, 0, 0}
		}
	}
	u.asm.mem(prefix, rexW, []byte{0x8b}, byte(x86.RCX), op, 0)
}

// lookUp writes the look-up of the application address in rcx, whose own value
// is in S0: the table's entry for its low 16 bits leads to a head (see
// Process.head), which verifies it.
// rcx and rdx go to words of their own, which the head or the miss routine takes
// back. A block that is used once asks, as at a miss: see askSpent.
func (u *unit) lookUp() {
	a := &u.asm
	a.store(layout.S1, x86.RDX)
	if u.limit > 0 {
		a.jmp(u.ar.base + u.ar.rt.indirect)
		return
	}
	a.bytes(0x0f, 0xb7, 0xd1) // movzx edx, cx
	a.jmpTable(u.v)
}

// head makes the place where indirect branches to app arrive and enters it in
// the table's slot; app's code is to follow. It is false if app is a notify
// point: then the head asks the tracer.
//
// Heads of one slot form a chain, the newest first, the miss routine at its end. A chain
// never loses a link while threads run: that is what lets them walk it without a lock.
func (u *unit) head(app uint64) bool {
	p, v := u.p, u.v
	s := slotOf(app)
	next := p.slotHeads[v][s]
	if next == 0 {
		next = p.tableMiss()
	}
	h := u.asm.here()
	u.compare(app, next)
	u.noteNewHead()
	if b := p.blockOf(app, v); b != nil {
		b.headed = true
	} else {
		u.newHead = app // its block is most likely the next
	}
	p.slotHeads[v][s] = h
	u.heads = append(u.heads, app)
	if p.notify[app] {
		n := p.newExit(exit{target: app, area: u.ar, v: v, fixed: true})
		u.ask(uint32(n) + 1)
		return false
	}
	return true
}

// compare writes a head: it compares rcx with app, without flags, and goes on
// to what follows, with rcx and rdx as they were, or to the head before it in
// the table's slot.
//
// The refused alternative compares at the branch: a tag load and a third
// register more on each branch.
//
// rcx minus the address is zero for a hit, which jrcxz finds without flags; on a miss the
// same is added again. Small addresses fit a displacement, others take rdx.
func (u *unit) compare(app, next uint64) {
	a := &u.asm
	if app < 1<<31 {
		a.leaDispLong(x86.RCX, x86.RCX, -int32(app))
		a.bytes(0xe3, 7+5) // jrcxz over the miss
		a.leaDispLong(x86.RCX, x86.RCX, int32(app))
	} else {
		a.bytes(rexW, 0xba) // mov rdx, -app
		a.u64(-app)
		a.lea(x86.RCX, operand{x86.RCX, x86.RDX, 1, 0})
		a.bytes(0xe3, 3+5+5) // jrcxz over the miss
		a.bytes(rexW, 0xf7, 0xd2)
		a.lea(x86.RCX, operand{x86.RCX, x86.RDX, 1, 1})
	}
	u.jmpAnywhere(next)
	a.load(x86.RCX, layout.S0)
	a.load(x86.RDX, layout.S1)
}

// jmpAnywhere writes a jump of five bytes to a cache address in any area.
// The size is fixed, since compare jumps over it.
func (u *unit) jmpAnywhere(target uint64) {
	if u.ar.contains(target) {
		u.asm.jmp(target)
		return
	}
	u.asm.bytes(0xe9)
	u.cold = append(u.cold, coldStub{u.asm.pos, func(u *unit) { u.asm.jmpLiteral(target) }})
	u.asm.u32(0)
}

// align8 pads so that what follows the next n bytes is aligned: a program that
// has alignment checked would otherwise be sent SIGBUS for a literal of ours.
func (a *asm) align8(n int) {
	for !a.full && (a.pos+n)&7 != 0 {
		a.bytes(0x90)
	}
}

// jmpLiteral writes a jump through a literal behind it: to anywhere.
func (a *asm) jmpLiteral(target uint64) {
	a.align8(6)
	a.bytes(0xff, 0x25)
	a.u32(0)
	a.u64(target)
}

// leaDispLong writes lea with a displacement of 32 bits whatever its value.
// Fixed size, for the same reason.
func (a *asm) leaDispLong(dst, base x86.Reg, disp int32) {
	a.bytes(rexW, 0x8d, 0x80|byte(dst&7)<<3|byte(base&7))
	a.u32(uint32(disp))
}

// syscall writes a system call. rcx and r11 are free until then: the
// instruction itself destroys them. The table says what is to be done with each
// call; the kernel restarts calls at the syscall instruction itself.
//
// Three ways, by a byte of the table in the control area: execute; stop for the tracer; or
// execute and then report, for calls whose effect on the address space matters. A plain call
// pays a load and one branch.
func (u *unit) syscall(b *block, in *x86.Insn) {
	a := &u.asm
	trap := u.p.newExit(exit{target: in.Addr, area: u.ar, v: u.v, fixed: true, rareExit: rareExit{trap: b}})
	a.load(x86.R11, layout.ControlPtr)
	a.bytes(0x0f, 0xb7, 0xc8) // movzx ecx, ax
	a.bytes(0x41, 0x0f, 0xb6, 0x8c, 0x0b)
	a.u32(layout.SyscallTable) // movzx ecx, byte [r11+rcx+table]
	n := u.p.newExit(exit{target: in.Next(), area: u.ar, v: u.v, fixed: true, call: true, recorded: u.lastRecorded})
	b.lastRecorded = u.lastRecorded
	a.bytes(0xe3, 2, 0xeb, 5, 0xe9) // jrcxz plain, which is too far for a byte
	a.u32(uint32(syscallSpecial))
	start := a.pos
	a.leaDisp(x86.RCX, x86.RCX, -1)
	a.bytes(0xe3, byte(syscallNotify)) // jrcxz trap
	notify := a.pos
	a.store(layout.ReqArg, x86.RAX)
	a.mov(x86.R11, x86.RDX)
	a.stamp(layout.CallTSC)
	a.mov(x86.RDX, x86.R11)
	a.load(x86.RAX, layout.ReqArg)
	a.bytes(0x0f, 0x05)
	a.mov(x86.RCX, x86.RAX)
	a.store(layout.S0, x86.RDX) // r11 has the flags now
	a.stamp(layout.CallEnd)
	a.load(x86.RDX, layout.S0)
	a.mov(x86.RAX, x86.RCX)
	u.movNext(in)
	u.ask(uint32(n) + 1)
	if a.pos-notify != syscallNotify {
		panic("system call's notification has another size")
	}
	u.ask(uint32(trap) + 1)
	if a.pos-start != syscallSpecial {
		panic("system call's special cases have another size")
	}
	a.bytes(0x0f, 0x05)
	u.movNext(in)
}

// They are also what signal.go tells places within a call by.
//
// Sizes of the parts of a translated system call; syscall checks them.
const (
	stampSize      = 2 + 8 + 8
	syscallStamp   = 3 + stampSize + 3 + 9
	syscallEnd     = 3 + 9 + stampSize + 9 + 3
	syscallNotify  = 9 + syscallStamp + 2 + syscallEnd + 10 + askSize
	syscallSpecial = 4 + 2 + syscallNotify + askSize
	askSize        = 12 + 5
	sysTail        = 2 + 10 // the plain call and what follows it
)

// stamp writes the time-stamp counter to a word of the slot; rax and rdx are lost.
func (a *asm) stamp(off int) {
	a.bytes(0x0f, 0x31) // rdtsc
	a.gs(0, 0x89, x86.RAX, off)
	a.gs(0, 0x89, x86.RDX, off+4)
}

// movNext writes mov rcx, the address after the instruction, in ten bytes.
// `syscall` leaves the address behind itself in rcx: it must be the application's.
func (u *unit) movNext(in *x86.Insn) {
	u.asm.bytes(rexW, 0xb9)
	u.asm.u64(in.Next())
}
