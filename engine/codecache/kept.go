package codecache

import (
	"slices"

	"alleria/internal/sys"
)

// Kept is a cache's tables and code as they are kept for other processes. Nothing in it changes.
type Kept struct {
	Regions   []RegionCode
	Blocks    Pool[Block]
	Exits     Pool[ExitWords]
	Rare      []KeptRare
	SideExits Pool[LazySideExit]
	Odds      []*Oddities
	Counters  Pool[uint32] // counted blocks by counter
	PosPieces [][]byte
	Literals  []LiteralAt
	Entered   EnteredHead
}

// KeptRare is a rare exit as it is kept. Stale is a process's own, and so is a Need of anything but instructions (see Shortage.OfInstructions).
type KeptRare struct {
	Trap  uint32 // the number of RareExit.Trap, plus 1; 0: none
	X87   X87Pointer
	Needs uint8 // instructions, of RareExit.Need; 0: none
	Word  uint8 // that they are taken off
}

// RegionCode is what is written in a region behind the routines, which are the same in all.
type RegionCode struct {
	RegionAt
	Hot, Far []byte       // up to Next and up to Cold
	Blocks   Pool[uint32] // see Region
}

// RegionAt is where a region lies and how far it is written.
type RegionAt struct {
	Base             uint64
	Size, Next, Cold int
}

// Contains tells whether a cache address lies in the region.
func (a *RegionAt) Contains(addr uint64) bool { return addr-a.Base < uint64(a.Size) }

// coldAt is where the cold part of a region begins.
func coldAt(size int) int { return size / 4 * 3 }

// Code is what is written in the region, in its own memory.
func (a *Region) Code() RegionCode {
	return RegionCode{RegionAt{a.Base, a.Size, a.Next, a.Cold}, a.Mem[a.Routines.Size:a.Next], a.Mem[coldAt(a.Size):a.Cold], a.Blocks}
}

// CopyFrom copies a region's code.
func (a *Region) CopyFrom(from RegionCode, huge bool) {
	a.Next, a.Cold = from.Next, from.Cold
	if huge {
		a.hugeNext = a.enlargeAll(a.hugeNext, a.Next, 0)
		a.hugeCold = a.enlargeAll(a.hugeCold, a.Cold, coldAt(a.Size))
	}
	copy(a.Mem[a.Routines.Size:a.Next], from.Hot)
	copy(a.Mem[coldAt(a.Size):a.Cold], from.Far)
	a.Blocks.CopyFrom(&from.Blocks)
	a.veneers = nil
}

// enlargeAll makes all large pages that code which ends at pos is to have in the part from start, of which those up to done are made. All of them are asked for at once: for each request
// the kernel has something done on every processor first, which on a busy machine takes milliseconds.
//
// Refused: to have a second thread copy some of the code, and make pages for it: no difference was seen.
func (a *Region) enlargeAll(done, pos, start int) int {
	was := done
	for wantsLarge(done, pos, start) {
		done += sys.HugePage
	}
	if done > was {
		_ = sys.Collapse(a.Mem[was:done])
	}
	return done
}

// Keep takes what is to be kept out of a cache of a process that is gone, whose memory it stays in. Rare exits have nothing of the process's own.
func (c *Cache) Keep(literals []LiteralAt) Kept {
	k := Kept{Blocks: c.BlockPool, Exits: c.Exits, SideExits: c.SideExits, Odds: c.odds, Counters: c.Counters, PosPieces: c.PosPieces, Literals: literals}
	for _, a := range c.Regions {
		k.Regions = append(k.Regions, a.Code())
	}
	for i := range c.RareExits {
		r := KeptRare{X87: c.RareExits[i].X87}
		if b := c.RareExits[i].Trap; b != nil {
			r.Trap = b.Num + 1
		}
		if n := c.RareExits[i].Need; n != nil {
			r.Needs, r.Word = uint8(n.Use[MetricInstructions]), uint8(n.Word)
		}
		k.Rare = append(k.Rare, r)
	}
	return k
}

// Take gives a cache that has no translations yet a copy of what was kept. Of the application's addresses all are as they were there; those
// of the cache are this one's, but for what is in the code. With own the pools are not copied: they are the cache's from then on, and nobody else may have them.
func (c *Cache) Take(k *Kept, huge, own bool) {
	if own {
		c.BlockPool.own(k.Blocks)
		c.Exits.own(k.Exits)
		c.SideExits.own(k.SideExits)
	} else {
		c.BlockPool.CopyFrom(&k.Blocks)
		c.Exits.CopyFrom(&k.Exits)
		c.SideExits.CopyFrom(&k.SideExits)
	}
	for n := range c.BlockPool.N {
		b := c.BlockPool.At(n)
		for i := range k.Regions {
			if k.Regions[i].Contains(b.Code) {
				b.Code += c.Regions[i].Base - k.Regions[i].Base
				break
			}
		}
	}
	c.RareExits = make([]RareExit, len(k.Rare))
	for i, r := range k.Rare {
		c.RareExits[i].X87 = r.X87
		if r.Trap != 0 {
			c.RareExits[i].Trap = c.BlockPool.At(int(r.Trap) - 1)
		}
		if r.Needs != 0 {
			c.RareExits[i].Need = needOf(r.Needs, r.Word)
		}
	}
	c.SetOdds(k.Odds)
	c.Counters.CopyFrom(&k.Counters)
	c.PosPieces, c.PosPool = slices.Clone(k.PosPieces), nil
	for i, a := range c.Regions {
		a.Blocks.spare = c.Counters.spare
		a.CopyFrom(k.Regions[i], huge)
	}
}
