package records

import (
	"math/rand/v2"
	"testing"
)

// TestTally: what a table says of many executions is what Sum says of each, of blocks, of parts, and of what is too large for a row; those whose words matter, and numbers that were not given, are told apart.
func TestTally(t *testing.T) {
	rng := rand.New(rand.NewPCG(10_300_001, 1))
	var table Blocks
	wide := 0
	for table.Last() < 3<<blockPageBits/2 {
		b := randomBlock(rng)
		id := table.Add(b)
		if id == 0 {
			t.Fatal("no number")
		}
		if table.row(id).flags&rowWide != 0 {
			wide++
		}
		if len(b.Ins) > 1 {
			table.AddPart(id, Part{Ins: 1, Words: min(b.Words, 1)})
		}
	}
	const other = 1 << 31
	execs := make([]uint32, table.Last()+3)
	table.Plain(execs, 0, 0, other)
	var want Sum
	words, plain := uint64(0), 0
	for id := range execs {
		s, ok := table.Sum(uint32(id))
		if is := execs[id] == 0; is != (ok && !s.Dynamic) || !is && execs[id] != other {
			t.Fatalf("block %d: %#x of %+v, %t", id, execs[id], s, ok)
		}
		if execs[id] == other {
			continue
		}
		plain++
		if execs[id] = uint32(rng.IntN(4)); execs[id] == 3 {
			execs[id] = other - 1
		}
		want.addWide(&table, uint32(id), uint64(execs[id]))
		words += uint64(execs[id]) * uint64(1+s.Words)
	}
	if plain == 0 || wide == 0 {
		t.Fatalf("%d plain blocks, %d wide ones", plain, wide)
	}
	got, all := table.Tally(execs, other)
	if got != want || all != words {
		t.Errorf("%+v, %d words, want %+v, %d", got, all, want, words)
	}
	if again, all := table.Tally(execs, other); again != (Sum{}) || all != 0 {
		t.Errorf("once more: %+v, %d words", again, all)
	}
}
