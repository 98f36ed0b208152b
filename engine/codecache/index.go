package codecache

import (
	"iter"
	"math/bits"
	"slices"
)

// Index says, for one variant, what is known of application addresses: the block that
// was translated from there, or the exits that wait for it to be. It is a hash table of
// eight bytes an address, open and probed linearly, in parts: which part an address belongs to is
// said by the uppermost bits of its hash. A part that is full is split in two by the next bit, so that growing moves
// half a part and leaves nothing behind. One table of twice the size left as much garbage as it had entries, four megabytes with a compiler.
//
// The refused alternative are Go's maps, one of blocks, one of waiting exits and one of target checks: a
// sixth of the time of a dispatch went into them, they were three times as large, and the
// collector walked through them.
type Index struct {
	parts []*indexPart // by the hash's uppermost bits; several in a row may be one and the same
	bits  uint         // how many bits that are
}

// indexPart is the slots of addresses whose hashes begin with the same bits.
type indexPart struct {
	slots []SlotRef // a power of two
	used  int       // slots that are not empty, the forgotten ones included
	depth uint      // how many bits are the same
	shift uint      // of a hash without these, so that its uppermost bits are a slot's number
}

// Bounds of parts. A part of hashes that are alike in more bits than indexDepth grows by itself: programs have no such addresses unless they are made for it.
const (
	partBits   = 9
	indexDepth = 16
)

// newPart makes an empty part.
func newPart(bits, depth uint) *indexPart {
	p := &indexPart{slots: make([]SlotRef, 1<<bits), depth: depth, shift: 32 - bits}
	p.empty()
	return p
}

// empty makes all slots be of nothing, and their memory be there.
//
// Writing first: a page that is read first is the kernel's page of zeros, and the later
// write takes another fault, with an interrupt of the other processors.
func (p *indexPart) empty() {
	clear(p.slots)
	p.used = 0
}

// first is where a hash is looked for first.
func (p *indexPart) first(hash uint32) uint32 { return hash << p.depth >> p.shift }

// put puts what is known of an address whose hash is in none of the slots.
func (p *indexPart) put(s SlotRef) *SlotRef {
	i, mask := p.first(s.hash), uint32(len(p.slots)-1)
	for p.slots[i&mask].Ref != 0 && p.slots[i&mask].Ref != Forgotten {
		i++
	}
	at := &p.slots[i&mask]
	if at.Ref == 0 {
		p.used++
	}
	*at = s
	return at
}

// full tells whether another address is too many.
func (p *indexPart) full() bool { return (p.used+1)*4 > len(p.slots)*3 }

// partOf is the part of a hash. There is one.
func (x *Index) partOf(hash uint32) *indexPart { return x.parts[hash>>(32-x.bits)] }

// Slots is every slot.
func (x *Index) Slots() iter.Seq[SlotRef] {
	return func(yield func(SlotRef) bool) {
		for p := range x.eachPart() {
			for _, s := range p.slots {
				if !yield(s) {
					return
				}
			}
		}
	}
}

// eachPart is every part, with how many entries of parts name it.
func (x *Index) eachPart() iter.Seq2[*indexPart, int] {
	return func(yield func(*indexPart, int) bool) {
		for i := 0; i < len(x.parts); {
			p := x.parts[i]
			n := 1 << (x.bits - p.depth)
			if !yield(p, n) {
				return
			}
			i += n
		}
	}
}

// bitsFor is how large a table is that has room for what is in this one, and more.
func (x *Index) bitsFor(more int) uint {
	n := more
	for p := range x.eachPart() {
		n += p.used
	}
	return uint(bits.Len(uint(n * 4 / 3)))
}

// clone copies the table.
func (x *Index) clone() Index {
	c := Index{bits: x.bits, parts: make([]*indexPart, 0, len(x.parts))}
	for p, n := range x.eachPart() {
		q := *p
		q.slots = slices.Clone(p.slots)
		for range n {
			c.parts = append(c.parts, &q)
		}
	}
	return c
}

// SlotRef is a slot: the upper half of the address's hash, and what is there. The address
// itself is with the block or the exit.
type SlotRef struct {
	hash uint32
	Ref  Ref
}

// Ref names a block or an exit, by number. 0 is nothing.
type Ref uint32

// Forgotten keeps the place of an address of which nothing is known any more.
const Forgotten Ref = 1<<32 - 1

func blockRef(num uint32) Ref { return Ref(num+1) << 1 }
func exitRef(n int) Ref       { return Ref(n+1)<<1 | 1 }

// exit is the number of the exit that r names, if it does.
func (r Ref) exit() (n int, ok bool) {
	if r&1 == 0 || r == Forgotten {
		return 0, false
	}
	return int(r>>1) - 1, true
}

// hashOf spreads an address over 32 bits, of which the upper ones are used first.
func hashOf(app uint64) uint32 { return uint32(app * 0x9e3779b97f4a7c15 >> 32) }

// refTo is the block that r names, nil if it is an exit or nothing.
func (c *Cache) refTo(r Ref) *Block {
	if r == 0 || r&1 != 0 {
		return nil
	}
	return c.BlockPool.At(int(r>>1) - 1)
}

// AddrOf is the application address that a reference is about.
func (c *Cache) AddrOf(r Ref) (app uint64, ok bool) {
	if b := c.refTo(r); b != nil {
		return b.App, true
	}
	if n, ok := r.exit(); ok {
		return c.Exits.At(n).Target, true
	}
	return 0, false
}

// slotAt returns the slot of an address in variant v, nil if there is none.
func (c *Cache) slotAt(app uint64, v Variant) *SlotRef {
	if s := c.ownSlot(app, v); s != nil || len(c.under) == 0 {
		return s
	}
	ref := c.beneathOf(app, v)
	if ref == 0 {
		return nil
	}
	s := c.addSlot(app, v)
	s.Ref = ref
	return s
}

// ownSlot is slotAt of the variant's own table.
func (c *Cache) ownSlot(app uint64, v Variant) *SlotRef {
	x := &c.Index[v]
	if len(x.parts) == 0 {
		return nil
	}
	h := hashOf(app)
	p := x.partOf(h)
	mask := uint32(len(p.slots) - 1)
	for i := p.first(h); ; i++ {
		s := &p.slots[i&mask]
		if s.Ref == 0 {
			return nil
		}
		if s.hash == h {
			if a, ok := c.AddrOf(s.Ref); ok && a == app {
				return s
			}
		}
	}
}

// MakeSlot returns the slot of an address, a new one if there is none. It is valid until
// the next call.
func (c *Cache) MakeSlot(app uint64, v Variant) *SlotRef {
	if s := c.slotAt(app, v); s != nil {
		return s
	}
	return c.addSlot(app, v)
}

// addSlot makes the slot of an address that has none.
func (c *Cache) addSlot(app uint64, v Variant) *SlotRef {
	x := &c.Index[v]
	if len(x.parts) == 0 {
		x.resize(partBits, c.spare)
	}
	h := hashOf(app)
	return x.room(h).put(SlotRef{hash: h})
}

// room is the part of a hash, with room for another.
func (x *Index) room(hash uint32) *indexPart {
	for x.partOf(hash).full() {
		x.grow(hash)
	}
	return x.partOf(hash)
}

// grow makes room in the part of a hash: it leaves out forgotten addresses where these are half of it, and splits it otherwise.
func (x *Index) grow(hash uint32) {
	p := x.partOf(hash)
	var room [1 << partBits]SlotRef
	old := room[:0]
	for _, s := range p.slots {
		if s.Ref != 0 && s.Ref != Forgotten {
			old = append(old, s)
		}
	}
	halves := [2]*indexPart{p, p}
	switch {
	case len(old)*2 < len(p.slots):
		p.empty()
	case p.depth == indexDepth:
		p.slots = make([]SlotRef, 2*len(p.slots))
		p.shift--
		p.empty()
	default:
		halves[1] = x.split(p, hash)
	}
	for _, s := range old {
		halves[s.hash<<(p.depth-1)>>31].put(s)
	}
}

// split empties a part and makes another of the second half of its hashes.
func (x *Index) split(p *indexPart, hash uint32) (second *indexPart) {
	if p.depth == x.bits {
		twice := make([]*indexPart, 0, 2*len(x.parts))
		for _, p := range x.parts {
			twice = append(twice, p, p)
		}
		x.parts, x.bits = twice, x.bits+1
	}
	n := 1 << (x.bits - p.depth) // entries that name it
	start := int(hash>>(32-x.bits)) &^ (n - 1)
	p.depth++
	p.empty()
	second = newPart(32-p.shift, p.depth)
	for i := start + n/2; i < start+n; i++ {
		x.parts[i] = second
	}
	return second
}

// resize makes an empty table of so many bits, or a part's.
func (x *Index) resize(bits uint, spare *Spare) {
	x.bits = min(max(bits, partBits)-partBits, indexDepth)
	x.parts = make([]*indexPart, 1<<x.bits)
	for i := range x.parts {
		x.parts[i] = spare.part(x.bits)
	}
}

// BlockOf returns the translation of app in variant v, nil if there is none.
func (c *Cache) BlockOf(app uint64, v Variant) *Block {
	if s := c.slotAt(app, v); s != nil {
		return c.refTo(s.Ref)
	}
	return nil
}

// EachBlock calls f for every block that is known by its address.
func (c *Cache) EachBlock(f func(*Block)) {
	c.Settle()
	for v := range c.Index {
		for s := range c.Index[v].Slots() {
			if b := c.refTo(s.Ref); b != nil {
				f(b)
			}
		}
	}
}

// HasCheck tells whether there is a target check of app: see the translator's targetCheck. Most are noted with the
// address's block; the others are of addresses that are watched or whose block is dead.
func (c *Cache) HasCheck(app uint64, v Variant) bool {
	if b := c.BlockOf(app, v); b != nil && b.Is(Checked) {
		return true
	}
	return c.BareChecks[CheckKey{v, app}]
}

// NoteCheck notes that there is a target check of app.
func (c *Cache) NoteCheck(app uint64, v Variant) {
	if b := c.BlockOf(app, v); b != nil {
		b.Note(Checked)
		return
	}
	c.BareChecks[CheckKey{v, app}] = true
}
