package codecache

import (
	"maps"
	"slices"
)

// Inherit makes the translations of another process this one's, whose regions lie where the other's do and are empty: those of the
// variants that are kept, as they are. Threads may run in the other's code meanwhile; it is not changed.
//
// Nothing has to be corrected, as it has where a template is taken over: addresses of code, of the application and of
// the cache are the same. So it takes as long as the copy.
func (c *Cache) Inherit(from *Cache) {
	c.BlockPool.CopyFrom(&from.BlockPool)
	c.Exits.CopyFrom(&from.Exits)
	c.RareExits = slices.Clone(from.RareExits)
	for i := range c.RareExits {
		r := &c.RareExits[i]
		r.Trap, r.Stale = c.same(r.Trap), c.same(r.Stale)
		if r.Need != nil {
			r.Need = r.Need.Copy()
		}
	}
	c.Counters.CopyFrom(&from.Counters)
	c.PosPieces, c.PosPool = slices.Clone(from.PosPieces), nil
	c.GoneEntries = maps.Clone(from.GoneEntries)
	c.SetOdds(from.odds)
	c.uses = maps.Clone(from.uses)
	c.SideExits.CopyFrom(&from.SideExits)
	c.Facts.Share(&from.Facts)
	c.under = slices.Clone(from.under)
	for v := range KeptVariants {
		c.Index[v] = from.Index[v].clone()
		c.SlotChecks[v] = slices.Clone(from.SlotChecks[v])
	}
	for k := range from.BareChecks {
		if k.Variant < KeptVariants {
			c.BareChecks[k] = true
		}
	}
	for i, r := range c.Regions {
		r.Blocks.spare = c.Counters.spare
		r.CopyFrom(from.Regions[i].Code(), false)
	}
}

// same is this cache's block of the number that another's has.
func (c *Cache) same(b *Block) *Block {
	if b == nil {
		return nil
	}
	return c.BlockPool.At(int(b.Num))
}

// SamePlaces tells whether the regions lie where another cache's do.
func (c *Cache) SamePlaces(other *Cache) bool {
	return slices.EqualFunc(c.Regions, other.Regions, func(a, b *Region) bool { return a.Base == b.Base && a.Size == b.Size })
}

// Leave takes the translations of the variants that are kept out of a cache, for another one of which the regions are the same memory. Its tables are the other one's then.
func (c *Cache) Leave() *Cache {
	left := &Cache{Regions: c.Regions}
	left.Adopt(c)
	return left
}

// Adopt makes what another cache had this one's. The regions are the same memory, mapped anew at the same addresses in the
// target; the other cache is not used any more.
func (c *Cache) Adopt(from *Cache) {
	c.BlockPool, c.Exits, c.RareExits = from.BlockPool, from.Exits, from.RareExits
	c.Counters, c.PosPieces, c.PosPool = from.Counters, from.PosPieces, from.PosPool
	c.GoneEntries, c.odds, c.uses = from.GoneEntries, from.odds, from.uses
	c.SideExits, c.under = from.SideExits, from.under
	c.Facts.Share(&from.Facts) // who reads the other process's records may not be done yet
	for v := range KeptVariants {
		c.Index[v], c.SlotChecks[v], c.Epoch[v] = from.Index[v], from.SlotChecks[v], from.Epoch[v]
	}
	c.BareChecks = from.BareChecks
	for k := range c.BareChecks {
		if k.Variant >= KeptVariants {
			delete(c.BareChecks, k)
		}
	}
	for i, r := range c.Regions {
		r.adopt(from.Regions[i])
	}
}

// adopt takes over what is known of a region's code, which is in the same memory.
func (a *Region) adopt(from *Region) {
	a.Next, a.Cold, a.Blocks, a.veneers = from.Next, from.Cold, from.Blocks, from.veneers
	a.hugeNext, a.hugeCold = from.hugeNext, from.hugeCold
}
