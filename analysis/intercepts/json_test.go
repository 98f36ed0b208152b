package intercepts

import (
	"encoding/binary"
	"encoding/json"
	"testing"

	"alleria/abp/calls"
)

// TestWideNumbers has numbers that neither 64 bits nor a double can say.
func TestWideNumbers(t *testing.T) {
	table := &calls.Table{}
	signed := table.Add(calls.Type{Kind: calls.Signed, Name: "__int128", Size: 16, Align: 16})
	unsigned := table.Add(calls.Type{Kind: calls.Unsigned, Name: "unsigned __int128", Size: 16, Align: 16})
	float := table.Add(calls.Type{Kind: calls.Float, Name: "long double", Size: 16, Align: 16})
	for _, c := range []struct {
		of       calls.TypeID
		low, up  uint64
		expected string
	}{
		{signed, 5, 0, "5"},
		{signed, ^uint64(6), ^uint64(0), "-7"},
		{signed, 1, 1 << 63, "-170141183460469231731687303715884105727"},
		{unsigned, 1, 1, "18446744073709551617"},
		{unsigned, 1, 1 << 63, "170141183460469231731687303715884105729"},
		{float, 0xaaaaaaaaaaaaaaab, 0x3ffd, "0.333333333333333333342"},
		{float, 1 << 63, 0xbfff, "-1"},
	} {
		data := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, c.low), c.up)
		got := appendJSON(nil, calls.Value{Table: table, Type: c.of, Data: data}, 0)
		if string(got) != c.expected || !json.Valid(got) {
			t.Errorf("%s: %#x %#x is %s, not %s", table.Type(c.of).Name, c.up, c.low, got, c.expected)
		}
	}
}

// TestNumbersExactly compares numbers that a double rounds, writes what it has no room for, and has C's char with its sign.
func TestNumbersExactly(t *testing.T) {
	table := &calls.Table{}
	wide := table.Add(calls.Type{Kind: calls.Signed, Name: "__int128", Size: 16, Align: 16})
	long := table.Add(calls.Type{Kind: calls.Signed, Name: "long", Size: 8, Align: 8})
	char := table.Add(calls.Type{Kind: calls.Char, Name: "char", Size: 1, Align: 1})
	unit := table.Add(calls.Type{Kind: calls.Char, Name: "ascii", Size: 1, Align: 1})
	extended := table.Add(calls.Type{Kind: calls.Float, Name: "long double", Size: 16, Align: 16})
	words := func(w ...uint64) (b []byte) {
		for _, x := range w {
			b = binary.LittleEndian.AppendUint64(b, x)
		}
		return b
	}
	minus := words(0, 0xfffffff000000000) // -(1<<100)
	for _, c := range []struct {
		of        calls.TypeID
		data      []byte
		condition string
		want      bool
	}{
		{wide, minus, "x<0", true}, {wide, minus, "x=0", false}, {wide, minus, "x=-1267650600228229401496703205376", true}, {wide, minus, "x>-1267650600228229401496703205377", true},
		{long, words(1<<53 + 1), "x>9007199254740992", true}, {long, words(1<<53 + 1), "x=9007199254740992", false}, {long, words(1<<53 + 1), "x=9007199254740993", true},
		{char, []byte{255}, "x<0", true}, {char, []byte{255}, "x=-1", true}, {unit, []byte{255}, "x=255", true}, {char, []byte{'a'}, "x=97", true},
	} {
		q, err := ParseCondition(c.condition)
		if err != nil {
			t.Fatal(err)
		}
		if v := (calls.Value{Table: table, Type: c.of, Data: c.data}); q.holds(v) != c.want {
			t.Errorf("%s of %s is %v", c.condition, calls.Format{}.Append(nil, v), !c.want)
		}
	}
	large := calls.Value{Table: table, Type: extended, Data: words(1<<63, 16383+16000)}
	if got := appendJSON(nil, large, 0); !json.Valid(got) || got[0] == '"' {
		t.Errorf("2^16000 is %s", got)
	}
	if got := appendJSON(nil, calls.Value{Table: table, Type: extended, Data: words(1<<63, 0x7fff)}, 0); string(got) != `"+Inf"` {
		t.Errorf("the infinity is %s", got)
	}
}

// TestCutList tells of lists and strings that a limit has cut; a sentinel is one of the elements.
func TestCutList(t *testing.T) {
	table := &calls.Table{}
	short := table.Add(calls.Type{Kind: calls.Unsigned, Name: "u2", Size: 2, Align: 2})
	char := table.Add(calls.Type{Kind: calls.Char, Name: "char", Size: 1, Align: 1})
	list := table.Add(calls.Type{Kind: calls.Pointer, Size: 8, Elem: short, Extent: calls.ExtentSentinel, Sentinel: 9})
	text := table.Add(calls.Type{Kind: calls.Pointer, Size: 8, Elem: char, Extent: calls.ExtentSentinel})
	for _, c := range []struct {
		of       calls.TypeID
		status   calls.Status
		data     []byte
		expected string
	}{
		{list, calls.Whole, []byte{1, 0, 9, 0}, `[1,9]`},
		{list, calls.Bounded, []byte{1, 0, 2, 0}, `{"address":"0x10","status":"cut","value":[1,2]}`},
		{text, calls.Whole, []byte("ab\x00"), `"ab"`},
		{text, calls.Bounded, []byte("ab"), `{"address":"0x10","status":"cut","value":"ab"}`},
	} {
		v := calls.Value{Table: table, Type: c.of, Data: binary.LittleEndian.AppendUint64(nil, 0x10), Targets: []calls.Target{{Status: c.status, Data: c.data}}}
		if got := appendJSON(nil, v, 0); string(got) != c.expected {
			t.Errorf("%v %q is %s, not %s", c.status, c.data, got, c.expected)
		}
	}
}
