package translate

import (
	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// exchange: what the register held goes to memory, what it holds then was there.
// The instruction is executed as it is: its lock, and what others see, stay its
// own.
func (r *recorder) exchange(i int, in *x86.Insn) {
	load, store := r.valueWord(i, 0), r.valueWord(i, 1)
	op := registerOperand(in)
	r.put(store, op)
	r.u.copy(in)
	r.put(load, op)
}

// registerOperand is the general register that an instruction with one of them
// and memory names.
// The caller knows that there is one.
func registerOperand(in *x86.Insn) x86.Op {
	for _, o := range in.Ops[:2] {
		if o.Kind == x86.OpReg {
			return o
		}
	}
	panic("no register beside memory")
}

// exchangeAdd: the register holds what was in memory; what is there now is the
// sum.
func (r *recorder) exchangeAdd(i int, in *x86.Insn) {
	a, rb := &r.u.asm, r.rec.RB
	load, store := r.valueWord(i, 0), r.valueWord(i, 1)
	reg := x86.Reg(registerOperand(in).ID)
	a.Mov(rb, reg)
	r.u.copy(in)
	a.Put(r.rec.RA, load, reg)
	a.Lea(rb, asm.Sum(rb, reg, 1, 0))
	a.Put(r.rec.RA, store, rb)
}

// compareExchange: the accumulator holds what was in memory, whether it was
// equal or not; where it was not, the same is stored again.
//
// The wide forms compare rdx:rax and store rcx:rbx. A failed comparison writes what it has
// read back to memory (Intel SDM volume 2, CMPXCHG), and counts as a store of that.
func (r *recorder) compareExchange(i int, in *x86.Insn) {
	a, rb := &r.u.asm, r.rec.RB
	load, store := r.valueWord(i, 0), r.valueWord(i, 1)
	r.u.copy(in)
	if in.Mnem == x86.MCMPXCHG {
		a.Put(r.rec.RA, load, x86.RAX)
		op := registerOperand(in)
		a.Mov(rb, x86.Reg(op.ID))
		if op.Class == x86.ClassGPR8H {
			a.StoreWord(layout.Operand, rb)
			a.Load(rb, asm.Word(layout.Operand+1), 1)
		}
		a.Cmov(asm.IfNotZero, rb, x86.RAX)
		a.Put(r.rec.RA, store, rb)
		return
	}
	// The halves are words of their own: eight bytes each of cmpxchg16b, four of
	// cmpxchg8b.
	size := 8
	if in.Mnem == x86.MCMPXCHG8B {
		size = 4
	}
	a.PutLow(r.rec.RA, load, x86.RAX, size)
	a.PutLow(r.rec.RA, load+size, x86.RDX, size)
	for k, from := range [][2]x86.Reg{{x86.RBX, x86.RAX}, {x86.RCX, x86.RDX}} {
		a.Mov(rb, from[0])
		a.Cmov(asm.IfNotZero, rb, from[1])
		a.PutLow(r.rec.RA, store+k*size, rb, size)
	}
}

// lockedAdd does lock add, sub, inc or dec as lock xadd, which yields the old
// value, and once more on that value, for the new one and for the flags.
//
// xadd leaves what was in memory in the register, at the price of the flags, which the second
// addition, on a register, makes those of the instruction.
func (r *recorder) lockedAdd(i int, in *x86.Insn) {
	a, o, rb := &r.u.asm, &r.ops[i][0], r.rec.RB
	m, _ := r.at(o, x86.NoReg)
	old, new := r.valueWord(i, 0), r.valueWord(i, 1)
	keep := (in.Mnem == x86.MINC || in.Mnem == x86.MDEC) && !r.flagsFree(i) // they leave CF
	if keep {
		r.saveFlags()
	}
	r.addend(in)
	size := int(o.Size)
	a.LockXadd(m, size, rb)
	if size < 4 {
		a.ZeroExtend(rb, size)
	}
	a.Put(r.rec.RA, old, rb)
	if keep {
		r.setFlags()
		a.LoadWord(x86.RAX, spillF)
	}
	r.apply(in)
	a.Put(r.rec.RA, new, rb)
}

// addend makes rb what the instruction adds, without flags.
// A subtraction is the addition of the complement, made by not and lea.
func (r *recorder) addend(in *x86.Insn) {
	a, rb := &r.u.asm, r.rec.RB
	switch {
	case in.Mnem == x86.MINC:
		a.MovImm(rb, 1)
	case in.Mnem == x86.MDEC:
		a.MovImm(rb, ^uint64(0))
	case in.ImmSize > 0 && in.Mnem == x86.MSUB:
		a.MovImm(rb, uint64(-in.Imm))
	case in.ImmSize > 0:
		a.MovImm(rb, uint64(in.Imm))
	default:
		a.Mov(rb, x86.Reg(registerOperand(in).ID))
		if in.Mnem == x86.MSUB {
			a.Not(rb)
			a.LeaDisp(rb, rb, 1)
		}
	}
}

// locked does other locked arithmetic as a loop around lock cmpxchg. Until that
// has succeeded nothing has happened, so that a thread that is stepped while
// others are at the same place needs no luck to get to a safe point.
//
// The loop ends when nobody wrote in between, so that old and new value are those of one
// indivisible operation. It is where the flags are used three times: what the instruction
// reads, what the comparison leaves, and what the instruction sets.
func (r *recorder) locked(i int, in *x86.Insn) {
	a, o, rb := &r.u.asm, &r.ops[i][0], r.rec.RB
	size := int(o.Size)
	old, new := r.valueWord(i, 0), r.valueWord(i, 1)
	live := !r.flagsFree(i)
	if live {
		r.saveFlags()
	}
	saved := r.offset()
	back := r.borrow(x86.RAX, layout.Scratch0)
	target, source, more := r.clearOfRAX(i, in)
	loop := r.offset()
	a.Load(x86.RAX, target, size)
	operation := a.Here()
	a.Mov(rb, x86.RAX)
	if in.FlagsRead != 0 { // adc, sbb
		a.BitWord(spillF+8, 8)
	}
	r.applyFrom(in, source)
	a.LockCmpxchg(target, size, rb)
	r.stretch(codecache.Stretch{From: loop, To: r.offset(), Again: true, Write: true})
	if live {
		r.flagsSavedSince(saved)
	}
	a.JccBack(asm.IfNotZero, operation)
	a.Put(r.rec.RA, old, x86.RAX)
	a.Put(r.rec.RA, new, rb)
	a.Mov(rb, x86.RAX)
	if live {
		r.setFlags()
	}
	r.applyFrom(in, source)
	more()
	back()
}

// clearOfRAX says where the operands of a locked instruction are once rax is
// something else: the address in another register if it was formed with rax,
// the source likewise. source is NoReg where it stays.
// more gives the registers back that were borrowed for that, in the opposite order.
func (r *recorder) clearOfRAX(i int, in *x86.Insn) (target asm.Mem, source x86.Reg, more func()) {
	a, o := &r.u.asm, &r.ops[i][0]
	more, source = func() {}, x86.NoReg
	target, _ = r.at(o, x86.NoReg)
	var taken uint16
	if o.Base == x86.RAX || o.Index == x86.RAX {
		g := r.another(in, 1<<x86.RAX)
		taken = 1 << uint(g)
		more = r.borrow(g, layout.Scratch1)
		formed := target
		formed.Seg, formed.Addr32 = x86.SegNone, false // lea adds no segment's base
		a.LeaBits(g, formed, o.AddrBits)
		target.Base, target.Index, target.Disp = g, x86.NoReg, 0
	}
	if in.NOps > 1 && in.Ops[1].Kind == x86.OpReg && x86.Reg(in.Ops[1].ID) == x86.RAX && in.Ops[1].Class <= x86.ClassGPR64 {
		source = r.another(in, taken|1<<x86.RAX)
		first, second := more, r.borrow(source, layout.Scratch2)
		more = func() { second(); first() }
		a.Mov(source, x86.RAX)
		if in.Ops[1].Class == x86.ClassGPR8H {
			a.StoreWord(layout.Operand, source)
			a.Load(source, asm.Word(layout.Operand+1), 1)
		}
	}
	return target, source, more
}

// applyFrom is apply with another register as the source, if it is one.
func (r *recorder) applyFrom(in *x86.Insn, source x86.Reg) {
	if source == x86.NoReg {
		r.apply(in)
		return
	}
	// op rb, source: the opcode is that of the instruction, whose source was rax.
	r.u.asm.Op(in.Opcode, in.OpBits, r.rec.RB, source)
}
