package translate

import (
	"alleria/engine/asm"
	"alleria/engine/x86"
	"alleria/internal/records"
)

// maxValue is the largest operand whose value is recorded, in bytes.
// It is the legacy region of an XSAVE area: everything that a program computes with
// is less.
const maxValue = 512

// valueWay is how an operand's value gets into the record.
type valueWay uint8

const (
	valueNone     valueWay = iota
	valueRegister          // from a general register: before for a store, after for a load
	valueVector            // from a vector register, likewise
	valueStatic            // it is known
	valueMemory            // read beside the instruction: before for a load, after for a store
	valueTarget            // an indirect branch's own load
	valueWhole             // by the instruction's own way, which covers all of its operands
)

// insWay is how an instruction is executed so that the values it obtains and
// stores can be recorded: not by reading its memory a second time, which
// another thread may have changed by then.
type insWay uint8

const (
	wayPlain    insWay = iota // as it is; see valueWay for each operand
	wayThrough                // its operand is loaded, recorded and given to it as a register or a copy
	wayVector                 // the same by way of a vector register
	wayModify                 // load, operation on a register, store
	wayAdd                    // lock add and the like, by lock xadd
	wayLocked                 // other locked arithmetic, by lock cmpxchg
	wayExchange               // xchg: the register before and after
	wayXadd                   // xadd
	wayCompare                // cmpxchg and its wide forms
	wayPush                   // push of memory
	wayPop                    // pop to memory
	wayString                 // a string instruction without prefix that reads memory
	wayLoop                   // a repeated string instruction: see loop
	wayAgain                  // a store that depends on registers alone: once more into a copy
)

// wayOf decides how the value of access j of instruction i is recorded.
func (r *recorder) wayOf(i, j int) (valueWay, x86.Op) {
	in, o := &r.ins[i], &r.ops[i][j]
	if r.ways[i] != wayPlain {
		return valueWhole, x86.Op{}
	}
	switch o.Kind {
	case records.AccessMasked, records.AccessGather:
		return r.laneWay(in, o)
	case records.AccessPlain:
	case records.AccessString: // stos; the others are loops
		return valueRegister, x86.Op{Class: x86.ClassGPR64, ID: uint8(x86.RAX)}
	default:
		return valueNone, x86.Op{}
	}
	// Size 0: only known as the instruction executes (XSAVE areas). What faults first for another reason than its operand is not to fault at that.
	if o.Size > maxValue || o.Size == 0 || in.Privileged() {
		return valueNone, x86.Op{}
	}
	if way, op := stackWay(in, o); way != valueNone {
		return way, op
	}
	switch in.Mnem {
	case x86.MMOV, x86.MMOVZX, x86.MMOVSX, x86.MMOVSXD, x86.MMOVNTI:
		if op, ok := in.GPRBeside(o.Store); ok {
			return valueRegister, op
		}
		if o.Store && in.Ops[1].Kind == x86.OpImm {
			return valueStatic, x86.Op{}
		}
	// rax after the load or before the store: the low part is the value, as wide as
	// the operand.
	case x86.MXLAT, x86.MLODSB, x86.MLODSW, x86.MLODSD, x86.MLODSQ, x86.MSTOSB, x86.MSTOSW, x86.MSTOSD, x86.MSTOSQ:
		return valueRegister, x86.Op{Class: x86.ClassGPR64, ID: uint8(x86.RAX)}
	}
	if op, ok := vectorBeside(in, o); ok {
		return valueVector, op
	}
	return valueMemory, x86.Op{}
}

// stackWay is wayOf for instructions that move between the stack and registers.
func stackWay(in *x86.Insn, o *x86.Operand) (valueWay, x86.Op) {
	gpr := in.Ops[0].Kind == x86.OpReg && in.Ops[0].Class >= x86.ClassGPR16 && in.Ops[0].Class <= x86.ClassGPR64
	switch in.Mnem {
	case x86.MPUSH:
		if gpr {
			return valueRegister, in.Ops[0]
		}
		if in.Ops[0].Kind == x86.OpImm {
			return valueStatic, x86.Op{}
		}
	case x86.MPOP:
		if gpr {
			return valueRegister, in.Ops[0]
		}
	// leave pops rbp
	case x86.MLEAVE:
		return valueRegister, x86.Op{Class: x86.ClassGPR64, ID: uint8(x86.RBP)}
	case x86.MCALL:
		if o.Store {
			return valueStatic, x86.Op{}
		}
		return valueTarget, x86.Op{}
	case x86.MRET, x86.MJMP:
		return valueTarget, x86.Op{}
	}
	return valueNone, x86.Op{}
}

// laneWay is wayOf for accesses by lanes: only a move's own register will do,
// since inactive lanes must not be touched.
func (r *recorder) laneWay(in *x86.Insn, o *x86.Operand) (valueWay, x86.Op) {
	// Without a mask nothing tells which lanes were read.
	if o.Kind == records.AccessGather && o.Mask == x86.MaskNone {
		return valueNone, x86.Op{}
	}
	switch in.Mnem {
	case x86.MMASKMOVDQU, x86.MVMASKMOVDQU, x86.MMASKMOVQ:
		for _, op := range in.Ops[:in.NOps] { // the first is the data
			if op.Kind == x86.OpReg && (op.Class == x86.ClassXMM || op.Class == x86.ClassMMX) {
				return valueVector, op
			}
		}
	}
	if op, ok := vectorBeside(in, o); ok && (in.Cat == x86.CatDATAXFER || in.Mnem == x86.MVMOVSH || o.Kind == records.AccessGather || isMaskMove(in)) {
		return valueVector, op
	}
	return valueNone, x86.Op{}
}

// isMaskMove tells AVX's masked moves, whose mask is a vector register.
func isMaskMove(in *x86.Insn) bool {
	switch in.Mnem {
	case x86.MVMASKMOVPS, x86.MVMASKMOVPD, x86.MVPMASKMOVD, x86.MVPMASKMOVQ:
		return true
	}
	return false
}

// vectorBeside is the vector register that a move loads or stores whole.
// ok is false for an instruction that is no such move.
func vectorBeside(in *x86.Insn, o *x86.Operand) (x86.Op, bool) {
	if !in.VectorMove() && o.Kind != records.AccessGather && !isMaskMove(in) {
		return x86.Op{}, false
	}
	k := 0
	if o.Store {
		k = 1
		// With a mask register in between (EVEX) the source is one further.
		if in.NOps > 2 && in.Ops[2].Kind == x86.OpReg && in.Ops[2].Class >= x86.ClassXMM && in.Ops[2].Class <= x86.ClassZMM {
			k = 2
		}
	}
	op := in.Ops[k]
	if op.Kind != x86.OpReg || op.Class < x86.ClassXMM || op.Class > x86.ClassZMM {
		return x86.Op{}, false
	}
	return op, true
}

// valueWords is how many words a value of the access takes.
// For lanes it is room for all of them: which are active, the mask tells.
func valueWords(o *x86.Operand) int {
	n := int(o.Size)
	switch o.Kind {
	case records.AccessMasked, records.AccessGather, records.AccessPacked:
		n *= int(o.Lanes)
	}
	return (n + 7) / 8
}

// valuesBefore writes the values that are known or at hand ahead of
// instruction i.
func (r *recorder) valuesBefore(i int) {
	for j := range r.ops[i] {
		o := &r.ops[i][j]
		way, op := r.wayOf(i, j)
		switch {
		case way == valueRegister && o.Store:
			r.registerValue(i, j, op)
		case way == valueVector && o.Store:
			r.vectorValue(i, j, op)
		case way == valueStatic:
			off := r.valueWord(i, j)
			r.constant(&r.ins[i])
			r.u.asm.Put(r.rec.RA, off, r.rec.RB)
		// Before a load: the instruction may overwrite a register that the address
		// is formed from.
		case way == valueMemory && !o.Store:
			r.memoryValue(i, j)
		}
	}
}

// valuesAfter writes the values that exist behind instruction i.
func (r *recorder) valuesAfter(i int) {
	for j := range r.ops[i] {
		o := &r.ops[i][j]
		way, op := r.wayOf(i, j)
		switch {
		case way == valueRegister && !o.Store:
			r.registerValue(i, j, op)
		case way == valueVector && !o.Store:
			r.vectorValue(i, j, op)
		// Behind a store memory holds what was stored, other threads permitting.
		case way == valueMemory && o.Store:
			r.memoryValue(i, j)
		}
	}
}

// targetValue records what an indirect branch loaded, which is in rcx.
func (r *recorder) targetValue(i int, in *x86.Insn) {
	if r.want[i].Flags&records.InsValues == 0 {
		return
	}
	for j := range r.ops[i] {
		if way, _ := r.wayOf(i, j); way == valueTarget && !r.ops[i][j].Store {
			r.u.asm.Put(r.rec.RA, r.valueWord(i, j), x86.RCX)
		}
	}
}

// constant loads what an instruction stores, which can be told from it alone, into rb: a call's return address, which
// moves with its code, or a constant.
func (r *recorder) constant(in *x86.Insn) {
	if in.Mnem == x86.MCALL {
		r.u.movAddress(r.rec.RB, in.Addr, in.Next())
		return
	}
	r.u.asm.MovImm(r.rec.RB, uint64(in.Imm))
}

// registerValue records the value of a general register, one of the bytes ah to
// bh included.
func (r *recorder) registerValue(i, j int, op x86.Op) {
	r.put(r.valueWord(i, j), op)
}

// put writes a general register into the record. A byte above the lowest one
// is taken from the word that it was just written to.
func (r *recorder) put(off int, op x86.Op) {
	a := &r.u.asm
	// All eight bytes of the register: readers take as many as the operand has.
	a.Put(r.rec.RA, off, x86.Reg(op.ID))
	if op.Class == x86.ClassGPR8H {
		a.Load(r.rec.RB, asm.At(r.rec.RA, off+1), 1)
		a.Put(r.rec.RA, off, r.rec.RB)
	}
}

// valueWord reserves the words of a value and returns where they lie.
// The facts name the first word; readers know the size.
func (r *recorder) valueWord(i, j int) int {
	w, off := r.newWord()
	r.words += valueWords(&r.ops[i][j]) - 1
	r.facts.Ins[i].Accesses[j].Value = w
	return off
}

// vectorValue records the low bytes of a vector register.
func (r *recorder) vectorValue(i, j int, op x86.Op) {
	o := &r.ops[i][j]
	off := r.valueWord(i, j)
	size := 8 * valueWords(o)
	if size < 16 {
		r.words += (16 - size) / 8 // the store below writes sixteen bytes
		size = 16
	}
	if op.Class == x86.ClassMMX {
		a := &r.u.asm
		a.MmxStore(asm.At(r.rec.RA, off), op.ID)
		return
	}
	r.putVector(off, op.ID, size, r.ins[i].Enc == x86.EncEVEX || op.ID > 15)
}

// memoryValue reads a value from memory, eight bytes at a time, at the address
// that the record holds.
//
// It is the way of last resort: another thread may have written in between, see the open
// ends in docs/internal. A load of it that faults does so as the instruction's own would.
func (r *recorder) memoryValue(i, j int) {
	off := r.valueWord(i, j)
	acc := &r.facts.Ins[i].Accesses[j]
	a := &r.u.asm
	rb := r.rec.RB
	for at := 0; at < int(acc.Size); at += 8 {
		// In pieces of eight, four, two and one: nothing behind the operand is
		// touched.
		for part, left := 0, min(8, int(acc.Size)-at); left > 0; {
			n := 8
			for n > left {
				n /= 2
			}
			r.loadAddress(acc, int64(at+part))
			src := asm.At(rb, 0)
			if acc.Seg == records.SegFS {
				src.Seg = x86.SegFS
			}
			a.LoadRex(rb, src, n)
			a.PutLow(r.rec.RA, off+at+part, rb, n)
			part += n
			left -= n
		}
	}
}

// loadAddress writes the address of an access plus extra into rb.
// The record has what the address was formed from, also where the instruction has
// changed the register since.
func (r *recorder) loadAddress(acc *records.Access, extra int64) {
	a, rb := &r.u.asm, r.rec.RB
	// Offset is relative to the word in the record, or the whole address if there
	// is none.
	addr := acc.Offset + extra
	if acc.Word == records.NoWord {
		r.u.movAddress(rb, r.b.App, uint64(addr))
		return
	}
	a.Get(rb, r.rec.RA, 8*(int(acc.Word)+1))
	if !a.Lea(rb, asm.At(rb, int(addr))) {
		panic("displacement of a derived address")
	}
	if acc.AddrBits == 32 {
		a.MovLow(rb, rb)
	}
}
