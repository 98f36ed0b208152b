package calls

import (
	"math"
	"slices"
)

// Rust's enumerations with values are records or unions with Names: each variant that has a value of the discriminant, by which it is known. Their Fields are
// the variants that have anything in them, as records of that name. At most one of these has no value: it is what is there where no value says otherwise. Elem is the discriminant's type and Count its offset;
// without an Elem there is one variant. Such a type is a union where several variants have pointers or differ, so that nothing is followed.

// BoolBit is the Count of a Bool of which only the lowest bit counts.
const BoolBit = 1

// IsVariants tells whether a type is such an enumeration.
func (t *Type) IsVariants() bool {
	return len(t.Names) > 0 && (t.Kind == Struct || t.Kind == Union)
}

// Niche is which of the Fields is the variant without a value of its own; -1: none.
func (t *Type) Niche() int {
	return slices.IndexFunc(t.Fields, func(f Field) bool { return t.Elem != 0 && !t.names(f.Name) })
}

// names tells whether a variant has a value.
func (t *Type) names(variant string) bool {
	return slices.ContainsFunc(t.Names, func(c Const) bool { return c.Name == variant })
}

// Variant is the variant that a value of such an enumeration is: its name, and which of the Fields it is, -1: it has nothing in it. false: it is none that is known.
func (v Value) Variant() (name string, field int, ok bool) {
	t := v.Table.Type(v.Type)
	name = t.Names[0].Name
	if t.Elem != 0 {
		of := v.Table.Type(t.Elem)
		if t.Count+uint64(of.Size) > uint64(len(v.Data)) {
			return "", -1, false
		}
		b := sub(v.Data, uint32(t.Count), of.Size)
		mask := uint64(math.MaxUint64)
		if of.Size < 8 {
			mask = 1<<(8*of.Size) - 1
		}
		i := slices.IndexFunc(t.Names, func(c Const) bool { return uint64(c.Value)&mask == uintOf(b[:min(8, len(b))])&mask })
		switch n := t.Niche(); {
		case i >= 0:
			name = t.Names[i].Name
		case n >= 0:
			return t.Fields[n].Name, n, true
		default:
			return "", -1, false
		}
	}
	return name, slices.IndexFunc(t.Fields, func(f Field) bool { return f.Name == name }), true
}

// variant writes such an enumeration's value as Rust's programmers do.
func (f Format) variant(dst []byte, v Value, depth int) []byte {
	name, field, ok := v.Variant()
	if !ok {
		return append(dst, '?')
	}
	dst = append(dst, name...)
	if field < 0 {
		return dst
	}
	in := v.Field(field)
	t := v.Table.Type(in.Type)
	if slices.ContainsFunc(t.Fields, func(q Field) bool { return len(q.Name) < 3 || q.Name[:2] != "__" }) {
		return f.value(dst, in, depth+1)
	}
	dst = append(dst, '(')
	for i := range t.Fields {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		dst = f.value(dst, in.Field(i), depth+1)
	}
	return append(dst, ')')
}
