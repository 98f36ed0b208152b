package records

import (
	"encoding/binary"
	"runtime"
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
		page := from.rows[i].Load()
		if end := (i + 1) << blockPageBits; page != nil && last < end-1 { // the other one goes on in it
			mine := new(rowPage)
			copy(mine[:], page[:last&(1<<blockPageBits-1)+1])
			page = mine
		}
		t.rows[i].Store(page)
	}
	t.high, t.kept, t.forms = from.high, from.kept, from.forms
	from.rates.Range(func(id, rates any) bool { t.rates.Store(id, rates); return true })
	t.last.Store(last)
}

// Bytes is how much memory the facts take.
func (t *Blocks) Bytes() int { return int(t.next) }

// IsPart tells whether a number is that of a part of a block.
func (t *Blocks) IsPart(id uint32) bool {
	r := t.row(id)
	return r != nil && r.isPart()
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
	r := t.row(id)
	if r != nil && r.isPart() {
		if !t.good(id) {
			return nil
		}
		of, _ := unpackPart(t.factsAt(r))
		r = t.row(of)
	}
	if r == nil || len(t.factsAt(r)) < 8 {
		return nil
	}
	return t.factsAt(r)
}
