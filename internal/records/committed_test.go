package records

import "testing"

// TestCommitted looks at what of some words stays: all but a block's record at their end, at
// whichever moment of its being cut they are looked at.
func TestCommitted(t *testing.T) {
	var blocks Blocks
	add := func(words int) uint64 { return uint64(blocks.Add(&Block{Words: words})) }
	none, two := add(0), add(2)
	part := uint64(blocks.AddPart(uint32(two), Part{Ins: 1, Words: 1}))
	cut := Mark(MarkCut, 1)
	for _, c := range []struct {
		name  string
		words []uint64
		want  int
	}{
		{"nothing", nil, 0},
		{"one record", []uint64{two, 7, 8}, 0},
		{"sizes", []uint64{two | 3<<NumberBits, 7, 8, none | 1<<NumberBits}, 3},
		{"a record without words", []uint64{two, 7, 8, none}, 3},
		{"a part", []uint64{none, part, 7}, 1},
		{"records", []uint64{two, 7, 8, part, 9, none, two, 7, 8}, 6},
		{"a record that gets its mark", []uint64{none, cut, two, 7}, 1},
		{"one without words that gets its mark", []uint64{none, cut}, 1},
		{"a cut record", []uint64{none, cut, two, 7, 8}, 5},
		{"a cut record, and another", []uint64{cut, two, 7, 8, none}, 4},
		{"marks", []uint64{two, 7, 8, Mark(MarkWindows, 1), 99}, 5},
		{"a note", []uint64{two, 7, 8, Mark(MarkNote, 2), two, none, none}, 6},
		{"an emulated instruction", []uint64{Mark(MarkEmulated, none), 1, 5, 6}, 4},
		{"the other marks", []uint64{Mark(MarkSwitch, 1), 1, 2, 3, Mark(MarkThread, 1), 1, 2, 3, Mark(MarkFS, 0), 1, Mark(MarkGS, 0), 1, Mark(MarkSkip, 1), 0, part, 1}, 14},
		{"no block", []uint64{two, 7, 8, 77, none}, 5},
		{"no block, cut", []uint64{cut, 77}, 2},
		{"no mark", []uint64{1 << 60, none}, 2},
		{"a mark beyond the end", []uint64{Mark(MarkNote, 5), none}, 2},
	} {
		if got := blocks.Committed(c.words); got != c.want {
			t.Errorf("%s: %d of %d words stay, want %d", c.name, got, len(c.words), c.want)
		}
	}
}
