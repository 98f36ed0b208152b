package records

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"
)

// Kept is a table as it is kept in a file: its memory, and what finds blocks in it. What is read from one is looked at as a whole before it is a table
// (FromKept): whoever reads facts later looks at nothing.
type Kept struct {
	Facts [][]byte // in pieces
	At    []uint32 // places by id, from 1
	Rates []uint32 // of the few blocks with sample rates: the id, how many there are, the rates
}

// Keep is the table as it is now, in the table's own memory, which must be in reach for as long as that is read.
func (t *Blocks) Keep() Kept {
	k := Kept{At: make([]uint32, t.Last())}
	for i := range t.pieces() {
		k.Facts = append(k.Facts, t.facts[i].Load().mem[:min(t.next-uint32(i)<<factsBits, factsBytes)])
	}
	for i := range k.At {
		id := uint32(i) + 1
		k.At[i] = t.at[id>>blockPageBits].Load()[id&(1<<blockPageBits-1)].Load() - 1
		if rates := t.SampleRates(id); rates != nil {
			k.Rates = append(append(k.Rates, id, uint32(len(rates))), rates...)
		}
	}
	return k
}

// Highest is the highest numbers of images and functions in a table.
type Highest struct{ Image, Func uint32 }

// FromKept is the table of what was kept, with the highest numbers that facts have of images and functions; nil where some facts are none, or their records
// would have more than so many words.
func FromKept(k Kept, mostWords int) (*Blocks, Highest) {
	t, high := new(Blocks), Highest{}
	if len(k.At) >= blockPages<<blockPageBits || len(k.Facts) >= factsMax {
		return nil, high
	}
	for i, piece := range k.Facts {
		if len(piece) > factsBytes || len(piece) < factsBytes && i+1 < len(k.Facts) {
			return nil, high
		}
		p := newPiece()
		copy(p.mem[:], piece)
		t.facts[i].Store(p)
		t.next = uint32(i)<<factsBits + uint32(len(piece))
	}
	var b Block
	for i, at := range k.At {
		if at>>factsBits >= uint32(len(k.Facts)) {
			return nil, high
		}
		piece := k.Facts[at>>factsBits]
		if at&(factsBytes-1) >= uint32(len(piece)) || !t.fits(piece[at&(factsBytes-1):], uint32(i), &b, mostWords, &high) {
			return nil, high
		}
		t.place(uint32(i)+1, at)
	}
	t.last.Store(uint32(len(k.At)))
	if !t.takeRates(k.Rates) {
		return nil, high
	}
	return t, high
}

// place says where the facts of an id are.
func (t *Blocks) place(id, at uint32) {
	slot := &t.at[id>>blockPageBits]
	page := slot.Load()
	if page == nil {
		page = new([1 << blockPageBits]atomic.Uint32)
		slot.Store(page)
	}
	page[id&(1<<blockPageBits-1)].Store(at + 1)
}

// takeRates makes kept sample rates the table's; false where they are of something else.
func (t *Blocks) takeRates(kept []uint32) bool {
	for len(kept) > 0 {
		if len(kept) < 2 || uint64(kept[1]) > uint64(len(kept)-2) || int(kept[1]) != t.Instructions(kept[0]) {
			return false
		}
		t.SetSampleRates(kept[0], kept[2:2+kept[1]])
		kept = kept[2+kept[1]:]
	}
	return true
}

// Instructions is how many instructions the block of that id has; 0 if there is none.
func (t *Blocks) Instructions(id uint32) int {
	packed := t.packed(id)
	if packed == nil {
		return 0
	}
	defer runtime.KeepAlive(t)
	if _, part, ok := unpackPart(packed); ok {
		return part.Ins
	}
	u := unpacker{packed}
	u.skip(packedIns)
	return int(u.number())
}

// packedIns is how many numbers stand in front of that of instructions.
const packedIns = 5

// fits tells whether packed facts are those of a block, or of a part of one of the first last blocks. It makes b that block.
func (t *Blocks) fits(packed []byte, last uint32, b *Block, mostWords int, high *Highest) bool {
	c := &checker{b: packed}
	if len(packed) > 0 && packed[0] == 0 {
		return t.fitsPart(c, last, mostWords)
	}
	if c.block(); c.bad {
		return false
	}
	b.unpack(packed)
	high.Image = max(high.Image, b.Image)
	for i := range b.Ins {
		high.Func = max(high.Func, b.Ins[i].Func)
	}
	return b.makesSense(mostWords)
}

// fitsPart is fits of a part.
func (t *Blocks) fitsPart(c *checker, last uint32, mostWords int) bool {
	c.skip(1)
	of, ins, words := c.number(), c.number(), c.number()
	c.number() // the target's distance
	if c.bad || of == 0 || of > uint64(last) || t.IsPart(uint32(of)) || ins == 0 || words > uint64(mostWords) {
		return false
	}
	u := unpacker{t.packed(uint32(of))}
	all := u.number() - 1
	return ins <= uint64(t.Instructions(uint32(of))) && words <= all
}

// makesSense tells whether what is said of a block's records lies in them, and of its instructions in its code.
func (b *Block) makesSense(mostWords int) bool {
	if b.Words < 0 || b.Words > mostWords || len(b.Ins) == 0 || !b.hasWords(b.TimeWord, 1) || !b.hasWords(b.BranchWord, 1) || b.Branch > BranchSyscall {
		return false
	}
	for _, r := range b.Regs {
		if int(r.Ins) >= len(b.Ins) || !b.hasWords(r.Word, 1) {
			return false
		}
	}
	for i := range b.Ins {
		in := &b.Ins[i]
		if in.Len == 0 || int(in.Off)+int(in.Len) > len(b.Code) {
			return false
		}
		for k := range in.Accesses {
			if a := &in.Accesses[k]; a.Kind > AccessBits || in.Flags&InsAddrs != 0 && !b.hasAccess(a) {
				return false
			}
		}
	}
	return true
}

// hasWords tells whether a record has so many words from one on, which may be none.
func (b *Block) hasWords(w int16, n int) bool {
	return w == NoWord || w >= 0 && int(w)+n <= b.Words
}

// hasAccess tells whether the words of an access are the record's.
func (b *Block) hasAccess(a *Access) bool {
	if a.Kind == AccessString && (a.Word < 0 || a.AuxWord < 0) {
		return false
	}
	return b.hasWords(a.Word, 1) && b.hasWords(a.AuxWord, 1) && b.hasWords(a.IndexWord, 1) && b.hasWords(a.Value, 1)
}

// checker goes over packed facts as unpack does, and stops at their end.
type checker struct {
	b   []byte
	bad bool
}

// number is the next number; 0 where there is none.
func (c *checker) number() uint64 {
	v, n := binary.Uvarint(c.b)
	if n <= 0 {
		c.bad, c.b = true, nil
		return 0
	}
	c.b = c.b[n:]
	return v
}

// skip passes over n bytes, and returns the first.
func (c *checker) skip(n uint64) (first byte) {
	if n > uint64(len(c.b)) {
		c.bad, c.b = true, nil
		return 0
	}
	if n > 0 {
		first = c.b[0]
	}
	c.b = c.b[n:]
	return first
}

// numbers passes over n numbers.
func (c *checker) numbers(n int) {
	for range n {
		c.number()
	}
}

// block goes over a block. What it has most of is bounded by the bytes that there are.
func (c *checker) block() {
	c.numbers(packedIns)
	ins, accesses, code := c.number(), c.number(), c.number()
	c.skip(8)
	c.number() // the target's distance
	c.skip(code)
	for n := c.number(); n > 0 && !c.bad; n-- {
		c.numbers(3)
	}
	if ins > code {
		c.bad = true
	}
	found := uint64(0)
	for ; ins > 0 && !c.bad; ins-- {
		found += c.instruction()
	}
	c.bad = c.bad || found != accesses
}

// instruction goes over an instruction, and returns how many accesses it has.
func (c *checker) instruction() (accesses uint64) {
	first := c.skip(1)
	if first&insFlags != 0 {
		c.number()
	}
	if first&insFunc != 0 {
		c.number()
	}
	if first&insElsewhere != 0 {
		c.numbers(2)
	}
	if first&insAccesses == 0 {
		return 0
	}
	accesses = c.number()
	for n := accesses; n > 0 && !c.bad; n-- {
		c.access()
	}
	return accesses
}

// access goes over an access.
func (c *checker) access() {
	first := c.skip(1)
	if first&accKind == accShort {
		c.number()
		return
	}
	c.numbers(4) // its size, words and offset
	if first&accLanes != 0 {
		c.skip(3)
		c.numbers(2)
	}
}
