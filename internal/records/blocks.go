package records

import (
	"runtime"
	"sync"
	"sync/atomic"
)

const (
	blockPageBits = 12
	blockPages    = 1 << (NumberBits - blockPageBits)

	// factsBytes is the size of a piece of the facts' memory. A block's facts lie
	// in one piece.
	factsBits  = 18
	factsBytes = 1 << factsBits
	factsMax   = 1 << (32 - factsBits) // pieces
)

// Blocks is the table of a process's recorded blocks by id. One goroutine adds;
// any number look up at the same time, without locks.
//
// Blocks are kept packed (facts.go): large programs have hundreds of thousands,
// most of which are looked at once or never. As Go structures with slices they
// took ten times as much, and the garbage collector looked at each again and
// again.
type Blocks struct {
	rows  [blockPages]atomic.Pointer[rowPage]  // by id
	facts [factsMax]atomic.Pointer[factsPiece] // by the upper bits of a place
	last  atomic.Uint32
	next  uint32  // place of the next facts; the adder's
	buf   []byte  // the adder's
	high  Highest // of all facts; the adder's
	// kept is what is looked at when facts are read that come from a file.
	kept keptFacts
	// forms are for all tables that have these blocks; nil: no other has.
	forms *forms
	// rates is the few blocks of which not every instruction is kept: []uint32 by id.
	rates sync.Map
}

// SetSampleRates says of a block of which of its instructions only one in so many is
// kept; 0 and 1: all. It is called before the block's code can run.
func (t *Blocks) SetSampleRates(id uint32, rates []uint32) { t.rates.Store(id, rates) }

// SampleRates returns what SetSampleRates said, nil: everything is kept.
func (t *Blocks) SampleRates(id uint32) []uint32 {
	v, ok := t.rates.Load(id)
	if !ok {
		return nil
	}
	rates, _ := v.([]uint32)
	return rates
}

// Next returns the id that Add will give, 0 if the table is full. Only the
// engine's goroutine calls it.
func (t *Blocks) Next() uint32 {
	if id := t.last.Load() + 1; id < blockPages<<blockPageBits {
		return id
	}
	return 0
}

// Holds tells whether the table has room for n more. Only the engine's goroutine calls it.
func (t *Blocks) Holds(n uint32) bool { return t.last.Load()+n < blockPages<<blockPageBits }

// Add gives b the next id and makes a copy of it visible. It returns 0 when the
// table is full. Only the engine's goroutine calls it.
func (t *Blocks) Add(b *Block) uint32 {
	t.buf = b.pack(t.buf[:0])
	t.high.Image = max(t.high.Image, b.Image)
	for i := range b.Ins {
		t.high.Func = max(t.high.Func, b.Ins[i].Func)
	}
	var s Sum
	s.add(t.buf, -1)
	b.ID = t.append(newRow(s, len(b.Ins), false))
	return b.ID
}

// append makes buf the facts of the next id, and a row without a place its row.
func (t *Blocks) append(r Row) uint32 {
	id := t.Next()
	if id == 0 {
		return 0
	}
	n := uint32(len(t.buf))
	if n > factsBytes { // no block of layout.MaxRecordWords is anywhere near
		return 0
	}
	if t.next&(factsBytes-1)+n > factsBytes || t.next&(factsBytes-1) == 0 {
		t.next = (t.next + factsBytes - 1) &^ (factsBytes - 1)
		if t.next>>factsBits >= factsMax-1 {
			return 0
		}
		t.facts[t.next>>factsBits].Store(newPiece())
	}
	copy(t.facts[t.next>>factsBits].Load().mem[t.next&(factsBytes-1):], t.buf)
	t.put(id, t.next, r)
	t.next += n
	t.last.Store(id)
	return id
}

// Part is the beginning of a block, up to a conditional branch in its middle: what executions
// that leave there executed.
type Part struct {
	Ins    int    // how many of the block's instructions
	Words  int    // of the block's words, those that such an execution records
	Target uint64 // of the branch, taken or not
}

// AddPart gives the next id to a part of a block and makes it visible, like Add. All
// that is kept of it is how much of the block it is.
func (t *Blocks) AddPart(of uint32, part Part) uint32 {
	t.buf = part.pack(t.buf[:0], of, t.Addr(of))
	s := Sum{}
	if r := t.row(of); r != nil && !r.isPart() && t.good(of) { // a file's facts may be none
		s.add(t.factsAt(r), part.Ins)
	}
	s.Words = part.Words
	return t.append(newRow(s, part.Ins, true))
}

// Get returns a copy of the block of that id, nil if there is none.
func (t *Blocks) Get(id uint32) *Block {
	b := new(Block)
	if !t.Read(id, b) {
		return nil
	}
	return b
}

// Read makes b a copy of the block of that id, in b's own memory as far as that
// reaches. It returns false if there is none.
func (t *Blocks) Read(id uint32, b *Block) bool {
	r := t.row(id)
	if r == nil || !t.good(id) {
		return false
	}
	packed := t.factsAt(r)
	if r.isPart() {
		of, part := unpackPart(packed)
		if !t.Read(of, b) {
			return false
		}
		b.cut(part)
	} else {
		b.unpack(packed)
	}
	runtime.KeepAlive(t) // and what packed is in
	b.ID = id
	return true
}

// packed is the packed facts of that id, and what lies behind them; nil if there are none.
func (t *Blocks) packed(id uint32) []byte {
	if r := t.row(id); r != nil {
		return t.factsAt(r)
	}
	return nil
}

// factsAt is the packed facts of a row, and what lies behind them.
func (t *Blocks) factsAt(r *Row) []byte {
	at := r.place - 1
	return t.facts[at>>factsBits].Load().mem[at&(factsBytes-1):]
}

// Last returns the highest id in use.
func (t *Blocks) Last() uint32 { return t.last.Load() }
