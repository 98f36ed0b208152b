package translate

import (
	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// branch writes the block's branch. next is the application address that the
// code goes on with contiguously, 0 if none.
//
// The application's flags, registers and stack are at the target what the branch leaves,
// and the return address that a call pushes is the application's own: unwinders, and
// programs that read it, find what they expect.
func (u *Translator) branch(b *codecache.Block, in *x86.Insn) (next uint64) {
	b.Term = codecache.TermDirect
	certain := u.certain
	u.certain = false
	switch {
	// The first two are of the categories of branches too.
	case in.Mnem == x86.MXBEGIN: // as if the transaction aborted at once
		u.asm.MovImm(x86.RAX, 0)
		return u.direct(in)
	case in.Mnem == x86.MXABORT: // nothing outside a transaction
		return in.Next()
	case in.Cat == x86.CatCONDBR:
		u.cond(in)
		return in.Next()
	case in.Cat == x86.CatSYSCALL:
		b.Term = codecache.TermSyscall
		u.syscall(b, in)
		return in.Next()
	case in.Cat == x86.CatRET:
		b.Term = codecache.TermIndirect
		u.ret(in)
		return 0
	case in.Opcode == 0xe8:
		target := in.Target() // the instruction is overwritten before the closure runs
		if certain {
			u.callee = target
		}
		return u.call(in, func(u *Translator) { u.jumpTo(target, codecache.Uncounted) })
	case in.Opcode == 0xff:
		b.Term = codecache.TermIndirect
		return u.indirect(b, in)
	}
	u.certain = certain
	return u.direct(in)
}

// direct goes on with a branch's target: contiguously, if it has no translation yet and
// belongs in this region.
// Following a jump saves executing it and makes two blocks one stretch of memory.
func (u *Translator) direct(in *x86.Insn) (next uint64) {
	target := in.Target()
	if u.isCounted(in) {
		u.countJump(in)
	}
	how := u.target.EntryFrom(in.Addr, target)
	if how == codecache.Uncounted && u.cache.BlockOf(target, u.Variant) == nil && u.cache.RegionFor(target) == u.ar && !u.NoFollow {
		return target
	}
	u.jumpTo(target, how)
	return 0
}

// jumpTo writes a jump to the translation of target, by way of an exit if there
// is none yet or it is too far.
// A jump that can be patched later is written with its displacement in one cache
// line. A block that is used once asks in any case.
func (u *Translator) jumpTo(target uint64, how codecache.Entry) {
	if u.limit > 0 {
		u.askSpent(u.asm.JmpLater(), target, how)
		return
	}
	if b := u.linkable(target); b != nil {
		u.asm.Jmp(u.cache.LinkTo(b, how))
		return
	}
	u.asm.AlignRel32(1)
	u.exit(u.asm.JmpLater(), target, how)
}

// linkable returns target's block if a displacement reaches it.
// A watched address is never linked: the tracer is asked each time. A file's code is linked to what the program has made when it asks first (codecache.Cache.Shut).
func (u *Translator) linkable(target uint64) *codecache.Block {
	b := u.cache.BlockOf(target, u.Variant)
	if b == nil || !u.ar.Contains(b.Code) || u.cache.Watched[target] || b.OfMadeCode() && !u.cache.InMade {
		return nil
	}
	return b
}

// exit notes the displacement of a branch to target, and its cold stub, which
// asks the tracer for the translation.
//
// The branch leads to the stub until it is linked, so that nothing has to be patched for
// one that is never taken.
func (u *Translator) exit(site asm.Site, target uint64, how codecache.Entry) {
	n := u.cache.NewExit(codecache.Exit{Site: u.asm.AddrOf(site), Target: target, Region: u.ar, Variant: u.Variant, Entry: how})
	u.dispatches = append(u.dispatches, dispatchStub{site, uint32(n) + 1})
}

// askSpent notes the displacement of a branch out of a block that is used once. It has used
// a budget up: the client is asked before anything counts the entry at the target.
func (u *Translator) askSpent(site asm.Site, target uint64, how codecache.Entry) {
	u.coldDispatch(site, u.cache.NewExit(codecache.Exit{Target: target, Region: u.ar, Variant: u.Variant, Fixed: true, Spent: true, Entry: how}), nil)
}

// dispatch writes the dispatch for an exit.
// It leaves no register changed but rip: the routine saves them all.
func (u *Translator) dispatch(req uint32) {
	u.asm.StoreWordImm(layout.Ask, req)
	u.asm.Jmp(u.ar.Base + u.ar.Routines.Dispatch)
}

// cond writes a conditional branch; the fall-through follows.
//
// The condition is the instruction's own, in the four low bits of its opcode: nothing of
// the flags is decoded.
func (u *Translator) cond(in *x86.Insn) {
	target := in.Target()
	how := u.target.EntryFrom(in.Addr, target)
	if u.isCounted(in) {
		u.countedCond(in, how)
		return
	}
	switch in.Mnem {
	case x86.MLOOP, x86.MLOOPE, x86.MLOOPNE, x86.MJRCXZ, x86.MJECXZ:
		u.shortCond(in, target, how)
		return
	}
	cc := asm.CondOf(in.Opcode)
	if u.limit > 0 {
		u.askSpent(u.asm.JccLater(cc), target, how)
		return
	}
	if b := u.linkable(target); b != nil {
		u.asm.Jcc(cc, u.cache.LinkTo(b, how))
		return
	}
	u.asm.AlignRel32(2)
	u.exit(u.asm.JccLater(cc), target, how)
}

// shortCond writes a branch that exists with an 8-bit displacement only: over a
// jump past the one to its target.
// The counting of rcx and the prefix for ecx stay the instruction's own.
func (u *Translator) shortCond(in *x86.Insn, target uint64, how codecache.Entry) {
	code := u.InsBytes(in)
	u.asm.CopyShort(code, 2) // taken: over the next jump
	skip := u.asm.JmpShort() // not taken: over the jump to the target
	u.jumpTo(target, how)
	u.asm.Land(skip)
}

// call writes a call so that the processor's return predictor learns of it: a
// real call, whose return address in the cache is the target check of the
// application's, to a place that puts the application's own return address
// in the slot and goes on with then. The code behind the call follows.
// then writes what goes on to the callee. Without prediction there is only a push:
// a real call would push a cache address, which the application must not see.
func (u *Translator) call(in *x86.Insn, then func(*Translator)) (next uint64) {
	ret := in.Next()
	u.checkFor = ret
	if !u.predicts() {
		u.push(ret)
		then(u)
		return ret
	}
	u.warm = append(u.warm, coldStub{u.asm.CallLater(), func(u *Translator) {
		u.asm.LeaDisp(x86.RSP, x86.RSP, 8)
		u.push(ret)
		then(u)
	}})
	return ret
}

// push writes the push of an application return address.
// A push of a constant is sign-extended from 32 bits; others come from a literal.
func (u *Translator) push(ret uint64) {
	if ret < 1<<31 {
		u.asm.PushImm(uint32(ret))
		return
	}
	u.lits = append(u.lits, literal{u.asm.PushLiteral(), ret})
}

// targetCheck makes the place where indirect branches to app arrive and enters it in
// the table's slot; app's code is to follow. It is false if app is a notify
// point: then the target check asks the tracer.
//
// Target checks of one slot form a chain, the newest first, the miss routine at its end. A chain
// never loses a link while threads run: that is what lets them walk it without a lock.
func (u *Translator) targetCheck(app uint64) bool {
	c, v := u.cache, u.Variant
	s := codecache.SlotOf(app)
	next := c.SlotCheck(v, s)
	h := u.asm.Here()
	miss := u.compare(app, next)
	u.noteNewCheck()
	if b := c.BlockOf(app, v); b != nil {
		b.Note(codecache.Checked)
	} else {
		c.NewCheck = app // its block is most likely the next
	}
	c.SetSlotCheck(v, s, u.ar, uint32(h-u.ar.Base))
	u.checks = append(u.checks, app)
	if w := &c.Written; !w.Off && v < codecache.KeptVariants {
		w.Checks.Append(codecache.CheckAt{App: app, Code: uint32(h - u.ar.Base), Miss: uint32(miss), Region: u.ar.Num, Variant: v})
	}
	if c.Watched[app] {
		n := c.NewExit(codecache.Exit{Target: app, Region: u.ar, Variant: v, Fixed: true})
		u.dispatch(uint32(n) + 1)
		return false
	}
	if g := u.gate(app); g != 0 {
		u.jmpAnywhere(g)
	}
	return true
}

// gate is where blocks of app are entered: 0 where that is directly, as in code that does not change while it is mapped.
func (u *Translator) gate(app uint64) uint64 {
	if u.limit > 0 || !u.target.Made(app) {
		return 0
	}
	return u.cache.MakeGate(u.ar, app, u.Variant, func(a *asm.Writer, req uint32) {
		a.StoreWordImm(layout.Ask, req)
		a.Jmp(u.ar.Base + u.ar.Routines.Dispatch)
	})
}

// through makes a block that was written with app behind it go on there by app's gate, unless both
// are taken out of use together: then it returns the block, which goes on as it is. Code of a guarded page is entered by gates alone, see guards.
func (u *Translator) through(b *codecache.Block, app uint64) *codecache.Block {
	if u.checkFor != 0 || u.gate(app) == 0 {
		return nil
	}
	page := app &^ (codePage - 1)
	if !u.guarded && b.Idles() && b.App&^(codePage-1) == page && (b.App+uint64(b.AppSize)-1)&^(codePage-1) == page && !b.Is(codecache.InPieces) {
		return b
	}
	u.jumpTo(app, codecache.Uncounted)
	return nil
}

// codePage is the size of a page of code.
const codePage = 4096

// compare writes a target check: it compares rcx with app, without flags, and goes on
// to what follows, with rcx and rdx as they were, or to the target check before it in
// the table's slot.
//
// The refused alternative compares at the branch: a tag load and a third
// register more on each branch.
//
// rcx minus the address is zero for a hit, which jrcxz finds without flags; on a miss the
// same is added again. Small addresses fit a displacement, others take rdx.
// miss is where the displacement of the jump on a miss lies.
func (u *Translator) compare(app, next uint64) (miss int) {
	a := &u.asm
	if app < 1<<31 {
		a.LeaLong(x86.RCX, x86.RCX, -int32(app))
		a.Jrcxz(7 + 5) // over the miss
		a.LeaLong(x86.RCX, x86.RCX, int32(app))
	} else {
		a.MovImm64(x86.RDX, -app)
		u.reloc(codecache.RelocNeg, app, 8, 0)
		a.Lea(x86.RCX, asm.Sum(x86.RCX, x86.RDX, 1, 0))
		a.Jrcxz(3 + 5 + 5) // over the miss
		a.Not(x86.RDX)
		a.Lea(x86.RCX, asm.Sum(x86.RCX, x86.RDX, 1, 1))
	}
	u.jmpAnywhere(next)
	miss = u.asm.Pos() - 4
	a.LoadWord(x86.RCX, layout.S0)
	a.LoadWord(x86.RDX, layout.S1)
	return miss
}

// jmpAnywhere writes a jump of five bytes to a cache address in any region.
// The size is fixed, since compare jumps over it.
func (u *Translator) jmpAnywhere(target uint64) {
	if u.ar.Contains(target) {
		u.asm.Jmp(target)
		return
	}
	u.cold = append(u.cold, coldStub{u.asm.JmpLater(), func(u *Translator) {
		u.asm.JmpLiteral(target)
		u.cache.NoteLiteral(u.ar, u.asm.Pos())
	}})
}

// syscall writes a system call. rcx and r11 are free until then: the
// instruction itself destroys them. The table says what is to be done with each
// call; the kernel restarts calls at the syscall instruction itself.
//
// Three ways, by a byte of the table in the control area: execute; stop for the tracer; or
// execute and then report, for calls whose effect on the address space matters. A plain call
// pays a load and one branch. Calls that open files are one of the two, by what for.
func (u *Translator) syscall(b *codecache.Block, in *x86.Insn) {
	a := &u.asm
	trap := u.cache.NewExit(codecache.Exit{Target: in.Addr, Region: u.ar, Variant: u.Variant, Fixed: true, RareExit: codecache.RareExit{Trap: b}})
	a.LoadWord(x86.R11, layout.ControlPtr)
	a.MovzxHalf(x86.RCX, x86.RAX)
	a.Load(x86.RCX, asm.Sum(x86.R11, x86.RCX, 1, layout.SyscallTable), 1)
	n := u.cache.NewExit(codecache.Exit{Target: in.Next(), Region: u.ar, Variant: u.Variant, Fixed: true, Call: true, Recorded: u.lastRecorded})
	b.NoteIf(codecache.LastRecorded, u.lastRecorded)
	plain := a.JrcxzLater()
	start := a.Pos()
	a.LeaDisp(x86.RCX, x86.RCX, -1)
	a.Jrcxz(syscallOpens + syscallNotify) // to the trap
	a.LeaDisp(x86.RCX, x86.RCX, -1)
	opens := a.JnrcxzLater()
	notify, tells := a.Pos(), a.Here()
	a.StoreWord(layout.ReqArg, x86.RAX)
	a.Mov(x86.R11, x86.RDX)
	stamp(a, layout.CallTSC)
	a.Mov(x86.RDX, x86.R11)
	a.LoadWord(x86.RAX, layout.ReqArg)
	a.Syscall()
	a.Mov(x86.RCX, x86.RAX)
	a.StoreWord(layout.S0, x86.RDX) // r11 has the flags now
	stamp(a, layout.CallEnd)
	a.LoadWord(x86.RDX, layout.S0)
	a.Mov(x86.RAX, x86.RCX)
	u.movNext(in)
	u.dispatch(uint32(n) + 1)
	if a.Pos()-notify != syscallNotify {
		panic("system call's notification has another size")
	}
	asks := a.Here()
	u.dispatch(uint32(trap) + 1)
	if a.Pos()-start != syscallSpecial {
		panic("system call's special cases have another size")
	}
	silent := a.Here()
	a.Link(plain, silent)
	a.Syscall()
	u.movNext(in)
	u.cold = append(u.cold, coldStub{opens, func(u *Translator) { u.byArguments(tells, silent, asks) }})
}

// byArguments goes on with a call by what its arguments are: rcx is 1 for SyscallOpens and 2 for SyscallReach, r11 the control area. One that opens a file, with
// its access in rdx, is told of unless that is for reading only.
func (u *Translator) byArguments(tells, silent, asks uint64) {
	a := &u.asm
	a.LeaDisp(x86.RCX, x86.RCX, -1)
	reach := a.JnrcxzLater()
	u.lowBits(x86.RDX, 2)
	a.Jrcxz(5)
	a.Jmp(tells)
	a.Jmp(silent)
	a.Link(reach, a.Here())
	if u.HasBMI2 {
		u.reaches(asks)
		a.Jmp(silent)
	} else {
		a.Jmp(asks)
	}
}

// reaches goes to asks if an argument of a call points to guarded pages, or to less than GuardMargin in front of them, or may be a length that is more. Flags
// stay as they are, which the program finds in r11 behind the call.
//
// Refused: saving the flags in rax for ordinary comparisons; a signal that comes meanwhile would have to find its value elsewhere.
func (u *Translator) reaches(asks uint64) {
	a := &u.asm
	const margin, longest = 16, 31 // bits of the least and of the largest length that is asked for
	for _, arg := range []x86.Reg{x86.RSI, x86.RDX, x86.R10} {
		a.Rorx(x86.RCX, arg, margin)
		a.Mov32(x86.RCX, x86.RCX)
		a.Jrcxz(6 + 2 + askSize)
		a.Rorx(x86.RCX, arg, longest)
		a.Mov32(x86.RCX, x86.RCX)
		u.askIfZero(asks)
	}
	control := func(off int) {
		a.LoadWord(x86.R11, layout.ControlPtr)
		a.Load(x86.R11, asm.At(x86.R11, off), 8)
	}
	control(layout.GuardBelow)
	for _, arg := range []x86.Reg{x86.RDI, x86.RSI, x86.RDX, x86.R10, x86.R8, x86.R9} {
		a.Lea(x86.RCX, asm.Sum(x86.R11, arg, 1, 0)) // from where they begin
		u.sign()
		outside := a.JnrcxzLater()
		a.Lea(x86.RCX, asm.Sum(x86.R11, arg, 1, 0))
		a.Not(x86.RCX)
		control(layout.GuardSpan)
		a.Lea(x86.RCX, asm.Sum(x86.RCX, x86.R11, 1, 0)) // to where they end, less one
		u.sign()
		u.askIfZero(asks)
		control(layout.GuardBelow)
		a.Link(outside, a.Here())
	}
}

// sign leaves 0 in rcx if what is there, a difference of addresses, is not negative.
func (u *Translator) sign() {
	u.asm.Rorx(x86.RCX, x86.RCX, 56)
	u.asm.MovzxByte(x86.RCX, x86.RCX)
}

// askSize is the size of askIfZero.
const askSize = 9

// askIfZero goes to asks if rcx is 0.
func (u *Translator) askIfZero(asks uint64) {
	u.asm.Jrcxz(2)
	over := u.asm.JmpShort()
	u.asm.Jmp(asks)
	u.asm.Land(over)
}

// Sizes of the parts of a translated system call; syscall checks them.
// They are also what state recovery tells places within a call by.
const (
	stampSize      = 2 + 8 + 8
	SyscallStamp   = 3 + stampSize + 3 + 9
	SyscallEnd     = 3 + 9 + stampSize + 9 + 3
	syscallNotify  = 9 + SyscallStamp + 2 + SyscallEnd + 10 + DispatchSize
	syscallOpens   = 4 + 7
	syscallSpecial = 4 + 2 + syscallOpens + syscallNotify + DispatchSize
	DispatchSize   = 12 + 5
	SyscallTail    = 2 + 10 // the plain call and what follows it
	// How far in front of the plain call the one lies that is reported.
	SyscallNotifyBack = syscallNotify + DispatchSize
)

// stamp writes the time-stamp counter to a word of the slot; rax and rdx are lost.
func stamp(a *asm.Writer, off int) {
	a.Rdtsc()
	a.StoreWord32(off, x86.RAX)
	a.StoreWord32(off+4, x86.RDX)
}

// movNext writes mov rcx, the address after the instruction, in ten bytes.
// `syscall` leaves the address behind itself in rcx: it must be the application's.
func (u *Translator) movNext(in *x86.Insn) {
	u.asm.MovImm64(x86.RCX, in.Next())
	u.reloc(codecache.RelocAbs, in.Addr, 8, 0)
}

// branchToEntries comes in front of the look-up of an indirect jump, which may lead to the first instruction of the
// function that it is in: a table of a switch in a loop.
func (u *Translator) branchToEntries(in *x86.Insn) {
	if in.Cat == x86.CatUNCONDBR {
		for _, entry := range u.target.EntriesAround(in.Addr) {
			u.branchIf(entry, codecache.BackEdge, nil)
		}
		if entry := u.ownEntry(in); entry != 0 {
			u.branchIf(entry, codecache.Uncounted, func() { u.countOwn(entry) })
		}
	}
}

// branchIf goes on at a function's first instruction, as what has been counted of that says, if that is the target
// in rcx, whose own value is in S0, behind what also writes, if anything. Flags stay as they are, and rcx the target if not.
func (u *Translator) branchIf(entry uint64, how codecache.Entry, also func()) {
	a := &u.asm
	a.StoreWord(layout.S1, x86.RDX)
	a.MovImm64(x86.RDX, -entry)
	u.reloc(codecache.RelocNeg, entry, 8, 0)
	a.Lea(x86.RCX, asm.Sum(x86.RCX, x86.RDX, 1, 0))
	a.Jrcxz(2) // over the jump over what follows
	other := a.JmpShort()
	a.LoadWord(x86.RCX, layout.S0)
	a.LoadWord(x86.RDX, layout.S1)
	if also != nil {
		also()
	}
	u.jumpTo(entry, how)
	a.Land(other)
	a.Not(x86.RDX)
	a.Lea(x86.RCX, asm.Sum(x86.RCX, x86.RDX, 1, 1))
	a.LoadWord(x86.RDX, layout.S1)
}
