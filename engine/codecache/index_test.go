package codecache

import (
	"math/rand"
	"reflect"
	"testing"
)

// The index against a map, with addresses that share hashes' upper bits, blocks that die,
// and exits that wait.
func TestIndex(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	var p Cache
	p.Init(false, nil)
	p.Regions = []*Region{{}}
	blocks := make(map[uint64]*Block)
	waits := make(map[uint64]map[int]bool)
	address := func() uint64 { return 0x7f0000000000 + uint64(r.Intn(3000)) }
	for step := range 60_000 {
		app := address()
		switch b := blocks[app]; {
		case b != nil && r.Intn(2) == 0:
			s := p.slotAt(app, Plain)
			if s == nil || p.refTo(s.Ref) != b {
				t.Fatalf("step %d: no slot of a block at %#x", step, app)
			}
			s.Ref = Forgotten
			delete(blocks, app)
		case r.Intn(2) == 0:
			n := p.NewExit(Exit{Target: app, Region: p.Regions[0], Variant: Plain})
			if b == nil {
				if waits[app] == nil {
					waits[app] = make(map[int]bool)
				}
				waits[app][n] = true
			}
		case b == nil:
			b := p.NewBlock()
			b.App = app
			p.Enter(b)
			blocks[app] = b
			e := p.entered[0]
			for n := e.waits; n != 0; n = p.Exits.At(int(n) - 1).next {
				if !waits[app][int(n)-1] {
					t.Fatalf("step %d: exit %d does not wait for %#x", step, n-1, app)
				}
				delete(waits[app], int(n)-1)
			}
			if len(waits[app]) != 0 {
				t.Fatalf("step %d: %d exits to %#x are Forgotten", step, len(waits[app]), app)
			}
			p.entered = p.entered[:0]
		}
		if got := p.BlockOf(app, Plain); got != blocks[app] {
			t.Fatalf("step %d: %#x: %v, not %v", step, app, got, blocks[app])
		}
	}
	n := 0
	p.EachBlock(func(b *Block) {
		n++
		if blocks[b.App] != b {
			t.Errorf("a block at %#x that is dead", b.App)
		}
	})
	if n != len(blocks) {
		t.Errorf("%d blocks, not %d", n, len(blocks))
	}
	if n := slots(&p.Index[Plain]); n > 16384 {
		t.Errorf("%d slots for 3000 addresses: what is Forgotten takes room", n)
	}
}

// slots is how many an index has.
func slots(x *Index) (n int) {
	for range x.Slots() {
		n++
	}
	return n
}

// The index grows where addresses are: by parts, with all that was known. Hashes that are alike in all bits that parts go by have one part, which grows.
func TestIndexGrows(t *testing.T) {
	inverse := uint64(0xf1de83e19937733d) // of hashOf's factor
	if hashOf(inverse<<32*7) != 7 {
		t.Fatal("no inverse")
	}
	for _, c := range []struct {
		name string
		hash func(n uint64) uint64
		most int // slots
	}{
		{"everywhere", func(n uint64) uint64 { return uint64(uint32(n) * 2654435761) }, 4 * 5_000},
		{"in one place", func(n uint64) uint64 { return 0x7fff0000 + n }, 16 * 5_000},
		{"one hash", func(uint64) uint64 { return 0xffffffff }, 1 << 14},
	} {
		var p Cache
		p.Init(false, nil)
		many := uint64(5_000)
		if c.name == "one hash" {
			many = 400
		}
		add := func(p *Cache, n uint64) {
			b := p.NewBlock()
			b.App = (c.hash(n)<<32 | n) * inverse
			p.MakeSlot(b.App, Plain).Ref = blockRef(b.Num)
		}
		for n := range many {
			add(&p, n)
		}
		var copied Cache
		copied.Init(false, nil)
		copied.BlockPool.CopyFrom(&p.BlockPool)
		copied.Index[Plain] = p.Index[Plain].clone()
		for n := range many {
			add(&p, many+n) // of which the copy has none
		}
		for num, b := range p.BlockPool.All() {
			if got := p.BlockOf(b.App, Plain); got == nil || int(got.Num) != num {
				t.Fatalf("%s: block %d is %v", c.name, num, got)
			}
			if got := copied.BlockOf(b.App, Plain); (got != nil) != (num < int(many)) {
				t.Fatalf("%s: in the copy block %d is %v", c.name, num, got)
			}
		}
		if n := slots(&copied.Index[Plain]); n > c.most {
			t.Errorf("%s: %d slots for %d addresses", c.name, n, many)
		}
		var again Cache
		again.Init(false, nil)
		again.BlockPool = p.BlockPool
		again.Index[Plain].resize(p.Index[Plain].bitsFor(0), nil)
		for s := range p.Index[Plain].Slots() { // in the order of hashes
			if a, ok := p.AddrOf(s.Ref); ok {
				again.MakeSlot(a, Plain).Ref = s.Ref
			}
		}
		for num, b := range p.BlockPool.All() {
			if got := again.BlockOf(b.App, Plain); got == nil || int(got.Num) != num {
				t.Fatalf("%s: made again, block %d is %v", c.name, num, got)
			}
		}
	}
}

// Positions come back as they were, whatever lies between the instructions.
func TestPositions(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	var p Cache
	p.Init(false, nil)
	type kept struct {
		b   *Block
		pos []Position
	}
	var all []kept
	for range 5000 {
		k := kept{b: p.NewBlock(), pos: make([]Position, r.Intn(MaxBlockInsns+1))}
		at := 0
		for i := range k.pos {
			q := &k.pos[i]
			q.Len = uint8(1 + r.Intn(15))
			q.Start = uint16(at + r.Intn(2)*r.Intn(40))
			q.Exec = q.Start + uint16(r.Intn(2)*r.Intn(600))
			at = int(q.Exec) + r.Intn(2)*r.Intn(30)
		}
		k.b.Insns, k.b.PosAt = uint8(len(k.pos)), p.PackPositions(k.pos)
		all = append(all, k)
	}
	for _, k := range all {
		got := p.PositionsOf(k.b)
		for i, want := range k.pos {
			if got.At[i] != want {
				t.Fatalf("position %d of %d: %+v, not %+v", i, len(k.pos), got.At[i], want)
			}
			if j, clean := got.Find(uint32(want.Start)); !clean || k.pos[j].Start != want.Start {
				t.Fatalf("offset %d is instruction %d, clean: %v", want.Start, j, clean)
			}
		}
	}
}

// A block takes as much as a cache's line: there are hundreds of thousands.
func TestBlockIsSmall(t *testing.T) {
	if n := reflect.TypeFor[Block]().Size(); n > 64 {
		t.Errorf("%d bytes a block", n)
	}
}

// TestBeneath: what is known of an image that was taken over is found where the image lies, in its variant, as if it had been entered; what the process itself
// knows comes first, and what is forgotten is not found again, by address or with its variant.
func TestBeneath(t *testing.T) {
	const start, moved, many = 0x40_0000, 0x7000, 3000
	app := func(n int) uint64 { return start + 24*uint64(n) }
	var entries []IndexEntry
	for n := range many {
		entries = append(entries, IndexEntry{app(n), blockRef(uint32(n)), Variant(n % 2)})
	}
	shared := NewSharedIndex(entries)
	of := func(settled bool) *Cache {
		c := new(Cache)
		c.Init(false, nil)
		for n := range many {
			b := c.NewBlock()
			b.App, b.Variant = app(n)+moved, Variant(n%2)
		}
		own := c.NewBlock()
		own.App = app(100) + moved
		c.MakeSlot(own.App, Plain).Ref = blockRef(own.Num)
		c.PutBeneath(shared, start+moved, app(many)+moved, moved)
		if settled {
			c.Settle()
		}
		return c
	}
	for _, settled := range []bool{false, true} {
		c := of(settled)
		for n := range many {
			want := n
			if n == 100 {
				want = many
			}
			if b := c.BlockOf(app(n)+moved, Variant(n%2)); b == nil || int(b.Num) != want {
				t.Fatalf("settled %t: block %d is %v", settled, n, b)
			}
			if c.BlockOf(app(n)+moved, Variant(1-n%2)) != nil {
				t.Fatalf("settled %t: block %d is known in another variant", settled, n)
			}
		}
		c = of(settled)
		c.unknown(c.BlockPool.At(200))
		for n := range many {
			if b := c.BlockOf(app(n)+moved, Variant(n%2)); (b == nil) != (n == 200) {
				t.Fatalf("settled %t: with block 200 forgotten block %d is %v", settled, n, b)
			}
		}
		c = of(settled)
		c.ForgetIndex(Count)
		known := 0
		c.EachBlock(func(b *Block) {
			if known++; b.Variant != Plain {
				t.Fatalf("settled %t: with its variant forgotten block %d is known", settled, b.Num)
			}
		})
		if known != many/2 {
			t.Errorf("settled %t: %d blocks are known", settled, known)
		}
		child := new(Cache)
		child.Init(false, nil)
		child.Inherit(of(settled))
		if b := child.BlockOf(app(7)+moved, Count); b == nil || b.Num != 7 {
			t.Errorf("settled %t: a child has %v", settled, b)
		}
		if c.BlockOf(app(0), Plain) != nil {
			t.Errorf("settled %t: a block is known where it lay", settled)
		}
	}
}
