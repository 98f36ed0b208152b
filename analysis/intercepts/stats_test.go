package intercepts

import (
	"encoding/binary"
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
