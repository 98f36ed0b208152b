package records

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"
)

// Share makes the blocks of another table this one's, which has none yet, under their numbers. What is added to either is not the
// other's. The goroutine that adds to both calls it; readers of the other one do not matter.
func (t *Blocks) Share(from *Blocks) {
	t.takePages(from)
	for i := range from.pieces() {
		t.facts[i].Store(from.facts[i].Load())
	}
	t.next = (from.next + factsBytes - 1) &^ (factsBytes - 1) // the last piece is the other's to go on in
}

// Own is Share of a table that nobody adds to, moves blocks of or takes over any more: blocks can be moved, and are the other one's under the same addresses then.
func (t *Blocks) Own(from *Blocks) {
	t.takePages(from)
	for i := range from.pieces() {
		t.facts[i].Store(from.facts[i].Load())
	}
	t.next = from.next
}

// Copy is Share with memory of its own, so that blocks can be moved.
func (t *Blocks) Copy(from *Blocks) {
	t.takePages(from)
	for i := range from.pieces() {
		piece := newPiece()
		copy(piece.mem[:min(from.next-uint32(i)<<factsBits, factsBytes)], from.facts[i].Load().mem[:])
		t.facts[i].Store(piece)
	}
	t.next = from.next
	runtime.KeepAlive(from)
}

// pieces is how many pieces the facts take.
func (t *Blocks) pieces() int { return int((t.next + factsBytes - 1) >> factsBits) }

// takePages makes another table's index this one's, and what goes by numbers besides.
func (t *Blocks) takePages(from *Blocks) {
	last := from.last.Load()
	for i := range last>>blockPageBits + 1 {
		page := from.at[i].Load()
		if end := (i + 1) << blockPageBits; page != nil && last < end-1 { // the other one goes on in it
			mine := new([1 << blockPageBits]atomic.Uint32)
			for k := range last&(1<<blockPageBits-1) + 1 {
				mine[k].Store(page[k].Load())
			}
			page = mine
		}
		t.at[i].Store(page)
	}
	from.rates.Range(func(id, rates any) bool { t.rates.Store(id, rates); return true })
	t.last.Store(last)
}

// Bytes is how much memory the facts take.
func (t *Blocks) Bytes() int { return int(t.next) }

// IsPart tells whether a number is that of a part of a block.
func (t *Blocks) IsPart(id uint32) bool {
	packed := t.packed(id)
	return packed != nil && packed[0] == 0
}

// Addr is the address of a block; 0 if there is none of that id.
func (t *Blocks) Addr(id uint32) uint64 {
	if at := t.address(id); at != nil {
		return binary.LittleEndian.Uint64(at)
	}
	return 0
}

// Move has a block lie shift bytes further on, with all in its facts that is an address: they are kept as distances from its own. Its
// code has not run yet: nobody reads it. The table is not shared.
func (t *Blocks) Move(id uint32, shift uint64) {
	if at := t.address(id); at != nil {
		binary.LittleEndian.PutUint64(at, binary.LittleEndian.Uint64(at)+shift)
	}
}

// address is where the packed facts of a block, or of what a part is of, have its address.
func (t *Blocks) address(id uint32) []byte {
	packed := t.packed(id)
	if packed == nil {
		return nil
	}
	if of, _, ok := unpackPart(packed); ok {
		if packed = t.packed(of); packed == nil {
			return nil
		}
	}
	u := unpacker{packed}
	u.skip(packedHead)
	return u.b
}
