package interceptors

import (
	"debug/dwarf"
	"fmt"
	"slices"
	"strings"

	"alleria/abp/calls"
)

// What debug information is taken for: strings end with a null; other pointers lead to one object. Strings are bounded more
// tightly than those that somebody asked for by name, since many are buffers that nobody has filled yet.
const autoString = 4096

// debugInfo makes types of one image's debug information. It belongs to a Compiler.
type debugInfo struct {
	c    *Compiler
	data *dwarf.Data
	made map[debugKey]calls.TypeID
	// vectors holds the array types that are vectors, which debug/dwarf does not tell; nil: not looked for yet.
	vectors map[dwarf.Type]bool
}

// debugKey is a type as deep as its pointers are followed.
type debugKey struct {
	off   dwarf.Offset
	typ   dwarf.Type
	depth int
}

// Attributes and values that debug/dwarf does not name.
const (
	attrGNUVector   = 0x2107
	passByReference = 4
)

// Described makes the prototype of a function from its debug information: all parameters are captured at entry, what pointers
// lead to that is not constant at return again, and the result. Pointers are followed depth times.
func (c *Compiler) Described(data *dwarf.Data, fn *dwarf.Entry, depth int) (p *Prototype, err error) {
	defer func() { // debug/dwarf takes much on trust
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("debug information: %v: %w", r, ErrUnfit)
		}
	}()
	d := c.debug[data]
	if d == nil {
		d = &debugInfo{c: c, data: data, made: make(map[debugKey]calls.TypeID)}
		c.debug[data] = d
	}
	p = &Prototype{CaptureResult: true}
	params, variadic := d.params(fn)
	p.Variadic, p.Go = variadic, d.isGo(fn)
	name := d.name(fn)
	var names []string
	for _, e := range params {
		names = append(names, d.name(e))
	}
	for i, e := range params {
		t, out := calls.TypeID(0), false
		switch {
		case name == "main" && i == 1 && len(params) >= 2 && names[0] != "":
			t = d.arguments(names[0])
		default:
			t, out = d.param(e, depth)
		}
		p.Args = append(p.Args, t)
		p.Captures = append(p.Captures, Wanted{Name: names[i], Index: i, Type: t, In: true, Out: out && names[i] != "this"})
	}
	if off, ok := d.typeOf(fn); ok {
		p.Result = d.at(off, depth)
	}
	if p.Go {
		d.goResults(p, fn, depth)
	}
	if p.Result == 0 {
		p.CaptureResult = false
	}
	return p, nil
}

// isGo tells whether a function was compiled by Go's compiler.
func (d *debugInfo) isGo(fn *dwarf.Entry) bool {
	const langGo = 0x16
	low, ok := fn.Val(dwarf.AttrLowpc).(uint64)
	if !ok {
		return false
	}
	unit, err := d.data.Reader().SeekPC(low)
	if err != nil || unit == nil {
		return false
	}
	lang, _ := unit.Val(dwarf.AttrLanguage).(int64)
	return lang == langGo
}

// goResults finds the results of a Go function, which are parameters that are written: of several a record is made.
func (d *debugInfo) goResults(p *Prototype, fn *dwarf.Entry, depth int) {
	r := calls.Type{Kind: calls.Struct, Name: "results", Align: 1}
	for _, e := range d.outputs(fn) {
		t, _ := d.param(e, depth)
		if t == 0 {
			return
		}
		ty := d.c.Table.Type(t)
		align := max(ty.Align, 1)
		name := d.name(e)
		if strings.HasPrefix(name, "~") {
			name = ""
		}
		off := (r.Size + align - 1) &^ (align - 1)
		r.Fields = append(r.Fields, calls.Field{Name: name, Type: t, Offset: off})
		r.Size, r.Align = off+ty.Size, max(r.Align, align)
	}
	switch len(r.Fields) {
	case 0:
	case 1:
		p.Result = r.Fields[0].Type
	default:
		p.Result, p.Results = d.c.Table.Add(r), true
	}
}

// outputs lists the parameters of a Go function that are its results.
func (d *debugInfo) outputs(fn *dwarf.Entry) (out []*dwarf.Entry) {
	r := d.data.Reader()
	r.Seek(fn.Offset)
	if _, err := r.Next(); err != nil || !fn.Children {
		return nil
	}
	for {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == 0 {
			return out
		}
		if output, _ := e.Val(dwarf.AttrVarParam).(bool); output && e.Tag == dwarf.TagFormalParameter {
			out = append(out, e)
		}
		if e.Children {
			r.SkipChildren()
		}
	}
}

// arguments is main's second parameter, whose length is its first.
func (d *debugInfo) arguments(count string) calls.TypeID {
	str := d.c.text(autoString)
	id := d.c.Table.Add(calls.Type{Kind: calls.Pointer, Name: "char **", Size: 8, Align: 8, Elem: str, Extent: calls.ExtentVariable, Variable: count})
	return id
}

// text is a string that a null ends.
func (c *Compiler) text(most uint64) calls.TypeID {
	key := [2]any{"string", most}
	if id := c.config[key]; id != 0 {
		return id
	}
	char := c.named("char", calls.Char, 1)
	id := c.Table.Add(calls.Type{Kind: calls.Pointer, Name: "char *", Size: 8, Align: 8, Elem: char, Extent: calls.ExtentSentinel})
	c.facts[id] = pointerFacts{max: most}
	c.config[key] = id
	return id
}

// named is a plain type by its name.
func (c *Compiler) named(name string, kind calls.Kind, size uint32) calls.TypeID {
	key := [2]any{name, kind}
	if id := c.config[key]; id != 0 {
		return id
	}
	id := c.Table.Add(calls.Type{Kind: kind, Name: name, Size: size, Align: min(size, 16)})
	c.config[key] = id
	return id
}

// address is a pointer that is not followed.
func (c *Compiler) address(name string) calls.TypeID { return c.named(name, calls.Address, 8) }

// params lists the entries of a function's parameters.
func (d *debugInfo) params(fn *dwarf.Entry) (params []*dwarf.Entry, variadic bool) {
	for range 4 {
		params, variadic = d.children(fn)
		if len(params) > 0 || variadic {
			return params, variadic
		}
		// A copy, or a method's definition: what it is of has the parameters.
		off, ok := fn.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			off, ok = fn.Val(dwarf.AttrSpecification).(dwarf.Offset)
		}
		if !ok {
			return nil, false
		}
		if fn = d.entry(off); fn == nil {
			return nil, false
		}
	}
	return nil, false
}

func (d *debugInfo) children(fn *dwarf.Entry) (params []*dwarf.Entry, variadic bool) {
	if !fn.Children {
		return nil, false
	}
	r := d.data.Reader()
	r.Seek(fn.Offset)
	if _, err := r.Next(); err != nil {
		return nil, false
	}
	for {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == 0 {
			return params, variadic
		}
		switch e.Tag {
		case dwarf.TagFormalParameter:
			if output, _ := e.Val(dwarf.AttrVarParam).(bool); !output { // a result, in Go
				params = append(params, e)
			}
		case dwarf.TagUnspecifiedParameters:
			variadic = true
		}
		if e.Children {
			r.SkipChildren()
		}
	}
}

// entry reads the entry at an offset.
func (d *debugInfo) entry(off dwarf.Offset) *dwarf.Entry {
	r := d.data.Reader()
	r.Seek(off)
	e, err := r.Next()
	if err != nil {
		return nil
	}
	return e
}

// chain looks an attribute up in an entry and in what it is a copy or the definition of.
func (d *debugInfo) chain(e *dwarf.Entry, attr dwarf.Attr) any {
	for range 4 {
		if e == nil {
			return nil
		}
		if v := e.Val(attr); v != nil {
			return v
		}
		off, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			off, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset)
		}
		if !ok {
			return nil
		}
		e = d.entry(off)
	}
	return nil
}

func (d *debugInfo) name(e *dwarf.Entry) string {
	s, _ := d.chain(e, dwarf.AttrName).(string)
	return s
}

func (d *debugInfo) typeOf(e *dwarf.Entry) (dwarf.Offset, bool) {
	off, ok := d.chain(e, dwarf.AttrType).(dwarf.Offset)
	return off, ok
}

// param makes a parameter's type; out tells that what it points to may change.
func (d *debugInfo) param(e *dwarf.Entry, depth int) (t calls.TypeID, out bool) {
	off, ok := d.typeOf(e)
	if !ok {
		return 0, false
	}
	t = d.at(off, depth)
	return t, d.c.Table.Type(t).Kind == calls.Pointer && !d.constant(off)
}

// bare follows names and qualifiers of a type down to its entry; constant tells that it is const.
func (d *debugInfo) bare(off dwarf.Offset) (e *dwarf.Entry, constant bool, name string) {
	for range 32 {
		e = d.entry(off)
		if e == nil {
			return nil, constant, name
		}
		switch e.Tag {
		case dwarf.TagConstType:
			constant = true
		case dwarf.TagTypedef:
			if s, ok := e.Val(dwarf.AttrName).(string); ok && name == "" {
				name = s
			}
		case dwarf.TagVolatileType, dwarf.TagRestrictType, dwarf.TagAtomicType:
		default:
			return e, constant, name
		}
		next, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
		if !ok {
			return nil, constant, name // void
		}
		off = next
	}
	return nil, constant, name
}

// constant tells whether what a pointer leads to is const.
func (d *debugInfo) constant(off dwarf.Offset) bool {
	e, _, _ := d.bare(off)
	if e == nil {
		return true
	}
	to, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
	if !ok {
		return true
	}
	_, constant, _ := d.bare(to)
	return constant
}

// at makes the type at an offset. Pointers and what needs attributes that debug/dwarf leaves out are taken from the entry, the
// rest from its types.
func (d *debugInfo) at(off dwarf.Offset, depth int) calls.TypeID {
	e, _, name := d.bare(off)
	if e == nil {
		return 0
	}
	key := debugKey{off: e.Offset, depth: depth}
	if id, ok := d.made[key]; ok {
		return id
	}
	var id calls.TypeID
	switch e.Tag {
	case dwarf.TagPointerType, dwarf.TagReferenceType, dwarf.TagRvalueReferenceType:
		to, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
		if !ok {
			id = d.c.address("void *")
			break
		}
		id = d.pointer(to, depth)
	default:
		t, err := d.data.Type(e.Offset)
		if err != nil {
			break
		}
		id = d.of(t, depth)
		if cc, _ := e.Val(dwarf.AttrCalling).(int64); cc == passByReference {
			d.c.byRef[id] = true
		}
	}
	if name != "" && id != 0 && d.c.Table.Type(id).Name == "" {
		d.c.Table.Types[id-1].Name = name
	}
	d.made[key] = id
	return id
}

// pointer makes a pointer to the type at an offset.
func (d *debugInfo) pointer(to dwarf.Offset, depth int) calls.TypeID {
	e, _, name := d.bare(to)
	if e == nil || depth <= 0 || e.Tag == dwarf.TagSubroutineType {
		return d.c.address("void *")
	}
	if e.Tag == dwarf.TagBaseType {
		if n, _ := e.Val(dwarf.AttrName).(string); n == "char" || n == "char8_t" {
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

// of makes a type of debug/dwarf.
func (d *debugInfo) of(t dwarf.Type, depth int) calls.TypeID {
	key := debugKey{typ: t, depth: depth}
	if id, ok := d.made[key]; ok {
		return id
	}
	id := d.make(t, depth)
	d.made[key] = id
	return id
}

func (d *debugInfo) make(t dwarf.Type, depth int) calls.TypeID {
	c := d.c
	size := uint32(max(t.Size(), 0))
	switch t := t.(type) {
	case *dwarf.TypedefType:
		return d.of(t.Type, depth)
	case *dwarf.QualType:
		return d.of(t.Type, depth)
	case *dwarf.CharType:
		if t.Name == "char" {
			return c.named("char", calls.Char, 1)
		}
		return c.named(t.Name, calls.Signed, size)
	case *dwarf.IntType:
		return c.named(t.Name, calls.Signed, size)
	case *dwarf.UintType:
		switch t.Name {
		case "char16_t":
			return c.named(t.Name, calls.Char16, size)
		case "char32_t", "char": // Rust's char has four bytes
			return c.named(t.Name, calls.Char32, size)
		}
		return c.named(t.Name, calls.Unsigned, size)
	case *dwarf.UcharType:
		return c.named(t.Name, calls.Unsigned, size)
	case *dwarf.FloatType:
		return c.named(t.Name, calls.Float, size)
	case *dwarf.BoolType:
		return c.named(t.Name, calls.Bool, size)
	case *dwarf.ComplexType:
		return c.complex(t.Name, size)
	case *dwarf.AddrType:
		return c.address(t.Name)
	case *dwarf.PtrType:
		return d.fieldPointer(t, depth)
	case *dwarf.EnumType:
		return d.enum(t, size)
	case *dwarf.ArrayType:
		return d.array(t, depth)
	case *dwarf.StructType:
		return d.record(t, depth)
	}
	return 0
}

// complex is a complex number: two of half its size.
func (c *Compiler) complex(name string, size uint32) calls.TypeID {
	half := c.named(strings.TrimPrefix(name, "complex "), calls.Float, size/2)
	key := [2]any{name, "complex"}
	if id := c.config[key]; id != 0 {
		return id
	}
	id := c.Table.Add(calls.Type{Kind: calls.Struct, Name: name, Size: size, Align: size / 2,
		Fields: []calls.Field{{Name: "re", Type: half}, {Name: "im", Type: half, Offset: size / 2}}})
	c.config[key] = id
	return id
}

// fieldPointer makes a pointer of a record's field.
func (d *debugInfo) fieldPointer(t *dwarf.PtrType, depth int) calls.TypeID {
	to := t.Type
	for {
		switch q := to.(type) {
		case *dwarf.QualType:
			to = q.Type
			continue
		case *dwarf.TypedefType:
			to = q.Type
			continue
		case *dwarf.FuncType, *dwarf.VoidType, nil:
			return d.c.address("void *")
		case *dwarf.CharType:
			if q.Name == "char" && depth > 0 {
				return d.c.text(autoString)
			}
		}
		break
	}
	if depth <= 0 {
		return d.c.address("void *")
	}
	return d.c.one(d.of(t.Type, depth-1), "")
}

func (d *debugInfo) enum(t *dwarf.EnumType, size uint32) calls.TypeID {
	kind := calls.Unsigned
	e := calls.Type{Kind: calls.Enum, Name: "enum " + t.EnumName, Size: size, Align: size}
	for _, v := range t.Val {
		if v.Val < 0 {
			kind = calls.Signed
		}
		e.Names = append(e.Names, calls.Const{Name: v.Name, Value: v.Val})
	}
	e.Elem = d.c.named(fmt.Sprintf("%v%d", kind, size), kind, size)
	return d.c.Table.Add(e)
}

func (d *debugInfo) array(t *dwarf.ArrayType, depth int) calls.TypeID {
	elem := d.of(t.Type, depth)
	e := d.c.Table.Type(elem)
	if elem == 0 {
		return 0
	}
	n := uint64(max(t.Count, 0))
	a := calls.Type{Kind: calls.Array, Name: e.Name + "[]", Size: uint32(n) * e.Size, Align: max(e.Align, 1), Elem: elem, Count: n}
	if a.Size&(a.Size-1) == 0 && a.Size <= 64 && len(e.Fields) == 0 && d.isVector(t) {
		a.Kind, a.Align = calls.Vector, a.Size
	}
	return d.c.Table.Add(a)
}

// isVector tells whether an array is a vector. All of the image's are looked for at once, outside of functions: debug/dwarf
// gives the same type for the same entry, but not the entry of a type.
func (d *debugInfo) isVector(t *dwarf.ArrayType) bool {
	if d.vectors == nil {
		d.vectors = make(map[dwarf.Type]bool)
		r := d.data.Reader()
		for e, err := r.Next(); err == nil && e != nil; e, err = r.Next() {
			if vector, _ := e.Val(attrGNUVector).(bool); vector {
				if v, err := d.data.Type(e.Offset); err == nil {
					d.vectors[v] = true
				}
			}
			if e.Children && e.Tag != dwarf.TagCompileUnit && e.Tag != dwarf.TagNamespace {
				r.SkipChildren()
			}
		}
	}
	return d.vectors[t]
}

// record makes a struct, class or union.
func (d *debugInfo) record(t *dwarf.StructType, depth int) calls.TypeID {
	size := uint32(max(t.Size(), 0))
	if t.Incomplete {
		return 0
	}
	if id := d.stringRecord(t, depth); id != 0 {
		return id
	}
	r := calls.Type{Kind: calls.Struct, Name: t.Kind + " " + t.StructName, Size: size, Align: 1}
	if t.Kind == "union" {
		r.Kind = calls.Union
	}
	for _, f := range t.Field {
		ft := d.of(f.Type, depth)
		if ft == 0 {
			if _, unsupported := f.Type.(*dwarf.UnsupportedType); unsupported { // a reference
				ft = d.c.address("void *")
			} else {
				continue
			}
		}
		cf := calls.Field{Name: f.Name, Type: ft, Offset: uint32(f.ByteOffset)}
		if f.BitSize > 0 {
			bit := 8*f.ByteOffset + f.DataBitOffset
			if f.DataBitOffset == 0 && f.ByteSize > 0 { // before DWARF 4: from the highest bit
				bit = 8*f.ByteOffset + 8*f.ByteSize - f.BitOffset - f.BitSize
			}
			cf.Offset, cf.Bit, cf.Bits = uint32(bit/8), uint8(bit%8), uint8(f.BitSize)
		}
		r.Align = max(r.Align, d.c.Table.Type(ft).Align)
		r.Fields = append(r.Fields, cf)
	}
	misplaced := func(f calls.Field) bool { return f.Bits == 0 && f.Offset%max(d.c.Table.Type(f.Type).Align, 1) != 0 }
	if size%r.Align != 0 || slices.ContainsFunc(r.Fields, misplaced) { // packed
		r.Align = 1
	}
	return d.c.Table.Add(r)
}

// stringRecord knows records that are strings: C++'s, Rust's and Go's.
func (d *debugInfo) stringRecord(t *dwarf.StructType, depth int) calls.TypeID {
	name := t.StructName
	ptr, length, byRef := int64(0), int64(8), false
	switch {
	case depth < 0:
		return 0
	case strings.HasPrefix(name, "basic_string<char,") && t.ByteSize == 32, strings.HasPrefix(name, "__cxx11::basic_string<char,") && t.ByteSize == 32:
		byRef = true
	case strings.HasPrefix(name, "basic_string_view<char,") && t.ByteSize == 16:
		ptr, length = 8, 0
	case name == "&str" || name == "string" && t.ByteSize == 16:
		for _, f := range t.Field {
			switch f.Name {
			case "data_ptr", "str":
				ptr = f.ByteOffset
			case "length", "len":
				length = f.ByteOffset
			}
		}
	default:
		return 0
	}
	c := d.c
	char := c.named("char", calls.Char, 1)
	p := c.Table.Add(calls.Type{Kind: calls.Pointer, Name: "char *", Size: 8, Align: 8, Elem: char, Extent: calls.ExtentVariable, Variable: "length"})
	n := c.named("size_t", calls.Unsigned, 8)
	id := c.Table.Add(calls.Type{Kind: calls.String, Name: name, Size: uint32(t.ByteSize), Align: 8,
		Fields: []calls.Field{{Name: "text", Type: p, Offset: uint32(ptr)}, {Name: "length", Type: n, Offset: uint32(length)}}})
	c.byRef[id] = byRef
	return id
}
