package records

import (
	"encoding/binary"
	"runtime"
	"slices"
	"sync"
)

// Kept is a table as it is kept in a file: its memory, and what finds blocks in it. Rows and places of what is read from one are looked at as a whole before it is a table
// (FromKept), facts when somebody reads them (good): a start that counts reads those of few blocks.
type Kept struct {
	Facts [][]byte // in pieces
	Rows  []Row    // by id, from 0, which is none
	Rates []uint32 // of the few blocks with sample rates: the id, how many there are, the rates
	High  Highest
}

// Keep is the table as it is now, in the table's own memory, which must be in reach for as long as that is read.
func (t *Blocks) Keep() Kept {
	k := Kept{Rows: make([]Row, t.Last()+1), High: t.high}
	for i := range t.pieces() {
		k.Facts = append(k.Facts, t.facts[i].Load().mem[:min(t.next-uint32(i)<<factsBits, factsBytes)])
	}
	for at := 0; at < len(k.Rows); at += 1 << blockPageBits {
		if page := t.rows[at>>blockPageBits].Load(); page != nil {
			copy(k.Rows[at:], page[:])
		}
	}
	for id := uint32(1); id <= t.Last(); id++ {
		if rates := t.SampleRates(id); rates != nil {
			k.Rates = append(append(k.Rates, id, uint32(len(rates))), rates...)
		}
	}
	return k
}

// Highest is the highest numbers of images and functions in a table.
type Highest struct{ Image, Func uint32 }

// keptFacts is what facts that come from a file are held against.
type keptFacts struct {
	last uint32 // the highest number of a block with such facts
	most int    // words of a record
	high Highest
}

// FromKept is the table of what was kept, in whose memory most of it stays, with the highest numbers that facts have of images and functions; nil where some rows are none, or records
// would have more than so many words. Facts that are none are no block's: there is none of that id for who reads it. With all they are all looked at now, and some that are none are no table.
//
// All was what was done, a tenth of a recorded start of a compiler on all threads. The file's checksum finds what was damaged.
func FromKept(k Kept, mostWords int, all bool) (*Blocks, Highest) {
	t := new(Blocks)
	var none Highest
	if len(k.Rows) == 0 || len(k.Rows) >= blockPages<<blockPageBits || len(k.Facts) >= factsMax || !k.fitRows(mostWords) {
		return nil, none
	}
	for i, piece := range k.Facts {
		if len(piece) > factsBytes || len(piece) < factsBytes && i+1 < len(k.Facts) {
			return nil, none
		}
		t.facts[i].Store(keptPiece(piece))
		t.next = uint32(i)<<factsBits + uint32(len(piece))
	}
	for at := 0; at < len(k.Rows); at += 1 << blockPageBits {
		t.rows[at>>blockPageBits].Store(keptPage(k.Rows[at:]))
	}
	last := uint32(len(k.Rows) - 1)
	t.last.Store(last)
	t.high, t.kept = k.High, keptFacts{last, mostWords, k.High}
	if all && !t.fit() || !t.takeRates(k.Rates) {
		return nil, none
	}
	t.ShareForms()
	return t, k.High
}

// fitRows tells whether all rows are such, and lead to facts that there are.
func (k *Kept) fitRows(mostWords int) bool {
	if k.Rows[0].place != 0 {
		return false
	}
	end := uint32(0)
	if n := len(k.Facts); n > 0 {
		end = uint32(n-1)<<factsBits + uint32(len(k.Facts[n-1]))
	}
	for i := range k.Rows[1:] {
		if r := &k.Rows[i+1]; r.place-1 >= end || int(r.words) > mostWords || r.ins == 0 {
			return false
		}
	}
	return true
}

// keptPage is the first rows of a list as a page. A whole one stays where it is; in another the table goes on.
func keptPage(rows []Row) *rowPage {
	if len(rows) >= 1<<blockPageBits {
		return (*rowPage)(rows)
	}
	p := new(rowPage)
	copy(p[:], rows)
	return p
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

// leastShare is how many blocks are gone over in the time that it takes to have another goroutine do it.
const leastShare = 2048

// fit tells whether all facts are such. They are gone over side by side, as a program waits for it.
func (t *Blocks) fit() bool {
	all := int(t.Last())
	shares := max(1, min(runtime.GOMAXPROCS(0), all/leastShare))
	bad := make([]bool, shares)
	share := func(n int) {
		to := all * (n + 1) / shares
		for i := all * n / shares; i < to && !bad[n]; i++ {
			bad[n] = !t.good(uint32(i) + 1)
		}
	}
	var others sync.WaitGroup
	for n := 1; n < shares; n++ {
		others.Go(func() { share(n) })
	}
	share(0)
	others.Wait()
	return !slices.Contains(bad, true)
}

// good tells whether a block's facts are such, and what its row says: whoever unpacks them looks at nothing. Those that were packed here are.
func (t *Blocks) good(id uint32) bool {
	if id > t.kept.last {
		return true
	}
	r := t.row(id)
	if r == nil {
		return false
	}
	if p := t.formPlace(id); p != nil && p.first.Load()&formKnown != 0 { // its facts were looked at
		return true
	}
	c := checker{b: t.factsAt(r)}
	defer runtime.KeepAlive(t)
	if r.isPart() {
		return t.fitsPart(&c, r, id)
	}
	return c.block(t.kept.most) && c.words == int(r.words) && c.instructions == uint64(r.ins) && c.highest.Image <= t.kept.high.Image && c.highest.Func <= t.kept.high.Func
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
	r := t.row(id)
	if r == nil {
		return 0
	}
	return int(r.ins)
}

// fitsPart tells whether what c is at is the part that a row says, of a block in front of it.
func (t *Blocks) fitsPart(c *checker, r *Row, id uint32) bool {
	of, ins, words := c.number(), c.number(), c.number()
	c.number() // the target's distance
	if c.bad || of >= uint64(id) || ins != uint64(r.ins) || words != uint64(r.words) {
		return false
	}
	whole := t.row(uint32(of))
	return whole != nil && !whole.isPart() && ins <= uint64(whole.ins) && words <= uint64(whole.words)
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
	// instructions is how many there are
	instructions uint64
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
	c.skip(8) // the address
	c.words, c.flags, c.off, c.word = int(c.number()), 0, 0, NoWord
	c.is(c.words >= 0 && c.words <= most)
	c.highest.Image = max(c.highest.Image, uint32(c.number()))
	_, time := c.wordOf()
	_, branch := c.wordOf()
	c.is(time && branch && BranchKind(c.number()>>1) <= BranchSyscall)
	ins, accesses := c.number(), c.number()
	c.code = c.number()
	c.is(ins > 0 && ins <= c.code)
	c.instructions = ins
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
