package engine

import (
	"fmt"
	"os"
	"sort"

	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// codeCache is a process's translations, and what is known by application address of them. Only the tracer's
// goroutine touches it; threads execute what it has written. What goes by variants is emptied together with the variant's tables,
// see Replan.
type codeCache struct {
	areas []*area // the first is the default
	// all translations by number; a dead block is no longer in the index
	blockPool pool[block]
	index     [numVariants]index
	epoch     [numVariants]int      // how often a variant's translations were forgotten
	bareHeads map[headKey]bool      // addresses with a head that have no block
	stepped   map[headKey]*block    // of single instructions that are executed with the trap flag set
	slotHeads [numVariants][]uint64 // the newest head of each entry of the look-up tables, 0 none
	// by number
	exits     pool[exitWords]
	rareExits []rareExit
	sides     pool[lateSide] // ways out of superblocks that are written when they are taken
	entered   []enteredBlock // blocks of the unit being written
	scratch   unit           // that unit; one at a time
	// addresses that recent translations lead to, the latest last
	aheadQueue  []aheadItem
	aheadLeft   int
	posPool     []byte // the positions of blocks, packed; cut off from the front
	posPieces   [][]byte
	goneEntries map[uint64]struct{} // where blocks' entries were overwritten, by cache address
	counters    []uint32            // counted blocks by counter, by number; some count jumps, see entryCounts
	entries     entryCounts
	odds        []*oddities // see recording.odd
	useLists    [][]use     // see block.used
	written     written
	from        *takenFrom     // nil: nothing was taken over
	tookOver    bool           // that was looked at
	facts       records.Blocks // recorded blocks, for whoever reads the rings
}

func newCodeCache() codeCache {
	return codeCache{bareHeads: make(map[headKey]bool)}
}

// Variant is what translated code does besides what the application does.
type Variant uint8

// The variants, each with blocks, links and a look-up table of its own.
const (
	Plain       Variant = iota // nothing
	Count                      // counts block executions
	Record                     // writes raw records as the first of the client's plans says; those of the others follow
	numVariants = layout.Variants
	// Aside is for children that share the address space: nothing, and arrivals that the
	// process's threads count in the same words are not counted either.
	Aside = numVariants - 1
)

// MaxPlans is how many plans a client can have at a time: different things that
// different threads record. Each has a look-up table in the thread's slot.
const MaxPlans = int(Aside - Record)

// records tells the variants that write records.
func (v Variant) records() bool { return v >= Record && v < Aside }

// plan is the client's plan that a recording variant follows.
func (v Variant) plan() int { return int(v - Record) }

// reach is how far from an area's every byte code may lie to be translated
// into it: a 32-bit displacement less a margin for operands that lie beyond
// their image.
// Operands that are farther from their code than the margin are seen by the
// encoder, which then refuses the displacement.
const reach = 1<<31 - 64<<20

// area is a stretch of the code cache: executable in the target, writable in
// the tracer. It grows upwards and is never reused while the process lives,
// except by a flush.
//
// From its start: the routines, then units of hot code upwards to three quarters of it,
// then stubs, literals and veneers. Only the tracer writes.
type area struct {
	base uint64
	mem  []byte
	next int // where the next unit goes; grows up to coldAt
	// cold is where the next stub goes: code and literals that are seldom used
	// lie apart, so that they take no room in the instruction cache.
	cold int
	size int
	rt   routines
	num  uint8 // its place in Process.areas
	// blocks, by number, in the order of their code; so also of their addresses.
	blocks  []uint32
	veneers map[uint64]uint64 // jumps to other areas, by where they lead
	// changes to the next chunk, that blocks share
	switches map[switchKey]uint64
	// Up to where the two parts were made of large pages, or that was tried.
	hugeNext, hugeCold int
}

// newArea maps an area in the tracer and puts the routines at its start. base is where
// the target has it.
func newArea(f *os.File, offset int64, size int, base uint64) (*area, error) {
	mem, err := sys.MapSharedAligned(f, offset, size)
	if err != nil {
		return nil, fmt.Errorf("code cache: %w", err)
	}
	a := &area{base: base, mem: mem, size: size, rt: routineOffsets()}
	copy(mem, routineCode())
	a.next = int(a.rt.size+63) &^ 63
	a.cold = size / 4 * 3
	a.hugeCold = a.cold
	return a, nil
}

// hugeAfter is how much of the first large page of a part is used before it is
// made one: short programs need a few small ones.
const hugeAfter = 256 << 10

// enlarge makes large pages of what is about to be written. Code that a program
// runs through once in a while is then found by the processor with one look-up of
// its address for two megabytes, and nobody takes faults for its pages.
func (a *area) enlarge() {
	a.hugeNext = a.enlargePart(a.hugeNext, a.next, 0)
	a.hugeCold = a.enlargePart(a.hugeCold, a.cold, a.size/4*3)
}

// unmap gives the area's memory back.
func (a *area) unmap() { _ = sys.UnmapAligned(a.mem) }

// enlargePart does it for the part from start, written up to pos, with large
// pages up to done so far; it returns up to where now. That the kernel has no
// large page to give costs speed only, so it is not looked at.
func (a *area) enlargePart(done, pos, start int) int {
	if done == start && pos < start+hugeAfter || done > start && pos+unitReserve <= done {
		return done
	}
	_ = sys.Collapse(a.mem[done : done+sys.HugePage])
	return done + sys.HugePage
}

// contains tells whether a cache address lies in the area.
func (a *area) contains(addr uint64) bool { return addr-a.base < uint64(a.size) }

// near tells whether code at addr can be translated into the area with its
// relative operands intact. Addresses that fit in 31 bits need not be near:
// their operands become absolute.
func (a *area) near(addr uint64) bool {
	lo, hi := int64(addr-a.base), int64(addr-(a.base+uint64(a.size)))
	return lo > -reach && lo < reach && hi > -reach && hi < reach
}

// blockAt returns the block whose code holds the cache address in area a, nil if it lies
// in a stub or a routine.
func (p *Process) blockAt(a *area, addr uint64) *block {
	i := sort.Search(len(a.blocks), func(i int) bool { return p.blockPool.at(int(a.blocks[i])).code > addr })
	if i == 0 {
		return nil
	}
	if b := p.blockPool.at(int(a.blocks[i-1])); addr < b.code+uint64(b.size) {
		return b
	}
	return nil
}

// block is one translated basic block. There are hundreds of thousands: they
// come from large pieces (pool), and nothing in them is a pointer: what is rare is in lists of the process, by
// number. The collector would look at each of them at every collection, a fifth of the time of a tree of compilers.
//
// It is kept for the life of the process, also when dead: threads may still be in it, and
// signals have to be able to tell where.
type block struct {
	app     uint64 // application address
	code    uint64 // cache address: where links and heads lead
	num     uint32 // its number in Process.blockPool
	posAt   uint32 // where the positions of its instructions are, packed
	size    uint32 // bytes of code
	appSize uint16
	// compared is where the code behind the comparison with the application's
	// begins, 0 without one.
	compared uint16
	// inner is where the code behind the counting of entries begins, body where that behind
	// the counting of any arrival does; counts tells that there is such.
	inner   uint16
	body    uint16
	counts  bool
	insns   uint8 // how many instructions
	variant Variant
	term    terminator
	dead    bool  // invalidated
	pieces  bool  // its instructions do not lie one behind the other, see superblock
	headed  bool  // there is a head that leads here
	spends  bool  // it subtracts itself from budgets
	word    uint8 // which of their words, see budgetOff
	// lastRecorded: the last instruction, a system call, is part of the records.
	lastRecorded bool
	rec          recording // without id unless Record
	used         uint32    // number of what its instructions subtracted, plus 1; 0 where that is just themselves
}

// uses is of each instruction what it subtracted; nil where that is just itself.
func (p *Process) uses(b *block) []use {
	if b.used == 0 {
		return nil
	}
	return p.useLists[b.used-1]
}

// terminator is the shape of the code that ends a block; it tells what the
// registers mean there.
type terminator uint8

const (
	termNone     terminator = iota
	termDirect              // branches with nothing spilled
	termIndirect            // rcx and rdx in S0 and S1 after exec
	termSyscall
	termTrap // a request: the tracer executes the instruction
)
