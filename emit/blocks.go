package emit

import (
	"sync"
	"sync/atomic"

	"alleria/abp"
	"alleria/abp/frame"
	"alleria/internal/layout"
)

// block is what emit keeps of a block: what is needed again and again. The rest
// is converted anew from the engine's packed facts where it is asked for: an
// encoder asks for a shape once, the main profile for a row once, and cut
// executions are rare.
type block struct {
	state  atomic.Uint32
	words  uint16    // of an execution
	counts [4]uint16 // of abp.Block.Static: Instructions, MemInstructions, Loads, Stores
	bytes  [2]uint32 // BytesRead, BytesWritten
	// full is kept where the words of an execution have to be looked at.
	full atomic.Pointer[abp.Block]
}

// States of a block.
const (
	blockKnown   = 1 << iota // its other fields are set
	blockDefined             // its row is in the main profile
)

// Pages of the table are made when a block of theirs is first asked for: 16 M numbers at
// most, some hundred at least.
const (
	pageBits = 12
	maxPages = 1 << 12
)

// blockTable has the blocks of a process by number. Any number of goroutines
// look up; one at a time enters what was looked up for the first time.
// Entries are never changed once published but for their state; see Guards in the
// package's comment.
type blockTable struct {
	raw   *layout.Blocks
	pages [maxPages]atomic.Pointer[[1 << pageBits]block]
	mu    sync.Mutex // guards the entering of blocks
	// sampling: numbers are not the engine's; nil: they are.
	sampling *sampling
}

// get returns a block, nil if the engine has none of that number or one that
// makes no sense.
// It is called once an execution from several processing threads, hence no lock.
func (t *blockTable) get(id uint32) *block {
	if id>>pageBits >= maxPages {
		return nil
	}
	if page := t.pages[id>>pageBits].Load(); page != nil {
		if b := &page[id&(1<<pageBits-1)]; b.state.Load()&blockKnown != 0 {
			return b
		}
	}
	var c converter
	full := c.convert(t, id)
	if full == nil {
		return nil
	}
	return t.enter(id, full)
}

// enter keeps what is needed of a block, whose facts it leaves alone.
func (t *blockTable) enter(id uint32, full *abp.Block) *block {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.pages[id>>pageBits]
	if p.Load() == nil {
		p.Store(new([1 << pageBits]block))
	}
	b := &p.Load()[id&(1<<pageBits-1)]
	if b.state.Load()&blockKnown != 0 {
		return b
	}
	s := &full.Static
	b.words = uint16(full.Words)
	b.counts = [...]uint16{uint16(s.Instructions), uint16(s.MemInstructions), uint16(s.Loads), uint16(s.Stores)}
	b.bytes = [...]uint32{uint32(s.BytesRead), uint32(s.BytesWritten)}
	if full.Dynamic {
		b.full.Store(t.convert(id))
	}
	b.state.Or(blockKnown)
	return b
}

// static returns what one whole execution counts for by itself.
func (b *block) static() abp.Counts {
	c := &b.counts
	return abp.Counts{
		Instructions: uint64(c[0]), MemInstructions: uint64(c[1]), Loads: uint64(c[2]),
		Stores: uint64(c[3]), BytesRead: uint64(b.bytes[0]), BytesWritten: uint64(b.bytes[1]),
	}
}

// defined tells whether a block's row has been written.
func (b *block) defined() bool { return b.state.Load()&blockDefined != 0 }

// convert returns a block's whole facts, nil if there is no such block.
// A block that makes no sense is treated like one that does not exist: the frame
// that refers to it is refused, with its number.
func (t *blockTable) convert(id uint32) *abp.Block {
	var c converter
	return c.convert(t, id)
}

// shape is what an encoder looks blocks up with. c is the encoder's.
func (t *blockTable) shape(c *converter, id uint32) *frame.Shape {
	full := c.convert(t, id)
	if full == nil {
		return nil
	}
	t.enter(id, full) // while it is at hand
	return full.Shape()
}
