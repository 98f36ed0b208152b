package codecache

import (
	"slices"

	"alleria/engine/asm"
	"alleria/internal/layout"
)

// A file's code goes on in code that the program has made by doors: a jump for each address, and behind it what asks. Whoever takes the file's code over finds
// all doors shut (Shut): they ask there, and lead then to what that process has at the address, made or not. What a program makes it reaches by its
// own jumps mostly, so that doors are few; they are for files of which a page can be written, where a branch of the next page leads into it.
//
// Refused: the look-up of indirect branches at such a place, which needs nothing to be shut, but finds older target checks of the address, which lead to doors themselves.

// door is where one lies.
type door struct {
	exit uint32 // its number: it asks with that
	jump uint32 // offset of the jump in the exit's region; what asks lies behind it
}

// doorKey is what a door is for.
type doorKey struct {
	CheckKey
	region uint8
	how    Entry
}

// doors is where a file's code leads to code that the program has made.
type doors struct {
	doors map[doorKey]door
	led   []door // that lead somewhere; also those that were taken over
}

// wayTo is where the branch of the exit of that number leads, which goes on at b.
func (c *Cache) wayTo(n int, b *Block) uint64 {
	e := c.Exits.At(n)
	how := Entry(e.flags / exitEntry & 3)
	switch {
	case !b.OfMadeCode() || e.OfMadeCode():
	case e.flags&exitDoor != 0:
		c.led = append(c.led, door{uint32(n), e.site - 1})
	default:
		return c.door(c.Regions[e.region], b, how)
	}
	return c.LinkTo(b, how)
}

// door is the door of a region that leads to a block, which is made if there is none yet.
func (c *Cache) door(ar *Region, b *Block, how Entry) uint64 {
	k := doorKey{CheckKey{b.Variant, b.App}, ar.Num, how}
	d, ok := c.doors.doors[k]
	if !ok {
		d = c.makeDoor(ar, b, how)
		if c.doors.doors == nil {
			c.doors.doors = make(map[doorKey]door)
		}
		c.doors.doors[k] = d
	}
	to := c.LinkTo(b, how)
	if !ar.Contains(to) {
		to = c.Veneer(ar, to)
	}
	at := ar.Base + uint64(d.jump)
	Patch32(ar.Mem[d.jump+1:], uint32(int64(to)-int64(at+EntryBytes)))
	return at
}

// makeDoor writes a door.
func (c *Cache) makeDoor(ar *Region, b *Block, how Entry) door {
	was := c.InMade
	c.InMade = false // who comes by here is not
	n := c.NewExit(Exit{Target: b.App, Region: ar, Variant: b.Variant, Entry: how})
	c.InMade = was
	c.Exits.At(n).flags |= exitDoor
	a := asm.New(ar.Mem[:ar.Size], ar.Base, (ar.Cold+gateBytes-1)&^(gateBytes-1))
	d := door{uint32(n), uint32(a.Pos())}
	a.Jmp(a.Here() + EntryBytes)
	a.StoreWordImm(layout.Ask, uint32(n)+1)
	a.Jmp(ar.Base + ar.Routines.Dispatch)
	ar.Cold = (a.Pos() + 7) &^ 7
	c.led = append(c.led, d)
	return d
}

// Shut has all doors ask, for whoever takes the code over. They are exits that lead nowhere yet then.
func (c *Cache) Shut() {
	for _, d := range c.led {
		e := c.Exits.At(int(d.exit))
		e.site = d.jump + 1
		Patch32(c.Regions[e.region].Mem[e.site:], 0)
	}
	c.led = nil
}

// Gone is where entries of blocks were overwritten, by region, in order: what is to be corrected of code that is taken over is not there any more.
type Gone [][]uint32

// Gone is that of a cache. Exits whose branch was there are none any more, as Link would find where they are linked.
func (c *Cache) Gone() Gone {
	if len(c.GoneEntries) == 0 {
		return nil
	}
	g := make(Gone, len(c.Regions))
	for at := range c.GoneEntries {
		if a := c.RegionAt(at); a != nil {
			g[a.Num] = append(g[a.Num], uint32(at-a.Base))
		}
	}
	for i := range g {
		slices.Sort(g[i])
	}
	for n := range c.Exits.N {
		if e := c.Exits.At(n); e.site != 0 && g.Has(e.region, e.site, 4) {
			e.site = 0
		}
	}
	return g
}

// Has tells whether some of so many bytes at an offset of a region was overwritten.
func (g Gone) Has(region uint8, at uint32, size int) bool {
	if int(region) >= len(g) {
		return false
	}
	list := g[region]
	first := uint32(max(int64(at)-EntryBytes+1, 0))
	i, _ := slices.BinarySearch(list, first)
	return i < len(list) && list[i] < at+uint32(size)
}
