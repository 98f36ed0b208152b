package abp

import (
	"reflect"
	"testing"
)

// TestStackWords: what a stack's words say is the stack again, however its marks are cut, and no words are too many or too few for a reader.
func TestStackWords(t *testing.T) {
	want := Stack{PC: 0x401000, Whole: true, Frames: []StackFrame{
		{Slot: 0x7fff1230, Ret: 0x402005, Site: 0x402000},
		{Slot: 0x7fff1300, Ret: 0x403007, Site: 0x403000, Targets: []uint64{0x404000, 0x404010, 0x405000}},
		{Slot: 0x7fff1380, Ret: 0x40a123, Interrupted: true},
		{Slot: 0x7fff1400, Ret: 0x406000},
	}}
	words := want.Words(nil)
	if got := ParseStack(words); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	var first, second []uint64
	first = AppendCallers(nil, 0, words[:5])
	second = AppendCallers(first, 5, words[5:])
	if got := ParseStack(second); !reflect.DeepEqual(got, want) {
		t.Errorf("in two marks: %+v", got)
	}
	if again := AppendCallers(second, 0, words[:1]); len(again) != 1 || !reflect.DeepEqual(ParseStack(second), want) {
		t.Errorf("a further burst's: %v, behind which the one before is %+v", again, ParseStack(second))
	}
	for n := range words {
		if got := ParseStack(words[:n]); len(got.Frames) > len(want.Frames) {
			t.Errorf("%d words: %+v", n, got)
		}
	}
}
