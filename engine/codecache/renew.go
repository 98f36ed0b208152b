package codecache

import "alleria/internal/layout"

// margin is what a crowded region has left: more than is translated until somebody looks.
const margin = 16 << 20

// Crowded tells whether the cache is to be renewed: one of its regions is nearly full, or there are nearly as many counters as there can be. most is
// how much hot code a region may hold, 0 for all but the margin.
func (c *Cache) Crowded(most int) bool {
	for _, a := range c.Regions {
		hot, cold := a.Size/4*3-margin, a.Size-margin
		if most > 0 {
			hot, cold = min(hot, a.start()+most), min(cold, a.Size/4*3+most)
		}
		if a.Next > hot || a.Cold > cold {
			return true
		}
	}
	return c.Counters.N > layout.MaxCounters/8*7
}

// Renew forgets all translations and uses their memory again. No thread may be in the cache, nor wait for an answer; look-up tables
// are of an epoch that is over. The counts of counted blocks have been taken.
//
// Refused: to give back the memory of single blocks that are dead. Other code jumps to them, threads may be in them, and
// what is alive lies between them. What a program executes again is translated again, once for each 176 MiB.
func (c *Cache) Renew() {
	for _, a := range c.Regions {
		a.empty()
	}
	for v := range c.Index {
		c.ForgetIndex(Variant(v))
		c.Epoch[v]++
		clear(c.SlotChecks[v])
	}
	c.under = nil
	clear(c.BareChecks)
	clear(c.Stepped)
	c.BlockPool, c.Exits, c.SideExits, c.RareExits = Pool[Block]{}, Pool[ExitWords]{}, Pool[LazySideExit]{}, nil
	c.entered, c.NewCheck, c.AheadQueue = nil, 0, nil
	c.PosPool, c.PosPieces, c.odds, c.uses, c.Counters = nil, nil, nil, nil, Pool[uint32]{}
	c.Written = Written{Off: true}
	c.changes = changes{}
}
