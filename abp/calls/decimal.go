package calls

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// FloatDecimal as the Count of a Float says that its base is ten: one of C's _Decimal32, _Decimal64 and _Decimal128, as x86-64 has them, with a
// binary coefficient (IEEE 754's BID).
const FloatDecimal = 10

// IsDecimal tells floating-point numbers of base ten.
func (t *Type) IsDecimal() bool { return t.Kind == Float && t.Count == FloatDecimal }

// decimalDigits are the digits of a coefficient, by the number's bytes; more of them are none that counts.
func decimalDigits(bytes int) int { return map[int]int{4: 7, 8: 16, 16: 34}[bytes] }

// appendDecimal writes a number of base ten as decNumber and gdb do: with all digits of its coefficient, since 1.20 is another number than 1.2.
func appendDecimal(dst []byte, data []byte) []byte {
	digits := decimalDigits(len(data))
	if digits == 0 {
		return append(dst, '?')
	}
	b := slices.Clone(data)
	slices.Reverse(b)
	x, bits := new(big.Int).SetBytes(b), uint(8*len(b))
	field := func(low, n uint) uint64 {
		f := new(big.Int).Rsh(x, low)
		return f.And(f, new(big.Int).SetUint64(1<<n-1)).Uint64()
	}
	if x.Bit(int(bits)-1) == 1 {
		dst = append(dst, '-')
	}
	switch field(bits-6, 5) {
	case 0b11110:
		return append(dst, "Infinity"...)
	case 0b11111:
		return append(dst, "NaN"...)
	}
	// The exponent, and behind it all of the coefficient; or all but its highest three bits, which are 100 then.
	width := map[int]uint{4: 8, 8: 10, 16: 14}[len(data)]
	bias := map[int]int{4: 101, 8: 398, 16: 6176}[len(data)]
	low, top := bits-1-width, uint64(0)
	if field(bits-3, 2) == 3 {
		low, top = low-2, 0b100
	}
	exp := int(field(low, width)) - bias
	coefficient := new(big.Int).SetUint64(top)
	coefficient.Lsh(coefficient, low)
	coefficient.Or(coefficient, new(big.Int).And(x, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), low), big.NewInt(1))))
	text := coefficient.Append(nil, 10)
	if len(text) > digits {
		text = []byte{'0'} // as the standard has it
	}
	return appendScaled(dst, text, exp)
}

// appendScaled writes digits times a power of ten: with an exponent where there would be zeros that are no digits.
func appendScaled(dst, digits []byte, exp int) []byte {
	n := len(digits)
	first := exp + n - 1 // the first digit's exponent
	switch {
	case exp <= 0 && first >= 0:
		dst = append(dst, digits[:n+exp]...)
		if exp < 0 {
			dst = append(append(dst, '.'), digits[n+exp:]...)
		}
	case exp <= 0 && first >= -6:
		dst = append(dst, "0."...)
		for range -1 - first {
			dst = append(dst, '0')
		}
		dst = append(dst, digits...)
	default:
		dst = append(dst, digits[0])
		if n > 1 {
			dst = append(append(dst, '.'), digits[1:]...)
		}
		dst = append(dst, 'E')
		if first > 0 {
			dst = append(dst, '+')
		}
		dst = strconv.AppendInt(dst, int64(first), 10)
	}
	return dst
}

// decimal is such a number as near as eight bytes can say it.
func decimal(data []byte) float64 {
	text := string(appendDecimal(nil, data))
	if strings.HasSuffix(text, "NaN") {
		return math.NaN() // ParseFloat knows none with a sign
	}
	f, _ := strconv.ParseFloat(text, 64)
	return f
}
