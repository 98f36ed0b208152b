package codecache

import (
	"testing"

	"alleria/internal/layout"
)

// TestSlotChecks: an entry's target check is found where it was put, in whichever region, and all others lead to the tracer.
func TestSlotChecks(t *testing.T) {
	c := new(Cache)
	c.Regions = []*Region{{}, {}}
	c.Regions[0].Base, c.Regions[1].Base, c.Regions[1].Num = 0x7f12_0000_0000, 0x5500_0020_0000, 1
	c.Regions[0].Routines.Indirect = 0x40
	table := make([]uint64, layout.TableEntries)
	if c.SlotEntries(Plain, table); table[0] != c.TableMiss() || table[layout.TableEntries-1] != c.TableMiss() {
		t.Errorf("of no checks: %#x", table[0])
	}
	c.SlotChecks[Plain] = make([]uint32, layout.TableEntries)
	const last = 256<<20 - 1 // of a region
	c.SetSlotCheck(Plain, 7, c.Regions[0], last)
	c.SetSlotCheck(Plain, 0xffff, c.Regions[1], 0x1234)
	want := map[uint16]uint64{0: c.TableMiss(), 7: 0x7f12_0000_0000 + last, 0xffff: 0x5500_0020_1234}
	c.SlotEntries(Plain, table)
	for s, at := range want {
		if got := c.SlotCheck(Plain, s); got != at || table[s] != at {
			t.Errorf("entry %#x: %#x and %#x, not %#x", s, got, table[s], at)
		}
	}
}
