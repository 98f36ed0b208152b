package records

import (
	"encoding/binary"
	"runtime"
	"sync"
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

// FromKept is the table of what was kept, in whose memory most of it stays, with the highest numbers that facts have of images and functions; nil where some facts are none, or their records
// would have more than so many words.
func FromKept(k Kept, mostWords int) (*Blocks, Highest) {
	t := new(Blocks)
	var high Highest
	if len(k.At) >= blockPages<<blockPageBits || len(k.Facts) >= factsMax {
		return nil, high
	}
	for i, piece := range k.Facts {
		if len(piece) > factsBytes || len(piece) < factsBytes && i+1 < len(k.Facts) {
			return nil, high
		}
		t.facts[i].Store(keptPiece(piece))
		t.next = uint32(i)<<factsBits + uint32(len(piece))
	}
	for i, at := range k.At {
		if at>>factsBits >= uint32(len(k.Facts)) || at&(factsBytes-1) >= uint32(len(k.Facts[at>>factsBits])) {
			return nil, high
		}
		t.place(uint32(i)+1, at)
	}
	high, ok := t.fit(&k, mostWords)
	if !ok {
		return nil, high
	}
	t.last.Store(uint32(len(k.At)))
	if !t.takeRates(k.Rates) {
		return nil, high
	}
	return t, high
}

// keptPiece is what was kept of a piece as one. A whole one stays where it is; in another the table goes on.
func keptPiece(kept []byte) *factsPiece {
	if len(kept) == factsBytes {
		return &factsPiece{(*[factsBytes]byte)(kept)}
	}
	p := newPiece()
	copy(p.mem[:], kept)
	return p
}

// of is the packed facts of the block at a place of the list, and what is behind them.
func (k *Kept) of(i int) []byte {
	at := k.At[i]
	return k.Facts[at>>factsBits][at&(factsBytes-1):]
}

// leastShare is how many blocks are gone over in the time that it takes to have another goroutine do it.
const leastShare = 2048

// fit tells whether all facts are such, with the highest numbers that they have. They are gone over side by side, as a program waits for it: first the blocks, then the parts of them.
func (t *Blocks) fit(k *Kept, mostWords int) (high Highest, ok bool) {
	shares := max(1, min(runtime.GOMAXPROCS(0), len(k.At)/leastShare))
	found := make([]checker, shares)
	share := func(n int) {
		c, to := checker{}, len(k.At)*(n+1)/shares
		for i := len(k.At) * n / shares; i < to && !c.bad; i++ {
			if c.b = k.of(i); c.b[0] != 0 {
				c.block(mostWords)
			}
		}
		found[n] = c
	}
	var all sync.WaitGroup
	for n := 1; n < shares; n++ {
		all.Go(func() { share(n) })
	}
	share(0)
	all.Wait()
	ok = true
	for _, c := range found {
		ok = ok && !c.bad
		high.Image, high.Func = max(high.Image, c.highest.Image), max(high.Func, c.highest.Func)
	}
	for i := 0; i < len(k.At) && ok; i++ {
		if c := (checker{b: k.of(i)}); c.b[0] == 0 {
			ok = t.fitsPart(&c, uint32(i), mostWords)
		}
	}
	return high, ok
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

// fitsPart tells whether what c is at is a part of one of the first last blocks.
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

// checker goes over packed facts as unpack does, stops at their end, and looks whether what is said of a block's records lies in them, and of its instructions in its
// code. It makes no block: all facts of a program are gone over before its first instruction.
type checker struct {
	b     []byte
	bad   bool
	words int    // of a record
	code  uint64 // bytes of the block's code
	// What an instruction or access has that does not say otherwise: of the one before.
	flags   InsFlags
	off     uint16 // where it lies
	word    int16
	highest Highest
}

// number is the next number; 0 where there is none. Most are a byte.
func (c *checker) number() uint64 {
	if len(c.b) == 0 || c.b[0] >= 0x80 {
		return c.long()
	}
	v := c.b[0]
	c.b = c.b[1:]
	return uint64(v)
}

// long is number of more bytes, or of none.
func (c *checker) long() uint64 {
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

// wordOf is the next number as a word of a record, and whether the record has it; it may be none.
func (c *checker) wordOf() (w int16, ok bool) {
	w = int16(c.number()) - 1
	return w, c.has(w)
}

// has tells whether a record has a word, which may be none.
func (c *checker) has(w int16) bool { return w == NoWord || w >= 0 && int(w) < c.words }

// is notes that something was not as it is to be.
func (c *checker) is(ok bool) { c.bad = c.bad || !ok }

// block goes over a block of records with at most so many words. What it has most of is bounded by the bytes that there are.
func (c *checker) block(most int) bool {
	c.words, c.flags, c.off, c.word = int(c.number())-1, 0, 0, NoWord
	c.is(c.words >= 0 && c.words <= most)
	c.highest.Image = max(c.highest.Image, uint32(c.number()))
	_, time := c.wordOf()
	_, branch := c.wordOf()
	c.is(time && branch && BranchKind(c.number()>>1) <= BranchSyscall)
	ins, accesses := c.number(), c.number()
	c.code = c.number()
	c.is(ins > 0 && ins <= c.code)
	c.skip(8)
	c.number() // the target's distance
	c.skip(c.code)
	for n := c.number(); n > 0 && !c.bad; n-- {
		of := uint16(c.number())
		c.number()
		_, ok := c.wordOf()
		c.is(ok && uint64(of) < ins)
	}
	found := uint64(0)
	for ; ins > 0 && !c.bad; ins-- {
		found += c.instruction()
	}
	c.is(found == accesses)
	return !c.bad
}

// instruction goes over an instruction, and returns how many accesses it has.
func (c *checker) instruction() (accesses uint64) {
	first := c.skip(1)
	if first&insFlags != 0 {
		c.flags = InsFlags(c.number())
	}
	if first&insFunc != 0 {
		c.highest.Func = max(c.highest.Func, uint32(c.number()))
	}
	if first&insElsewhere != 0 {
		c.off = uint16(c.number())
		c.number() // how far it lies elsewhere
	}
	length := uint16(first & insLen)
	c.is(length > 0 && uint64(c.off)+uint64(length) <= c.code)
	c.off += length
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
	addrs := c.flags&InsAddrs != 0
	if first&accKind == accShort {
		c.number()
		if first&accNext != 0 {
			c.word++
		}
		c.is(!addrs || c.has(c.word))
		return
	}
	kind, aux := AccessKind(first&accKind), int16(NoWord)
	c.number() // its size
	word, ok := c.wordOf()
	_, value := c.wordOf()
	c.number() // its offset
	if first&accLanes != 0 {
		c.skip(3)
		var hasAux bool
		aux, hasAux = c.wordOf()
		_, index := c.wordOf()
		ok = ok && hasAux && index
	}
	c.word = word
	c.is(kind <= AccessBits)
	c.is(!addrs || ok && value && (kind != AccessString || word >= 0 && aux >= 0))
}
