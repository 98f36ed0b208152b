package calls

import (
	"encoding/hex"
	"math"
	"slices"
	"testing"
)

// TestDecimal writes numbers of base ten as gdb does; the bytes are GCC's.
func TestDecimal(t *testing.T) {
	for _, c := range []struct {
		bits, want string // the highest byte first
		value      float64
	}{
		{"31800078", "1.20", 1.2},
		{"f7f8967f", "-9.999999E+96", -9.999999e96},
		{"6ca00000", "8388608", 8388608},
		{"00000001", "1E-101", 1e-101},
		{"31800000", "0.00", 0},
		{"af800001", "-0.000001", -1e-6},
		{"2e00000f", "1.5E-8", 1.5e-8},
		{"3500007b", "1.23E+7", 1.23e7},
		{"77f8967f", "9.999999E+96", 9.999999e96},
		{"6ca95440", "9000000", 9e6},
		{"78000000", "Infinity", math.Inf(1)},
		{"fc000000", "-NaN", math.NaN()},
		{"3180000000000078", "1.20", 1.2},
		{"f7fb86f26fc0ffff", "-9.999999999999999E+384", math.Inf(-1)},
		{"6c70000000000000", "9007199254740992", 9007199254740992},
		{"31a0000000000001", "0.1", 0.1},
		{"0000000000000001", "1E-398", 0},
		{"303c0000000000000000000000000078", "1.20", 1.2},
		{"dfffed09bead87c0378d8e63ffffffff", "-9.999999999999999999999999999999999E+6144", math.Inf(-1)},
		{"303e0000000000000000000000000001", "0.1", 0.1},
		{"30363cde6fff9732de825cd07e96aff2", "12345678901234567890123456789.01234", 12345678901234567890123456789.01234},
		{"00000000000000000000000000000000", "0E-6176", 0},
		{"77ffffff", "0E+90", 0}, // a coefficient of more digits than there are
	} {
		data, err := hex.DecodeString(c.bits)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(data)
		table := &Table{}
		v := Value{Table: table, Type: table.Add(Type{Kind: Float, Name: "_Decimal", Size: uint32(len(data)), Count: FloatDecimal}), Data: data}
		if got := string(Format{}.Append(nil, v)); got != c.want {
			t.Errorf("%s: %s, want %s", c.bits, got, c.want)
		}
		if got := v.Float(); got != c.value && !(math.IsNaN(got) && math.IsNaN(c.value)) {
			t.Errorf("%s: %g, want %g", c.bits, got, c.value)
		}
	}
}
