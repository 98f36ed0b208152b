package abp

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

// TestCountedEdge reads edges as they are written, and refuses what is none.
func TestCountedEdge(t *testing.T) {
	want := Counted{Edges: []CountedEdge{{Caller: -1, Callee: 3, Calls: 1, Sites: [][2]uint64{{0, 1}}}, {Caller: 2, Callee: 0, Calls: 1 << 40, Sites: [][2]uint64{{0x401000, 1 << 39}, {0xffffffffff600000, 1 << 39}}}}}
	text, err := json.Marshal(&want)
	if err != nil {
		t.Fatal(err)
	}
	var got Counted
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: %+v of %s", err, got, text)
	}
	for _, bad := range []string{"", "1 2", "a 2 3", "1 2 3 4", "1 2 3 0x10:", "1 2 3 x:4"} {
		if err := new(CountedEdge).UnmarshalText([]byte(bad)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
