package codecache

import (
	"math/bits"
	"slices"

	"alleria/internal/sys"
)

// IndexEntry is what is known of an application address in a variant.
type IndexEntry struct {
	App     uint64
	Ref     Ref
	Variant Variant
}

// SharedIndex is what is known of an image's addresses where translations of it were kept: a hash table of the numbers of entries. Nothing in it changes, so that all processes that
// take the translations over look into the same one, with their own distance to where the image lay. An entry gets into a process's own table when it is asked for.
//
// Each process made all entries in a table of its own before, of which it asks for one in fifty: a compiler's 120,000, each in another line of the cache, were a third of taking over.
// Refused: a copy of the table, which fits only where all images lie where they lay.
type SharedIndex struct {
	entries []IndexEntry
	table   []uint32 // numbers of entries plus 1, found by hash and probed linearly
	shift   uint     // of a hash, so that its uppermost bits are a place in the table
}

// NewSharedIndex makes the table of entries, of which no two are of the same address and variant.
func NewSharedIndex(entries []IndexEntry) *SharedIndex {
	n := bits.Len(uint(len(entries)*3/2)) + 1
	x := &SharedIndex{entries, sys.Words32(1 << n), uint(32 - n)}
	for i := range entries {
		at := x.first(entries[i].App, entries[i].Variant)
		for x.table[at] != 0 {
			at = (at + 1) & uint32(len(x.table)-1)
		}
		x.table[at] = uint32(i + 1)
	}
	return x
}

// first is where an address is looked for first.
func (x *SharedIndex) first(app uint64, v Variant) uint32 {
	return hashOf(app^uint64(v)<<60) >> x.shift
}

// find is what is known of an address; 0: nothing.
func (x *SharedIndex) find(app uint64, v Variant) Ref {
	for at := x.first(app, v); x.table[at] != 0; at = (at + 1) & uint32(len(x.table)-1) {
		if e := &x.entries[x.table[at]-1]; e.App == app && e.Variant == v {
			return e.Ref
		}
	}
	return 0
}

// beneath is what is known of an image's addresses where the cache's own tables have nothing.
type beneath struct {
	*SharedIndex
	start, end uint64 // the image, in this process
	moved      uint64 // how much further on it lies than the entries say
	gone       uint32 // the variants of which nothing holds any more, a bit each
}

// ref is what is known of an address.
func (u *beneath) ref(app uint64, v Variant) Ref {
	if app < u.start || app >= u.end || u.gone>>v&1 != 0 {
		return 0
	}
	return u.find(app-u.moved, v)
}

// PutBeneath makes entries known of an image that lies from start to end, which are of addresses moved bytes further down. What the cache knows by itself comes first.
func (c *Cache) PutBeneath(x *SharedIndex, start, end, moved uint64) {
	c.under = append(c.under, beneath{SharedIndex: x, start: start, end: end, moved: moved})
}

// beneathOf is what is known of an address that the variant's own table has not.
func (c *Cache) beneathOf(app uint64, v Variant) Ref {
	for i := range c.under {
		if ref := c.under[i].ref(app, v); ref != 0 {
			return ref
		}
	}
	return 0
}

// Settle makes all entries of images the cache's own, for whoever goes through them or has some not be known any more.
func (c *Cache) Settle() {
	for len(c.under) > 0 {
		c.settle(len(c.under) - 1)
	}
}

// settleAt is Settle of the image that an address lies in.
func (c *Cache) settleAt(app uint64) {
	if i := slices.IndexFunc(c.under, func(u beneath) bool { return app >= u.start && app < u.end }); i >= 0 {
		c.settle(i)
	}
}

// settle is Settle of one image.
func (c *Cache) settle(i int) {
	u := c.under[i]
	c.under = slices.Delete(c.under, i, i+1)
	var many [NumVariants]int
	for i := range u.entries {
		many[u.entries[i].Variant]++
	}
	for v, n := range many {
		if n > 0 {
			c.reserve(Variant(v), n)
		}
	}
	for i := range u.entries {
		e := &u.entries[i]
		if u.gone>>e.Variant&1 != 0 {
			continue
		}
		if s := c.MakeSlot(e.App+u.moved, e.Variant); s.Ref == 0 {
			s.Ref = e.Ref
		}
	}
}

// reserve makes room for so many more addresses at once: they come in the order of their hashes, and in a smaller table they would lie in one row.
func (c *Cache) reserve(v Variant, more int) {
	x := &c.Index[v]
	want := x.bitsFor(more)
	if len(x.parts) > 0 && want <= x.bits+partBits {
		return
	}
	old := *x
	x.resize(want, c.spare)
	for s := range old.Slots() {
		if s.Ref != 0 && s.Ref != Forgotten {
			x.room(s.hash).put(s)
		}
	}
}

// ForgetIndex has nothing be known of a variant's addresses any more.
func (c *Cache) ForgetIndex(v Variant) {
	c.Index[v] = Index{}
	for i := range c.under {
		c.under[i].gone |= 1 << v
	}
}
