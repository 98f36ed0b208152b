package counts

import (
	"maps"
	"testing"

	"alleria/engine/codecache"
	"alleria/engine/recovery"
	"alleria/engine/shm"
	"alleria/engine/translate"
	"alleria/internal/layout"
)

// TestCounts adds up what blocks, jumps and the tracer have counted, before their blocks are forgotten and behind that.
func TestCounts(t *testing.T) {
	var cache codecache.Cache
	num := func(app uint64, n int) uint32 {
		p, b := cache.BlockPool.Add()
		*p = codecache.Block{App: app, Insns: uint8(n)}
		return uint32(b)
	}
	for _, n := range []uint32{num(0x1000, 4), num(0x1000, 4), num(0x2000, 2)} { // the second counts a jump to 0x1000
		cache.Counters.Append(n)
	}
	entries := &translate.EntryCounts{Jumps: map[int]uint64{1: 0x1000}}
	slot := &shm.Slot{Mem: make([]byte, layout.CounterOff+1024)}
	for i, n := range []uint64{10, 3, 5} {
		slot.Set(layout.CounterOff+8*i, n)
	}
	var th Thread
	th.Init(&cache, entries, slot)
	th.Executed(0x3000, 1)
	th.Executed(0x3000, 1)
	partial := []recovery.Partial{{Block: cache.BlockPool.At(int(*cache.Counters.At(2))), Done: 1}}
	for range 2 {
		instructions, entered := map[uint64]uint64{}, map[uint64]uint64{}
		th.Each(partial, func(addr uint64, n int, times uint64) { instructions[addr] += uint64(n) * times })
		th.Entries(func(addr, times uint64) { entered[addr] += times })
		if want := map[uint64]uint64{0x1000: 40, 0x2000: 9, 0x3000: 2}; !maps.Equal(instructions, want) {
			t.Errorf("instructions %v, want %v", instructions, want)
		}
		if want := map[uint64]uint64{0x1000: 7, 0x2000: 5, 0x3000: 2}; !maps.Equal(entered, want) {
			t.Errorf("entries %v, want %v", entered, want)
		}
		th.Keep(partial)
	}
	if slot.Get(layout.CounterOff) != 0 {
		t.Error("what is kept is counted once more")
	}
}
