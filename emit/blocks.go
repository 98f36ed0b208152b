package emit

import (
	"sync"
	"sync/atomic"

	"alleria/abp"
	"alleria/abp/frame"
	"alleria/internal/records"
)

// block is what emit keeps of a block: what is needed again and again. The rest
// is converted anew from the engine's packed facts where it is asked for: an
// encoder asks for a shape once, the main profile for a row once, and cut
// executions are rare.
//
// There is one for each number that the engine has given: sixteen bytes.
type block struct {
	// state: flags, and in the bits above them which of blockTable.whole it is; none is 0.
	state  atomic.Uint32
	words  uint16    // of an execution
	counts [4]uint8  // of abp.Block.Static: Instructions, MemInstructions, Loads, Stores
	bytes  [2]uint16 // BytesRead, BytesWritten
}

// Flags of a block's state.
const (
	blockKnown   = 1 << iota // its other fields are set
	blockDefined             // its row is in the main profile
	blockAdded               // or on its way to it; looked at under ProcessWriter.mu
	blockWide                // its counts are too large to be kept here
	stateBits    = iota
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
	raw   *records.Blocks
	pages [maxPages]atomic.Pointer[[1 << pageBits]block]
	// whole are the blocks the words of whose executions have to be looked at, and those that are
	// wide, from 1 on; wholes is how many. They are few.
	whole  [maxPages]atomic.Pointer[[1 << pageBits]*abp.Block]
	wholes uint32     // guarded by mu
	mu     sync.Mutex // guards the entering of blocks
	// plain: rows are plain, and shapes are found out in each process (Options.PlainRows).
	plain bool
	// sampling: numbers are not the engine's; nil: they are.
	sampling *sampling
}

// get returns a block, nil if the engine has none of that number. One that makes no sense is refused where its facts
// are converted, in front of anything that is written of it.
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
	if t.sampling == nil {
		s, ok := t.raw.Sum(id)
		if !ok {
			return nil
		}
		return t.enter(id, s.Words, countsOf(&s), s.Dynamic)
	}
	full := t.convert(id)
	if full == nil {
		return nil
	}
	return t.enter(id, full.Words, full.Static, full.Dynamic)
}

// countsOf is what a sum says that an execution counts for.
func countsOf(s *records.Sum) abp.Counts {
	return abp.Counts{Instructions: s.Instructions, MemInstructions: s.MemInstructions, Loads: s.Loads,
		Stores: s.Stores, BytesRead: s.BytesRead, BytesWritten: s.BytesWritten}
}

// brief is how many words an execution of a block has, and whether they decide what it counts for; false if there is no such block. Nothing is kept of it, as
// the engine's table has that: two processing threads do not learn it one after the other, under a lock.
func (t *blockTable) brief(id uint32) (words int, dynamic, ok bool) {
	if t.sampling == nil {
		if words, dynamic, ok = t.raw.Words(id); !dynamic {
			return words, false, ok
		}
	}
	b := t.get(id)
	if b == nil {
		return 0, false, false
	}
	whole := t.wholeOf(b)
	return int(b.words), whole != nil && whole.Dynamic, true
}

// staticOf is static of a block of which brief has told.
func (t *blockTable) staticOf(id uint32) abp.Counts {
	if t.sampling == nil {
		if s, ok := t.raw.Sum(id); ok {
			return countsOf(&s)
		}
	}
	return t.static(t.get(id))
}

// enter keeps what is needed of a block.
func (t *blockTable) enter(id uint32, words int, static abp.Counts, dynamic bool) *block {
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
	s := &static
	b.words = uint16(words)
	b.counts = [...]uint8{uint8(s.Instructions), uint8(s.MemInstructions), uint8(s.Loads), uint8(s.Stores)}
	b.bytes = [...]uint16{uint16(s.BytesRead), uint16(s.BytesWritten)}
	state := uint32(blockKnown)
	if b.kept() != *s {
		state |= blockWide
	}
	if dynamic || state&blockWide != 0 {
		full := t.convert(id)
		if full == nil {
			return nil
		}
		state |= t.keep(full) << stateBits
	}
	b.state.Or(state)
	return b
}

// size is how many words an execution of a block has, for who goes over records.
func (t *blockTable) size(id uint32) (int, bool) {
	b := t.get(id)
	if b == nil {
		return 0, false
	}
	return int(b.words), true
}

// keep keeps a block whole and returns its place. t.mu is held.
func (t *blockTable) keep(full *abp.Block) uint32 {
	t.wholes++ // 0 is none
	p := &t.whole[t.wholes>>pageBits]
	if p.Load() == nil {
		p.Store(new([1 << pageBits]*abp.Block))
	}
	p.Load()[t.wholes&(1<<pageBits-1)] = full
	return t.wholes
}

// wholeOf returns the block that is kept for b, nil if there is none.
func (t *blockTable) wholeOf(b *block) *abp.Block {
	n := b.state.Load() >> stateBits
	if n == 0 {
		return nil
	}
	return t.whole[n>>pageBits].Load()[n&(1<<pageBits-1)]
}

// kept is the static counts as far as they could be kept.
func (b *block) kept() abp.Counts {
	c := &b.counts
	return abp.Counts{
		Instructions: uint64(c[0]), MemInstructions: uint64(c[1]), Loads: uint64(c[2]),
		Stores: uint64(c[3]), BytesRead: uint64(b.bytes[0]), BytesWritten: uint64(b.bytes[1]),
	}
}

// static returns what one whole execution of b counts for by itself.
func (t *blockTable) static(b *block) abp.Counts {
	if b.state.Load()&blockWide != 0 {
		return t.wholeOf(b).Static
	}
	return b.kept()
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

// shape is what an encoder looks blocks up with, valid until the next call. c is the encoder's.
//
// Of code that was translated in an earlier run it is found out once for all processes: reading and checking a block's facts takes a microsecond, and
// a compiler that runs for ten milliseconds has 20,000.
func (t *blockTable) shape(c *converter, id uint32) *frame.Shape {
	once := t.sampling == nil && !t.plain
	if once {
		if f, ok := t.raw.Form(id); ok {
			c.shape = shapeOf(&f, t.raw.Addr(id))
			return &c.shape
		}
	}
	full := c.convert(t, id)
	if full == nil {
		return nil
	}
	t.enter(id, full.Words, full.Static, full.Dynamic) // while it is at hand
	s := full.Shape()
	if once && len(s.Values) == 0 {
		t.setForm(id, s)
	}
	return s
}

// shapeOf is the shape of a block at an address that has no words of values.
func shapeOf(f *records.Form, addr uint64) frame.Shape {
	s := frame.Shape{Addr: addr, Words: int32(f.Words), Weight: int32(f.Weight), StackWord: f.StackWord, TimeWord: f.TimeWord, BranchWord: f.BranchWord,
		Conditional: f.Conditional, Dynamic: f.Dynamic}
	if f.HasTarget {
		s.Target = addr + uint64(int64(f.Target))
	}
	return s
}

// setForm keeps a shape for other processes, where all of it can be.
func (t *blockTable) setForm(id uint32, s *frame.Shape) {
	target := int64(s.Target - s.Addr)
	f := records.Form{Weight: uint16(s.Weight), StackWord: s.StackWord, TimeWord: s.TimeWord, BranchWord: s.BranchWord,
		Conditional: s.Conditional, Dynamic: s.Dynamic, HasTarget: s.Target != 0, Target: int32(target)}
	if !f.HasTarget {
		f.Target = 0
	}
	if int32(f.Weight) == s.Weight && (!f.HasTarget || int64(f.Target) == target) {
		t.raw.SetForm(id, f)
	}
}

// rows are those of blocks that are written together.
type rows struct {
	plain, packed []byte
	conv          converter
}

// payload is that of their BLOCKS section.
func (r *rows) payload() []byte {
	if len(r.packed) == 0 {
		return r.plain
	}
	r.plain = abp.AppendPackedRow(r.plain, r.packed)
	return r.plain
}

// add adds the row of a block, and what it needs, where they have not been yet. The ProcessWriter's mu is held.
//
// Facts go into the profile as they lie in the engine's table: package abp reads that form, which a test holds to convert. Of a block with side exits
// there are the whole, once, and parts that refer to it, though none of its executions may have been whole.
func (r *rows) add(t *blockTable, id uint32) {
	b := t.get(id)
	if b.state.Load()&blockAdded != 0 {
		return
	}
	b.state.Or(blockAdded)
	if t.sampling != nil || t.plain {
		r.plain = r.conv.convert(t, id).Append(r.plain)
		return
	}
	facts, of, ok := t.raw.Packed(id)
	switch {
	case !ok || of != 0 && t.get(of) == nil:
		r.plain = r.conv.convert(t, id).Append(r.plain)
	case of != 0:
		r.add(t, of)
		r.packed = abp.AppendPackedPart(r.packed, id, facts)
	default:
		r.packed = abp.AppendPackedBlock(r.packed, id, facts)
	}
}
