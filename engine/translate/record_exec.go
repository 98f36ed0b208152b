package translate

import (
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// choose decides in which way instruction i is executed so that its values can
// be recorded.
//
// wayPlain is the answer wherever an operand's value can be told without a second look, and
// also where no way is known: valueWay then says whether memory is read beside it.
func (r *recorder) choose(i int) insWay {
	in, ops := &r.ins[i], r.ops[i]
	// Branches are written by finish, which records the target's value itself.
	if r.want[i].Flags&records.InsValues == 0 || len(ops) == 0 || len(ops) > 2 || r.isBranch(in) || in.Privileged() {
		return wayPlain
	}
	switch in.Cat {
	case x86.CatSYSTEM:
		return wayPlain
	case x86.CatSTRINGOP:
		return stringWay(in, ops)
	}
	// An operand that cannot be named without a register for its address: rb may
	// serve for a single load, which then overwrites it; for all else there is no
	// third register.
	for k := range ops {
		if !r.reaches(&ops[k]) && (ops[k].Store || len(ops) == 2 || ops[k].Seg == records.SegGS) {
			return wayPlain
		}
	}
	// Ahead of pairWay: these are pairs too, and locked ones must stay one
	// operation.
	if way := atomicWay(in); way != wayPlain {
		return way
	}
	switch {
	case len(ops) == 2:
		return pairWay(in, ops)
	case !in.MemoryForm() || in.Mems[0].Hidden != 0:
		return wayPlain
	case ops[0].Store:
		return r.storeWay(in, &ops[0])
	}
	return r.loadWay(in, &ops[0])
}

// stringWay is for string instructions. Those that move between memory and rax have their
// value there.
func stringWay(in *x86.Insn, ops []x86.Operand) insWay {
	switch in.Mnem {
	case x86.MLODSB, x86.MLODSW, x86.MLODSD, x86.MLODSQ, x86.MSTOSB, x86.MSTOSW, x86.MSTOSD, x86.MSTOSQ:
		return wayPlain
	}
	// Each iteration reads memory: the block becomes a loop over them.
	if loops(in) {
		return wayLoop
	}
	if ops[0].Kind == records.AccessPlain && in.Enc == x86.EncLegacy && in.Map == 0 {
		return wayString
	}
	return wayPlain
}

// atomicWay is for instructions whose registers tell what was in memory.
// They are done as they are, so that they stay one indivisible operation.
func atomicWay(in *x86.Insn) insWay {
	switch in.Mnem {
	case x86.MXCHG:
		return wayExchange
	case x86.MXADD:
		// exchangeAdd takes the source register whole, which ah to bh are not.
		if !in.HighByte() {
			return wayXadd
		}
	case x86.MCMPXCHG, x86.MCMPXCHG8B, x86.MCMPXCHG16B:
		return wayCompare
	}
	return wayPlain
}

// pairWay is for instructions with a load and a store.
// A pair of different sizes, or one that is not explicit, is read beside the
// instruction.
func pairWay(in *x86.Insn, ops []x86.Operand) insWay {
	if ops[0].Kind != records.AccessPlain || ops[1].Kind != records.AccessPlain {
		return wayPlain
	}
	switch in.Mnem {
	case x86.MPUSH:
		if in.MemoryForm() && in.OpBits == 64 {
			return wayPush
		}
		return wayPlain
	case x86.MPOP:
		if in.MemoryForm() && in.OpBits == 64 {
			return wayPop
		}
		return wayPlain
	}
	// What is left has one explicit operand, read and written.
	if !in.MemoryForm() || in.Mems[0].Hidden != 0 || in.Enc != x86.EncLegacy || !powerOfTwo(ops[0].Size) || ops[0].Size != ops[1].Size {
		return wayPlain
	}
	if !in.Has(x86.AttrLock) {
		return wayModify
	}
	switch in.Mnem {
	// lock xadd gives the old value and stores the sum: the new value follows, in
	// one operation.
	case x86.MADD, x86.MSUB, x86.MINC, x86.MDEC:
		if in.HighByte() {
			return wayLocked
		}
		return wayAdd
	}
	return wayLocked
}

// powerOfTwo tells the sizes that one general register moves.
func powerOfTwo(n uint32) bool { return n == 1 || n == 2 || n == 4 || n == 8 }

// storeWay is for instructions with one explicit operand that they write.
// What is stored by a second execution is the same only if the instruction changes
// nothing that it reads.
func (r *recorder) storeWay(in *x86.Insn, o *x86.Operand) insWay {
	switch in.Mnem {
	// They store words of the x87 and change none of its state: twice is as good as
	// once.
	case x86.MFNSTCW, x86.MFNSTSW:
		return wayAgain
	case x86.MMOV, x86.MMOVNTI, x86.MSGDT, x86.MSIDT, x86.MSLDT, x86.MSTR, x86.MSMSW:
		if _, ok := in.GPRBeside(true); ok || in.Mnem != x86.MMOV || in.Ops[1].Kind == x86.OpImm {
			return wayPlain
		}
		return wayAgain
	}
	if _, ok := vectorBeside(in, o); ok || in.Cat == x86.CatX87 {
		return wayPlain // an x87 store may pop, and must not be done twice
	}
	size := o.Size
	switch o.Kind {
	case records.AccessPlain:
	// The copy is written under the same mask: its other lanes are stale, and
	// readers leave them out.
	case records.AccessMasked, records.AccessPacked:
		if o.Mask != x86.MaskK {
			return wayPlain
		}
		size *= uint32(o.Lanes)
	default:
		return wayPlain
	}
	if size > 64 || !powerOfTwo(size) && size%8 != 0 {
		return wayPlain
	}
	return wayAgain
}

// loadWay is for instructions with one explicit operand that they read.
func (r *recorder) loadWay(in *x86.Insn, o *x86.Operand) insWay {
	switch in.Mnem {
	case x86.MMOV, x86.MMOVZX, x86.MMOVSX, x86.MMOVSXD:
		if _, ok := in.GPRBeside(false); ok {
			return wayPlain
		}
	}
	if _, ok := vectorBeside(in, o); ok {
		return wayPlain
	}
	switch o.Kind {
	case records.AccessPlain:
		switch {
		case powerOfTwo(o.Size), o.Size == 10 && in.Cat == x86.CatX87:
			return wayThrough
		case r.transits(in, o):
			return wayVector
		}
	// Lanes need a vector register: rb could not leave the masked ones out of the
	// load.
	case records.AccessMasked, records.AccessPacked:
		if r.transits(in, o) {
			return wayVector
		}
	}
	return wayPlain
}

// execute writes the instruction itself and, where its way covers them, the
// recording of its values.
func (r *recorder) execute(i int, in *x86.Insn) {
	switch r.ways[i] {
	case wayThrough:
		r.through(i, in)
	case wayVector:
		r.transit(i, in)
	case wayModify:
		r.modify(i, in)
	case wayAdd:
		r.lockedAdd(i, in)
	case wayLocked:
		r.locked(i, in)
	case wayExchange:
		r.exchange(i, in)
	case wayXadd:
		r.exchangeAdd(i, in)
	case wayCompare:
		r.compareExchange(i, in)
	case wayPush, wayPop:
		r.pushPop(i, in)
	case wayString:
		r.stringElement(i, in)
	case wayAgain:
		r.storeAgain(i, in)
	default:
		r.u.copy(in)
	}
}

// through loads the operand into rb, records it, and lets the instruction find
// it there, or in the copy if it is not one that general registers will do for.
// The load is where the instruction's own fault happens: position.exec is in front
// of it.
func (r *recorder) through(i int, in *x86.Insn) {
	a, o, rb := &r.u.asm, &r.ops[i][0], r.rec.RB
	off := r.valueWord(i, 0)
	if o.Size == 10 {
		r.tenBytes(o, off)
		r.onSlot(in)
		return
	}
	m, _ := r.at(o, rb)
	a.Load(rb, m, int(o.Size))
	a.Put(r.rec.RA, off, rb)
	// A register form saves the detour over the slot, and its wait for a store to
	// be forwarded.
	if generalForm(in) && r.onRegister(in, rb) {
		return
	}
	a.StoreWord(layout.Operand, rb)
	r.onSlot(in)
}

// tenBytes copies an operand of the x87's own format.
func (r *recorder) tenBytes(o *x86.Operand, off int) {
	a, rb := &r.u.asm, r.rec.RB
	// eight bytes, then the two of exponent and sign
	for _, part := range [...]struct{ at, size int }{{0, 8}, {8, 2}} {
		m, _ := r.at(o, rb)
		m.Disp += int64(part.at)
		a.Load(rb, m, part.size)
		a.Put(r.rec.RA, off+part.at, rb)
		a.StoreWord(layout.Operand+part.at, rb)
	}
}

// generalForm tells instructions that do the same with a general register as
// with memory of its size.
// bt with a register addresses memory beyond its operand, and is not among them.
func generalForm(in *x86.Insn) bool {
	switch in.Mnem {
	case x86.MADD, x86.MSUB, x86.MAND, x86.MOR, x86.MXOR, x86.MCMP, x86.MTEST, x86.MADC, x86.MSBB, x86.MIMUL, x86.MMUL, x86.MDIV,
		x86.MIDIV, x86.MBSF, x86.MBSR, x86.MTZCNT, x86.MLZCNT, x86.MPOPCNT:
		return true
	case x86.MBT:
		return in.ImmSize == 1
	}
	return in.Cat == x86.CatCMOV
}

// modify does a read-modify-write in three steps. Until the store has been done
// the flags can be restored: they are saved, unless they are dead or the new
// value can be had without them.
func (r *recorder) modify(i int, in *x86.Insn) {
	a, o, rb := &r.u.asm, &r.ops[i][0], r.rec.RB
	m, _ := r.at(o, x86.NoReg)
	old, new := r.valueWord(i, 0), r.valueWord(i, 1)
	live := !r.flagsFree(i)
	// inc, dec and not can be done by instructions that touch no flags, until the
	// last step gives the application its own.
	delta := int64(0)
	switch in.Mnem {
	case x86.MINC:
		delta = 1
	case x86.MDEC:
		delta = -1
	case x86.MNOT:
		live = false
	}
	if live && delta == 0 {
		r.saveFlags()
	}
	from := r.offset()
	a.Load(rb, m, int(o.Size))
	r.stretch(codecache.Stretch{From: from, To: r.offset(), Write: true})
	a.Put(r.rec.RA, old, rb)
	// The store comes before the flags: should it fault, nothing has changed yet.
	if live && delta != 0 {
		a.LeaDisp(rb, rb, delta)
		a.Store(m, int(o.Size), rb)
		a.Put(r.rec.RA, new, rb)
		// The old value again, on which the real instruction makes the flags that
		// the application expects.
		a.LeaDisp(rb, rb, -delta)
		r.apply(in)
		return
	}
	from = r.offset()
	r.apply(in)
	a.Store(m, int(o.Size), rb)
	if live {
		r.flagsSavedSince(from)
	}
	a.Put(r.rec.RA, new, rb)
}

// pushPop moves a word between the stack and memory by way of rb: it is both
// operands' value.
// The order of the parts is the instruction's: a fault of the second leaves the
// first undone in the application's eyes.
func (r *recorder) pushPop(i int, in *x86.Insn) {
	a, rb := &r.u.asm, r.rec.RB
	off := r.valueWord(i, 0)
	// One word in the record serves both accesses.
	r.facts.Ins[i].Accesses[1].Value = r.facts.Ins[i].Accesses[0].Value
	from, to := &r.ops[i][0], &r.ops[i][1]
	// pop's destination is formed without rb, which holds the value by then; choose
	// has made sure that it can be.
	tmp := rb
	if in.Mnem == x86.MPOP {
		tmp = x86.NoReg
	}
	m, _ := r.at(from, tmp)
	a.Load(rb, m, 8)
	a.Put(r.rec.RA, off, rb)
	if in.Mnem == x86.MPUSH {
		a.Push(rb)
		return
	}
	m, _ = r.at(to, x86.NoReg)
	a.Store(m, 8, rb)
	// By lea and last: no flags change, and a fault of the store finds the stack
	// pointer as it was.
	a.LeaDisp(x86.RSP, x86.RSP, 8)
}

// storeAgain executes a store a second time with a copy as its operand, and
// records that: it depends on registers alone, which it leaves as they are.
func (r *recorder) storeAgain(i int, in *x86.Insn) {
	a, o, rb := &r.u.asm, &r.ops[i][0], r.rec.RB
	// The application's store first: its fault must come before anything of ours.
	r.u.copy(in)
	r.onSlot(in)
	off := r.valueWord(i, 0)
	for k := range valueWords(o) {
		a.LoadWord(rb, layout.Operand+8*k)
		a.Put(r.rec.RA, off+8*k, rb)
	}
}
