package codecache

import (
	"encoding/binary"
	"testing"

	"alleria/internal/sys"
)

// regionOf is a region of so many bytes.
func regionOf(t *testing.T, size int) *Region {
	t.Helper()
	f, err := sys.Memfd("alleria-test", int64(size))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	r, err := NewRegion(f, 0, size, 0x10000000)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sys.UnmapAligned(r.Mem) })
	return r
}

// doorCache is a cache of one region, in which blocks are put by hand.
func doorCache(t *testing.T) *Cache {
	t.Helper()
	c := new(Cache)
	c.Init(false, func() { t.Error("the region is full") })
	c.Regions = []*Region{regionOf(t, 4<<20)}
	return c
}

// blockFor puts a block of an address into a cache, as code that the program has made or as a file's.
func blockFor(c *Cache, app uint64, made bool) *Block {
	a, b := c.Regions[0], c.NewBlock()
	b.App, b.Code, b.Size, b.AppSize, b.Variant = app, a.Base+uint64(a.Next), 32, 8, Plain
	b.NoteIf(Made, made)
	a.Next += 64
	a.Blocks.Append(b.Num)
	c.Enter(b)
	c.LinkEntered()
	return b
}

// leadsTo is where a displacement at a cache address leads.
func leadsTo(c *Cache, site uint64) uint64 {
	a := c.Regions[0]
	return site + 4 + uint64(int64(int32(binary.LittleEndian.Uint32(a.Mem[site-a.Base:]))))
}

// TestDoors: a file's code goes on in made code by a door, one for all branches, which others find shut, and which leads by itself from then on. Made code goes on without.
func TestDoors(t *testing.T) {
	c := doorCache(t)
	const app = 0x400000
	from := blockFor(c, 0x500000, false)
	var sites []uint64
	var exits []int
	for i := range uint64(3) {
		site := from.Code + 8*i
		sites = append(sites, site)
		exits = append(exits, c.NewExit(Exit{Site: site, Target: app, Region: c.Regions[0], Variant: Plain, Made: i == 2}))
	}
	to := blockFor(c, app, true)
	door := leadsTo(c, sites[0])
	if door == to.Code || leadsTo(c, sites[1]) != door || leadsTo(c, door+1) != to.Code {
		t.Errorf("a file's branches lead to %#x and %#x, the door to %#x; the block is at %#x", door, leadsTo(c, sites[1]), leadsTo(c, door+1), to.Code)
	}
	if got := leadsTo(c, sites[2]); got != to.Code {
		t.Errorf("a branch of made code leads to %#x", got)
	}
	if c.Exits.N != len(exits)+1 {
		t.Fatalf("%d exits", c.Exits.N)
	}
	c.Shut()
	if got := leadsTo(c, door+1); got != door+EntryBytes {
		t.Errorf("shut, it leads to %#x", got)
	}
	other := blockFor(c, app, false) // as in a process that finds the file's there
	c.Link(len(exits), other)
	if got := leadsTo(c, door+1); got != other.Code {
		t.Errorf("with the file's code there it leads to %#x, not %#x", got, other.Code)
	}
	c.Shut()
	if got := leadsTo(c, door+1); got != other.Code {
		t.Error("what leads to a file's code was shut")
	}
}

// TestDoorOfOthers: a door that was taken over leads to made code without another one, and is shut for the next process again.
func TestDoorOfOthers(t *testing.T) {
	c := doorCache(t)
	const app = 0x400000
	site := blockFor(c, 0x500000, false).Code
	c.NewExit(Exit{Site: site, Target: app, Region: c.Regions[0], Variant: Plain})
	blockFor(c, app, true)
	door := leadsTo(c, site)
	for range 3 {
		c.Shut()
		c.doors = doors{}
		again := blockFor(c, app, true)
		c.Link(1, again)
		if got := leadsTo(c, door+1); got != again.Code || c.Exits.N != 2 {
			t.Errorf("the door leads to %#x, not %#x; %d exits", got, again.Code, c.Exits.N)
		}
	}
	if c.Shut(); leadsTo(c, door+1) != door+EntryBytes {
		t.Error("it is not shut any more")
	}
}

// TestGone: what was overwritten is known by its bytes, and an exit whose branch was there is none any more.
func TestGone(t *testing.T) {
	c := doorCache(t)
	b := blockFor(c, 0x400000, false)
	at := uint32(b.Code - c.Regions[0].Base)
	in := c.NewExit(Exit{Site: b.Code + 2, Target: 0x600000, Region: c.Regions[0], Variant: Plain})
	behind := c.NewExit(Exit{Site: b.Code + EntryBytes, Target: 0x600000, Region: c.Regions[0], Variant: Plain})
	if c.Gone() != nil {
		t.Error("something is gone")
	}
	c.InMade = true
	c.Kill(b)
	if e := c.Exits.At(c.Exits.N - 1); e.OfMadeCode() || !c.InMade {
		t.Errorf("what leads on from a file's block is of made code: %t", e.OfMadeCode())
	}
	g := c.Gone()
	for off, want := range map[uint32]bool{at - 4: false, at - 3: true, at: true, at + 4: true, at + 5: false} {
		if got := g.Has(0, off, 4); got != want {
			t.Errorf("at %d: %t", int(off)-int(at), got)
		}
	}
	if g.Has(1, at, 4) || c.Exits.At(in).site != 0 || c.Exits.At(behind).site == 0 {
		t.Errorf("the exits' branches are at %d and %d", c.Exits.At(in).site, c.Exits.At(behind).site)
	}
}
