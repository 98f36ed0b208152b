package emit

import (
	"sync/atomic"

	"alleria/abp"
	"alleria/abp/frame"
	"alleria/internal/layout"
)

// block is what emit keeps of a block: enough to encode and to count its
// executions. The rest stays with the engine.
//
// Counts have 32 bits, which a block's own never exceed: there may be hundreds of
// thousands of these.
type block struct {
	shape  frame.Shape
	counts [6]uint32 // of abp.Block.Static
	// row defines the block; nil once it was written. Guarded by the
	// ProcessWriter's mu. Made at once, while the block's facts are in the cache.
	row []byte
	// full is kept where the words of an execution have to be looked at.
	full    *abp.Block
	defined atomic.Bool // its row is in the main profile
}

// Pages of the table are made when a block of theirs is first asked for: 16 M numbers at
// most, some hundred at least.
const (
	pageBits = 12
	maxPages = 1 << 12
)

// blockTable has the blocks of a process by number. Any number of goroutines
// look up; two that make the same entry at once agree on one.
// Entries are never changed once published; see Guards in the package's comment.
type blockTable struct {
	raw   *layout.Blocks
	pages [maxPages]atomic.Pointer[[1 << pageBits]atomic.Pointer[block]]
}

// get returns a block, nil if the engine has none of that number or one that
// makes no sense.
// It is called once an execution from several processing threads, hence no lock.
func (t *blockTable) get(id uint32) *block {
	if id>>pageBits >= maxPages {
		return nil
	}
	p := &t.pages[id>>pageBits]
	page := p.Load()
	if page == nil {
		p.CompareAndSwap(nil, new([1 << pageBits]atomic.Pointer[block]))
		page = p.Load()
	}
	entry := &page[id&(1<<pageBits-1)]
	if b := entry.Load(); b != nil {
		return b
	}
	b := t.make(id)
	if b == nil {
		return nil
	}
	// The other's entry may have come first; then this one is dropped, and both use
	// that, whose defined flag is the one that counts.
	entry.CompareAndSwap(nil, b)
	return entry.Load()
}

// make converts a block and keeps what is needed of it.
func (t *blockTable) make(id uint32) *block {
	full := t.convert(id)
	if full == nil {
		return nil
	}
	s := &full.Static
	b := &block{shape: *full.Shape(), row: full.Append(nil), counts: [6]uint32{
		uint32(s.Instructions), uint32(s.MemInstructions), uint32(s.Loads),
		uint32(s.Stores), uint32(s.BytesRead), uint32(s.BytesWritten),
	}}
	if full.Dynamic {
		b.full = full
	}
	return b
}

// static returns what one whole execution counts for by itself.
func (b *block) static() abp.Counts {
	c := &b.counts
	return abp.Counts{
		Instructions: uint64(c[0]), MemInstructions: uint64(c[1]), Loads: uint64(c[2]),
		Stores: uint64(c[3]), BytesRead: uint64(c[4]), BytesWritten: uint64(c[5]),
	}
}

// convert returns a block's whole facts.
// A block that makes no sense is treated like one that does not exist: the frame
// that refers to it is refused, with its number.
func (t *blockTable) convert(id uint32) *abp.Block {
	raw := t.raw.Get(id)
	if raw == nil {
		return nil
	}
	b, err := ConvertBlock(raw)
	if err != nil {
		return nil
	}
	return b
}

// shape is what the encoder looks blocks up with.
func (t *blockTable) shape(id uint32) *frame.Shape {
	if b := t.get(id); b != nil {
		return &b.shape
	}
	return nil
}
