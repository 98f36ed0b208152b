package abp

import "testing"

// TestOrdinalsOfParts: a part of a repeated string instruction has the ordinal of the instruction that it is of, for filters
// by ordinals and for who seeks it.
func TestOrdinalsOfParts(t *testing.T) {
	part := &Block{Ins: []Ins{{Flags: InsRecorded | InsPart}}}
	plain := &Block{Ins: []Ins{{Flags: InsRecorded}, {}}, Static: Counts{Instructions: 1}}
	none := &Block{ID: 1, Ins: []Ins{{}}}
	p := &Process{blocks: make([]*Block, 2)}
	for _, test := range []struct {
		block    *Block
		ordinals Range
		want     bool
	}{
		{part, Range{7, 8}, true}, {part, Range{6, 7}, false}, {part, Range{8, 9}, false},
		{plain, Range{7, 8}, true}, {plain, Range{8, 9}, false}, {none, Range{7, 8}, false},
	} {
		m := newMatcher(p, &Query{Ordinals: test.ordinals})
		x := &Exec{Block: test.block, Completed: len(test.block.Ins), Ordinal: 7}
		if got := m.exec(x); got != test.want {
			t.Errorf("%+v, ordinals %v: %v", test.block.Ins, test.ordinals, got)
		}
	}
}

// TestSeekParts: parts of an instruction may lie in the frames in front of the one in which it retires.
func TestSeekParts(t *testing.T) {
	p := new(Process)
	c := new(cursor)
	for _, f := range []FrameHeader{{Thread: 1, Ordinal: 0}, {Thread: 2, Ordinal: 0}, {Thread: 2, Ordinal: 5}, {Thread: 2, Ordinal: 5}, {Thread: 2, Ordinal: 9}} {
		c.refs, c.procs = append(c.refs, &FrameRef{FrameHeader: f}), append(c.procs, p)
	}
	for _, test := range []struct{ frame, ordinal, want int }{{4, 9, 3}, {3, 5, 1}, {4, 10, 4}, {1, 0, 1}} {
		if got := c.firstOf(test.frame, uint64(test.ordinal)); got != test.want {
			t.Errorf("instruction %d, which ends in frame %d: %d, not %d", test.ordinal, test.frame, got, test.want)
		}
	}
}
