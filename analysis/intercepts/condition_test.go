package intercepts

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"alleria/abp/calls"
)

// TestConditionRefused: what can match nothing is no condition.
func TestConditionRefused(t *testing.T) {
	for text, ok := range map[string]bool{"fd==3": false, "result<foo": false, "size>=x": false, "result<=0x10": true, "path=/etc": true, "path~a=b": true, "x!=1": true, "x!==1": false, "r>1e3": true} {
		if _, err := ParseCondition(text); errors.Is(err, ErrCondition) == ok {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestStatsNotFinite: numbers that JSON does not have are counted, and in no mean.
func TestStatsNotFinite(t *testing.T) {
	s := Stats{Most: 10}
	f := &FunctionStats{values: make(map[string]*ValueStats)}
	table := &calls.Table{}
	typ := table.Add(calls.Type{Kind: calls.Float, Name: "double", Size: 8, Align: 8})
	for _, n := range []float64{math.Inf(1), 2, math.NaN(), 4} {
		s.value(f, "x", calls.Value{Table: table, Type: typ, Data: binary.LittleEndian.AppendUint64(nil, math.Float64bits(n))})
	}
	s.by = map[statsKey]*FunctionStats{{}: f}
	list := s.List(3)
	if _, err := json.Marshal(list); err != nil {
		t.Error(err)
	}
	if st := list[0].Values[0]; st.Count != 4 || *st.Min != 2 || *st.Max != 4 || *st.Mean != 3 {
		t.Errorf("%+v", st)
	}
}
