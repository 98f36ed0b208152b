package intercepts

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"

	"alleria/abp/calls"
)

// TestValueCounts counts plain values by their bits and others by their text: those of two tables, as of two processes, are the same.
func TestValueCounts(t *testing.T) {
	s := &Stats{Most: 3}
	f := &FunctionStats{values: make(map[string]*ValueStats)}
	for range 2 {
		table := &calls.Table{}
		typ := table.Add(calls.Type{Kind: calls.Signed, Name: "int", Size: 4, Align: 4})
		for _, n := range []int32{-1, 7, -1, 8, 9} { // the fourth different one is one too many
			s.value(f, "n", calls.Value{Table: table, Type: typ, Data: binary.LittleEndian.AppendUint32(nil, uint32(n))})
		}
	}
	st := f.values["n"]
	if *st.Min != -1 || *st.Max != 9 || st.Count != 10 || !st.More {
		t.Errorf("%d values from %v to %v, more: %v", st.Count, *st.Min, *st.Max, st.More)
	}
	for range 2 { // asked for twice
		if got := st.texts(); len(got) != 3 || got["-1"] != 4 || got["7"] != 2 || got["8"] != 2 {
			t.Errorf("counted %v", got)
		}
	}
}

// TestScalarStats: what is taken from words as they are sums up to what values that were put together do.
func TestScalarStats(t *testing.T) {
	table := &calls.Table{}
	add := func(kind calls.Kind, name string, size uint32) calls.TypeID {
		return table.Add(calls.Type{Kind: kind, Name: name, Size: size, Align: size})
	}
	whole, small, double, yes := add(calls.Signed, "int", 4), add(calls.Unsigned, "unsigned char", 1), add(calls.Float, "double", 8), add(calls.Bool, "bool", 1)
	enum := table.Add(calls.Type{Kind: calls.Enum, Name: "e", Size: 4, Align: 4, Elem: whole, Names: []calls.Const{{Name: "RED", Value: -1}}})
	sig := &calls.Signature{Number: 1, Name: "f"}
	for i, typ := range []calls.TypeID{whole, small, double, yes, enum} {
		sig.Params = append(sig.Params, calls.Param{Name: string(rune('a' + i)), Index: uint32(i), Type: typ})
		sig.Entry = append(sig.Entry, calls.Slot{Param: int32(i), Type: typ, Pieces: []calls.Piece{{Bytes: 8}}})
	}
	sig.Exit = []calls.Slot{{Param: calls.ResultParam, Type: whole, Pieces: []calls.Piece{{Bytes: 8}}}, {Param: 1, Type: small, Pieces: []calls.Piece{{Bytes: 8}}}}
	sums := func(plain bool) *FunctionStats {
		s := NewStats()
		p := s.planOf(sig, table)
		for exit := range p.moments {
			if !p.moments[exit].scalar {
				t.Fatal("not taken as they are")
			}
			p.moments[exit].scalar = plain
		}
		pairer := calls.NewPairer(map[uint32]*calls.Signature{1: sig}, 1)
		pairer.Ended = func(c *calls.Call) error {
			s.values(s.planOf(c.Sig, table), c)
			return nil
		}
		for n := range uint64(40) {
			// The upper bytes of registers are anything.
			words := []uint64{0xdead<<32 | uint64(uint32(-n)), 0xbeef00 | n&7, math.Float64bits(float64(n) / 2), 0xff00 | n&1, 7<<32 | uint64(uint32(-int32(n%2)))}
			for _, r := range []calls.Record{{Func: 1, TSC: 10 * n, SP: 100, Ret: 5, Words: words}, {Func: 1, Exit: true, TSC: 10*n + 4, SP: 100, Ret: 5, Words: words[:2]}} {
				if n == 39 && r.Exit {
					continue
				}
				if err := pairer.Add(&r); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := pairer.Finish(); err != nil {
			t.Fatal(err)
		}
		return s.List(3)[0]
	}
	got, want := sums(true), sums(false)
	if len(got.Values) != 7 || got.Values[0].Count != 40 || got.Values[5].Name != "result" || got.Values[5].Count != 39 || *got.Values[0].Min != -39 || got.Values[4].Top[0] != (Count{"0", 20}) {
		t.Errorf("%+v", got.Values)
	}
	a, errA := json.Marshal(got)
	b, errB := json.Marshal(want)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("got  %s %v\nwant %s %v", a, errA, b, errB)
	}
}
