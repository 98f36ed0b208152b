//go:build !recorder

package interceptors

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"modernc.org/cc/v4"

	"alleria/abp/calls"
)

// Declarations are files that somebody gave, which declare functions. They belong to one goroutine, and any number of
// Compilers may use them.
type Declarations struct {
	Prototypes
	headers []*header
}

// header is a C file that declares functions.
type header struct {
	functions map[string]*cc.Declarator
	packs     packs
}

// Header reads a C file: what functions it declares, also by including others, is known from then on, before what debug
// information says. The host's C compiler is asked for its macros and include directories.
// It runs that compiler, and must not be called while somebody waits for all children, as the engine does.
func (c *Declarations) Header(path string) error {
	if _, err := os.Stat(path); err != nil {
		return err
	}
	cfg, err := cc.NewConfig("linux", "amd64")
	if err != nil {
		return fmt.Errorf("%s: settings of the C compiler: %w", path, err)
	}
	cfg.IncludePaths = append([]string{filepath.Dir(path)}, cfg.IncludePaths...)
	h := &header{functions: make(map[string]*cc.Declarator)}
	cfg.PragmaHandler = h.packs.pragma
	ast, err := cc.Translate(cfg, []cc.Source{{Name: "<predefined>", Value: cfg.Predefined}, {Name: "<builtin>", Value: cc.Builtin}, {Name: path}})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for name, nodes := range ast.Scope.Nodes {
		for _, n := range nodes {
			if d, ok := n.(*cc.Declarator); ok && d.Type() != nil && d.Type().Kind() == cc.Function {
				h.functions[name] = d
			}
		}
	}
	c.headers = append(c.headers, h)
	return nil
}

// declared is what headers say of a function; nil: nothing.
func (c *Compiler) declared(names []string, depth int) *Prototype {
	if c.Added == nil {
		return nil
	}
	for _, h := range c.Added.headers {
		for _, name := range names {
			d := h.functions[name]
			if d == nil {
				continue
			}
			if t, ok := d.Type().(*cc.FunctionType); ok {
				r := ofHeader{c, h}
				return r.fromC(t, depth)
			}
		}
	}
	return nil
}

// ofHeader makes types of one header.
type ofHeader struct {
	*Compiler
	h *header
}

// fromC makes a prototype of a C function's type. Where a parameter's type cannot be told, nor can it where those behind it travel.
func (c ofHeader) fromC(t *cc.FunctionType, depth int) *Prototype {
	p := &Prototype{Variadic: t.IsVariadic()}
	unsure := false
	for _, q := range t.Parameters() {
		if q.Type().Kind() == cc.Void {
			continue
		}
		id := c.typeOfC(q.Type().Decay(), depth)
		out := false
		if ptr, ok := q.Type().Decay().(*cc.PointerType); ok {
			out = c.Table.Type(id).Kind == calls.Pointer && !ptr.Elem().Attributes().IsConst()
		}
		unsure = unsure || id == 0 || c.partial[id]
		p.Args, p.Left, p.Unsure = append(p.Args, id), append(p.Left, false), append(p.Unsure, unsure)
		if id == 0 {
			id = c.named("unsigned long", calls.Unsigned, 8) // nothing of it is shown
		}
		p.Captures = append(p.Captures, Wanted{Name: q.Name(), Index: len(p.Args) - 1, Type: id, In: true, Out: out && !unsure})
	}
	if !unsure {
		p.Left, p.Unsure = nil, nil
	}
	p.Result = c.typeOfC(t.Result(), depth)
	if t.Result().Kind() != cc.Void && p.Result == 0 || c.partial[p.Result] {
		p.Result, p.Unplaced = 0, true // it may be in memory, whose address comes first
	}
	p.CaptureResult = p.Result != 0
	return p
}

// cKey is a type of C as deep as its pointers are followed.
type cKey struct {
	t     cc.Type
	depth int
}

// typeOfC makes a type of C.
func (c ofHeader) typeOfC(t cc.Type, depth int) calls.TypeID {
	key := cKey{t, depth}
	if id, ok := c.config[key]; ok {
		return id
	}
	id := c.makeOfC(t, depth)
	c.config[key] = id
	return id
}

// scalarsOfC are the kinds that are numbers.
func scalarsOfC() map[cc.Kind]calls.Kind {
	return map[cc.Kind]calls.Kind{
		cc.Bool: calls.Bool, cc.Char: calls.Char, cc.SChar: calls.Signed, cc.UChar: calls.Unsigned, cc.Short: calls.Signed, cc.UShort: calls.Unsigned,
		cc.Int: calls.Signed, cc.UInt: calls.Unsigned, cc.Long: calls.Signed, cc.ULong: calls.Unsigned, cc.LongLong: calls.Signed, cc.ULongLong: calls.Unsigned,
		cc.Int128: calls.Signed, cc.UInt128: calls.Unsigned, cc.Float: calls.Float, cc.Double: calls.Float, cc.LongDouble: calls.Float,
		cc.Float16: calls.Float, cc.Float32: calls.Float, cc.Float64: calls.Float, cc.Float32x: calls.Float, cc.Float64x: calls.Float, cc.Float128: calls.Float,
	}
}

// scalarOfC makes a type that is a number, 0: it is another.
func (c *Compiler) scalarOfC(t cc.Type, size uint32) calls.TypeID {
	if t.VectorSize() > 0 {
		return c.vectorOfC(t, size)
	}
	if cc.IsComplexType(t) || t.Kind() == cc.ComplexFloat16 {
		return c.complexOfC(t, size)
	}
	k := t.Kind()
	if k == cc.Decimal32 || k == cc.Decimal64 || k == cc.Decimal128 {
		return c.decimal(k.String(), size)
	}
	if kind, ok := scalarsOfC()[k]; ok {
		return c.named(k.String(), kind, size)
	}
	return 0
}

// vectorOfC makes a vector, 0: it is none that registers hold.
func (c *Compiler) vectorOfC(t cc.Type, size uint32) calls.TypeID {
	sizes := map[cc.Kind]uint32{cc.Char: 1, cc.SChar: 1, cc.UChar: 1, cc.Short: 2, cc.UShort: 2, cc.Float16: 2, cc.Int: 4, cc.UInt: 4, cc.Float: 4,
		cc.Long: 8, cc.ULong: 8, cc.LongLong: 8, cc.ULongLong: 8, cc.Double: 8, cc.Int128: 16, cc.UInt128: 16}
	k := t.Kind()
	one := sizes[k]
	if one == 0 || size < one || size < 8 || size > widestVector || size&(size-1) != 0 {
		return 0
	}
	elem := c.named(k.String(), scalarsOfC()[k], one)
	return c.Table.Add(calls.Type{Kind: calls.Vector, Name: k.String() + "[]", Size: size, Align: size, Elem: elem, Count: uint64(size / one)})
}

// complexOfC makes a complex number.
func (c *Compiler) complexOfC(t cc.Type, size uint32) calls.TypeID {
	switch t.Kind() {
	case cc.ComplexFloat, cc.ComplexDouble, cc.ComplexLongDouble:
		return c.complex("", size)
	case cc.ComplexFloat16:
		return c.pair("complex _Float16", c.named("_Float16", calls.Float, size/2), size/2)
	}
	half := strings.TrimPrefix(t.Kind().String(), "_Complex ")
	kind := calls.Signed
	if strings.HasPrefix(half, "unsigned") {
		kind = calls.Unsigned
	}
	return c.pair("complex "+half, c.named(half, kind, size/2), size/2)
}

func (c ofHeader) makeOfC(t cc.Type, depth int) calls.TypeID {
	size := uint32(max(t.Size(), 0))
	if id := c.scalarOfC(t, size); id != 0 {
		return id
	}
	switch t := t.(type) {
	case *cc.PointerType:
		elem := t.Elem()
		switch {
		case elem.Kind() == cc.Void || elem.Kind() == cc.Function || depth <= 0:
			return c.address("void *")
		case elem.Kind() == cc.Char:
			return c.text(autoString)
		}
		return c.one(c.typeOfC(elem, depth-1), "")
	case *cc.EnumType:
		return c.enumOfC(t, size)
	case *cc.ArrayType:
		elem := c.typeOfC(t.Elem(), depth)
		if elem == 0 || t.Len() < 0 {
			return 0
		}
		e := c.Table.Type(elem)
		return c.Table.Add(calls.Type{Kind: calls.Array, Name: e.Name + "[]", Size: size, Align: max(e.Align, 1), Elem: elem, Count: uint64(t.Len())})
	case *cc.StructType:
		return c.recordOfC(t, calls.Struct, size, depth)
	case *cc.UnionType:
		return c.recordOfC(t, calls.Union, size, depth)
	}
	return 0
}

func (c *Compiler) enumOfC(t *cc.EnumType, size uint32) calls.TypeID {
	tag := t.Tag()
	e := calls.Type{Kind: calls.Enum, Name: "enum " + tag.SrcStr(), Size: size, Align: size}
	kind := calls.Unsigned
	for _, v := range t.Enumerators() {
		value := int64(0)
		switch x := v.Value().(type) {
		case cc.Int64Value:
			value = int64(x)
		case cc.UInt64Value:
			value = int64(x)
		}
		if value < 0 {
			kind = calls.Signed
		}
		e.Names = append(e.Names, calls.Const{Name: v.Token.SrcStr(), Value: value})
	}
	e.Elem = c.named(fmt.Sprintf("%v%d", kind, size), kind, size)
	return c.Table.Add(e)
}

// fieldsOfC is what structs and unions have in common.
type fieldsOfC interface {
	NumFields() int
	FieldByIndex(i int) *cc.Field
	IsIncomplete() bool
	Tag() cc.Token
	Align() int
	Attributes() *cc.Attributes
}

func (c ofHeader) recordOfC(t fieldsOfC, kind calls.Kind, size uint32, depth int) calls.TypeID {
	if t.IsIncomplete() || size == 0 || c.h.packs.mixed {
		return 0
	}
	tag := t.Tag()
	r := calls.Type{Kind: kind, Name: map[calls.Kind]string{calls.Struct: "struct ", calls.Union: "union "}[kind] + tag.SrcStr(), Size: size, Align: uint32(max(t.Align(), 1))}
	partial, bits := false, false
	for i := range t.NumFields() {
		f := t.FieldByIndex(i)
		bits = bits || f.IsBitfield()
		if f.IsBitfield() && f.Name() == "" {
			continue // room, and no value
		}
		ft := c.typeOfC(f.Type(), depth)
		partial = partial || c.partial[ft] || ft == 0 && f.Type().Size() > 0
		if ft == 0 {
			continue
		}
		cf := calls.Field{Name: f.Name(), Type: ft, Offset: uint32(f.Offset())}
		if f.IsBitfield() {
			bit := 8*f.Offset() + int64(f.OffsetBits())
			cf.Offset, cf.Bit, cf.Bits = uint32(bit/8), uint8(bit%8), uint8(f.ValueBits())
		}
		r.Fields = append(r.Fields, cf)
	}
	if most := c.h.packs.of(t); most > 0 {
		if partial || bits {
			return 0 // where its fields are the library does not say
		}
		c.pack(&r, most)
	}
	r.Fields = c.bounded(&r.Name, r.Fields)
	id := c.Table.Add(r)
	if partial {
		c.partial[id] = true
	}
	return id
}

// pack gives a record's fields the places that they have where none is aligned to more than so many bytes.
func (c *Compiler) pack(r *calls.Type, most uint32) {
	r.Align = 1
	end := uint32(0)
	for i := range r.Fields {
		f := &r.Fields[i]
		t := c.Table.Type(f.Type)
		align := min(max(t.Align, 1), most)
		if f.Offset = 0; r.Kind == calls.Struct {
			f.Offset = (end + align - 1) / align * align
		}
		r.Align = max(r.Align, align)
		end = max(end, f.Offset+t.Size)
	}
	r.Size = (end + r.Align - 1) / r.Align * r.Align
}

// packs is what #pragma pack says: from which line of a file on records' fields are aligned to at most so many bytes. The library leaves that to others.
type packs struct {
	said  []packed
	stack []packed
	mixed bool // it is said in other files than where it is meant
}

type packed struct {
	file string
	line int
	most uint32 // 0: as they ask for
}

// pragma reads a #pragma.
func (p *packs) pragma(toks []cc.Token) error {
	if len(toks) < 3 || toks[0].SrcStr() != "pack" {
		return nil
	}
	at := toks[0].Position()
	now := packed{file: at.Filename, line: at.Line}
	if len(p.said) > 0 {
		now.most = p.said[len(p.said)-1].most
	}
	was := now
	if toks[2].SrcStr() == ")" {
		now.most = 0
	}
	for _, t := range toks[2:] {
		switch text := t.SrcStr(); text {
		case "push":
			p.stack = append(p.stack, was)
		case "pop":
			if n := len(p.stack); n > 0 {
				p.mixed = p.mixed || p.stack[n-1].file != now.file
				now.most, p.stack = p.stack[n-1].most, p.stack[:n-1]
			}
		default:
			if n, err := strconv.ParseUint(text, 0, 8); err == nil {
				now.most = uint32(n)
			}
		}
	}
	p.said = append(p.said, now)
	return nil
}

// of is what a record's fields are aligned to at most, 0: they are not packed.
func (p *packs) of(t fieldsOfC) (most uint32) {
	if a := t.Attributes(); a != nil && (a.IsAttrSet("packed") || a.IsAttrSet("__packed__")) {
		return 1
	}
	if t.NumFields() == 0 || len(p.said) == 0 || t.FieldByIndex(0).Declarator() == nil {
		return 0
	}
	at := t.FieldByIndex(0).Declarator().Position()
	for _, s := range p.said {
		if s.file == at.Filename && s.line <= at.Line {
			most = s.most
		}
	}
	return most
}
