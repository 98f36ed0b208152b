package records

import (
	"math/rand/v2"
	"testing"
)

// TestBlocksTakenOver gives tables of blocks to others, which go on by themselves: shared, and copied and moved.
func TestBlocksTakenOver(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	var first Blocks
	var want []*Block
	add := func(to *Blocks) {
		b := randomBlock(rng)
		if len(want) == 0 {
			b.Ins, b.Code, b.Regs = []Ins{{Len: 4}, {Off: 4, Len: 4}}, make([]byte, 8), nil
		}
		if len(b.Ins) > 0 && len(b.Ins[0].Accesses) > 0 { // relative to RIP, and not
			a := &b.Ins[0].Accesses[0]
			a.Word, a.Seg, a.Offset = NoWord, SegNone, int64(b.Addr)+int64(rng.Int32())
		}
		to.Add(b)
		if to == &first {
			want = append(want, b)
		}
	}
	for range 1<<blockPageBits + 1000 {
		add(&first)
	}
	last := first.Last()
	const of = 1
	part := Part{Ins: 1, Target: want[0].Addr + 9}
	id := first.AddPart(of, part)
	var shared, copied Blocks
	shared.Share(&first)
	copied.Copy(&first)
	for range 100 { // each its own
		add(&first)
		add(&shared)
		add(&copied)
	}
	if !shared.IsPart(id) || shared.IsPart(of) || shared.Addr(id) != want[of-1].Addr {
		t.Error("a part is not what it was")
	}
	const shift = 0x7000_1234_5000
	for n := uint32(1); n <= last; n++ {
		copied.Move(n, shift)
	}
	var got Block
	for n := uint32(1); n <= last; n++ {
		w := *want[n-1]
		for _, table := range []*Blocks{&first, &shared} {
			if !table.Read(n, &got) {
				t.Fatalf("block %d is gone", n)
			}
			same(t, &w, &got)
		}
		moved := *first.Get(n)
		for i := range moved.Ins {
			for k := range moved.Ins[i].Accesses {
				if a := &moved.Ins[i].Accesses[k]; a.isNear(moved.Addr) {
					a.Offset += shift
				}
			}
		}
		if moved.Target != 0 {
			moved.Target += shift
		}
		moved.Addr += shift
		if !copied.Read(n, &got) {
			t.Fatalf("block %d was not copied", n)
		}
		same(t, &moved, &got)
	}
	if p := copied.Get(id); p.Target != part.Target+shift || p.Addr != want[of-1].Addr+shift {
		t.Errorf("the part lies at %#x and leads to %#x", p.Addr, p.Target)
	}
	if shared.Get(last+50).Addr == copied.Get(last+50).Addr {
		t.Error("what is added to one table is in the other")
	}
}
