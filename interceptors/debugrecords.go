package interceptors

import (
	"debug/dwarf"
	"encoding/binary"
	"strings"

	"alleria/abp/calls"
)

// record makes a struct, class or union.
func (d *debugInfo) record(e *dwarf.Entry, name string, depth int) calls.TypeID {
	if incomplete, _ := e.Val(dwarf.AttrDeclaration).(bool); incomplete {
		return 0
	}
	if n, ok := e.Val(dwarf.AttrName).(string); ok {
		name = n
	}
	size := uint32(max(number(e, dwarf.AttrByteSize), 0))
	members := d.within(e)
	rust := d.rustVersion(e) > 0
	if rust {
		if id, ok := d.rustRecord(e, name, size, members, depth); ok {
			return id
		}
	}
	if id := d.stringRecord(name, size, members, depth); id != 0 {
		return id
	}
	kind := map[dwarf.Tag]string{dwarf.TagStructType: "struct", dwarf.TagClassType: "class", dwarf.TagUnionType: "union"}[e.Tag]
	r := calls.Type{Kind: calls.Struct, Name: strings.TrimSpace(kind + " " + name), Size: size, Align: 1}
	if e.Tag == dwarf.TagUnionType {
		r.Kind = calls.Union
	}
	var l layout
	for _, m := range members {
		fields, align := d.member(m, depth)
		r.Fields = append(r.Fields, fields...)
		for i := range fields {
			t, asks := d.c.Table.Type(fields[i].Type), align
			if m.Tag == dwarf.TagInheritance { // each of its fields lies as its own type asks
				asks, l.align = min(align, max(t.Align, 1)), max(l.align, align)
			}
			l.add(&fields[i], t, asks)
		}
	}
	r.Fields = d.c.bounded(&r.Name, r.Fields)
	r.Align = l.alignment(size)
	// What an attribute asks for is stated, but packing is not: it is seen in offsets and sizes alone.
	r.Align = max(r.Align, uint32(number(e, attrAlignment)))
	id := d.c.Table.Add(r)
	if rust && d.mayBeC(e, name) {
		d.c.open[id] = true
	}
	return id
}

// layout finds out how a record is aligned, of which debug information says nothing where it is packed: that is seen in its fields' offsets and its size.
type layout struct {
	align    uint32 // that its fields ask for
	end      uint32 // of the fields so far
	packed   bool   // a number lies where it is not aligned
	lower    bool   // a record does: it or what it lies in is packed
	unpacked bool   // nobody but the alignment of what follows leaves room
}

// add adds a field of a type, which asks for an alignment.
func (l *layout) add(f *calls.Field, t *calls.Type, align uint32) {
	if f.Bits > 0 {
		l.align, l.end = max(l.align, align), max(l.end, f.Offset+(uint32(f.Bit)+uint32(f.Bits)+7)/8)
		return
	}
	switch {
	case f.Offset%align == 0:
		l.align = max(l.align, align)
		l.unpacked = l.unpacked || f.Offset > l.end && f.Offset-l.end < align
	case t.Kind == calls.Struct || t.Kind == calls.Union:
		l.lower = true
	default:
		l.packed = true
	}
	l.end = max(l.end, f.Offset+t.Size)
}

// alignment is how a record of a size is aligned.
func (l *layout) alignment(size uint32) uint32 {
	align := max(l.align, 1)
	if l.packed || size%align != 0 || l.lower && !l.unpacked {
		return 1
	}
	return align
}

// member makes the field of a member, or the fields of a class that is inherited, and tells how it is aligned.
func (d *debugInfo) member(m *dwarf.Entry, depth int) (fields []calls.Field, align uint32) {
	if m.Tag != dwarf.TagMember && m.Tag != dwarf.TagInheritance {
		return nil, 1
	}
	off, ok := d.data.Ref(m, dwarf.AttrType)
	at, fixed := location(m)
	if static, _ := m.Val(dwarf.AttrExternal).(bool); static || !fixed || !ok {
		return nil, 1 // also virtual bases, whose place the object says
	}
	id := d.at(off, depth)
	if id == 0 {
		return nil, 1
	}
	t := d.c.Table.Type(id)
	align = max(t.Align, 1)
	// It may also be less than the type's. clang states what an attribute asks for, which is not what comes of it where the type asks for more.
	if a := uint32(number(m, attrAlignment)); a > 0 && (a >= align || at%int64(align) != 0 || !d.byClang(m)) {
		align = a
	}
	if m.Tag == dwarf.TagInheritance {
		return d.inherited(t, id, at), align
	}
	name, _ := m.Val(dwarf.AttrName).(string)
	if artificial, _ := m.Val(dwarf.AttrArtificial).(bool); artificial && strings.HasPrefix(name, "_vptr") {
		return nil, align // no field that anybody has written
	}
	f := calls.Field{Name: name, Type: id, Offset: uint32(at)}
	if bits := number(m, dwarf.AttrBitSize); bits > 0 {
		bit := 8*at + number(m, dwarf.AttrDataBitOffset)
		if from, old := m.Val(dwarf.AttrBitOffset).(int64); old { // before DWARF 4: from the highest bit
			bytes := number(m, dwarf.AttrByteSize)
			if bytes == 0 {
				bytes = int64(t.Size)
			}
			bit = 8*at + 8*bytes - from - bits
		}
		f.Offset, f.Bit, f.Bits = uint32(bit/8), uint8(bit%8), uint8(bits)
	}
	return []calls.Field{f}, align
}

// byClang tells whether an entry is of a unit that clang has compiled.
func (d *debugInfo) byClang(e *dwarf.Entry) bool {
	unit := d.data.UnitOf(e)
	if unit == nil {
		return false
	}
	producer, _ := unit.Val(dwarf.AttrProducer).(string)
	return strings.Contains(producer, "clang version ")
}

// inherited are the fields of a class that another one inherits, in that one. A string stays one.
func (d *debugInfo) inherited(t *calls.Type, id calls.TypeID, at int64) (fields []calls.Field) {
	if t.Kind != calls.Struct {
		return []calls.Field{{Type: id, Offset: uint32(at)}}
	}
	for _, f := range t.Fields {
		f.Offset += uint32(at)
		fields = append(fields, f)
	}
	return fields
}

// location is where a member lies; false: only the object itself says it.
func location(m *dwarf.Entry) (at int64, fixed bool) {
	const plusUconst = 0x23
	switch v := m.Val(dwarf.AttrDataMemberLoc).(type) {
	case int64:
		return v, true
	case []byte:
		if len(v) > 1 && v[0] == plusUconst {
			n, read := binary.Uvarint(v[1:])
			return int64(n), read == len(v)-1
		}
		return 0, false
	}
	return 0, true
}

// stringRecord knows records that are strings: C++'s, Rust's and Go's.
func (d *debugInfo) stringRecord(name string, size uint32, members []*dwarf.Entry, depth int) calls.TypeID {
	ptr, length, byRef := int64(0), int64(8), false
	switch {
	case depth < 0:
		return 0
	case strings.HasPrefix(name, "basic_string<char,") && size == 32, strings.HasPrefix(name, "__cxx11::basic_string<char,") && size == 32:
		byRef = true
	case strings.HasPrefix(name, "basic_string_view<char,") && size == 16:
		ptr, length = 8, 0
	case name == "&str" || name == "string" && size == 16:
		for _, m := range members {
			at, _ := location(m)
			switch n, _ := m.Val(dwarf.AttrName).(string); n {
			case "data_ptr", "str":
				ptr = at
			case "length", "len":
				length = at
			}
		}
	default:
		return 0
	}
	c := d.c
	char := c.named("char", calls.Char, 1)
	p := c.Table.Add(calls.Type{Kind: calls.Pointer, Name: "char *", Size: 8, Align: 8, Elem: char, Extent: calls.ExtentVariable, Variable: "length"})
	n := c.named("size_t", calls.Unsigned, 8)
	id := c.Table.Add(calls.Type{Kind: calls.String, Name: name, Size: size, Align: 8,
		Fields: []calls.Field{{Name: "text", Type: p, Offset: uint32(ptr)}, {Name: "length", Type: n, Offset: uint32(length)}}})
	c.byRef[id] = byRef
	return id
}
