package frame

import "testing"

// TestTablesWithoutRoom grows a table in memory that cannot be mapped larger: it goes on in
// Go's heap, with what it holds.
func TestTablesWithoutRoom(t *testing.T) {
	mem := make([]byte, 80_000) // the kernel will not move what it has not mapped
	table := grownTable[uint64](&mem, nil, 10_000)
	for i := range table {
		table[i] = uint64(i)
	}
	for _, n := range []int{20_000, 20_000, 100_000} {
		table = grownTable(&mem, table, n)
		if mem != nil || len(table) != n {
			t.Fatalf("%d elements of %d, memory of its own: %v", len(table), n, mem != nil)
		}
		for i, v := range table {
			if i < 10_000 && v != uint64(i) || i >= 10_000 && v != 0 {
				t.Fatalf("element %d of %d is %d", i, n, v)
			}
		}
	}
	// One that begins anew is mapped again.
	if again := grownTable(&mem, table[:0], 10); mem == nil || len(again) != 10 {
		t.Error("nothing was mapped")
	}
}
