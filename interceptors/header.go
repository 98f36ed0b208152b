//go:build !recorder

package interceptors

import (
	"fmt"
	"os"
	"path/filepath"
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
	ast, err := cc.Translate(cfg, []cc.Source{{Name: "<predefined>", Value: cfg.Predefined}, {Name: "<builtin>", Value: cc.Builtin}, {Name: path}})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	h := &header{functions: make(map[string]*cc.Declarator)}
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
				return c.fromC(t, depth)
			}
		}
	}
	return nil
}

// fromC makes a prototype of a C function's type.
func (c *Compiler) fromC(t *cc.FunctionType, depth int) *Prototype {
	p := &Prototype{Variadic: t.IsVariadic()}
	for _, q := range t.Parameters() {
		if q.Type().Kind() == cc.Void {
			continue
		}
		id := c.typeOfC(q.Type().Decay(), depth)
		out := false
		if ptr, ok := q.Type().Decay().(*cc.PointerType); ok {
			out = c.Table.Type(id).Kind == calls.Pointer && !ptr.Elem().Attributes().IsConst()
		}
		p.Args = append(p.Args, id)
		p.Captures = append(p.Captures, Wanted{Name: q.Name(), Index: len(p.Args) - 1, Type: id, In: true, Out: out})
	}
	p.Result = c.typeOfC(t.Result(), depth)
	p.CaptureResult = p.Result != 0
	return p
}

// cKey is a type of C as deep as its pointers are followed.
type cKey struct {
	t     cc.Type
	depth int
}

// typeOfC makes a type of C.
func (c *Compiler) typeOfC(t cc.Type, depth int) calls.TypeID {
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
		return 0
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

func (c *Compiler) makeOfC(t cc.Type, depth int) calls.TypeID {
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
	if strings.HasPrefix(t.Kind().String(), "Complex") && size >= 8 {
		name := "complex double"
		switch size {
		case 8:
			name = "complex float"
		case 32:
			name = "complex long double"
		}
		return c.complex(name, size)
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
}

func (c *Compiler) recordOfC(t fieldsOfC, kind calls.Kind, size uint32, depth int) calls.TypeID {
	if t.IsIncomplete() || size == 0 {
		return 0
	}
	tag := t.Tag()
	r := calls.Type{Kind: kind, Name: map[calls.Kind]string{calls.Struct: "struct ", calls.Union: "union "}[kind] + tag.SrcStr(), Size: size, Align: uint32(max(t.Align(), 1))}
	for i := range t.NumFields() {
		f := t.FieldByIndex(i)
		ft := c.typeOfC(f.Type(), depth)
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
	r.Fields = c.bounded(&r.Name, r.Fields)
	return c.Table.Add(r)
}
