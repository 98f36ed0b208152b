package engine

import (
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
	a, rb := &r.u.asm, r.rec.rb
	load, store := r.valueWord(i, 0), r.valueWord(i, 1)
	reg := x86.Reg(registerOperand(in).ID)
	a.mov(rb, reg)
	r.u.copy(in)
	a.put(r.rec.ra, load, reg)
	a.lea(rb, operand{rb, reg, 1, 0})
	a.put(r.rec.ra, store, rb)
}

// compareExchange: the accumulator holds what was in memory, whether it was
// equal or not; where it was not, the same is stored again.
//
// The wide forms compare rdx:rax and store rcx:rbx. A failed comparison writes what it has
// read back to memory (Intel SDM volume 2, CMPXCHG), and counts as a store of that.
func (r *recorder) compareExchange(i int, in *x86.Insn) {
	a, rb := &r.u.asm, r.rec.rb
	load, store := r.valueWord(i, 0), r.valueWord(i, 1)
	r.u.copy(in)
	if in.Mnem == x86.MCMPXCHG {
		a.put(r.rec.ra, load, x86.RAX)
		op := registerOperand(in)
		a.mov(rb, x86.Reg(op.ID))
		if op.Class == x86.ClassGPR8H {
			a.store(layout.Operand, rb)
			a.loadFrom(inSlot(layout.Operand+1), 1, rb)
		}
		a.cmovne(rb, x86.RAX)
		a.put(r.rec.ra, store, rb)
		return
	}
	// The halves are words of their own: eight bytes each of cmpxchg16b, four of
	// cmpxchg8b.
	put, high := (*asm).put, 8
	if in.Mnem == x86.MCMPXCHG8B {
		put, high = (*asm).put32, 4
	}
	put(a, r.rec.ra, load, x86.RAX)
	put(a, r.rec.ra, load+high, x86.RDX)
	for k, from := range [][2]x86.Reg{{x86.RBX, x86.RAX}, {x86.RCX, x86.RDX}} {
		a.mov(rb, from[0])
		a.cmovne(rb, from[1])
		put(a, r.rec.ra, store+k*high, rb)
	}
}

// cmovne writes cmovne dst, src.
// It reads ZF, which is what the comparison has left, and changes nothing.
func (a *asm) cmovne(dst, src x86.Reg) {
	rex := byte(rexW)
	if dst >= 8 {
		rex |= rexR
	}
	if src >= 8 {
		rex |= rexB
	}
	a.bytes(rex, 0x0f, 0x45, 0xc0|byte(dst&7)<<3|byte(src&7))
}

// lockedAdd does lock add, sub, inc or dec as lock xadd, which yields the old
// value, and once more on that value, for the new one and for the flags.
//
// xadd leaves what was in memory in the register, at the price of the flags, which the second
// addition, on a register, makes those of the instruction.
func (r *recorder) lockedAdd(i int, in *x86.Insn) {
	a, o, rb := &r.u.asm, &r.ops[i][0], r.rec.rb
	pl, _ := r.at(o, x86.NoReg)
	old, new := r.valueWord(i, 0), r.valueWord(i, 1)
	keep := (in.Mnem == x86.MINC || in.Mnem == x86.MDEC) && !r.flagsFree(i) // they leave CF
	if keep {
		r.saveFlags()
	}
	r.addend(in)
	size := int(o.Size)
	locked := pl
	locked.prefix = append([]byte{0xf0}, pl.prefix...)
	a.sized(locked, size, []byte{0x0f, 0xc0}, rb) // lock xadd [m], rb
	if size < 4 {
		a.zeroExtend(rb, size)
	}
	a.put(r.rec.ra, old, rb)
	if keep {
		r.setFlags()
		a.load(x86.RAX, spillF)
	}
	r.apply(in)
	a.put(r.rec.ra, new, rb)
}

// addend makes rb what the instruction adds, without flags.
// A subtraction is the addition of the complement, made by not and lea.
func (r *recorder) addend(in *x86.Insn) {
	a, rb := &r.u.asm, r.rec.rb
	switch {
	case in.Mnem == x86.MINC:
		a.movImm(rb, 1)
	case in.Mnem == x86.MDEC:
		a.movImm(rb, ^uint64(0))
	case in.ImmSize > 0 && in.Mnem == x86.MSUB:
		a.movImm(rb, uint64(-in.Imm))
	case in.ImmSize > 0:
		a.movImm(rb, uint64(in.Imm))
	default:
		a.mov(rb, x86.Reg(registerOperand(in).ID))
		if in.Mnem == x86.MSUB {
			a.not(rb)
			a.leaDisp(rb, rb, 1)
		}
	}
}

// not writes not reg.
func (a *asm) not(reg x86.Reg) {
	rex := byte(rexW)
	if reg >= 8 {
		rex |= rexB
	}
	a.bytes(rex, 0xf7, 0xd0|byte(reg&7))
}

// zeroExtend writes the extension of a register's low 1 or 2 bytes.
func (a *asm) zeroExtend(reg x86.Reg, size int) {
	rex, op := byte(0x40), byte(0xb6)
	if reg >= 8 {
		rex |= 5
	}
	if size == 2 {
		op = 0xb7
	}
	a.bytes(rex, 0x0f, op, 0xc0|byte(reg&7)<<3|byte(reg&7))
}

// locked does other locked arithmetic as a loop around lock cmpxchg. Until that
// has succeeded nothing has happened, so that a thread that is stepped while
// others are at the same place needs no luck to get to a clean point.
//
// The loop ends when nobody wrote in between, so that old and new value are those of one
// indivisible operation. It is where the flags are used three times: what the instruction
// reads, what the comparison leaves, and what the instruction sets.
func (r *recorder) locked(i int, in *x86.Insn) {
	a, o, rb := &r.u.asm, &r.ops[i][0], r.rec.rb
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
	a.loadFrom(target, size, x86.RAX)
	again := r.offset()
	a.mov(rb, x86.RAX)
	if in.FlagsRead != 0 { // adc, sbb
		a.bytes(0x65, 0x0f, 0xba, 0x24, 0x25) // bt dword gs:[spillF+8], 8
		a.u32(spillF + 8)
		a.bytes(8)
	}
	r.applyFrom(in, source)
	lock := target
	lock.prefix = append([]byte{0xf0}, target.prefix...)
	a.sized(lock, size, []byte{0x0f, 0xb0}, rb) // lock cmpxchg [m], rb
	r.rec.stretch(stretch{from: loop, to: r.offset(), again: true, write: true})
	if live {
		r.flagsSavedSince(saved)
	}
	a.bytes(0x75)                                   // jne
	a.bytes(byte(int(again) - int(r.offset()) - 1)) // to the operation
	a.put(r.rec.ra, old, x86.RAX)
	a.put(r.rec.ra, new, rb)
	a.mov(rb, x86.RAX)
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
func (r *recorder) clearOfRAX(i int, in *x86.Insn) (target place, source x86.Reg, more func()) {
	a, o := &r.u.asm, &r.ops[i][0]
	more, source = func() {}, x86.NoReg
	target, _ = r.at(o, x86.NoReg)
	var taken uint16
	if o.Base == x86.RAX || o.Index == x86.RAX {
		g := r.another(in, 1<<x86.RAX)
		taken = 1 << uint(g)
		more = r.borrow(g, layout.Scratch1)
		rex := byte(rexW)
		if o.AddrBits == 32 {
			rex = 0
		}
		a.mem(nil, rex, []byte{0x8d}, byte(g), target.operand, 0)
		target.operand = operand{base: g, index: x86.NoReg}
	}
	if in.NOps > 1 && in.Ops[1].Kind == x86.OpReg && x86.Reg(in.Ops[1].ID) == x86.RAX && in.Ops[1].Class <= x86.ClassGPR64 {
		source = r.another(in, taken|1<<x86.RAX)
		first, second := more, r.borrow(source, layout.Scratch2)
		more = func() { second(); first() }
		a.mov(source, x86.RAX)
		if in.Ops[1].Class == x86.ClassGPR8H {
			a.store(layout.Operand, source)
			a.loadFrom(inSlot(layout.Operand+1), 1, source)
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
	a, rb := &r.u.asm, r.rec.rb
	rex, bits := byte(0x40), in.OpBits
	if rb >= 8 {
		rex |= 1
	}
	if source >= 8 {
		rex |= 4
	}
	switch bits {
	case 64:
		rex |= 8
	case 16:
		a.bytes(0x66)
	}
	a.bytes(rex, in.Opcode, 0xc0|byte(source&7)<<3|byte(rb&7))
}
