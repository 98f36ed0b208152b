package frame

import (
	"testing"

	"golang.org/x/sys/unix"
)

// TestTablesWithoutRoom grows a table in a process that may map no more memory: it goes on in
// Go's heap, with what it holds.
func TestTablesWithoutRoom(t *testing.T) {
	var mem []byte
	table := grownTable[uint64](&mem, nil, 10_000)
	if mem == nil {
		t.Fatal("nothing was mapped")
	}
	for i := range table {
		table[i] = uint64(i)
	}
	// Less than is mapped already; the heap has what it needs.
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &old); err != nil {
		t.Fatal(err)
	}
	none := old
	none.Cur = 64 << 20
	if err := unix.Setrlimit(unix.RLIMIT_AS, &none); err != nil {
		t.Fatal(err)
	}
	table = grownTable(&mem, table, 20_000)
	if err := unix.Setrlimit(unix.RLIMIT_AS, &old); err != nil {
		t.Fatal(err)
	}
	if mem != nil {
		t.Error("it is still mapped")
	}
	for round := range 2 {
		for i, v := range table {
			if i < 10_000 && v != uint64(i) || i >= 10_000 && v != 0 {
				t.Fatalf("round %d: element %d is %d", round, i, v)
			}
		}
		table = grownTable(&mem, table, 20_000) // no more is asked for
	}
	if table = grownTable(&mem, table, 100_000); mem != nil || table[9_999] != 9_999 || len(table) != 100_000 {
		t.Error("it went back to memory of its own")
	}
}
