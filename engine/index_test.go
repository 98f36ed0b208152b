package engine

import (
	"math/rand"
	"testing"
)

// The index against a map, with addresses that share hashes' upper bits, blocks that die,
// and exits that wait.
func TestIndex(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	p := &Process{codeCache: newCodeCache(), probeTable: newProbeTable(false)}
	p.areas = []*area{{}}
	blocks := make(map[uint64]*block)
	waits := make(map[uint64]map[int]bool)
	address := func() uint64 { return 0x7f0000000000 + uint64(r.Intn(3000)) }
	for step := range 60_000 {
		app := address()
		switch b := blocks[app]; {
		case b != nil && r.Intn(2) == 0:
			s := p.slotAt(app, Plain)
			if s == nil || p.refTo(s.ref) != b {
				t.Fatalf("step %d: no slot of a block at %#x", step, app)
			}
			s.ref = forgotten
			delete(blocks, app)
		case r.Intn(2) == 0:
			n := p.newExit(exit{target: app, area: p.areas[0], v: Plain})
			if b == nil {
				if waits[app] == nil {
					waits[app] = make(map[int]bool)
				}
				waits[app][n] = true
			}
		case b == nil:
			b := p.newBlock()
			b.app = app
			p.enter(b)
			blocks[app] = b
			e := p.entered[0]
			for n := e.waits; n != 0; n = p.exits.at(int(n) - 1).next {
				if !waits[app][int(n)-1] {
					t.Fatalf("step %d: exit %d does not wait for %#x", step, n-1, app)
				}
				delete(waits[app], int(n)-1)
			}
			if len(waits[app]) != 0 {
				t.Fatalf("step %d: %d exits to %#x are forgotten", step, len(waits[app]), app)
			}
			p.entered = p.entered[:0]
		}
		if got := p.blockOf(app, Plain); got != blocks[app] {
			t.Fatalf("step %d: %#x: %v, not %v", step, app, got, blocks[app])
		}
	}
	n := 0
	p.eachBlock(func(b *block) {
		n++
		if blocks[b.app] != b {
			t.Errorf("a block at %#x that is dead", b.app)
		}
	})
	if n != len(blocks) {
		t.Errorf("%d blocks, not %d", n, len(blocks))
	}
	if len(p.index[Plain].slots) > 16384 {
		t.Errorf("%d slots for 3000 addresses: what is forgotten takes room", len(p.index[Plain].slots))
	}
}

// Positions come back as they were, whatever lies between the instructions.
func TestPositions(t *testing.T) {
	r := rand.New(rand.NewSource(5))
	p := &Process{}
	type kept struct {
		b   *block
		pos []position
	}
	var all []kept
	for range 5000 {
		k := kept{b: p.newBlock(), pos: make([]position, r.Intn(maxBlockInsns+1))}
		at := 0
		for i := range k.pos {
			q := &k.pos[i]
			q.len = uint8(1 + r.Intn(15))
			q.start = uint16(at + r.Intn(2)*r.Intn(40))
			q.exec = q.start + uint16(r.Intn(2)*r.Intn(600))
			at = int(q.exec) + r.Intn(2)*r.Intn(30)
		}
		k.b.insns, k.b.posAt = uint8(len(k.pos)), p.packPositions(k.pos)
		all = append(all, k)
	}
	for _, k := range all {
		got := p.positionsOf(k.b)
		for i, want := range k.pos {
			if got.at[i] != want {
				t.Fatalf("position %d of %d: %+v, not %+v", i, len(k.pos), got.at[i], want)
			}
			if j, clean := got.find(uint32(want.start)); !clean || k.pos[j].start != want.start {
				t.Fatalf("offset %d is instruction %d, clean: %v", want.start, j, clean)
			}
		}
	}
}
