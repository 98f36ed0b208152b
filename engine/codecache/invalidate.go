package codecache

import (
	"alleria/engine/asm"
	"alleria/internal/layout"
)

// EntryBytes is how much of a block kill overwrites: a jump.
const EntryBytes = 5

// Overwritten tells whether a thread at a cache address would go on in the
// middle of the jump that kill writes.
// At the entry itself the thread would execute the jump as a whole.
func Overwritten(dead []*Block, rip uint64) bool {
	for _, b := range dead {
		if b.Idles() {
			continue
		}
		for how := Uncounted; how <= b.Counting(); how++ {
			if rip-b.At(how)-1 < EntryBytes-1 {
				return true
			}
		}
	}
	return false
}

// Kill makes a block's entry lead to another translation, once there is one,
// and ask for it until then.
//
// The entry has room for the jump: finish sees to that. Whoever is behind the entry
// executes the rest of the old block and leaves it by its links. Jumps from within the function
// lead behind the counting, where the same is done.
func (c *Cache) Kill(b *Block) {
	if b.Is(Dead) {
		return
	}
	b.Note(Dead)
	c.unknown(b)
	if b.Is(Gated) {
		c.close(b)
	} else {
		c.overwrite(b, Uncounted)
	}
	if b.Is(HasCounts) {
		c.overwrite(b, Counted)
		if b.Inner != b.Body {
			c.overwrite(b, BackEdge)
		}
	}
	if o := c.before(b); o != nil {
		c.Kill(o)
	}
}

// overwrite writes, over the code where a block is entered, a jump to a dispatch for another
// translation.
func (c *Cache) overwrite(b *Block, how Entry) {
	ar := c.RegionAt(b.Code)
	stub := asm.New(ar.Mem[:ar.Size], ar.Base, ar.Cold)
	stub.AlignRel32(1)
	at := stub.Here()
	site := stub.AddrOf(stub.JmpLater()) // to what follows
	was := c.InMade
	c.InMade = b.OfMadeCode() // whatever is being written
	n := c.NewExit(Exit{Site: site, Target: b.App, Region: ar, Variant: b.Variant, Entry: how})
	c.InMade = was
	stub.StoreWordImm(layout.Ask, uint32(n)+1)
	stub.Jmp(ar.Base + ar.Routines.Dispatch)
	ar.Cold = (stub.Pos() + 7) &^ 7
	entry := asm.New(ar.Mem, ar.Base, int(b.At(how)-ar.Base))
	entry.Jmp(at)
	if c.GoneEntries == nil {
		c.GoneEntries = make(map[uint64]struct{})
	}
	c.GoneEntries[b.At(how)] = struct{}{}
}

// siteGone tells whether a branch's displacement lies in what overwrite has written over. A
// block may begin with a branch to what has not been translated yet: linked when that is, it would
// make of the jump there one to nowhere, or to where the branch led.
func (c *Cache) siteGone(site uint64) bool {
	if len(c.GoneEntries) == 0 {
		return false
	}
	for entry := site - EntryBytes + 1; entry < site+4; entry++ {
		if _, ok := c.GoneEntries[entry]; ok {
			return true
		}
	}
	return false
}
