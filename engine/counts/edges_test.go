package counts

import (
	"maps"
	"slices"
	"testing"

	"alleria/engine/codecache"
	"alleria/engine/recovery"
	"alleria/engine/shm"
	"alleria/engine/translate"
	"alleria/internal/layout"
)

// TestEdges adds up what calls, jumps and indirect branches have counted, before and behind that blocks are forgotten, with a call that was not executed.
func TestEdges(t *testing.T) {
	var cache codecache.Cache
	p, n := cache.BlockPool.Add()
	*p = codecache.Block{App: 0x1000, Insns: 4, Num: uint32(n)}
	cache.Counters.Append(uint32(n))
	cache.Counters.Append(0) // a jump's
	entries := &translate.EntryCounts{Jumps: map[int]uint64{}}
	entries.Edges.Start()
	call, jump := translate.Edge{From: 0x1010, To: 0x2000}, translate.Edge{From: 0x1020, To: 0x3000, Jump: true}
	entries.Edges.Calls[uint32(n)], entries.Edges.Jumps[1] = call, jump
	slot := &shm.Slot{Mem: make([]byte, layout.EdgeCounts+8*layout.EdgeEntries)}
	slot.Set(layout.CounterOff, 10)
	slot.Set(layout.CounterOff+8, 7)
	var th Thread
	th.Init(&cache, entries, slot)
	partial := []recovery.Partial{{Block: p, Done: 3}, {Block: p, Done: 4}} // the second is left behind the call
	th.Led(jump, 2)
	want := map[translate.Edge]uint64{call: 9, jump: 9}
	for range 2 {
		got := map[translate.Edge]uint64{}
		th.Edges(partial, func(e translate.Edge, times uint64) { got[e] += times })
		if !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		instructions := map[uint64]uint64{}
		th.Each(nil, func(addr uint64, n int, times uint64) { instructions[addr] += uint64(n) * times })
		if !maps.Equal(instructions, map[uint64]uint64{0x1000: 40}) {
			t.Errorf("instructions %v", instructions)
		}
		th.Keep(partial)
		entries.Forget()
		cache.Counters = codecache.Pool[uint32]{}
	}
}

// TestBranched counts two indirect branches that meet in the table, by turns: each takes the entry from the other, until one gets another hash in its code.
func TestBranched(t *testing.T) {
	entries := &translate.EntryCounts{}
	edges := &entries.Edges
	edges.Start()
	slot := &shm.Slot{Mem: make([]byte, layout.EdgeCounts+8*layout.EdgeEntries)}
	a, b := edges.Number(translate.Site{Addr: 0x1000}), edges.Number(translate.Site{Addr: 0x2000, Jump: true})
	toA := uint64(0x7f0000012340)
	ka, _ := edges.Entry(a, toA)
	k0, _ := edges.Entry(b, 0)
	toB := uint64((ka-k0)%layout.EdgeEntries) + 0x7f00000a0000
	if kb, _ := edges.Entry(b, toB); kb != ka {
		t.Fatalf("entries %#x and %#x", ka, kb)
	}
	var th Thread
	th.Init(new(codecache.Cache), entries, slot)
	asked := 0
	execute := func(site uint32, to uint64) { // as code does
		k, _ := edges.Entry(site, to)
		if slot.Get(keyOff(k))+to == 0 {
			slot.Set(countOff(k), slot.Get(countOff(k))+1)
			return
		}
		asked++
		th.Branched(site, to)
	}
	for range 100 {
		execute(a, toA)
		execute(b, toB)
		execute(b, toB)
	}
	got := map[translate.Edge]uint64{}
	th.Edges(nil, func(e translate.Edge, times uint64) { got[e] += times })
	want := map[translate.Edge]uint64{{From: 0x1000, To: toA}: 100, {From: 0x2000, To: toB, Jump: true}: 200}
	if !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if asked > 20 {
		t.Errorf("the tracer was asked %d times", asked)
	}
	ClearEdges(edges, slot)
	for off := layout.EdgeKeys; off < len(slot.Mem); off += 8 {
		if slot.Get(off) != 0 {
			t.Fatalf("%#x is left for the next thread", slot.Get(off))
		}
	}
}

// TestGiveEdges: a thread need not ask about what others have asked about, nor who takes their translations over, at other addresses, and counts the same.
func TestGiveEdges(t *testing.T) {
	const shift = 0x5000
	entries := &translate.EntryCounts{Function: func(uint64) (start, end uint64) { return 0, 0 }, Jumps: map[int]uint64{}}
	entries.Edges.Start()
	site := entries.Edges.Number(translate.Site{Addr: 0x1000, Jump: true})
	thread := func(e *translate.EntryCounts, index int) *Thread {
		var th Thread
		th.Init(new(codecache.Cache), e, &shm.Slot{Index: index, Mem: make([]byte, layout.EdgeCounts+8*layout.EdgeEntries)})
		th.GiveEdges()
		return &th
	}
	execute := func(th *Thread, to uint64) (asked bool) { // as code does
		k, _ := th.entries.Edges.Entry(site, to)
		if asked = th.slot.Get(keyOff(k))+to != 0; asked {
			th.Branched(site, to)
		} else {
			th.slot.Set(countOff(k), th.slot.Get(countOff(k))+1)
		}
		return asked
	}
	holds := func(th *Thread, from uint64, want map[uint64]uint64) {
		t.Helper()
		got := map[uint64]uint64{}
		th.Edges(nil, func(e translate.Edge, times uint64) {
			if e.From != from || !e.Jump {
				t.Errorf("an edge %+v", e)
			}
			got[e.To] += times
		})
		if !maps.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	}
	first := thread(entries, 1)
	if !execute(first, 0x2000) || !execute(first, 0x3000) || execute(first, 0x2000) {
		t.Error("a branch is not asked about once")
	}
	second := thread(entries, 2)
	if execute(second, 0x3000) || execute(second, 0x2000) || execute(second, 0x3000) || !execute(second, 0x4000) {
		t.Error("who comes later asks about what is known, or not about what is not")
	}
	second.Branched(site, 0x2000) // it had asked before it was given the entry
	holds(first, 0x1000, map[uint64]uint64{0x2000: 2, 0x3000: 1})
	holds(second, 0x1000, map[uint64]uint64{0x2000: 2, 0x3000: 2, 0x4000: 1})

	list, head := entries.Keep()
	slices.SortFunc(list, func(x, y codecache.Entered) int { return int(y.Kind) - int(x.Kind) }) // the image of the targets comes first
	other := &translate.EntryCounts{Function: entries.Function, Jumps: map[int]uint64{}}
	other.Edges.Start()
	other.Reserve(head)
	third := thread(other, 1)
	for _, one := range list {
		other.Take([]codecache.Entered{one}, shift)
		third.GiveEdges()
	}
	if execute(third, 0x2000+shift) || execute(third, 0x4000+shift) || !execute(third, 0x2000) {
		t.Error("who takes translations over asks about what is known")
	}
	holds(third, 0x1000+shift, map[uint64]uint64{0x2000 + shift: 1, 0x4000 + shift: 1, 0x2000: 1})
}
