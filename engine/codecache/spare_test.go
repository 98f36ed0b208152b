package codecache

import "testing"

// TestSpare fills a cache's tables, gives them back, and fills another's: that has the same memory, and finds nothing in it of the first's.
func TestSpare(t *testing.T) {
	var s Spare
	fill := func(first uint64) (piece *[poolPiece]Block, c *Cache) {
		c = new(Cache)
		c.Init(false, nil)
		c.Use(&s)
		for n := range uint64(3 * poolPiece / 2) {
			b := c.NewBlock()
			if b.App != 0 || c.BlockOf(first+n, Plain) != nil {
				t.Fatalf("block %d begins with %#x, or is known", n, b.App)
			}
			b.App = first + n
			c.MakeSlot(b.App, Plain).Ref = blockRef(b.Num)
			c.Counters.Append(b.Num)
		}
		c.MakeChecks(Plain, func(n int) []uint32 { return make([]uint32, n) })
		for i, w := range c.SlotChecks[Plain] {
			if w != 0 {
				t.Fatalf("target check %d is %#x", i, w)
			}
			c.SlotChecks[Plain][i] = uint32(first)
		}
		return c.BlockPool.pieces[0], c
	}
	one, c := fill(1 << 20)
	words := &c.SlotChecks[Plain][0]
	c.GiveBack()
	if c.BlockPool.N != 0 || c.SlotChecks[Plain] != nil || c.BlockOf(1<<20, Plain) != nil {
		t.Error("a cache that has given its tables back has some")
	}
	two, c := fill(2 << 20)
	other := c.BlockPool.pieces[1]
	if one != other && one != two || &c.SlotChecks[Plain][0] != words {
		t.Error("the next cache has other memory")
	}
}

// TestSpareOfAFile: what lies in a file's memory is not given back with a pool, nor what is beyond the bound, and a cache without spare memory gives nothing.
func TestSpareOfAFile(t *testing.T) {
	var s Spare
	var c, none Cache
	for _, c := range []*Cache{&c, &none} {
		c.Init(false, nil)
		if c != &none {
			c.Use(&s)
		}
		read, _ := PoolOf(make([]uint32, 2*poolPiece), 2*poolPiece)
		c.Counters.own(read)
		c.Counters.Append(7)
		c.GiveBack()
		if n := len(s.numbers.free); n != 1 {
			t.Errorf("%d pieces of a pool with one of its own", n)
		}
	}
	for range (mostSpare + 9) * poolPiece {
		c.Counters.Append(7)
	}
	if c.GiveBack(); len(s.numbers.free) != mostSpare {
		t.Errorf("%d pieces are kept", len(s.numbers.free))
	}
}
