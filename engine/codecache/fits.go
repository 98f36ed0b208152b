package codecache

import (
	"alleria/internal/layout"
	"alleria/internal/records"
)

// Fits tells whether all numbers in what was kept are of something that there is, and all places lie in its code: whoever takes it over looks at nothing
// else. It is for what was read from a file. facts are those of recorded blocks.
func (k *Kept) Fits(facts *records.Blocks) bool {
	if len(k.Regions) == 0 || len(k.Regions) > 2 || k.Counters.N > layout.MaxCounters {
		return false
	}
	for i := range k.Regions {
		if !k.fitsRegion(&k.Regions[i]) {
			return false
		}
	}
	for _, p := range k.PosPieces {
		if len(p) != posPiece {
			return false
		}
	}
	for _, l := range k.Literals {
		if !k.InCode(l.Region, l.At, 8) {
			return false
		}
	}
	return k.namesBlocks(&k.Counters) && k.fitRare() && k.fitBlocks(facts) && k.fitExits() && k.fitSideExits(facts) && k.fitOdds(facts.Last())
}

// namesBlocks tells whether numbers are those of blocks.
func (k *Kept) namesBlocks(numbers *Pool[uint32]) bool {
	for _, n := range numbers.All() {
		if int64(n) >= int64(k.Blocks.N) {
			return false
		}
	}
	return true
}

// fitRare tells whether rare exits are of blocks, of instruction pointers that are written to memory, and of budgets' words.
func (k *Kept) fitRare() bool {
	for _, r := range k.Rare {
		if int64(r.Trap) > int64(k.Blocks.N) || r.X87.Size != 0 && r.X87.Size != 4 && r.X87.Size != 8 || r.Needs > MaxBlockInsns || r.Word >= layout.BudgetWords {
			return false
		}
	}
	return true
}

// fitsRegion tells whether a region's parts are as large as they are said to be.
func (k *Kept) fitsRegion(a *RegionCode) bool {
	start := int(routineOffsets().Size)
	if a.Size <= 0 || a.Size > 1<<30 || a.Next < start || a.Next > coldAt(a.Size) || a.Cold < coldAt(a.Size) || a.Cold > a.Size {
		return false
	}
	return len(a.Hot) == a.Next-start && len(a.Far) == a.Cold-coldAt(a.Size) && k.namesBlocks(&a.Blocks)
}

// InCode tells whether so many bytes at an offset of a region are of its code.
func (k *Kept) InCode(region uint8, at uint32, n int) bool {
	if int(region) >= len(k.Regions) {
		return false
	}
	a, start, end := &k.Regions[region], int64(at), int64(at)+int64(n)
	return start >= int64(a.Next-len(a.Hot)) && end <= int64(a.Next) || start >= int64(coldAt(a.Size)) && end <= int64(a.Cold)
}

// patchable tells whether a displacement at an offset of a region may be patched while threads run: regions begin with a page, so that an
// offset says whether it lies in one cache line.
func (k *Kept) patchable(region uint8, at uint32) bool {
	return k.InCode(region, at, 4) && !crossesLine(uintptr(at))
}

// Has tells whether a reference is to something.
func (k *Kept) Has(r Ref) bool {
	if n, ok := r.exit(); ok {
		return n >= 0 && n < k.Exits.N
	}
	return r != 0 && r&1 == 0 && int(r>>1) <= k.Blocks.N
}

// BlockOf is the block that a reference names; an empty one if it names an exit.
func (k *Kept) BlockOf(r Ref) *Block {
	if _, ok := r.exit(); ok {
		return new(Block)
	}
	return k.Blocks.At(int(r>>1) - 1)
}

// fitBlocks tells whether all blocks are such as are kept. Those of other variants, a vfork child's among them, nothing leads to, and nothing to those of code that a process has made.
func (k *Kept) fitBlocks(facts *records.Blocks) bool {
	for n := range k.Blocks.N {
		b := k.Blocks.At(n)
		if int(b.Num) != n || b.Variant >= NumVariants || b.Term > TermTrap || b.Insns > MaxBlockInsns || b.Is(Falls) && n+1 >= k.Blocks.N {
			return false
		}
		if b.Is(HasUses|HasCounts) || uint32(b.Inner) > b.Size || uint32(b.Body) > b.Size {
			return false
		}
		if piece := b.PosAt / posPiece; int(piece) >= len(k.PosPieces) || b.PosAt%posPiece+posMost > posPiece {
			return false
		}
		if !k.fitsRecording(b, facts) || k.regionOf(b) < 0 {
			return false
		}
	}
	return true
}

// regionOf is the number of the region that a block's code lies in; -1: none.
func (k *Kept) regionOf(b *Block) int {
	for i := range k.Regions {
		if a := &k.Regions[i]; a.Contains(b.Code) {
			if b.Code-a.Base+uint64(b.Size) <= uint64(a.Next) {
				return i
			}
			break
		}
	}
	return -1
}

// fitsRecording tells whether what a block's code does with records can be, and its facts are of as many instructions.
func (k *Kept) fitsRecording(b *Block, facts *records.Blocks) bool {
	r := &b.Rec
	if r.ID != 0 && facts.Instructions(r.ID) != int(b.Insns) || r.Words > layout.MaxRecordWords {
		return false
	}
	return r.RA >= -1 && r.RA < 16 && r.RB >= -1 && r.RB < 16 && int64(r.Odd) <= int64(len(k.Odds))
}

// fitSideExits tells whether all side exits are of recorded blocks, and of branches in their region.
func (k *Kept) fitSideExits(facts *records.Blocks) bool {
	for n := range k.SideExits.N {
		s := k.SideExits.At(n)
		if int64(s.Block) >= int64(k.Blocks.N) || s.ID > facts.Last() || s.Words > layout.MaxRecordWords {
			return false
		}
		b := k.Blocks.At(int(s.Block))
		if ins := s.Ins & LazyIns; b.Rec.ID == 0 || ins == 0 || ins > b.Insns || !k.patchable(uint8(k.regionOf(b)), s.Site) {
			return false
		}
	}
	return true
}

// fitOdds tells whether all oddities are such as blocks have.
func (k *Kept) fitOdds(last uint32) bool {
	for _, o := range k.Odds {
		if !o.fits(last) {
			return false
		}
	}
	return true
}

// fitExits tells whether all exits are such as are kept. One waits behind those that were written before it, so that no list of them goes round.
func (k *Kept) fitExits() bool {
	for n := range k.Exits.N {
		w := k.Exits.At(n)
		if w.v >= NumVariants || int64(w.next) > int64(n) || int64(w.rare) > int64(len(k.Rare)) || w.site == 0 && int(w.region) >= len(k.Regions) || w.site != 0 && !k.patchable(w.region, w.site) {
			return false
		}
	}
	return true
}

// HasRoom tells whether there is room for another group in each region, and for a veneer for each of so many checks.
func (k *Kept) HasRoom(checks int) bool {
	const veneerBytes = 32
	for i := range k.Regions {
		if a := &k.Regions[i]; a.Next+GroupReserve > coldAt(a.Size) || a.Cold+GroupReserve+checks*veneerBytes > a.Size {
			return false
		}
	}
	return true
}
