package layout

import "sync/atomic"

const (
	blockPageBits = 12
	blockPages    = 1 << 12
)

// Blocks is the table of a process's recorded blocks by id. One goroutine adds;
// any number look up at the same time, without locks.
type Blocks struct {
	pages [blockPages]atomic.Pointer[[1 << blockPageBits]atomic.Pointer[Block]]
	last  atomic.Uint32
}

// Add gives b the next id and makes it visible. It returns 0 when the table is
// full. Only the engine's goroutine calls it.
func (t *Blocks) Add(b *Block) uint32 {
	id := t.last.Load() + 1
	if id >= blockPages<<blockPageBits {
		return 0
	}
	b.ID = id
	slot := &t.pages[id>>blockPageBits]
	page := slot.Load()
	if page == nil {
		page = new([1 << blockPageBits]atomic.Pointer[Block])
		slot.Store(page)
	}
	page[id&(1<<blockPageBits-1)].Store(b)
	t.last.Store(id)
	return id
}

// Get returns the block of that id, nil if there is none.
func (t *Blocks) Get(id uint32) *Block {
	if id >= blockPages<<blockPageBits {
		return nil
	}
	page := t.pages[id>>blockPageBits].Load()
	if page == nil {
		return nil
	}
	return page[id&(1<<blockPageBits-1)].Load()
}

// Last returns the highest id in use.
func (t *Blocks) Last() uint32 { return t.last.Load() }
