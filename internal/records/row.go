package records

import (
	"math"
	"sync/atomic"
)

// Row is what is wanted of a block again and again, at its number: a record's words, what an execution counts for, and where the facts lie. It is made when the block is
// added, and lies in files as it does in memory, so that neither those who count nor those who take a table over go over packed facts: a start meets each block for the first time, on
// each processing thread.
//
// It never changes once the place is set.
type Row struct {
	place  uint32 // of the packed facts, plus 1; 0: there is no block of that number. Read and written atomically, and set last.
	words  uint16 // of a record
	ins    uint8  // instructions
	flags  uint8
	counts [4]uint8  // of Sum: Instructions, MemInstructions, Loads, Stores
	bytes  [2]uint16 // BytesRead, BytesWritten
}

// Flags of a row.
const (
	rowPart    = 1 << iota // it is a part of a block
	rowDynamic             // Sum.Dynamic
	rowWide                // something is too large for the row: the facts say it
)

// rowPage is the rows of some blocks whose numbers follow each other.
type rowPage [1 << blockPageBits]Row

// newRow is a row without a place, of a block or part with so many instructions.
func newRow(s Sum, ins int, part bool) Row {
	r := Row{words: uint16(s.Words), ins: uint8(ins), bytes: [...]uint16{uint16(s.BytesRead), uint16(s.BytesWritten)},
		counts: [...]uint8{uint8(s.Instructions), uint8(s.MemInstructions), uint8(s.Loads), uint8(s.Stores)}}
	if part {
		r.flags |= rowPart
	}
	if s.Dynamic {
		r.flags |= rowDynamic
	}
	if r.sum() != s || ins > math.MaxUint8 {
		r.flags |= rowWide
	}
	return r
}

// sum is the row's, where it is not wide.
func (r *Row) sum() Sum {
	return Sum{Words: int(r.words), Instructions: uint64(r.counts[0]), MemInstructions: uint64(r.counts[1]), Loads: uint64(r.counts[2]), Stores: uint64(r.counts[3]),
		BytesRead: uint64(r.bytes[0]), BytesWritten: uint64(r.bytes[1]), Dynamic: r.flags&rowDynamic != 0}
}

// isPart tells whether the row is of a part of a block.
func (r *Row) isPart() bool { return r.flags&rowPart != 0 }

// row is that of a number, nil if there is no block of it.
func (t *Blocks) row(id uint32) *Row {
	if id >= blockPages<<blockPageBits {
		return nil
	}
	page := t.rows[id>>blockPageBits].Load()
	if page == nil {
		return nil
	}
	if r := &page[id&(1<<blockPageBits-1)]; atomic.LoadUint32(&r.place) != 0 {
		return r
	}
	return nil
}

// Words is how many words follow the first one of a record of a block, and whether they decide what it counts for (Sum.Dynamic); false if there is no such block.
func (t *Blocks) Words(id uint32) (words int, dynamic, ok bool) {
	r := t.row(id)
	if r == nil {
		return 0, false, false
	}
	return int(r.words), r.flags&rowDynamic != 0, true
}

// put makes a row that of a number, whose facts lie at a place.
func (t *Blocks) put(id, at uint32, r Row) {
	slot := &t.rows[id>>blockPageBits]
	page := slot.Load()
	if page == nil {
		page = new(rowPage)
		slot.Store(page)
	}
	here := &page[id&(1<<blockPageBits-1)]
	here.words, here.ins, here.flags, here.counts, here.bytes = r.words, r.ins, r.flags, r.counts, r.bytes
	atomic.StoreUint32(&here.place, at+1)
}
