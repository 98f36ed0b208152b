package translate

import (
	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/records"
)

// Bounds of a translation group: how far one dispatch translates along
// fall-throughs, direct jumps and calls.
const (
	maxGroupBlocks = 6
	FetchBytes     = 512
)

// Translator is the translator of a process, and its working state for one group of fragments: blocks that follow each
// other and the cold stubs behind them.
//
// There is one a process and it is used again: a dispatch must not allocate.
type Translator struct {
	cache   *codecache.Cache
	target  Target
	decoder *x86.Decoder
	Settings
	code    codeWindow
	ar      *codecache.Region
	Variant codecache.Variant
	asm     asm.Writer
	stubs
	basics   int           // basic blocks written
	checks   []uint64      // application addresses that got a target check
	limit    int           // of the next block's instructions, for one that is used once; 0 none
	forced   bool          // the tracer executes the next block
	guarded  bool          // the block being written is code of a guarded page; see guards
	checkFor uint64        // a return address whose target check comes next
	certain  bool          // what is written is executed if the group's beginning is
	callee   uint64        // what it calls there; 0: nothing
	behind   []uint64      // return addresses of calls that superblocks of the group go along
	counted  codecache.Use // by the block's last instruction as it executes, each time; see askCounted
	Ins      [codecache.MaxBlockInsns]x86.Insn
	pos      []codecache.Position // of the block being written, one an instruction
	posBuf   [codecache.MaxBlockInsns]codecache.Position
	recordRoom
}

// stubs is what is to be written behind the hot code.
type stubs struct {
	warm       []coldStub // used as often as the code that leads there
	cold       []coldStub
	dispatches []dispatchStub
	sides      []sideExit
	lits       []literal
}

// recordRoom is what recording a block needs, kept to be used again.
type recordRoom struct {
	wants    [codecache.MaxBlockInsns]Want
	opBuf    []x86.Operand
	ahead    [1]x86.Insn // behind the block, see flagsDeadAhead
	rec      recorder
	lastLeft uint32 // the highest number of a block whose records can be left out and are counted then
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

// dispatchStub is a cold stub that only asks: they are most of all, and a function for each
// would be a piece of memory for each.
type dispatchStub struct {
	site asm.Site
	req  uint32
}

// coldStub is code to be placed behind the group: emit writes it once the hot
// code is complete; the displacement at site leads to it.
type coldStub struct {
	site asm.Site
	emit func(u *Translator)
}

// Translate translates the code at app, and ahead along its direct successors,
// in variant v. It returns nil if there is no executable code at app.
// It may return a block that existed already. A full cache gives nil as well.
func (u *Translator) Translate(app uint64, v codecache.Variant) *codecache.Block {
	if u.target.LookAround(app) {
		if b := u.cache.BlockOf(app, v); b != nil {
			return b
		}
	}
	ar := u.cache.RegionFor(app)
	if ar == nil {
		return nil
	}
	b := u.write(ar, v, func(u *Translator) *codecache.Block { return u.chain(app) })
	u.followCalls(v)
	return b
}

// maxCallees is how many functions are translated with a dispatch.
const maxCallees = 8

// followCalls translates the function that the group just written calls before anything that may go another way, and what that one calls
// likewise: it is about to be asked for. What lies behind a condition is not followed: most of it never runs.
// Recorded blocks go along calls by themselves.
func (u *Translator) followCalls(v codecache.Variant) {
	for range maxCallees {
		to := u.callee
		u.callee = 0
		if to == 0 || u.NoCallees || v.Records() || u.forced || u.cache.Watched[to] || !u.target.Executable(to) {
			return
		}
		u.target.LookAround(to)
		ar := u.cache.RegionFor(to)
		if ar == nil || u.cache.BlockOf(to, v) != nil {
			return
		}
		u.write(ar, v, func(u *Translator) *codecache.Block { return u.chain(to) })
	}
}

// makeWords makes n words.
func makeWords(n int) []uint32 { return make([]uint32, n) }

// write runs body with a fresh group in ar and completes what it wrote.
//
// The order is what threads rely on: hot code, cold code and literals are complete before
// an exit of another group is patched to lead here, and before the tables of threads are
// pointed at target checks. Warm stubs follow the hot code at once; cold ones go to the other part.
func (u *Translator) write(ar *codecache.Region, v codecache.Variant, body func(*Translator) *codecache.Block) *codecache.Block {
	if !u.NoHuge {
		ar.Enlarge()
	}
	u.ar, u.Variant = ar, v
	u.cache.MakeChecks(v, makeWords)
	far := u.asm.Far[:0]
	u.asm = asm.New(ar.Mem[:ar.Size], ar.Base, ar.Next)
	u.asm.Far = far
	u.warm, u.cold, u.lits, u.checks, u.checkFor = u.warm[:0], u.cold[:0], u.lits[:0], u.checks[:0], 0
	u.dispatches, u.sides, u.behind, u.basics = u.dispatches[:0], u.sides[:0], u.behind[:0], 0
	u.certain, u.callee = true, 0
	b := body(u)
	u.writeBehind()
	for i := 0; i < len(u.warm); i++ {
		c := u.warm[i]
		u.asm.Link(c.site, u.asm.Here())
		c.emit(u)
	}
	for i := range u.sides {
		u.asm.Link(u.sides[i].site, u.asm.Here())
		u.writeSide(&u.sides[i])
	}
	ar.Next = (u.asm.Pos() + 15) &^ 15
	u.asm.Seek(ar.Cold)
	for i := 0; i < len(u.cold); i++ {
		c := u.cold[i]
		u.asm.Link(c.site, u.asm.Here())
		c.emit(u)
	}
	for _, s := range u.dispatches {
		u.asm.Link(s.site, u.asm.Here())
		u.dispatch(s.req)
	}
	if len(u.lits) > 0 {
		u.asm.Align8(0)
	}
	for _, l := range u.lits {
		u.asm.Link(l.site, u.asm.Here())
		u.asm.Uint64(l.value)
		u.reloc(codecache.RelocAbs, l.value-1, 8, 0) // a return address: the call in front of it may be an image's last instruction
	}
	if u.asm.Full() {
		panic("code cache: unit larger than its reserve")
	}
	ar.Cold = (u.asm.Pos() + 7) &^ 7
	u.noteNewCheck()
	u.cache.LinkEntered()
	u.target.Publish(u.checks, v)
	return b
}

// chain writes blocks from app onwards until one ends indirectly, its successor
// exists already, or the group is long enough. It returns the first.
//
// A block that exists already is not written again: the code jumps there. The bound keeps
// a dispatch from translating what may never be executed.
func (u *Translator) chain(app uint64) *codecache.Block {
	var first, falls *codecache.Block
	parts := false // what comes next belongs in no group with what was written
	for n := 0; ; n++ {
		if u.checkFor != 0 {
			u.checkFor = 0
			if !u.targetCheck(app) {
				return first
			}
		}
		if b := u.cache.BlockOf(app, u.Variant); b != nil || n == maxGroupBlocks || u.Variant.Records() && u.basics >= maxGroupBlocks || n > 0 && u.cache.Watched[app] || parts {
			if n > 0 {
				u.jumpTo(app, codecache.Uncounted)
			}
			return first
		}
		b, next := u.block(app)
		if falls != nil && b != nil {
			falls.Note(codecache.Falls)
		}
		if b == nil { // no code there: whoever gets there faults there
			if n > 0 {
				u.jumpTo(app, codecache.Uncounted)
			}
			return first
		}
		if first == nil {
			first = b
		}
		if next == 0 {
			return first
		}
		if parts = !u.goesWith(next); !parts {
			falls = u.through(b, next)
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
func (u *Translator) block(app uint64) (b *codecache.Block, next uint64) {
	u.lastRecorded = false
	n, why := u.decode(app)
	if n == 0 && why == x86.OutOfBytes {
		return nil, 0
	}
	b = u.cache.NewBlock()
	b.App, b.Variant = app, u.Variant
	b.NoteIf(codecache.Made, u.cache.InMade)
	if n == 0 { // undecodable
		b.Code = u.asm.Here()
		if u.target.Changing(app) {
			u.compareSelf(b, min(len(u.code.cur), 15))
		}
		u.trap(b, app, 1)
		u.finish(b)
		return b, 0
	}
	changing := u.target.Changes(u.Ins[:n])
	u.guarded = !changing && u.guards(u.Ins[:n])
	ins := u.extent(app, n, why, changing)
	u.setPositions(ins)
	b.Code = u.asm.Here()
	u.entryCode(b, ins, changing)
	if changing {
		u.compareSelf(b, int(ins[len(ins)-1].Next()-app))
	}
	if popsFlags(&ins[0]) && !u.forced {
		u.checkPopped(b, &ins[0])
	}
	switch {
	case u.forced || u.MustTrap(&ins[0]):
		u.spend(b, ins)
		u.trapBlock(b, &ins[0])
	case u.Variant.Records():
		next = u.recordBlock(b, ins)
	case u.Variant == codecache.Count:
		u.spend(b, ins)
		u.count(b, ins)
		next = u.plainBlock(b, ins)
		u.countFall(&ins[len(ins)-1], next)
	default:
		u.spend(b, ins)
		next = u.plainBlock(b, ins)
	}
	u.checkPointer(b, &ins[len(u.pos)-1], next) // of what has been written: recording may leave some to the next block
	u.askCounted(next)
	u.finish(b)
	return b, next
}

// extent is the instructions that make one block, of n that were decoded at app and those that a
// superblock goes on with.
func (u *Translator) extent(app uint64, n int, why x86.Why, changing bool) []x86.Insn {
	if u.Variant.Records() && why == x86.EndOfBlock && !changing && !u.guarded {
		n = u.superblock(app, n)
	}
	n = u.withinFunction(u.Ins[:u.untilTrap(u.Ins[:n])])
	if u.CountsAccesses {
		n = u.untilCounted(u.Ins[:n])
	}
	if u.limit > 0 && u.limit < n {
		n = u.limit
	}
	n = untilPointer(u.Ins[:n])
	if changing {
		n = untilStore(u.Ins[:n])
	}
	if changing || u.guarded {
		n = untilSerialized(u.Ins[:n])
	}
	return u.Ins[:n]
}

// finish enters the block into the tables.
// A block for one use is not entered: nobody else may find it.
func (u *Translator) finish(b *codecache.Block) {
	// Room for the jump that may replace the entry: a block whose only
	// instruction is a jump that was followed has no code at all.
	// The same behind what counts, where jumps from within the function lead.
	if n := u.asm.Here() - b.At(codecache.Counted); n < codecache.EntryBytes {
		u.asm.Nop(int(codecache.EntryBytes - n))
	}
	b.Size = uint32(u.asm.Here() - b.Code)
	for i := range u.pos {
		b.AppSize += uint16(u.pos[i].Len)
		b.NoteIf(codecache.InPieces, u.pos[i].Moved)
	}
	b.Insns, b.PosAt = uint8(len(u.pos)), u.cache.PackPositions(u.pos)
	u.ar.Blocks.Append(b.Num)
	u.relocFar(b.App)
	if u.limit == 0 {
		u.list(b)
		u.cache.Enter(b)
	}
	if b.OfMadeCode() || b.Variant >= codecache.KeptVariants {
		u.cache.Loose++
	}
}

// list notes the pages of made code that a block lies in, and whether it is entered by a gate.
func (u *Translator) list(b *codecache.Block) {
	addr, was := b.App, uint64(1)
	for i := range u.pos {
		if u.pos[i].Moved {
			addr = b.App + uint64(int64(u.pos[i].Far))
		}
		last := addr + uint64(u.pos[i].Len) - 1
		for page := addr &^ (codePage - 1); page <= last; page += codePage {
			if page == was {
				continue
			}
			was = page
			if u.target.Made(page) {
				u.cache.ListIn(page, b)
				u.cache.Written.Mixed = u.cache.Written.Mixed || !u.cache.InMade
			} else {
				b.Note(codecache.Mixed)
			}
		}
		addr = last + 1
	}
	b.NoteIf(codecache.Gated, u.gate(b.App) != 0)
}

// decode decodes the block at app into u.ins.
//
// The copy that is decoded is the tracer's: what the application writes there meanwhile is
// seen with the next translation, which invalidation or the block's own comparison asks for.
func (u *Translator) decode(app uint64) (int, x86.Why) {
	code := u.Fetch(app, FetchBytes)
	u.code.pieces, u.code.pieceBuf = u.code.pieces[:0], u.code.pieceBuf[:0]
	n, why := u.decoder.Decode(code, app, u.Ins[:])
	if n > 0 && why == x86.OutOfBytes && len(code) == FetchBytes {
		why = x86.Full
	}
	for i := 1; i < n; i++ {
		if u.target.Splits(u.Ins[i].Addr) {
			n, why = i, x86.Full
			break
		}
	}
	return u.ofOneKind(app, n, why)
}

// plainBlock writes the instructions as they are and the branch.
// A position's start and exec are the same: there is nothing in front of an
// instruction.
func (u *Translator) plainBlock(b *codecache.Block, ins []x86.Insn) (next uint64) {
	last := len(ins) - 1
	for i := range ins {
		off := uint16(u.asm.Here() - b.Code)
		u.pos[i].Start, u.pos[i].Exec = off, off
		if i == 0 {
			u.pos[0].Start = 0
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
func (u *Translator) counting(in *x86.Insn, execute func()) {
	c, ok := u.CountedAround(in)
	if ok {
		u.countBefore(&c, in)
	}
	execute()
	if ok {
		u.countAfter(&c, in)
	}
}

// last writes the block's last instruction, whatever it is.
func (u *Translator) last(b *codecache.Block, in *x86.Insn) (next uint64) {
	switch in.Cat {
	case x86.CatCONDBR, x86.CatUNCONDBR, x86.CatCALL, x86.CatRET, x86.CatSYSCALL:
		return u.branch(b, in)
	}
	if in.Mnem == x86.MXBEGIN || in.Mnem == x86.MXABORT {
		return u.branch(b, in)
	}
	u.counting(in, func() {
		u.pos[len(u.pos)-1].Exec = uint16(u.asm.Here() - b.Code)
		u.copy(in)
	})
	return in.Next()
}

// FindCheck finds or makes the target check of app in variant v and, with it, its block; ok
// is false if there is no code at app.
//
// A target check is made together with its block or in front of a jump to it, so that a table never
// leads to a target check without code behind.
func (u *Translator) FindCheck(app uint64, v codecache.Variant) (b *codecache.Block, ok bool) {
	u.target.LookAround(app)
	b = u.cache.BlockOf(app, v)
	if !u.cache.HasCheck(app, v) {
		ar := u.cache.RegionFor(app)
		if ar == nil || b == nil && !u.target.Executable(app) {
			return nil, false
		}
		first := u.write(ar, v, func(u *Translator) *codecache.Block {
			if !u.targetCheck(app) {
				return nil
			}
			if b != nil {
				u.jmpAnywhere(u.cache.LinkTo(b, codecache.Uncounted))
				return b
			}
			first := u.chain(app)
			if first == nil { // what begins there is cut off by the end of executable memory
				u.jumpTo(app, codecache.Uncounted)
			}
			return first
		})
		if b == nil {
			b = first
			u.followCalls(v)
		}
	}
	return b, true
}

// setPositions begins the positions of the block being written, with the lengths of its
// instructions.
func (u *Translator) setPositions(ins []x86.Insn) {
	u.pos = u.posBuf[:len(ins)]
	for i := range ins {
		u.pos[i] = codecache.Position{Len: ins[i].Len}
		if i > 0 && ins[i].Addr != ins[i-1].Next() {
			u.pos[i].Moved, u.pos[i].Far = true, int32(ins[i].Addr-ins[0].Addr)
		}
	}
}

// accesses returns room for n accesses of the block that is being recorded.
func (u *Translator) accesses(n int) []records.Access {
	// accBuf may move as it grows, which leaves slices handed out before on the old
	// array: they stay valid, being written by their owner only.
	from := len(u.accBuf)
	for range n {
		u.accBuf = append(u.accBuf, records.Access{})
	}
	return u.accBuf[from:len(u.accBuf):len(u.accBuf)]
}

// noteNewCheck notes the target check that was just written, if no block came behind it.
func (u *Translator) noteNewCheck() {
	if u.cache.NewCheck != 0 {
		u.cache.NoteCheck(u.cache.NewCheck, u.Variant)
		u.cache.NewCheck = 0
	}
}

// Init makes the translator of a process.
func (u *Translator) Init(cache *codecache.Cache, g Target, decoder *x86.Decoder, s Settings) {
	u.cache, u.target, u.decoder, u.Settings = cache, g, decoder, s
}
