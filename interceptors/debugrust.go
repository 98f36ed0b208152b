package interceptors

import (
	"debug/dwarf"
	"encoding/binary"
	"slices"
	"sort"
	"strconv"
	"strings"

	"alleria/abp/calls"
)

// Debug information as rustc writes it: enumerations with values have a variant part, references to slices and strings are records of an address and a length, and
// vectors and strings of the library are told by their names.

const langRust = 0x1c

// rustVersion is the version of rustc, 1.N, that compiled the unit of an entry; 0: it is none of Rust.
func (d *debugInfo) rustVersion(e *dwarf.Entry) int {
	unit := d.data.UnitOf(e)
	if unit == nil || number(unit, dwarf.AttrLanguage) != langRust {
		return 0
	}
	producer, _ := unit.Val(dwarf.AttrProducer).(string)
	_, version, _ := strings.Cut(producer, "rustc version 1.")
	version, _, _ = strings.Cut(version, ".")
	if n, err := strconv.Atoi(version); err == nil && n > 0 {
		return n
	}
	return NewestRust
}

// rustFunction finds out what of a Rust function matters for how its arguments travel.
func (d *debugInfo) rustFunction(fn *dwarf.Entry, p *Prototype) {
	linked := ""
	if e := d.chain(fn, dwarf.AttrLinkageName); e != nil {
		linked, _ = e.Val(dwarf.AttrLinkageName).(string)
	}
	if !IsRust(linked) {
		return
	}
	p.Rust = d.rustVersion(fn)
	if p.Rust > 0 && strings.HasPrefix(d.name(fn), "{") && !d.hasEnvironment(fn) {
		p.Unplaced = true // what a closure has caught is an argument that is stated only where it has caught nothing
	}
}

// mutable tells whether what a parameter of Rust leads to may change.
func (d *debugInfo) mutable(e *dwarf.Entry) bool {
	off, ok := d.typeOf(e)
	if !ok {
		return false
	}
	t, _, _ := d.bare(off)
	if t == nil {
		return false
	}
	name, _ := t.Val(dwarf.AttrName).(string)
	if strings.HasPrefix(name, "&mut [") {
		return true
	}
	return t.Tag == dwarf.TagPointerType && (strings.HasPrefix(name, "&mut ") || strings.HasPrefix(name, "*mut "))
}

// hasEnvironment tells whether the first parameter of a closure is what it has caught.
func (d *debugInfo) hasEnvironment(fn *dwarf.Entry) bool {
	params, _ := d.params(fn)
	if len(params) == 0 {
		return false
	}
	off, ok := d.typeOf(params[0])
	if !ok {
		return false
	}
	e, _, _ := d.bare(off)
	if e == nil {
		return false
	}
	name, _ := e.Val(dwarf.AttrName).(string)
	return strings.Contains(name, "_env#")
}

// rustParams puts right what parameters a Rust function has: its declaration has those that its definition leaves out, and the last of a call of a closure may be
// a tuple of arguments that travel by themselves, of which debug information says nothing.
func (d *debugInfo) rustParams(fn *dwarf.Entry, params []*dwarf.Entry, p *Prototype) (placed int) {
	if off, ok := fn.Val(dwarf.AttrSpecification).(dwarf.Offset); ok {
		if e := d.data.Entry(off); e != nil {
			if all, _ := d.children(e); len(all) != len(params) {
				p.Unplaced = true
			}
		}
	}
	name, _, _ := strings.Cut(d.name(fn), "<")
	if n := len(params); n > 0 && slices.Contains([]string{"call", "call_mut", "call_once"}, name) {
		if off, ok := d.typeOf(params[n-1]); ok {
			if e, _, _ := d.bare(off); e != nil {
				if tuple, _ := e.Val(dwarf.AttrName).(string); strings.HasPrefix(tuple, "(") && tuple != "()" {
					return n - 1
				}
			}
		}
	}
	return len(params)
}

// rustBase makes a plain type of Rust that is another one than C's; 0: it is none. A bool that is returned in a register has one bit.
func (d *debugInfo) rustBase(e *dwarf.Entry, name string, size uint32) calls.TypeID {
	key := [2]any{name, "rust"}
	if id := d.c.config[key]; id != 0 || d.rustVersion(e) == 0 {
		return id
	}
	t := calls.Type{Kind: calls.Bool, Name: name, Size: size, Align: 1, Count: calls.BoolBit}
	if size == 0 {
		t.Kind, t.Count = calls.Struct, 0
	}
	d.c.config[key] = d.c.Table.Add(t)
	return d.c.config[key]
}

// rustRecord makes what a record of Rust is that is not just its members; false: it is no such.
func (d *debugInfo) rustRecord(e *dwarf.Entry, name string, size uint32, members []*dwarf.Entry, depth int) (calls.TypeID, bool) {
	if i := slices.IndexFunc(members, func(m *dwarf.Entry) bool { return m.Tag == dwarf.TagVariantPart }); i >= 0 {
		return d.variants(e, name, size, members[i], depth), true
	}
	bare := strings.TrimPrefix(name, "alloc::boxed::")
	fat := slices.ContainsFunc(rustPointers(), func(p string) bool { return strings.HasPrefix(bare, p+"[") })
	text := slices.ContainsFunc(rustPointers(), func(p string) bool {
		rest, found := strings.CutPrefix(bare, p+"str")
		return found && (rest == "" || rest[0] == ',' || rest[0] == '>')
	})
	var id calls.TypeID
	switch ptr, length := find(members, "data_ptr"), find(members, "length"); {
	case (fat || text) && size == 16 && ptr != nil && length != nil:
		to, ok := d.pointee(ptr)
		pAt, _ := location(ptr)
		nAt, _ := location(length)
		if ok && text {
			id = d.rustText(name, size, pAt, nAt, depth)
		} else if ok {
			id = d.slice(name, size, to, []calls.Field{{Name: "data_ptr", Offset: uint32(pAt)}, {Name: "length", Offset: uint32(nAt)}}, depth)
		}
	case strings.HasPrefix(name, "Vec<") && size == 24, name == "String" && size == 24:
		id = d.vector(e, name, size, members, depth)
	}
	return id, id != 0
}

// rustPointers are how references, pointers and boxes of something begin.
func rustPointers() []string { return []string{"&", "&mut ", "*const ", "*mut ", "Box<"} }

// find is the member of a name; nil: there is none.
func find(members []*dwarf.Entry, name string) *dwarf.Entry {
	for _, m := range members {
		if n, _ := m.Val(dwarf.AttrName).(string); n == name && m.Tag == dwarf.TagMember {
			return m
		}
	}
	return nil
}

// pointee is what a member points to, which is a pointer.
func (d *debugInfo) pointee(m *dwarf.Entry) (dwarf.Offset, bool) {
	off, ok := d.data.Ref(m, dwarf.AttrType)
	if !ok {
		return 0, false
	}
	e, _, _ := d.bare(off)
	if e == nil || e.Tag != dwarf.TagPointerType {
		return 0, false
	}
	return d.data.Ref(e, dwarf.AttrType)
}

// rustText is a string: its characters, of which there are as many as it says.
func (d *debugInfo) rustText(name string, size uint32, ptr, length int64, depth int) calls.TypeID {
	c := d.c
	at := c.address("*const u8")
	if depth >= 0 {
		char := c.named("char", calls.Char, 1)
		at = c.Table.Add(calls.Type{Kind: calls.Pointer, Name: "char *", Size: 8, Align: 8, Elem: char, Extent: calls.ExtentVariable, Variable: "length"})
	}
	return c.Table.Add(calls.Type{Kind: calls.String, Name: name, Size: size, Align: 8,
		Fields: []calls.Field{{Name: "text", Type: at, Offset: uint32(ptr)}, {Name: "length", Type: c.named("usize", calls.Unsigned, 8), Offset: uint32(length)}}})
}

// slice is a record of a pointer to elements and of their number, the first and the last of the fields.
func (d *debugInfo) slice(name string, size uint32, to dwarf.Offset, fields []calls.Field, depth int) calls.TypeID {
	c := d.c
	at, last := c.address("*const T"), len(fields)-1
	if depth > 0 {
		if elem := d.at(to, depth-1); elem != 0 && c.Table.Type(elem).Size > 0 {
			at = c.Table.Add(calls.Type{Kind: calls.Pointer, Name: c.Table.Type(elem).Name + " *", Size: 8, Align: 8, Elem: elem, Extent: calls.ExtentVariable, Variable: fields[last].Name})
		}
	}
	for i := range fields {
		fields[i].Type = c.named("usize", calls.Unsigned, 8)
	}
	fields[0].Type = at
	return c.Table.Add(calls.Type{Kind: calls.Struct, Name: name, Size: size, Align: 8, Fields: fields})
}

// vector is the library's vector or string: the first pointer in it leads to what it has.
func (d *debugInfo) vector(e *dwarf.Entry, name string, size uint32, members []*dwarf.Entry, depth int) calls.TypeID {
	if d.crate(e.Offset) != "alloc" {
		return 0
	}
	length, base := find(members, "len"), int64(0)
	if vec := find(members, "vec"); name == "String" && vec != nil {
		off, ok := d.data.Ref(vec, dwarf.AttrType)
		base, _ = location(vec)
		in := d.data.Entry(off)
		if !ok || in == nil {
			return 0
		}
		members = d.within(in)
		length = find(members, "len")
	}
	if length == nil {
		return 0
	}
	n, _ := location(length)
	ptr, ok := d.firstPointer(members, 0)
	switch {
	case !ok:
	case name == "String":
		return d.rustText(name, size, base+ptr, base+n, depth)
	default:
		for _, m := range members {
			if what, _ := m.Val(dwarf.AttrName).(string); m.Tag == dwarf.TagTemplateTypeParameter && what == "T" {
				if to, ok := d.data.Ref(m, dwarf.AttrType); ok {
					return d.slice(name, size, to, []calls.Field{{Name: "ptr", Offset: uint32(ptr)}, {Name: "len", Offset: uint32(n)}}, depth)
				}
			}
		}
	}
	return 0
}

// firstPointer is the offset of the first pointer within members and those of theirs.
func (d *debugInfo) firstPointer(members []*dwarf.Entry, depth int) (int64, bool) {
	for _, m := range members {
		off, ok := d.data.Ref(m, dwarf.AttrType)
		if m.Tag != dwarf.TagMember || !ok || depth > 8 {
			continue
		}
		at, _ := location(m)
		e := d.data.Entry(off)
		if e == nil {
			continue
		}
		if e.Tag == dwarf.TagPointerType {
			return at, true
		}
		if in, ok := d.firstPointer(d.within(e), depth+1); ok {
			return at + in, true
		}
	}
	return 0, false
}

// variants makes an enumeration with values, of its variant part.
func (d *debugInfo) variants(e *dwarf.Entry, name string, size uint32, part *dwarf.Entry, depth int) calls.TypeID {
	r := calls.Type{Kind: calls.Struct, Name: "enum " + name, Size: size, Align: max(uint32(number(e, attrAlignment)), 1)}
	if off, ok := part.Val(dwarf.AttrDiscr).(dwarf.Offset); ok {
		if m := d.data.Entry(off); m != nil {
			at, _ := location(m)
			to, _ := d.data.Ref(m, dwarf.AttrType)
			r.Elem, r.Count = d.at(to, 0), uint64(at)
		}
	}
	unnamed, full := 0, 0
	for _, v := range d.within(part) {
		if v.Tag != dwarf.TagVariant {
			continue
		}
		for _, m := range d.within(v) {
			fields, _ := d.member(m, depth)
			if len(fields) != 1 {
				continue
			}
			in := d.c.Table.Type(fields[0].Type).Fields
			holds := slices.ContainsFunc(in, func(f calls.Field) bool { return d.c.Table.Type(f.Type).Size > 0 })
			if len(in) > 0 {
				r.Fields = append(r.Fields, fields[0])
			}
			if holds {
				full++
			}
			if value := v.Val(dwarf.AttrDiscrValue); value != nil {
				r.Names = append(r.Names, calls.Const{Name: fields[0].Name, Value: discriminant(value)})
			} else if r.Elem == 0 && (holds || len(r.Names) == 0) { // the one that there is
				r.Names = []calls.Const{{Name: fields[0].Name}}
			} else if r.Elem != 0 {
				unnamed++
			}
		}
	}
	if len(r.Names) == 0 || unnamed > 1 || r.Elem != 0 && unnamed > 0 && r.Niche() < 0 {
		return 0 // damaged, or of a kind that is not known
	}
	if full > 1 {
		r.Kind = calls.Union
	}
	r.Fields = d.c.bounded(&r.Name, r.Fields)
	return d.c.Table.Add(r)
}

// discriminant is the value of a variant's attribute.
func discriminant(v any) int64 {
	switch v := v.(type) {
	case int64:
		return v
	case uint64:
		return int64(v)
	case []byte:
		var b [8]byte
		copy(b[:], v)
		return int64(binary.LittleEndian.Uint64(b[:]))
	}
	return 0
}

// mayBeC tells whether a record of Rust may be repr(C), of which debug information says nothing: those of the library that hold one value, tuples and closures are not.
func (d *debugInfo) mayBeC(e *dwarf.Entry, name string) bool {
	if strings.HasPrefix(name, "(") || strings.HasPrefix(name, "{") {
		return false
	}
	crate := d.crate(e.Offset)
	return crate != "core" && crate != "alloc" && crate != "std"
}

// crate is the outermost namespace that an entry is in; empty: it is in none.
func (d *debugInfo) crate(off dwarf.Offset) string {
	unit := d.data.UnitOf(&dwarf.Entry{Offset: off})
	if unit == nil {
		return ""
	}
	spaces, known := d.spaces[unit.Offset]
	if !known {
		for _, e := range d.within(unit) {
			s := namespace{from: e.Offset}
			if e.Tag == dwarf.TagNamespace {
				s.name, _ = e.Val(dwarf.AttrName).(string)
			}
			spaces = append(spaces, s)
		}
		d.spaces[unit.Offset] = spaces
	}
	if i := sort.Search(len(spaces), func(i int) bool { return spaces[i].from > off }); i > 0 {
		return spaces[i-1].name
	}
	return ""
}

// namespace is an entry of a unit, with the name that it has if it is a namespace.
type namespace struct {
	from dwarf.Offset
	name string
}
