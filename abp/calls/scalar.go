package calls

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// uintOf is the number in some bytes, of which at most eight count.
func uintOf(b []byte) uint64 {
	var w [8]byte
	copy(w[:], b)
	return binary.LittleEndian.Uint64(w[:])
}

// Uint is the value of an integer, a character, a Bool, an Enum or an address, without its sign.
func (v Value) Uint() uint64 { return uintOf(v.Data[:min(8, len(v.Data))]) }

// isC tells whether a type is C's char, which is a number with a sign; other code units have none.
func (t *Type) isC() bool { return t.Kind == Char && t.Name == "char" }

// Int is the value of an integer, an Enum or C's char, with its sign if it has one.
func (v Value) Int() int64 {
	t := v.Table.Type(v.Type)
	x := v.Uint()
	if t.Kind == Enum {
		t = v.Table.Type(t.Elem)
	}
	if (t.Kind == Signed || t.isC()) && t.Size > 0 && t.Size < 8 {
		s := 64 - 8*t.Size
		return int64(x<<s) >> s
	}
	return int64(x)
}

// Bool is the value of a Bool.
func (v Value) Bool() bool {
	mask := uint64(0xff)
	if v.Table.Type(v.Type).Count == BoolBit {
		mask = 1
	}
	return v.Uint()&mask != 0
}

// Big is the value of an integer of any size.
func (v Value) Big() *big.Int {
	b := slices.Clone(v.Data)
	slices.Reverse(b)
	x := new(big.Int).SetBytes(b)
	if len(b) > 0 && b[0]>>7 == 1 && v.Table.Type(v.Type).Kind == Signed {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
	}
	return x
}

// Float is the value of a floating-point number, as near as eight bytes can say it.
func (v Value) Float() float64 {
	if v.Table.Type(v.Type).IsDecimal() {
		return decimal(v.Data)
	}
	switch len(v.Data) {
	case 2:
		return half(uint16(v.Uint()))
	case 4:
		return float64(math.Float32frombits(uint32(v.Uint())))
	case 8:
		return math.Float64frombits(v.Uint())
	}
	if v.isQuad() {
		return quad(v.Data)
	}
	if len(v.Data) >= 10 {
		f, _ := extended(v.Data).Float64()
		if exp := binary.LittleEndian.Uint16(v.Data[8:]) & 0x7fff; exp == 0x7fff {
			f = special(v.Data)
		}
		return f
	}
	return 0
}

// isQuad tells whether it is a number of 128 bits, and not one of the x87 in as many.
func (v Value) isQuad() bool {
	return len(v.Data) == 16 && strings.Contains(v.Table.Type(v.Type).Name, "128")
}

// quad is a number of a sign, 15 bits of exponent and 112 of fraction, as near as eight bytes can say it.
func quad(b []byte) float64 {
	se := binary.LittleEndian.Uint16(b[14:])
	high, low := binary.LittleEndian.Uint64(b[8:])&(1<<48-1), binary.LittleEndian.Uint64(b)
	exp := int(se & 0x7fff)
	switch {
	case exp == 0x7fff && high|low != 0:
		return math.NaN()
	case exp == 0x7fff:
		return math.Inf(1 - 2*int(se>>15))
	case exp == 0:
		exp = 1
	default:
		high |= 1 << 48
	}
	f := new(big.Float).SetPrec(113).SetUint64(high)
	f.Add(f.SetMantExp(f, 64), new(big.Float).SetUint64(low))
	f.SetMantExp(f, exp-16383-112)
	if se>>15 == 1 {
		f.Neg(f)
	}
	x, _ := f.Float64()
	return x
}

// half is a number of 16 bits.
func half(h uint16) float64 {
	sign, exp, frac := 1.0, int(h>>10&31), float64(h&1023)
	if h>>15 == 1 {
		sign = -1
	}
	switch exp {
	case 0:
		return sign * math.Ldexp(frac, -24)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(1024+frac, exp-25)
}

// extended is a number of the x87: a sign, 15 bits of exponent, 64 of significand with its leading one.
func extended(b []byte) *big.Float {
	frac := binary.LittleEndian.Uint64(b)
	se := binary.LittleEndian.Uint16(b[8:])
	f := new(big.Float).SetPrec(64).SetUint64(frac)
	f.SetMantExp(f, int(se&0x7fff)-16383-63)
	if se>>15 == 1 {
		f.Neg(f)
	}
	return f
}

// special is an infinity or no number.
func special(b []byte) float64 {
	if binary.LittleEndian.Uint64(b)<<1 != 0 {
		return math.NaN()
	}
	if b[9]>>7 == 1 {
		return math.Inf(-1)
	}
	return math.Inf(1)
}

// appendFloat writes a floating-point number so that reading it yields the same bits.
func appendFloat(dst []byte, v Value) []byte {
	if v.Table.Type(v.Type).IsDecimal() {
		return appendDecimal(dst, v.Data)
	}
	bits := 64
	if len(v.Data) == 4 {
		bits = 32
	}
	if len(v.Data) >= 10 && !v.isQuad() {
		f := v.Float()
		if math.IsNaN(f) || binary.LittleEndian.Uint16(v.Data[8:])&0x7fff == 0x7fff {
			return strconv.AppendFloat(dst, f, 'g', -1, 64)
		}
		return extended(v.Data).Append(dst, 'g', 21)
	}
	return strconv.AppendFloat(dst, v.Float(), 'g', -1, bits)
}

// bitField takes a bit field out of its record's bytes.
func bitField(data []byte, f *Field, t *Type) (v uint64, ok bool) {
	bit := int(f.Offset)*8 + int(f.Bit)
	first, last := bit/8, (bit+int(f.Bits)-1)/8
	if last >= len(data) || f.Bits > 64 {
		return 0, false
	}
	// Nine bytes at most: the lowest eight, shifted, and what the ninth adds on top.
	v = uintOf(data[first:min(last+1, first+8)]) >> (bit % 8)
	if last-first == 8 {
		v |= uint64(data[last]) << (64 - bit%8)
	}
	if f.Bits < 64 {
		v &= 1<<f.Bits - 1
		if t.Kind == Signed && v>>(f.Bits-1)&1 == 1 {
			v |= ^uint64(0) << f.Bits
		}
	}
	return v, true
}

// Field returns a field of a Struct or String.
func (v Value) Field(i int) Value {
	t := v.Table.Type(v.Type)
	f := &t.Fields[i]
	ft := v.Table.Type(f.Type)
	if f.Bits > 0 {
		number := ft
		if ft.Kind == Enum {
			number = v.Table.Type(ft.Elem)
		}
		x, ok := bitField(v.Data, f, number)
		if !ok {
			return Value{Table: v.Table, Type: f.Type}
		}
		b := binary.LittleEndian.AppendUint64(nil, x)
		return Value{Table: v.Table, Type: f.Type, Data: b[:min(8, max(ft.Size, 1))]}
	}
	out := Value{Table: v.Table, Type: f.Type, Data: sub(v.Data, f.Offset, ft.Size)}
	if t.Kind == Union {
		return out
	}
	from := 0
	for j := range i {
		if t.Fields[j].Bits == 0 {
			from += len(v.Table.Points(t.Fields[j].Type))
		}
	}
	out.Targets = some(v.Targets, from, len(v.Table.Points(f.Type)))
	return out
}

// Len is how many elements an Array, a Vector or a Pointer has, as far as they were captured.
func (v Value) Len() int {
	t := v.Table.Type(v.Type)
	size := int(v.Table.Type(t.Elem).Size)
	if size == 0 {
		return 0
	}
	if t.Kind == Pointer {
		if len(v.Targets) == 0 {
			return 0
		}
		return len(v.Targets[0].Data) / size
	}
	return min(len(v.Data)/size, int(min(t.Count, 1<<30)))
}

// Elem is an element of an Array, a Vector or what a Pointer leads to.
func (v Value) Elem(i int) Value {
	t := v.Table.Type(v.Type)
	data, targets := v.Data, v.Targets
	if t.Kind == Pointer {
		data, targets = v.Targets[0].Data, v.Targets[0].Points
	}
	size, n := v.Table.Type(t.Elem).Size, len(v.Table.Points(t.Elem))
	return Value{Table: v.Table, Type: t.Elem, Data: sub(data, uint32(i)*size, size), Targets: some(targets, i*n, n)}
}

// sub is a part of some bytes, shorter where they end.
func sub(b []byte, at, n uint32) []byte {
	if uint64(at) >= uint64(len(b)) {
		return nil
	}
	b = b[at:]
	return b[:min(uint64(n), uint64(len(b)))]
}

// some is a part of some targets, shorter where they end.
func some(t []Target, at, n int) []Target {
	if at >= len(t) {
		return nil
	}
	t = t[at:]
	return t[:min(n, len(t))]
}

// Status is what became of a Pointer's target.
func (v Value) Status() Status {
	if len(v.Targets) == 0 {
		if v.Uint() == 0 && len(v.Data) > 0 {
			return Null
		}
		return Missing
	}
	return v.Targets[0].Status
}
