package translate

import (
	"slices"

	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// Want is what is to be recorded of one instruction.
type Want struct {
	Flags records.InsFlags // records.Ins…; 0: nothing of it
	Func  uint32           // number in the profile, 0 none
	// Sample: only one in so many executions is to be kept, by who reads the records
	// (records.Blocks.SampleRates); 0 and 1: all.
	Sample uint32
	Regs   []records.Reg // to be recorded before it
	// If are sets of conditions of which one has to hold, all of it, for an execution to be wanted; none: all are.
	If [][]Condition
}

// Spill words of recording code. Indirect branches use others, S0 and S1,
// because a block may end in one while its own registers are still borrowed.
const (
	SpillA = 0x20
	SpillB = 0x28
	spillF = 0x30 // rax while the flags lie in it
)

// recorder is the working state for one recorded block.
//
// There is one in each group, used again for each block, so that recording a block allocates
// nothing but its facts.
type recorder struct {
	u     *Translator
	b     *codecache.Block
	ins   []x86.Insn
	want  []Want
	ops   [codecache.MaxBlockInsns][]x86.Operand // accesses to be recorded, one list an instruction
	ways  [codecache.MaxBlockInsns]insWay
	rec   *codecache.Recording // b's
	loop  *codecache.Loop
	facts *records.Block // the group's, entered in the table at the end
	sym   Symbols
	words int
	sides []records.Part // of a superblock, in their order
	numAt int            // where the code has the number, to which the size is added when it is known
	check int            // the instruction before which the chunk's end is checked; -1 at the start, with the flags kept

	slotted bool   // the first word of a record comes last (engine/shm)
	slotAt  int    // where the code has the displacement of the slot that is looked at; 0: it looks at none
	as      uint32 // the number of a part, if it is one that is completed

	conditional bool // the record is worth something only where a condition holds
	counts      bool // that it was left out is counted, since the conditions are of lines
}

// recordBlock writes a block that records itself.
//
// The record of one execution is the block's number and then its words, at constant offsets
// from where the ring pointer stands at the block's start; the pointer is moved once, at the
// end. An execution that is left early is therefore no record yet, see Thread.cut.
func (u *Translator) recordBlock(b *codecache.Block, ins []x86.Insn) (next uint64) {
	want := u.wants[:len(ins)]
	clear(want)
	image := u.target.Plan(u.Variant.Plan(), ins, want)
	all := u.unconditional(ins, want)
	ins = u.keep(ins, untilUnwanted(ins, want))
	want = want[:len(ins)]
	if !anyWanted(want) {
		u.spend(b, ins)
		return u.plainBlock(b, ins)
	}
	r := &u.rec
	*r = recorder{u: u, b: b, want: want, sides: r.sides[:0], sym: Symbols{known: r.sym.known[:0]}, slotted: layout.Slotted(u.Buffering), conditional: !all, counts: !all && countLeft(want)}
	u.opBuf = u.opBuf[:0]
	if n := r.prefix(ins); n < len(ins) {
		n = wholeBlocks(ins, n)
		ins = u.keep(ins, n)
	}
	r.ins, r.want = ins, want[:len(ins)]
	r.facts = u.newFacts(b, ins, r.want, image)
	next = r.emit()
	u.basics += 1 + len(r.sides)
	// No code of the block has run yet: nothing leads there before the group is
	// complete.
	if id := u.cache.Facts.Add(r.facts); id != r.rec.ID {
		panic("number of a recorded block")
	}
	u.sampled(r.rec.ID, r.want)
	for _, s := range r.sides {
		u.sampled(u.cache.Facts.AddPart(r.rec.ID, s), r.want[:s.Ins])
	}
	if r.loop != nil {
		r.addPart()
	}
	return next
}

// keep leaves the rest of a block's instructions to the next block.
func (u *Translator) keep(ins []x86.Insn, n int) []x86.Insn {
	u.pos = u.pos[:n]
	return ins[:n]
}

// sampled says of a block's facts which of its instructions are not all to be kept.
func (u *Translator) sampled(id uint32, want []Want) {
	var rates []uint32
	for i := range want {
		if want[i].Sample > 1 && rates == nil {
			rates = make([]uint32, len(want))
		}
		if rates != nil {
			rates[i] = want[i].Sample
		}
	}
	if rates != nil {
		u.cache.Facts.SetSampleRates(id, rates)
	}
}

// newFacts makes a block's static facts. They are valid until the next are made.
// Accesses and words are filled in while the code is written.
func (u *Translator) newFacts(b *codecache.Block, ins []x86.Insn, want []Want, image uint32) *records.Block {
	f := &u.facts
	*f = records.Block{Addr: b.App, Image: image, TimeWord: records.NoWord, BranchWord: records.NoWord, Ins: f.Ins[:0], Code: f.Code[:0], Regs: f.Regs[:0]}
	u.accBuf = u.accBuf[:0]
	for i := range ins {
		in, off := &ins[i], uint16(len(f.Code))
		f.Code = append(f.Code, u.InsBytes(in)...)
		f.Ins = append(f.Ins, records.Ins{Off: off, Far: int32(in.Addr - b.App - uint64(off)), Len: in.Len, Flags: want[i].Flags, Func: want[i].Func})
	}
	f.Branch, f.Target = branchKind(&ins[len(ins)-1])
	return f
}

// prefix finds how many of the instructions can be one recorded block: as long
// as two registers are left that none of them mentions.
//
// A block that is cut short for that goes on in another one right
// behind.
func (r *recorder) prefix(ins []x86.Insn) int {
	used := uint16(1 << x86.RSP)
	r.rec = &r.b.Rec
	*r.rec = codecache.Recording{}
	if r.wantsTime() {
		used |= 1<<x86.RAX | 1<<x86.RDX
	}
	for i := range ins {
		if r.want[i].Flags&records.InsValues != 0 && loops(&ins[i]) { // a block of its own
			if i == 0 {
				used |= ins[0].Mentions() | 1<<x86.RAX | 1<<x86.RSI
			}
			r.pick(used)
			return max(i, 1)
		}
		u := used | ins[i].Mentions() | r.reserved(i, &ins[i])
		if i > 0 && (freeRegs(u) < 2 || r.words+roomFor(&ins[i])+registerWords(r.want[i].Regs) > layout.MaxRecordWords-8) {
			r.pick(used)
			return i
		}
		used = u
		r.words += roomFor(&ins[i]) + registerWords(r.want[i].Regs)
	}
	r.pick(used)
	r.words = 0
	return len(ins)
}

// roomFor bounds how many words of a record an instruction needs.
// It may be too much, never too little: the record must fit into the slack behind
// End.
func roomFor(in *x86.Insn) int {
	n := 2
	for i := range in.Mems[:in.NMem] {
		n += 14 + 2*int(min(in.Mems[i].Size, maxValue)+7)/8
	}
	if in.Enc == x86.EncEVEX || in.Enc == x86.EncVEX {
		n += 16
	}
	return n
}

// reserved is the registers that an instruction's translation needs for itself:
// a branch's look-up, a locked instruction's comparison.
func (r *recorder) reserved(i int, in *x86.Insn) uint16 {
	if in.Has(x86.AttrLock) && r.want[i].Flags&records.InsValues != 0 {
		return 1 << x86.RAX
	}
	if in.Cat == x86.CatSTRINGOP && r.want[i].Flags&records.InsValues != 0 {
		return 1<<x86.RSI | 1<<x86.RDI
	}
	if in.Complex() { // for the flags
		return 1 << x86.RAX
	}
	switch in.Cat {
	case x86.CatRET, x86.CatUNCONDBR, x86.CatCALL:
		if in.Opcode == 0xff || in.Cat == x86.CatRET {
			return 1<<x86.RCX | 1<<x86.RDX
		}
	}
	return 0
}

// freeRegs counts the registers that are not in the set.
func freeRegs(used uint16) int {
	n := 0
	for i := range 16 {
		if used&(1<<i) == 0 {
			n++
		}
	}
	return n
}

// pick chooses the two registers: rcx second if it is free, for the check that
// leaves the flags alone; low ones, whose code is shorter.
// Borrowed registers are restored before the block's last instruction, and stay
// what they are in between: one load and one store each for the whole block.
func (r *recorder) pick(used uint16) {
	r.words = 0
	take := func(order ...x86.Reg) x86.Reg {
		for _, g := range order {
			if used&(1<<uint(g)) == 0 {
				used |= 1 << uint(g)
				return g
			}
		}
		return x86.NoReg
	}
	r.rec.RB = take(x86.RCX)
	// rbp last: what faults with it as a base may raise another signal.
	order := []x86.Reg{x86.RBX, x86.RSI, x86.RDI, x86.RDX, x86.RAX, x86.R8, x86.R9, x86.R10, x86.R11, x86.R12, x86.R13, x86.R14, x86.R15, x86.RBP}
	if r.conditional { // whose code has the flags in rax
		order = append(slices.DeleteFunc(order, func(g x86.Reg) bool { return g == x86.RAX }), x86.RAX)
	}
	r.rec.RA = take(order...)
	if r.rec.RB == x86.NoReg {
		r.rec.RB = take(order...)
	}
}

// emit writes the block.
//
// For each instruction: what is recorded ahead of it, the instruction, what is recorded
// behind it. positions note where its instrumentation and where it itself begins.
func (r *recorder) emit() (next uint64) {
	u, b := r.u, r.b
	r.operands()
	if r.want[0].Flags&records.InsValues != 0 && loops(&r.ins[0]) {
		r.conditional = false
		return r.emitLoop()
	}
	r.place()
	u.spend(b, r.ins)
	r.prologue()
	last := len(r.ins) - 1
	for i := range r.ins {
		in := &r.ins[i]
		if i > 0 {
			r.u.pos[i].Start = uint16(u.asm.Here() - b.Code)
		}
		if i == r.check {
			r.checkEnd()
		}
		r.before(i)
		if i == last {
			return r.finish(i, in)
		}
		r.u.pos[i].Exec = uint16(u.asm.Here() - b.Code)
		switch {
		case !goesOn(in):
			r.execute(i, in)
			r.after(i)
		case in.Cat == x86.CatCONDBR:
			r.side(i, in)
		case in.Cat == x86.CatCALL:
			u.push(in.Next())
			u.behind = append(u.behind, in.Next())
		} // a jump is nothing: the code at its target follows, as it does a call's push
		r.sym.Step(in)
	}
	return 0
}

// operands derives what is to be recorded and sets the static facts that need
// no code.
// Accesses that are not recorded still make an instruction one that accesses
// memory.
func (r *recorder) operands() {
	for i := range r.ins {
		in := &r.ins[i]
		if in.NMem == 0 {
			continue
		}
		from := len(r.u.opBuf)
		r.u.opBuf = in.Accesses(r.u.opBuf)
		ops := r.u.opBuf[from:]
		if in.Complex() {
			ops = stateAccess(in, ops)
		}
		if in.RIPRelative() && slices.ContainsFunc(ops, func(o x86.Operand) bool { return o.Seg != records.SegNone }) {
			r.u.cache.Written.Mixed = true // facts say where such an access lies from its segment's base on, not from the block
		}
		if len(ops) > 0 {
			r.facts.Ins[i].Flags |= records.InsMemory
		}
		if r.want[i].Flags&(records.InsAddrs|records.InsValues) != 0 {
			r.facts.Ins[i].Accesses = r.u.accesses(len(ops))
			if r.sizesSuffice(i, ops) {
				continue
			}
			r.ops[i] = ops
			r.ways[i] = r.choose(i)
		}
	}
}

// sizesSuffice tells whether nobody wants to know where an instruction's accesses lie, and says in the facts how large they are: they need no word then. That is
// so of readers that follow calls, which look at the addresses of return addresses alone. What an access of another kind counts for is in its words.
func (r *recorder) sizesSuffice(i int, ops []x86.Operand) bool {
	in, w := &r.ins[i], &r.want[i]
	if !r.u.FewAddresses || w.Flags&records.InsValues != 0 || len(w.If) > 0 || in.Cat == x86.CatCALL || in.Cat == x86.CatRET ||
		slices.ContainsFunc(ops, func(o x86.Operand) bool { return o.Kind != records.AccessPlain }) {
		return false
	}
	for j := range ops {
		acc := ops[j].Access
		acc.Word, acc.AuxWord, acc.IndexWord, acc.Value = records.NoWord, records.NoWord, records.NoWord, records.NoWord
		acc.Offset, acc.Seg = 0, records.SegNone
		r.facts.Ins[i].Accesses[j] = acc
	}
	return true
}

// place decides where the chunk's end is checked: before the last instruction
// that finds the flags dead, since by then most of the record's words are
// not written yet or all are; with none, at the block's start.
func (r *recorder) place() {
	r.check = -1
	if r.eachSlot() {
		return
	}
	for i := range r.ins[:firstExit(r.ins)] {
		if r.flagsFree(i) {
			r.check = i
			return
		}
	}
}

// prologue borrows the registers and writes the block's id.
// The block's number is the first word, a constant in the code.
func (r *recorder) prologue() {
	u, rec := r.u, r.rec
	a := &u.asm
	rec.HasB = r.needsB()
	a.StoreWord(SpillA, rec.RA)
	if rec.HasB {
		a.StoreWord(SpillB, rec.RB)
	}
	direct := rec.RB == x86.RCX || r.eachSlot() && r.flagsFree(0)
	switch {
	case direct || r.check >= 0:
	case r.eachSlot():
		r.checkSlotKeepingFlags()
	default:
		r.checkKeepingFlags()
	}
	rec.From = uint16(a.Here() - r.b.Code)
	switch {
	case r.eachSlot() && direct:
		r.checkSlot()
	default:
		a.LoadWord(rec.RA, layout.Buf)
		if r.check < 0 && direct {
			r.checkByRCX()
		}
	}
	if r.idFor(); !r.slotted {
		r.number()
	}
	if r.wantsTime() {
		r.time()
	}
}

// needsB tells whether the block uses its second register: for addresses that
// have to be computed, values, masks, or the check that keeps the flags.
// Saving one register less is worth a look.
func (r *recorder) needsB() bool {
	if r.conditional || r.check < 0 && !(r.eachSlot() && r.flagsFree(0)) {
		return true
	}
	for i := range r.ins {
		if len(r.want[i].Regs) > 0 {
			return true
		}
		if len(r.ops[i]) > 0 && r.want[i].Flags&records.InsValues != 0 {
			return true
		}
		for j := range r.ops[i] {
			o := &r.ops[i][j]
			if o.Index != x86.NoReg || o.AL || o.Kind != records.AccessPlain && (o.Kind != records.AccessString || o.AddrBits == 32) {
				return true
			}
		}
	}
	return false
}

// idFor returns the number that the facts will have in the table of blocks. They
// are entered once they are complete.
func (r *recorder) idFor() uint32 {
	r.rec.ID = r.u.cache.Facts.Next()
	return r.rec.ID
}

// numbered is the first word of a record of so many words behind it.
func (u *Translator) numbered(id uint32, words int) uint32 {
	if !u.Sizes {
		return id
	}
	return records.Number(id, words)
}

// eachSlot tells whether the block looks at a slot of its own.
func (r *recorder) eachSlot() bool { return r.u.Buffering == layout.BufferSlots }

// number writes the record's first word; what it says of the record's length is filled in.
func (r *recorder) number() {
	id := r.rec.ID
	if r.as != 0 {
		id = r.as
	}
	r.u.asm.PutImm(r.rec.RA, 0, id)
	r.numAt = r.u.asm.Pos() - 4
}

// newWord reserves the record's next word and returns its index and where it
// lies relative to the record's start.
// Words are numbered behind the block's number, which is why offsets begin at
// eight.
func (r *recorder) newWord() (index int16, off int) {
	w := r.words
	r.words++
	return int16(w), 8 * (w + 1)
}

// wantsTime tells whether a time stamp is recorded: one a block, whatever instructions ask.
func (r *recorder) wantsTime() bool {
	for i := range r.want {
		if r.want[i].Flags&records.InsTime != 0 {
			return true
		}
	}
	return false
}

// time writes the time-stamp counter. rdtsc destroys rax and rdx, which pick
// has kept out of the way.
//
// Not rdtscp, and no fence: the stamp may be some instructions early or late, which is below
// what anybody can tell from outside, and a fence would make the block wait.
func (r *recorder) time() {
	a := &r.u.asm
	w, off := r.newWord()
	r.facts.TimeWord = w
	a.StoreWord(spillF, x86.RAX)
	a.StoreWord(spillF+8, x86.RDX)
	a.Rdtsc()
	a.PutLow(r.rec.RA, off, x86.RAX, 4)
	a.PutLow(r.rec.RA, off+4, x86.RDX, 4)
	a.LoadWord(x86.RAX, spillF)
	a.LoadWord(x86.RDX, spillF+8)
}
