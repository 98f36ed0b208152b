package codecache

import (
	"fmt"
	"os"
	"sort"

	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// Cache is a process's translations, and what is known by application address of them. Only the tracer's
// goroutine touches it; threads execute what it has written. What goes by variants is emptied together with the variant's tables,
// see Replan.
type Cache struct {
	Regions []*Region // the first is the default
	// all translations by number; a dead block is no longer in the index
	BlockPool  Pool[Block]
	Index      [NumVariants]Index
	under      []beneath             // of images that were taken over; see SharedIndex
	Epoch      [NumVariants]int      // how often a variant's translations were Forgotten
	BareChecks map[CheckKey]bool     // addresses with a target check that have no block
	Stepped    map[CheckKey]*Block   // of single instructions that are executed with the trap flag set
	SlotChecks [NumVariants][]uint32 // the newest target check of each entry of the look-up tables, 0 none; see SlotCheck
	// by number
	Exits     Pool[ExitWords]
	SideExits Pool[LazySideExit] // side exits of superblocks that are written when they are taken
	entered   []enteredBlock     // blocks of the group being written
	NewCheck  uint64             // an address with a new target check and no block yet; 0 none
	// Watched is what is watched: nothing is linked to it, code asks each time
	Watched map[uint64]bool
	Ahead   bool   // what exits lead to is noted in AheadQueue
	Full    func() // tells that there is no room for another group
	// addresses that recent translations lead to, the latest last
	AheadQueue []aheadItem
	AheadLeft  int
	PosPool    []byte // the positions of blocks, packed; cut off from the front
	PosPieces  [][]byte
	Counters   Pool[uint32]   // counted blocks by counter, by number
	Written    Written        // for whom translations are kept
	Facts      records.Blocks // recorded blocks, for whoever reads the rings
	spare      *Spare         // where the tables come from, and go; nil: nothing
	rarities
	changes
}

// rarities is what few exits and blocks have, which would have all of them be larger.
type rarities struct {
	RareExits []RareExit
	odds      []*Oddities      // see Recording.odd
	uses      map[uint32][]Use // by block; see Uses
}

// changes is what there is because code changes.
type changes struct {
	gates       map[CheckKey]*gate  // where blocks of code that a program makes are entered
	pageBlocks  map[uint64][]uint32 // its blocks by page, by number; see ListIn
	GoneEntries map[uint64]struct{} // where blocks' entries were overwritten, by cache address
	InMade      bool                // what is being written is of code that the program has made
	doors
	Loose int // how many blocks are, or were of what was taken over and not found: no other process has a use for them
}

// Init makes an empty cache. ahead: what exits lead to is queued; full is called where there is no
// room any more.
//
// It is done in place: a cache is 160 KiB, which as a value are written twice for each process.
func (c *Cache) Init(ahead bool, full func()) {
	c.BareChecks, c.Watched, c.Ahead, c.Full = make(map[CheckKey]bool), make(map[uint64]bool), ahead, full
}

// Bounds of what is written at a time.
const (
	MaxBlockInsns = 64 // of a block
	// GroupReserve is the room that must be left in a region before a group is
	// begun: more than any group can need.
	GroupReserve = 256 << 10
)

// Variant is what translated code does besides what the application does.
type Variant uint8

// The variants, each with blocks, links and a look-up table of its own.
const (
	Plain       Variant = iota // nothing
	Count                      // counts block executions
	Record                     // writes raw records as the first of the client's plans says; those of the others follow
	NumVariants = layout.Variants
	// Aside is for children that share the address space: nothing, and entries that the
	// process's threads count in the same words are not counted either.
	Aside = NumVariants - 1
)

// MaxPlans is how many plans a client can have at a time: different things that
// different threads record. Each has a look-up table in the thread's slot.
const MaxPlans = int(Aside - Record)

// Records tells the variants that write records.
func (v Variant) Records() bool { return v >= Record && v < Aside }

// Plan is the client's plan that a recording variant follows.
func (v Variant) Plan() int { return int(v - Record) }

// reach is how far from a region's every byte code may lie to be translated
// into it: a 32-bit displacement less a margin for operands that lie beyond
// their image.
// Operands that are farther from their code than the margin are seen by the
// encoder, which then refuses the displacement.
const reach = 1<<31 - 64<<20

// Region is a stretch of the code cache: executable in the target, writable in
// the tracer. It grows upwards and is never reused while the process lives,
// except by a flush.
//
// From its start: the routines, then groups of hot code upwards to three quarters of it,
// then stubs, literals and veneers. Only the tracer writes.
type Region struct {
	Base uint64
	Mem  []byte
	Next int // where the next group goes; grows up to coldAt
	// cold is where the next stub goes: code and literals that are seldom used
	// lie apart, so that they take no room in the instruction cache.
	Cold     int
	Size     int
	Routines Routines
	Num      uint8 // its place in Cache.Regions
	// blocks, by number, in the order of their code; so also of their addresses.
	Blocks  Pool[uint32]
	veneers map[uint64]uint64 // jumps to other regions, by where they lead
	// changes to the next chunk, that blocks share
	Switches map[SwitchKey]uint64
	// Up to where the two parts were made of large pages, or that was tried.
	hugeNext, hugeCold int
	holds              int // see Hold
	noted              int // see NoteRoom
}

// NewRegion maps a region in the tracer and puts the routines at its start. base is where
// the target has it.
func NewRegion(f *os.File, offset int64, size int, base uint64) (*Region, error) {
	mem, err := sys.MapSharedAligned(f, offset, size)
	if err != nil {
		return nil, fmt.Errorf("code cache: %w", err)
	}
	a := &Region{Base: base, Mem: mem, Size: size, Routines: routineOffsets()}
	copy(mem, routineCode())
	a.empty()
	a.hugeCold = a.Cold
	return a, nil
}

// empty forgets all code but the routines.
func (a *Region) empty() {
	a.Next = a.start()
	a.Cold = coldAt(a.Size)
	a.Blocks, a.veneers, a.Switches = Pool[uint32]{}, nil, nil
}

// start is where the first group goes.
func (a *Region) start() int { return int(a.Routines.Size+63) &^ 63 }

// hugeAfter is how much of the first large page of a part is used before it is
// made one: short programs need a few small ones.
const hugeAfter = 256 << 10

// Enlarge makes large pages of what is about to be written. Code that a program
// runs through once in a while is then found by the processor with one look-up of
// its address for two megabytes, and nobody takes faults for its pages.
func (a *Region) Enlarge() {
	a.hugeNext = a.enlargePart(a.hugeNext, a.Next, 0)
	a.hugeCold = a.enlargePart(a.hugeCold, a.Cold, a.Size/4*3)
}

// NoteRoom is where a piece of native code of so many bytes may be written that stays for the life of the process, as an offset, behind the routines; false: there is no
// more room.
func (a *Region) NoteRoom(size int) (off int, ok bool) {
	off = int(a.Routines.notes) + a.noted
	if off+size > int(a.Routines.notesEnd) {
		return 0, false
	}
	a.noted += size
	return off, true
}

// Hold has one Unmap more pass before the region's memory is given back.
func (a *Region) Hold() { a.holds++ }

// Unmap gives the region's memory back, if nobody else holds it.
func (a *Region) Unmap() {
	if a.holds--; a.holds < 0 {
		_ = sys.UnmapAligned(a.Mem)
	}
}

// enlargePart does it for the part from start, written up to pos, with large
// pages up to done so far; it returns up to where now. That the kernel has no
// large page to give costs speed only, so it is not looked at.
func (a *Region) enlargePart(done, pos, start int) int {
	if !wantsLarge(done, pos, start) {
		return done
	}
	_ = sys.Collapse(a.Mem[done : done+sys.HugePage])
	return done + sys.HugePage
}

// wantsLarge tells whether the part from start, written up to pos, with large pages up to done, is to have another.
func wantsLarge(done, pos, start int) bool {
	return done == start && pos >= start+hugeAfter || done > start && pos+GroupReserve > done
}

// Contains tells whether an address of the target lies in the region. None does before it is mapped.
func (a *Region) Contains(addr uint64) bool { return a.Base != 0 && addr-a.Base < uint64(a.Size) }

// Near tells whether code at addr can be translated into the region with its
// relative operands intact. Addresses that fit in 31 bits need not be near:
// their operands become absolute.
func (a *Region) Near(addr uint64) bool {
	lo, hi := int64(addr-a.Base), int64(addr-(a.Base+uint64(a.Size)))
	return lo > -reach && lo < reach && hi > -reach && hi < reach
}

// BlockAt returns the block whose code holds the cache address in region a, nil if it lies
// in a stub or a routine.
func (c *Cache) BlockAt(a *Region, addr uint64) *Block {
	i := sort.Search(a.Blocks.N, func(i int) bool { return c.BlockPool.At(int(*a.Blocks.At(i))).Code > addr })
	if i == 0 {
		return nil
	}
	if b := c.BlockPool.At(int(*a.Blocks.At(i - 1))); addr < b.Code+uint64(b.Size) {
		return b
	}
	return nil
}

// Block is one translated basic block. There are hundreds of thousands: they
// come from large pieces (pool), and nothing in them is a pointer: what is rare is in lists of the cache, by
// number. The collector would look at each of them at every collection, a fifth of the time of a tree of compilers.
//
// It is kept for the life of the process, also when dead: threads may still be in it, and
// signals have to be able to tell where.
type Block struct {
	App     uint64 // application address
	Code    uint64 // cache address: where links and target checks lead
	Num     uint32 // its number in Cache.BlockPool
	PosAt   uint32 // where the positions of its instructions are, packed
	Size    uint32 // bytes of code
	AppSize uint16
	// compared is where the code behind the comparison with the application's
	// begins, 0 without one.
	Compared uint16
	// inner is where the code behind the counting of entries begins, body where that behind
	// the counting of back-edges does; HasCounts tells that there is such.
	Inner   uint16
	Body    uint16
	traits  Trait
	Insns   uint8 // how many instructions
	Variant Variant
	Term    terminator
	Word    uint8     // of budgets, which it subtracts itself from, see budgetOff
	Rec     Recording // without id unless Record
}

// Trait is what may be true of a block, a bit each: as bools they were a sixth of a block, of which a compiler has 170,000.
type Trait uint16

// Traits of blocks.
const (
	HasCounts    Trait = 1 << iota
	Dead               // invalidated
	InPieces           // its instructions do not lie one behind the other, see superblock
	Checked            // there is a target check that leads here
	Gated              // it is entered by a gate, see MakeGate
	Falls              // it goes on with the block of the next number, without a branch
	Idle               // it is out of use, see SetAside
	Mixed              // some of its code lies in pages whose blocks are not listed
	Spends             // it subtracts itself from budgets
	HasUses            // its instructions subtract more than just themselves, see Uses
	LastRecorded       // the last instruction, a system call, is part of the records
	Made               // it is of code that the program has made, or its first instruction reaches into such code
	Past               // it was dead where it was left to others, see reuse.Template
)

// Is tells whether one of these traits is the block's.
func (b *Block) Is(t Trait) bool { return b.traits&t != 0 }

// Note gives the block a trait.
func (b *Block) Note(t Trait) { b.traits |= t }

// NoteIf gives the block a trait, if it has it.
func (b *Block) NoteIf(t Trait, has bool) {
	if has {
		b.traits |= t
	}
}

// Unnote takes a trait from it.
func (b *Block) Unnote(t Trait) { b.traits &^= t }

// OfMadeCode tells a block of code that the program has made, or may change unnoticed.
func (b *Block) OfMadeCode() bool { return b.Is(Gated|Made) || b.Compared != 0 }

// Uses is of each instruction what it subtracted; nil where that is just itself.
func (c *Cache) Uses(b *Block) []Use {
	if !b.Is(HasUses) {
		return nil
	}
	return c.uses[b.Num]
}

// SetUses says what the instructions of a block subtract.
func (c *Cache) SetUses(b *Block, uses []Use) {
	if c.uses == nil {
		c.uses = make(map[uint32][]Use)
	}
	c.uses[b.Num] = uses
	b.Note(HasUses)
}

// terminator is the shape of the code that ends a block; it tells what the
// registers mean there.
type terminator uint8

const (
	termNone     terminator = iota
	TermDirect              // branches with nothing spilled
	TermIndirect            // rcx and rdx in S0 and S1 after exec
	TermSyscall
	TermTrap // a dispatch: the tracer executes the instruction
)

// RegionAt returns the region that holds a cache address.
func (c *Cache) RegionAt(addr uint64) *Region {
	for _, a := range c.Regions {
		if a.Contains(addr) {
			return a
		}
	}
	return nil
}

// InDispatch tells whether an address lies where the dispatch routine has saved the registers.
func (a *Region) InDispatch(addr uint64) bool {
	off := addr - a.Base
	return off >= a.Routines.DispatchCore && off <= a.Routines.DispatchEnd
}

// InReturn tells whether it lies in the routine that looks at awaited returns.
func (a *Region) InReturn(addr uint64) bool {
	off := addr - a.Base
	return off >= a.Routines.Ret && off < a.Routines.retEnd
}

// RegionFor returns the region that code at app is translated into.
//
// An instruction with a RIP-relative operand can only be copied as it is within two
// gigabytes of that operand; the regions lie so that most images have one that near. Code
// that is near to none goes into the first, with operands made absolute.
func (c *Cache) RegionFor(app uint64) *Region {
	for _, a := range c.Regions {
		if a.Near(app) {
			return c.Room(a)
		}
	}
	return c.Room(c.Regions[0])
}

// Room returns the region.
//
// The hot part grows up to three quarters of a region, the cold one from there to its
// end; each must have room for the largest group before one is begun. Long before that the cache is Crowded, and is renewed when
// all threads can be taken out of it. One that is full all the same ends translation, and with it the run.
func (c *Cache) Room(a *Region) *Region {
	if a.Next+GroupReserve > a.Size/4*3 || a.Cold+GroupReserve > a.Size {
		c.Full()
		return nil
	}
	return a
}

// Used is how many bytes of the region have been written.
func (a *Region) Used() int { return a.Next + a.Cold - coldAt(a.Size) }
