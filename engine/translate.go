package engine

import (
	"alleria/engine/asm"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/records"
)

// Bounds of a translation unit: how far one request translates along
// fall-throughs, direct jumps and calls.
const (
	maxBlockInsns = 64
	maxUnitBlocks = 6
	fetchBytes    = 512
	// unitReserve is the room that must be left in an area before a unit is
	// begun: more than any unit can need.
	unitReserve = 256 << 10
)

// unit is one stretch of code being written: blocks that follow each other and
// the cold stubs behind them. It is the translator's working state for one
// request.
//
// There is one a process and it is used again: a request must not allocate.
type unit struct {
	p       *Process
	ar      *area
	v       Variant
	asm     asm.Writer
	warm    []coldStub // used as often as the code that leads there
	cold    []coldStub
	asks    []askStub
	sides   []sideExit
	basics  int      // basic blocks written
	heads   []uint64 // application addresses that got a head
	limit   int      // of the next block's instructions, for one that is used once; 0 none
	forced  bool     // the tracer executes the next block
	headFor uint64   // a return address whose head comes next
	lits    []literal
	counted use // by the block's last instruction as it executes, each time; see askCounted
	ins     [maxBlockInsns]x86.Insn
	pos     []position // of the block being written, one an instruction
	posBuf  [maxBlockInsns]position
	newHead uint64 // an address with a new head and no block yet; 0 none
	// What recording a block needs, kept to be used again.
	wants [maxBlockInsns]Want
	opBuf []x86.Operand
	rec   recorder
	// lastRecorded: the instruction being written is part of the records.
	lastRecorded bool
	// facts is the block that is being recorded, before the table packs it.
	facts  records.Block
	accBuf []records.Access
}

// literal is a 64-bit constant that code at site refers to relatively.
type literal struct {
	site  asm.Site
	value uint64
}

// askStub is a cold stub that only asks: they are most of all, and a function for each
// would be a piece of memory for each.
type askStub struct {
	site asm.Site
	req  uint32
}

// coldStub is code to be placed behind the unit: emit writes it once the hot
// code is complete; the displacement at site leads to it.
type coldStub struct {
	site asm.Site
	emit func(u *unit)
}

// translate translates the code at app, and ahead along its direct successors,
// in variant v. It returns nil if there is no executable code at app.
// It may return a block that existed already. A full cache gives nil as well.
func (p *Process) translate(app uint64, v Variant) *block {
	if p.from != nil {
		p.lookAround()
		if b := p.blockOf(app, v); b != nil {
			return b
		}
	}
	ar := p.areaFor(app)
	if ar == nil {
		return nil
	}
	return p.unit(ar, v, func(u *unit) *block { return u.chain(app) })
}

// unit runs body with a fresh unit in ar and completes what it wrote.
//
// The order is what threads rely on: hot code, cold code and literals are complete before
// an exit of another unit is patched to lead here, and before the tables of threads are
// pointed at heads. Warm stubs follow the hot code at once; cold ones go to the other part.
func (p *Process) unit(ar *area, v Variant, body func(*unit) *block) *block {
	if !p.noHuge {
		ar.enlarge()
	}
	u := &p.scratch
	u.p, u.ar, u.v = p, ar, v
	if p.slotHeads[v] == nil {
		p.slotHeads[v] = make([]uint64, layout.TableEntries)
	}
	u.asm = asm.New(ar.mem[:ar.size], ar.base, ar.next)
	u.warm, u.cold, u.lits, u.heads, u.headFor = u.warm[:0], u.cold[:0], u.lits[:0], u.heads[:0], 0
	u.asks, u.sides, u.basics = u.asks[:0], u.sides[:0], 0
	b := body(u)
	for i := 0; i < len(u.warm); i++ {
		c := u.warm[i]
		u.asm.Link(c.site, u.asm.Here())
		c.emit(u)
	}
	for i := range u.sides {
		u.asm.Link(u.sides[i].site, u.asm.Here())
		u.writeSide(&u.sides[i])
	}
	ar.next = (u.asm.Pos() + 15) &^ 15
	u.asm.Seek(ar.cold)
	for i := 0; i < len(u.cold); i++ {
		c := u.cold[i]
		u.asm.Link(c.site, u.asm.Here())
		c.emit(u)
	}
	for _, s := range u.asks {
		u.asm.Link(s.site, u.asm.Here())
		u.ask(s.req)
	}
	if len(u.lits) > 0 {
		u.asm.Align8(0)
	}
	for _, l := range u.lits {
		u.asm.Link(l.site, u.asm.Here())
		u.asm.Uint64(l.value)
		u.reloc(relocAbs, l.value-1, 8, 0) // a return address: the call in front of it may be an image's last instruction
	}
	if u.asm.Full() {
		panic("code cache: unit larger than its reserve")
	}
	ar.cold = (u.asm.Pos() + 7) &^ 7
	u.noteNewHead()
	p.linkEntered()
	p.publishHeads(u.heads, v)
	return b
}

// chain writes blocks from app onwards until one ends indirectly, its successor
// exists already, or the unit is long enough. It returns the first.
//
// A block that exists already is not written again: the code jumps there. The bound keeps
// a request from translating what may never be executed.
func (u *unit) chain(app uint64) *block {
	var first *block
	for n := 0; ; n++ {
		if u.headFor != 0 {
			u.headFor = 0
			if !u.head(app) {
				return first
			}
		}
		if b := u.p.blockOf(app, u.v); b != nil || n == maxUnitBlocks || u.v.records() && u.basics >= maxUnitBlocks || n > 0 && u.p.notify[app] {
			if n > 0 {
				u.jumpTo(app, fresh)
			}
			return first
		}
		b, next := u.block(app)
		if b == nil { // no code there: whoever gets there faults there
			if n > 0 {
				u.jumpTo(app, fresh)
			}
			return first
		}
		if first == nil {
			first = b
		}
		if next == 0 {
			return first
		}
		app = next
	}
}

// block translates one block. next is where the code goes on contiguously, 0
// if it does not.
//
// Blocks end at a branch, in front of an instruction that the tracer must execute, where
// something is watched, at maxBlockInsns, and where executable memory ends. An address
// whose bytes are no instruction gives a block that asks the tracer, which lets the
// processor raise what belongs there.
func (u *unit) block(app uint64) (b *block, next uint64) {
	u.lastRecorded = false
	n, why := u.decode(app)
	if n == 0 && why == x86.OutOfBytes {
		return nil, 0
	}
	ins := u.ins[:n]
	b = u.p.newBlock()
	b.app, b.variant = app, u.v
	if n == 0 { // undecodable
		b.code = u.asm.Here()
		if u.p.changing(app) {
			u.compareSelf(b, min(len(u.p.code.cur), 15))
		}
		u.trap(b, app, 1)
		u.finish(b)
		return b, 0
	}
	changing := u.p.changes(ins)
	if u.v.records() && why == x86.EndOfBlock && !changing {
		n = u.superblock(app, n)
		ins = u.ins[:n]
	}
	n = u.withinFunction(ins[:u.untilTrap(ins)])
	if u.p.countsAccesses {
		n = u.untilCounted(ins[:n])
	}
	if u.limit > 0 && u.limit < n {
		n = u.limit
	}
	if changing {
		n = untilStore(u.ins[:n])
	}
	ins = u.ins[:n]
	u.setPositions(ins)
	b.code = u.asm.Here()
	u.arrivals(b, ins, changing)
	if changing {
		u.compareSelf(b, int(ins[n-1].Next()-app))
	}
	if popsFlags(&ins[0]) && !u.forced {
		u.checkPopped(b)
	}
	switch {
	case u.forced || u.mustTrap(&ins[0]):
		u.spend(b, ins)
		u.trapBlock(b, &ins[0])
	case u.v.records():
		next = u.recordBlock(b, ins)
	case u.v == Count:
		u.spend(b, ins)
		u.count(b, ins)
		next = u.plainBlock(b, ins)
	default:
		u.spend(b, ins)
		next = u.plainBlock(b, ins)
	}
	u.askCounted(next)
	u.finish(b)
	return b, next
}

// finish enters the block into the tables.
// A block for one use is not entered: nobody else may find it.
func (u *unit) finish(b *block) {
	// Room for the jump that may replace the entry: a block whose only
	// instruction is a jump that was followed has no code at all.
	// The same behind what counts, where jumps from within the function lead.
	if n := u.asm.Here() - b.at(past); n < entryBytes {
		u.asm.Nop(int(entryBytes - n))
	}
	b.size = uint32(u.asm.Here() - b.code)
	for i := range u.pos {
		b.appSize += uint16(u.pos[i].len)
		b.pieces = b.pieces || u.pos[i].moved
	}
	b.insns, b.posAt = uint8(len(u.pos)), u.p.packPositions(u.pos)
	u.ar.blocks = append(u.ar.blocks, b.num)
	if u.limit == 0 {
		u.p.enter(b)
	}
}

// decode decodes the block at app into u.ins.
//
// The copy that is decoded is the tracer's: what the application writes there meanwhile is
// seen with the next translation, which invalidation or the block's own comparison asks for.
func (u *unit) decode(app uint64) (int, x86.Why) {
	code := u.p.fetch(app, fetchBytes)
	u.p.code.pieces, u.p.code.pieceBuf = u.p.code.pieces[:0], u.p.code.pieceBuf[:0]
	n, why := u.p.tr.decoder.Decode(code, app, u.ins[:])
	if n > 0 && why == x86.OutOfBytes && len(code) == fetchBytes {
		why = x86.Full
	}
	for i := 1; i < n; i++ {
		if u.p.splits(u.ins[i].Addr) {
			return i, x86.Full
		}
	}
	return n, why
}

// untilTrap returns how many of the instructions belong in one block when those
// that the tracer must execute stand in blocks of their own.
func (u *unit) untilTrap(ins []x86.Insn) int {
	for i := range ins {
		if u.mustTrap(&ins[i]) || popsFlags(&ins[i]) {
			return max(i, 1)
		}
	}
	return len(ins)
}

// mustTrap tells whether the tracer has to execute the instruction itself.
//
// These are instructions that would not do in the cache what they do in the application's
// code (gs is ours, software interrupts come from an address), or that leave 64-bit code.
// They are rare enough for two stops each.
func (u *unit) mustTrap(in *x86.Insn) bool {
	switch in.Mnem {
	case x86.MRDGSBASE, x86.MWRGSBASE, x86.MINT, x86.MINT1, x86.MINT3, x86.MINTO, x86.MIRETQ, x86.MSYSENTER,
		x86.MUD0, x86.MUD1, x86.MUD2, x86.MHLT:
		return true
	case x86.MWRFSBASE:
		return u.v.records()
	}
	if in.Has(x86.AttrGS) && in.NMem > 0 && in.Cat != x86.CatNOP && in.Cat != x86.CatWIDENOP && in.Mnem != x86.MLEA {
		return true
	}
	if u.p.countsAccesses && in.AddrBits == 32 && in.Attr&(x86.AttrRep|x86.AttrRepne) != 0 {
		return true
	}
	switch in.Cat {
	case x86.CatCALL, x86.CatUNCONDBR, x86.CatRET:
		return in.Mnem != x86.MXABORT && u.odd(in)
	}
	return u.v.records() && u.trapToRecord(in)
}

// odd tells far branches and branches with prefixes that change their meaning.
// An operand-size prefix makes a near branch cut its target to 16 bits on some
// processors and nothing on others (Intel and AMD differ): the processor is left to
// decide.
func (u *unit) odd(in *x86.Insn) bool {
	switch in.Opcode {
	case 0xe8, 0xe9, 0xeb, 0xc3, 0xc2:
		return in.OpBits != 64 && in.OpBits != 32 && in.Mnem == x86.MRET
	case 0xff:
		r := in.ModRM >> 3 & 7
		return r != 2 && r != 4 || in.OpBits != 64
	}
	return true
}

// trap writes a block of one instruction that the tracer executes.
func (u *unit) trap(b *block, app uint64, length uint8) {
	b.term = termTrap
	u.pos = append(u.posBuf[:0], position{len: length})
	u.askTrap(b)
}

// askTrap writes the request that makes the tracer execute the block's last
// instruction.
//
// The refused alternative is an int3, shorter and not slower: while a thread
// blocks SIGTRAP, the kernel takes it as a reason to unblock the signal and to
// forget the application's handler.
func (u *unit) askTrap(b *block) {
	n := u.p.newExit(exit{target: b.app, area: u.ar, v: u.v, fixed: true, rareExit: rareExit{trap: b}})
	u.ask(uint32(n) + 1)
}

// plainBlock writes the instructions as they are and the branch.
// A position's start and exec are the same: there is nothing in front of an
// instruction.
func (u *unit) plainBlock(b *block, ins []x86.Insn) (next uint64) {
	last := len(ins) - 1
	for i := range ins {
		off := uint16(u.asm.Here() - b.code)
		u.pos[i].start, u.pos[i].exec = off, off
		if i == 0 {
			u.pos[0].start = 0
		}
		if i == last {
			return u.last(b, &ins[i])
		}
		u.copy(&ins[i])
	}
	return 0
}

// counting calls execute, which writes an instruction, and writes around it what
// a process that counts accesses needs.
func (u *unit) counting(in *x86.Insn, execute func()) {
	c, ok := u.countedAround(in)
	if ok {
		u.countBefore(&c, in)
	}
	execute()
	if ok {
		u.countAfter(&c, in)
	}
}

// last writes the block's last instruction, whatever it is.
func (u *unit) last(b *block, in *x86.Insn) (next uint64) {
	switch in.Cat {
	case x86.CatCONDBR, x86.CatUNCONDBR, x86.CatCALL, x86.CatRET, x86.CatSYSCALL:
		return u.branch(b, in)
	}
	if in.Mnem == x86.MXBEGIN || in.Mnem == x86.MXABORT {
		return u.branch(b, in)
	}
	u.counting(in, func() {
		u.pos[len(u.pos)-1].exec = uint16(u.asm.Here() - b.code)
		u.copy(in)
	})
	return in.Next()
}
