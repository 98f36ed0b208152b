package codecache

import (
	"math/rand"
	"testing"
)

// The index against a map, with addresses that share hashes' upper bits, blocks that die,
// and exits that wait.
func TestIndex(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	p := New(false, nil)
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
	if len(p.Index[Plain].Slots) > 16384 {
		t.Errorf("%d slots for 3000 addresses: what is Forgotten takes room", len(p.Index[Plain].Slots))
	}
}

// Positions come back as they were, whatever lies between the instructions.
func TestPositions(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	p := New(false, nil)
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
