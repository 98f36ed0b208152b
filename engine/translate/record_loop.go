package translate

import (
	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// A repeated string instruction whose values are recorded is a block of its own
// and a loop: each iteration loads its element once, puts it into the record and
// stores or compares it from the register. A record has room for so many bytes
// of each operand; when they are full it is completed as one of a part of the
// instruction (records.InsPart), and the block starts over with what is left. So
// a record never depends on the count, an interruption loses nothing, and the
// instruction retires with the last one.
//
// rep stos stays as it is: each iteration stores the same. Refused: the
// processor's own rep by way of the ring, faster for long copies, because
// overlapping ones have to see what they have just written.
const loopBytes = 64

// loops tells the instructions that become loops.
// stos stores a register, which is known: its values need no loop.
func loops(in *x86.Insn) bool {
	if in.Attr&(x86.AttrRep|x86.AttrRepne) == 0 || in.Cat != x86.CatSTRINGOP || in.Enc != x86.EncLegacy || in.Map != 0 {
		return false
	}
	switch in.Mnem {
	case x86.MSTOSB, x86.MSTOSW, x86.MSTOSD, x86.MSTOSQ:
		return false
	}
	return true
}

// element is the state of one such block while it is written.
//
// Besides the two registers of every recorded block it borrows two more, and rax for the
// flags, which live across iterations of cmps and scas.
type element struct {
	*recorder
	in         *x86.Insn
	size       int
	step, left x86.Reg // registers: what pointers move by, iterations until the record is full
	values     [2]int  // where the values of each operand lie in the record
	saved      uint32  // from here on the flags are saved
	borrowed   uint32  // from here on step and left are
}

// emitLoop writes the block.
//
// An iteration is the unit that a signal or a fault may leave it at: everything that one
// does to the application's state is done by then or not begun.
func (r *recorder) emitLoop() (next uint64) {
	u, b := r.u, r.b
	a := &u.asm
	e := element{recorder: r, in: &r.ins[0]}
	e.size = int(r.ops[0][0].Size)
	r.check = -1
	u.spend(b, r.ins)
	// A record that is full ends in a jump to here: the block starts over.
	again := a.Here()
	c, counting := u.CountedAround(e.in)
	if counting {
		u.countBefore(&c, e.in)
	}
	r.prologue()
	r.before(0)
	e.room()
	const reserved = 1<<x86.RAX | 1<<x86.RSI // findStep needs them
	e.step = r.another(e.in, reserved)
	e.left = r.another(e.in, reserved|1<<uint(e.step))
	a.StoreWord(layout.Scratch0, e.step)
	a.StoreWord(layout.Scratch1, e.left)
	e.borrowed = r.offset()
	r.saveFlags()
	e.saved = e.borrowed
	e.findStep()
	a.MovImm(e.left, uint64(loopBytes/e.size))

	// Each iteration begins here; a signal may be delivered before any of them.
	head := a.Here()
	r.u.pos[0].Exec = uint16(head - b.Code)
	ends := make([]asm.Site, 0, 2)
	if e.in.AddrBits == 32 {
		ends = append(ends, a.JecxzLater())
	} else {
		ends = append(ends, a.JrcxzLater())
	}
	ends = append(ends, e.iterate()...)
	a.Dec(e.left)
	a.Jcc(asm.IfNotZero, head)

	r.loop.Part = r.rec.ID + 1 // see addPart
	e.leave(r.loop.Part)
	if counting {
		u.countAfter(&c, e.in)
	}
	a.Jmp(again)
	for _, site := range ends {
		a.Link(site, a.Here())
	}
	e.saved, e.borrowed = r.offset(), r.offset()
	e.leave(0)
	if counting {
		u.countAfter(&c, e.in)
	}
	return e.in.Next()
}

// addPart enters the facts of a part of the instruction behind those of the
// whole: they are the same, but that it doesn't retire.
// Both blocks are known before any code of them runs.
func (r *recorder) addPart() {
	r.facts.Ins[0].Flags |= records.InsPart
	if id := r.u.cache.Facts.Add(r.facts); id != r.loop.Part {
		panic("number of a part")
	}
	r.u.sampled(r.loop.Part, r.want)
}

// room reserves the words for the pointers afterwards and for the values, which
// must be the same in all records that do not reach them.
// Values that a record does not reach are zero, so that equal records are equal
// bytes.
func (e *element) room() {
	r, list := e.recorder, e.facts.Ins[0].Accesses
	r.loop = &codecache.Loop{Bits: r.ops[0][0].AddrBits}
	r.u.cache.Oddly(r.rec).Loop = r.loop
	for k := range list {
		w, _ := r.newWord()
		list[k].AuxWord = w
		r.loop.Pointers = append(r.loop.Pointers, codecache.Pointer{Reg: r.ops[0][k].Base, Before: list[k].Word, Now: w})
	}
	for k := range list {
		list[k].Lanes = uint8(loopBytes / e.size)
		if k == 1 && list[1].Store { // movs stores what it has loaded
			list[1].Value = list[0].Value
			break
		}
		w, off := r.newWord()
		r.words += loopBytes/8 - 1
		list[k].Value, e.values[k] = w, off
		for n := range loopBytes / 8 {
			r.u.asm.PutImm(r.rec.RA, off+8*n, 0)
		}
	}
}

// findStep makes step the element's size, negative if the direction flag is set:
// a lods from the record tells. The flags and rax are saved.
func (e *element) findStep() {
	a := &e.u.asm
	a.StoreWord(layout.Scratch2, x86.RSI)
	a.Mov(x86.RSI, e.rec.RA)
	a.Lodsb()
	a.Mov(e.rec.RB, e.rec.RA)
	a.Not(e.rec.RB)
	a.Lea(e.step, asm.Sum(e.rec.RB, x86.RSI, 1, 1))
	if e.size > 1 {
		a.Lea(e.step, asm.Sum(x86.NoReg, e.step, uint8(e.size), 0))
	}
	a.LoadWord(x86.RAX, spillF)
	a.LoadWord(x86.RSI, layout.Scratch2)
}

// iterate writes one iteration. ra moves through the values meanwhile. It returns
// the displacements of branches to the end.
// The order is the processor's: load, store, pointers, count.
func (e *element) iterate() (ends []asm.Site) {
	a, ops, rb := &e.u.asm, e.ops[0], e.rec.RB
	from := uint32(e.u.pos[0].Exec)
	m, _ := e.at(&ops[0], rb)
	a.Load(rb, m, e.size)
	e.value(0)
	compares := false
	switch {
	case len(ops) == 2 && ops[1].Store: // movs
		m, _ = e.at(&ops[1], x86.NoReg)
		a.Store(m, e.size, rb)
	case len(ops) == 2: // cmps
		compares = true
		a.StoreWord(layout.Operand, rb)
		m, _ = e.at(&ops[1], rb)
		a.Load(rb, m, e.size)
		e.value(1)
		a.Cmp(asm.Word(layout.Operand), e.size, rb)
	case ops[0].Base == x86.RDI: // scas
		compares = true
		a.CmpRAX(e.size, rb)
	default: // lods
		a.MovToRAX(e.size, rb)
	}
	e.stretch(codecache.Stretch{From: from, To: e.offset(), Again: true})
	switch {
	case compares:
		a.FlagsToRAX()
		a.StoreWord(spillF+8, x86.RAX)
		a.LoadWord(x86.RAX, spillF)
	case ops[0].Base == x86.RSI && len(ops) == 1:
		a.StoreWord(spillF, x86.RAX)
	}
	for k := range ops {
		addTo(a, ops[k].Base, e.step, e.in.AddrBits)
	}
	a.LeaBits(x86.RCX, asm.At(x86.RCX, -1), e.in.AddrBits)
	a.LeaDisp(e.rec.RA, e.rec.RA, int64(e.size))
	if !compares {
		return nil
	}
	cc := asm.IfNotZero // repe goes on while they are equal
	if e.in.Has(x86.AttrRepne) {
		cc = asm.IfZero
	}
	return append(ends, a.JccLater(cc))
}

// value puts rb where the next value of an operand goes.
func (e *element) value(k int) {
	m := asm.At(e.rec.RA, e.values[k])
	e.u.asm.Store(m, e.size, e.rec.RB)
}

// leave completes the record, under another block's number if it is not 0, and
// gives everything back.
func (e *element) leave(id uint32) {
	a := &e.u.asm
	a.LoadWord(e.rec.RA, layout.Buf)
	e.setFlags()
	a.LoadWord(x86.RAX, spillF)
	e.flagsSavedSince(e.saved)
	for k := range e.ops[0] {
		o, w := &e.ops[0][k], e.loop.Pointers[k].Now
		if o.AddrBits == 32 {
			a.MovLow(e.rec.RB, o.Base)
			a.Put(e.rec.RA, 8*(int(w)+1), e.rec.RB)
			continue
		}
		a.Put(e.rec.RA, 8*(int(w)+1), o.Base)
	}
	if id != 0 && !e.slotted {
		a.PutImm(e.rec.RA, 0, id)
	}
	e.as = id
	a.LoadWord(e.step, layout.Scratch0)
	a.LoadWord(e.left, layout.Scratch1)
	e.note(codecache.Fixup{From: e.borrowed, To: e.offset(), Reg: e.step, Word: layout.Scratch0})
	e.note(codecache.Fixup{From: e.borrowed, To: e.offset(), Reg: e.left, Word: layout.Scratch1})
	e.epilogue()
}
