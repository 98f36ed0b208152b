package interceptors

import (
	"debug/dwarf"
	"fmt"
	"strings"

	"alleria/abp/calls"
)

// Types are made of the entries of debug information themselves, not of package debug/dwarf's types: those leave out alignment,
// inheritance, vectors and how records are passed.

// Attributes, tags and values that debug/dwarf does not name.
const (
	attrGNUVector   = 0x2107
	attrAlignment   = 0x88
	passByReference = 4
)

// Encodings of base types.
const (
	encAddress      = 0x01
	encBoolean      = 0x02
	encComplex      = 0x03
	encFloat        = 0x04
	encSigned       = 0x05
	encSignedChar   = 0x06
	encUnsignedChar = 0x08
	encDecimal      = 0x0f
	encUTF          = 0x10
	// encUser is GCC's for complex integers, which it gives no name ("__unknown__").
	encUser = 0x80
)

// at makes the type at an offset; 0: there is nothing to make.
func (d *debugInfo) at(off dwarf.Offset, depth int) calls.TypeID {
	e, _, name := d.bare(off)
	if e == nil {
		return 0
	}
	key := debugKey{off: e.Offset, depth: depth}
	if id, ok := d.made[key]; ok {
		return id
	}
	d.made[key] = 0 // damaged: it lies within itself
	id := d.make(e, name, depth)
	if id != 0 && d.specialsOf(e.Offset, 0).byReference() && e.Tag != dwarf.TagArrayType {
		d.c.byRef[id] = true
	}
	d.made[key] = id
	return id
}

// make makes the type of an entry, which a typedef may have given a name.
func (d *debugInfo) make(e *dwarf.Entry, name string, depth int) calls.TypeID {
	c := d.c
	switch e.Tag {
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		to, ok := d.data.Ref(e, dwarf.AttrType)
		if !ok {
			return c.address("void *")
		}
		return d.pointer(to, depth)
	case dwarf.TagPtrToMemberType:
		return d.memberPointer(e)
	case dwarf.TagUnspecifiedType, dwarf.TagSubroutineType: // nullptr_t; a function as a value, which Go has
		return c.address("void *")
	case dwarf.TagBaseType:
		return d.base(e)
	case dwarf.TagEnumerationType:
		return d.enum(e, name)
	case dwarf.TagArrayType:
		return d.array(e, depth)
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		return d.record(e, name, depth)
	}
	return 0
}

// number is an attribute that is a number; 0: it has none.
func number(e *dwarf.Entry, attr dwarf.Attr) int64 {
	switch v := e.Val(attr).(type) {
	case int64:
		return v
	case uint64:
		return int64(v)
	}
	return 0
}

// base makes a plain type.
func (d *debugInfo) base(e *dwarf.Entry) calls.TypeID {
	c := d.c
	name, _ := e.Val(dwarf.AttrName).(string)
	size := uint32(max(number(e, dwarf.AttrByteSize), 0))
	if size == 0 || number(e, dwarf.AttrEncoding) == encBoolean {
		if id := d.rustBase(e, name, size); id != 0 {
			return id
		}
	}
	switch number(e, dwarf.AttrEncoding) {
	case encAddress:
		return c.address(name)
	case encBoolean:
		return c.named(name, calls.Bool, size)
	case encComplex:
		return c.complex(name, size)
	case encUser:
		if size >= 2 && size <= 16 {
			half := fmt.Sprintf("int%d_t", 4*size)
			return c.pair("complex "+half, c.named(half, calls.Signed, size/2), size/2)
		}
	case encFloat:
		return c.named(name, calls.Float, size)
	case encDecimal:
		return c.decimal(name, size)
	case encSignedChar:
		if name == "char" {
			return c.named(name, calls.Char, 1)
		}
		return c.named(name, calls.Signed, size)
	case encSigned:
		return c.named(name, calls.Signed, size)
	case encUnsignedChar:
		return c.named(name, calls.Unsigned, size)
	case encUTF:
		return c.named(name, map[uint32]calls.Kind{1: calls.Char, 2: calls.Char16, 4: calls.Char32}[size], size)
	}
	switch name {
	case "char16_t":
		return c.named(name, calls.Char16, size)
	case "char32_t", "char": // Rust's char has four bytes
		return c.named(name, calls.Char32, size)
	}
	return c.named(name, calls.Unsigned, size)
}

// decimal is a floating-point number of base ten.
func (c *Compiler) decimal(name string, size uint32) calls.TypeID {
	id := c.named(name, calls.Float, size)
	c.Table.Types[id-1].Count = calls.FloatDecimal
	return id
}

// complex is a complex number: two of half its size.
func (c *Compiler) complex(name string, size uint32) calls.TypeID {
	if !strings.HasPrefix(name, "complex ") { // clang says "complex" of all
		name = map[uint32]string{8: "complex float", 16: "complex double", 32: "complex long double"}[size]
	}
	return c.pair(name, c.named(strings.TrimPrefix(name, "complex "), calls.Float, size/2), size/2)
}

// pair is a complex number of two halves of so many bytes.
func (c *Compiler) pair(name string, half calls.TypeID, bytes uint32) calls.TypeID {
	key := [2]any{name, "complex"}
	if id := c.config[key]; id != 0 {
		return id
	}
	id := c.Table.Add(calls.Type{Kind: calls.Struct, Name: name, Size: 2 * bytes, Align: bytes,
		Fields: []calls.Field{{Name: "re", Type: half}, {Name: "im", Type: half, Offset: bytes}}})
	c.config[key] = id
	return id
}

// pointer makes a pointer to the type at an offset.
func (d *debugInfo) pointer(to dwarf.Offset, depth int) calls.TypeID {
	e, _, name := d.bare(to)
	if e == nil || depth <= 0 || e.Tag == dwarf.TagSubroutineType {
		return d.c.address("void *")
	}
	if e.Tag == dwarf.TagBaseType {
		if n, _ := e.Val(dwarf.AttrName).(string); n == "char" && number(e, dwarf.AttrByteSize) == 1 || n == "char8_t" {
			return d.c.text(autoString)
		}
	}
	elem := d.at(to, depth-1)
	return d.c.one(elem, name)
}

// one is a pointer to one object, or an address where there is nothing to see.
func (c *Compiler) one(elem calls.TypeID, name string) calls.TypeID {
	t := c.Table.Type(elem)
	if elem == 0 || t.Size == 0 {
		return c.address("void *")
	}
	if name == "" {
		name = t.Name
	}
	key := [2]any{"one", elem}
	if id := c.config[key]; id != 0 {
		return id
	}
	id := c.Table.Add(calls.Type{Kind: calls.Pointer, Name: name + " *", Size: 8, Align: 8, Elem: elem, Extent: calls.ExtentCount, Count: 1})
	c.config[key] = id
	return id
}

// memberPointer makes a C++ pointer to a member: of data it is an offset, of functions an address, or an offset in the table of virtual
// ones, and what is to be added to this.
func (d *debugInfo) memberPointer(e *dwarf.Entry) calls.TypeID {
	c := d.c
	offset := c.named("ptrdiff_t", calls.Signed, 8)
	to, _ := d.data.Ref(e, dwarf.AttrType)
	if of, _, _ := d.bare(to); of == nil || of.Tag != dwarf.TagSubroutineType {
		return offset
	}
	key := [2]any{"method", "pointer"}
	if id := c.config[key]; id != 0 {
		return id
	}
	id := c.Table.Add(calls.Type{Kind: calls.Struct, Name: "method pointer", Size: 16, Align: 8,
		Fields: []calls.Field{{Name: "ptr", Type: c.address("void *")}, {Name: "adj", Type: offset, Offset: 8}}})
	c.config[key] = id
	return id
}

func (d *debugInfo) enum(e *dwarf.Entry, name string) calls.TypeID {
	size := uint32(max(number(e, dwarf.AttrByteSize), 1))
	if n, ok := e.Val(dwarf.AttrName).(string); ok {
		name = n
	}
	kind := calls.Unsigned
	t := calls.Type{Kind: calls.Enum, Name: "enum " + name, Size: size, Align: size}
	for _, v := range d.within(e) {
		if v.Tag != dwarf.TagEnumerator {
			continue
		}
		n, _ := v.Val(dwarf.AttrName).(string)
		value := number(v, dwarf.AttrConstValue)
		if value < 0 {
			kind = calls.Signed
		}
		t.Names = append(t.Names, calls.Const{Name: n, Value: value})
	}
	t.Elem = d.c.named(fmt.Sprintf("%v%d", kind, size), kind, size)
	return d.c.Table.Add(t)
}

// array makes an array, of several dimensions arrays of arrays. A vector is one that the processor's registers hold.
func (d *debugInfo) array(e *dwarf.Entry, depth int) calls.TypeID {
	off, ok := d.data.Ref(e, dwarf.AttrType)
	if !ok {
		return 0
	}
	id := d.at(off, depth)
	if id == 0 {
		return 0
	}
	var counts []uint64
	for _, s := range d.within(e) {
		if s.Tag == dwarf.TagSubrangeType || s.Tag == dwarf.TagEnumerationType {
			counts = append(counts, d.elements(s))
		}
	}
	vector, _ := e.Val(attrGNUVector).(bool)
	if len(counts) == 0 {
		counts = append(counts, d.forgotten(e, d.c.Table.Type(id).Size, vector))
	}
	for len(counts) > 0 {
		n := counts[len(counts)-1]
		counts = counts[:len(counts)-1]
		elem := d.c.Table.Type(id)
		id = d.c.Table.Add(calls.Type{Kind: calls.Array, Name: elem.Name + "[]", Size: uint32(n) * elem.Size, Align: max(elem.Align, 1), Elem: id, Count: n})
	}
	a := d.c.Table.Type(id)
	if vector && a.Size > 0 && a.Size&(a.Size-1) == 0 && a.Size <= 64 {
		a.Kind, a.Align = calls.Vector, a.Size
	}
	return id
}

// forgotten is how many elements an array has whose dimensions are missing. GCC leaves them out in some of a vector's variants; its own
// types tell by their names.
func (d *debugInfo) forgotten(e *dwarf.Entry, size uint32, vector bool) uint64 {
	bytes := uint64(max(number(e, dwarf.AttrByteSize), 0))
	name, _ := e.Val(dwarf.AttrName).(string)
	var bits uint64
	if n, _ := fmt.Sscanf(name, "__m%d", &bits); vector && n == 1 && bytes == 0 {
		bytes = bits / 8
	}
	return bytes / uint64(max(size, 1))
}

// elements is how many elements a dimension has; 0: it is not known before the program runs.
func (d *debugInfo) elements(s *dwarf.Entry) uint64 {
	if n, ok := s.Val(dwarf.AttrCount).(int64); ok {
		return uint64(max(n, 0))
	}
	if n, ok := s.Val(dwarf.AttrUpperBound).(int64); ok {
		low := number(s, dwarf.AttrLowerBound)
		if s.Val(dwarf.AttrLowerBound) == nil && d.isFortran(s) {
			low = 1
		}
		return uint64(max(n-low+1, 0))
	}
	return 0
}
