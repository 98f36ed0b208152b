package emit

import (
	"testing"

	"alleria/abp"
	"alleria/internal/records"
)

// TestSumsWithoutBlocks adds up facts as they are packed, and as readers of profiles do: blocks and their parts.
func TestSumsWithoutBlocks(t *testing.T) {
	p := newProgram(5, 500)
	var table blockTable
	table.raw = &records.Blocks{}
	for _, b := range p.list {
		of := table.raw.Add(b)
		for n := 1; n < len(b.Ins); n += 2 {
			table.raw.AddPart(of, records.Part{Ins: n, Words: n, Target: 7})
		}
	}
	var dynamic, parts int
	for id := uint32(1); id <= table.raw.Last(); id++ {
		var raw records.Block
		var full abp.Block
		if !table.read(id, &raw) {
			t.Fatalf("block %d is gone", id)
		}
		bad := convertBlock(&full, &raw) // a part with words that its accesses have not is no block, but it has sums
		static, dyn := full.StaticCounts(len(full.Ins))
		s, ok := table.raw.Sum(id)
		got := abp.Counts{Instructions: s.Instructions, MemInstructions: s.MemInstructions, Loads: s.Loads, Stores: s.Stores,
			BytesRead: s.BytesRead, BytesWritten: s.BytesWritten}
		if !ok || got != static || s.Dynamic != dyn || s.Words != raw.Words {
			t.Fatalf("block %d: %+v, %+v and %v as a block", id, s, static, dyn)
		}
		if words, d, ok := table.brief(id); bad == nil && (words != s.Words || d != dyn || !ok || table.staticOf(id) != static) {
			t.Errorf("block %d: %d words, dynamic %t, %+v", id, words, d, table.staticOf(id))
		}
		if dyn {
			dynamic++
		}
		if raw.Branch == records.BranchCond && raw.Target == 7 {
			parts++
		}
	}
	if dynamic == 0 || parts == 0 {
		t.Errorf("%d blocks with accesses that words tell, %d parts", dynamic, parts)
	}
	if _, ok := table.raw.Sum(table.raw.Last() + 1); ok || table.get(0) != nil {
		t.Error("there are sums of a block that is none")
	}
}
