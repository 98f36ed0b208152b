package records

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
)

// sizes are the words of an execution of some blocks, by number.
func sizes(id uint32) (int, bool) {
	n, ok := map[uint32]int{1: 0, 2: 2, 3: 5}[id]
	return n, ok
}

// TestIterator goes over words of each kind.
func TestIterator(t *testing.T) {
	words := []uint64{Mark(MarkThread, 1), 7, 8, 9, 1, 2, 20, 21, Mark(MarkCut, 3), 3, 30, 31, 32, 33, 34,
		Mark(MarkEmulated, 1), 1, 100, 8, Mark(MarkSkip, 0), Mark(MarkNote, 2), 5, 6, Mark(MarkSwitch, 1), 1, 2, 3,
		Mark(MarkFS, 0), 1, Mark(MarkGS, 0), 1, Mark(MarkWindows, 3), 1, 1}
	want := []Record{
		{From: 0, To: 4, Mark: MarkThread, Payload: 1}, {From: 4, To: 5, Block: 1}, {From: 5, To: 8, Block: 2},
		{From: 8, To: 15, Block: 3, Cut: true, Completed: 3}, {From: 15, To: 19, Mark: MarkEmulated, Payload: 1},
		{From: 19, To: 20, Mark: MarkSkip}, {From: 20, To: 23, Mark: MarkNote, Payload: 2}, {From: 23, To: 27, Mark: MarkSwitch, Payload: 1},
		{From: 27, To: 29, Mark: MarkFS}, {From: 29, To: 31, Mark: MarkGS}, {From: 31, To: 33, Mark: MarkWindows, Payload: 3}, {From: 33, To: 34, Block: 1},
	}
	it := NewIterator(words, false, sizes)
	for i, w := range want {
		if !it.Next() {
			t.Fatalf("record %d is missing: %v", i, it.Err)
		}
		r := it.Record
		head := 1
		if r.Cut {
			head = 2
		}
		if !slices.Equal(r.Words, words[r.From+head:r.To]) {
			t.Errorf("record %d has words %d", i, r.Words)
		}
		if r.Words = nil; r.From != w.From || r.To != w.To || r.Mark != w.Mark || r.Payload != w.Payload || r.Block != w.Block || r.Cut != w.Cut || r.Completed != w.Completed {
			t.Errorf("record %d is %+v, want %+v", i, r, w)
		}
	}
	if it.Next() || it.Err != nil {
		t.Errorf("something behind the end: %+v, %v", it.Record, it.Err)
	}
	sized := NewIterator([]uint64{uint64(Number(2, 2)), 4, 5}, true, sizes)
	if !sized.Next() || sized.Block != 2 || sized.To != 3 {
		t.Errorf("with its size: %+v, %v", sized.Record, sized.Err)
	}
}

// TestIteratorRefuses words that no engine writes.
func TestIteratorRefuses(t *testing.T) {
	for name, words := range map[string][]uint64{
		"no block": {1, 77}, "cut short": {1, 2, 20}, "no mark": {1, 1 << 60}, "a mark cut short": {1, Mark(MarkThread, 1), 2},
		"a cut without an execution": {1, Mark(MarkCut, 1)}, "a cut of a mark": {1, Mark(MarkCut, 1), Mark(MarkSkip, 0)},
		"a cut of no block": {1, Mark(MarkCut, 1), 77}, "many pairs": {1, Mark(MarkEmulated, 1), 1 << 63, 3}, "a long note": {1, Mark(MarkNote, MarkPayload)},
	} {
		it := NewIterator(words, false, sizes)
		if !it.Next() || it.Next() || !errors.Is(it.Err, ErrMalformed) || it.To != 1 || it.Next() {
			t.Errorf("%s: %+v, %v", name, it.Record, it.Err)
		}
	}
}

// FuzzIterator goes over any words: records follow each other up to the end or an error.
func FuzzIterator(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x81}, false)
	f.Add(binary.LittleEndian.AppendUint64(nil, uint64(Number(2, 2))), true)
	f.Fuzz(func(t *testing.T, b []byte, sized bool) {
		var words []uint64
		for ; len(b) >= 8; b = b[8:] {
			words = append(words, binary.LittleEndian.Uint64(b))
		}
		it := NewIterator(words, sized, sizes)
		end := 0
		for it.Next() {
			if it.From != end || it.To <= it.From || it.To > len(words) {
				t.Fatalf("%+v behind %d", it.Record, end)
			}
			end = it.To
		}
		if (it.Err == nil) != (end == len(words)) {
			t.Fatalf("%d of %d words: %v", end, len(words), it.Err)
		}
	})
}
