package interceptors

import (
	"debug/dwarf"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"alleria/abp/calls"
	"alleria/internal/debuginfo"
)

// What debug information is taken for: strings end with a null; other pointers lead to one object. Strings are bounded more
// tightly than those that somebody asked for by name, since many are buffers that nobody has filled yet.
const autoString = 4096

// debugInfo makes types of one image's debug information. It belongs to a Compiler.
type debugInfo struct {
	c    *Compiler
	data *debuginfo.Data
	made map[debugKey]calls.TypeID
	// used is made by where types are referred to, names and qualifiers included, and isConst what is known of pointers: the same few are asked for at each parameter.
	used    map[debugKey]calls.TypeID
	isConst map[dwarf.Offset]bool
	special map[dwarf.Offset]specials    // see specialsOf
	spaces  map[dwarf.Offset][]namespace // of units; see crate
}

// newDebugInfo has nothing read yet.
func newDebugInfo(c *Compiler, data *debuginfo.Data) *debugInfo {
	return &debugInfo{c: c, data: data, made: make(map[debugKey]calls.TypeID), used: make(map[debugKey]calls.TypeID), isConst: make(map[dwarf.Offset]bool),
		special: make(map[dwarf.Offset]specials), spaces: make(map[dwarf.Offset][]namespace)}
}

// debugKey is a type as deep as its pointers are followed.
type debugKey struct {
	off   dwarf.Offset
	depth int
}

// Described makes the prototype of a function from its debug information: all parameters are captured at entry, what pointers
// lead to that is not constant at return again, and the result. Pointers are followed depth times.
func (c *Compiler) Described(data *debuginfo.Data, fn *dwarf.Entry, depth int) (p *Prototype, err error) {
	defer func() { // debug/dwarf takes much on trust
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("debug information: %v: %w", r, ErrUnfit)
		}
	}()
	d := c.debug[data]
	if d == nil {
		d = newDebugInfo(c, data)
		c.debug[data] = d
	}
	p = &Prototype{CaptureResult: true}
	params, variadic := d.params(fn)
	inOrder(params)
	p.Variadic = variadic
	d.compiler(fn, p)
	said := d.evidence(fn, params)
	fortran, promotes := d.isFortran(fn), d.promotes(fn)
	name := d.name(fn)
	var names []string
	for _, e := range params {
		names = append(names, d.name(e))
	}
	placed := len(params)
	if p.Rust > 0 {
		placed = d.rustParams(fn, params, p)
	}
	for i, e := range params {
		if name == "main" && i == 1 && len(params) >= 2 && names[0] != "" {
			t := d.arguments(names[0])
			p.Args = append(p.Args, t)
			p.Captures = append(p.Captures, Wanted{Name: names[i], Index: i, Type: t, In: true})
			continue
		}
		d.argument(p, e, names[i], i < placed, depth)
		if promotes {
			d.promote(p, i)
		}
		if fortran && !said[i].value() {
			d.byAddress(p)
		}
	}
	if p.Go {
		addDictionary(p, name, names)
	}
	if off, ok := d.typeOf(fn); ok {
		p.Result = d.used[debugKey{off: off, depth: depth}]
		if p.Result == 0 {
			p.Result = d.at(off, depth)
		}
	}
	d.settle(p, fn, said) // where arguments are hangs on the result
	if p.Go {
		d.goResults(p, fn, depth)
	}
	if p.Result == 0 {
		p.CaptureResult = false
	}
	return p, nil
}

// argument adds a parameter to a prototype, of which it may be unknown where it travels.
func (d *debugInfo) argument(p *Prototype, e *dwarf.Entry, name string, placed bool, depth int) {
	t, out := d.param(e, depth)
	of := t
	if p.Rust > 0 || p.Unplaced {
		out = p.Rust > 0 && !p.Unplaced && d.mutable(e)
		if !placed {
			t = 0
		}
		if of == 0 {
			of = d.c.named("u64", calls.Unsigned, 8)
		}
	}
	p.Captures = append(p.Captures, Wanted{Name: name, Index: len(p.Args), Type: of, In: true, Out: out && name != "this"})
	p.Args = append(p.Args, t)
}

// compiler finds out what compiled a function, and what of it matters for how arguments travel.
func (d *debugInfo) compiler(fn *dwarf.Entry, p *Prototype) {
	const langGo = 0x16
	unit := d.data.UnitOf(fn)
	if unit == nil {
		return
	}
	lang, _ := unit.Val(dwarf.AttrLanguage).(int64)
	producer, _ := unit.Val(dwarf.AttrProducer).(string)
	if _, version, found := strings.Cut(producer, "clang version "); found {
		version, _, _ = strings.Cut(version, ".")
		p.Clang, _ = strconv.Atoi(version) // 0 where it is none
	}
	p.Go, p.Widest = lang == langGo, widest(producer)
	if e := d.chain(fn, dwarf.AttrCalling); e != nil {
		cc := number(e, dwarf.AttrCalling)
		p.Windows, p.Unplaced = cc == ccWin64, cc != ccWin64 && !passesAsUsual(cc)
	}
	if lang == langRust {
		d.rustFunction(fn, p)
	}
}

// passesAsUsual tells whether arguments and results of a convention (DW_AT_calling_convention) travel as the platform's functions have them. A compiler may have changed
// others at will, such as by leaving out arguments (DW_CC_nocall), and of regcall, vectorcall, swiftcall
// and others it is not known here where they do.
func passesAsUsual(cc int64) bool {
	const normal, program, sysV, preserveMost, preserveAll = 1, 2, 0xc2, 0xc9, 0xca // the last two differ in which registers a call leaves as they are
	return slices.Contains([]int64{0, normal, program, sysV, preserveMost, preserveAll}, cc)
}

// promotes tells whether a function was defined without a prototype, as C once had it: callers pass a float as a double.
func (d *debugInfo) promotes(fn *dwarf.Entry) bool {
	const c89, c, c99, c11, c17 = 0x01, 0x02, 0x0c, 0x1d, 0x2c
	unit := d.data.UnitOf(fn)
	return unit != nil && slices.Contains([]int64{c89, c, c99, c11, c17}, number(unit, dwarf.AttrLanguage)) && d.chain(fn, dwarf.AttrPrototyped) == nil
}

// promote makes a parameter a double that is a float.
func (d *debugInfo) promote(p *Prototype, i int) {
	if t := d.c.Table.Type(p.Args[i]); t.Kind == calls.Float && t.Size == 4 {
		p.Args[i] = d.c.named("double", calls.Float, 8)
		p.Captures[i].Type = p.Args[i]
	}
}

// addDictionary puts the hidden parameter of a generic Go function in its place, which says what its type parameters are: it comes first, of methods behind the
// receiver. Debug information lists it where the compiler was not to optimise.
func addDictionary(p *Prototype, name string, names []string) {
	if !strings.Contains(name, "[go.shape.") || slices.Contains(names, ".dict") {
		return
	}
	at := 0
	if !strings.HasSuffix(name, "]") { // a method, or a function within, which has caught it
		_, last, _ := strings.Cut(name[strings.LastIndex(name, "]")+1:], ".")
		if last == "" || len(p.Args) == 0 || strings.HasPrefix(last, "func") || strings.Contains(last, ".func") {
			return
		}
		at = 1
	}
	p.Args = slices.Insert(p.Args, at, 0)
	for i := range p.Captures {
		if p.Captures[i].Index >= at {
			p.Captures[i].Index++
		}
	}
}

// goResults finds the results of a Go function, which are parameters that are written: of several a record is made.
func (d *debugInfo) goResults(p *Prototype, fn *dwarf.Entry, depth int) {
	r := calls.Type{Kind: calls.Struct, Name: "results", Align: 1}
	named := make(map[string]bool)
	for _, e := range d.outputs(fn) {
		name := d.name(e)
		if named[name] && name != "" && name != "_" {
			continue // where a deferred function can reach a result it is listed twice
		}
		named[name] = true
		t, _ := d.param(e, depth)
		if t == 0 {
			return
		}
		ty := d.c.Table.Type(t)
		align := max(ty.Align, 1)
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
	for _, e := range d.within(fn) {
		if output, _ := e.Val(dwarf.AttrVarParam).(bool); output && e.Tag == dwarf.TagFormalParameter {
			out = append(out, e)
		}
	}
	return out
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
		if fn = d.data.Entry(off); fn == nil {
			return nil, false
		}
	}
	return nil, false
}

// tagParameterPack is GCC's DW_TAG_GNU_formal_parameter_pack, which holds the parameters that a template's pack stands for.
const tagParameterPack dwarf.Tag = 0x4108

func (d *debugInfo) children(fn *dwarf.Entry) (params []*dwarf.Entry, variadic bool) {
	for _, e := range d.within(fn) {
		switch e.Tag {
		case dwarf.TagFormalParameter:
			if output, _ := e.Val(dwarf.AttrVarParam).(bool); !output { // a result, in Go
				params = append(params, e)
			}
		case tagParameterPack:
			pack, _ := d.children(e)
			params = append(params, pack...)
		case dwarf.TagUnspecifiedParameters:
			variadic = true
		}
	}
	return params, variadic
}

// within lists the entries directly within one.
func (d *debugInfo) within(of *dwarf.Entry) (out []*dwarf.Entry) {
	if !of.Children {
		return nil
	}
	r := d.data.Reader()
	r.Seek(of.Offset)
	if _, err := r.Next(); err != nil {
		return nil
	}
	for {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == 0 {
			return out
		}
		out = append(out, e)
		if e.Children {
			r.SkipChildren()
		}
	}
}

// chain returns the entry that has an attribute: an entry, or what it is a copy or the definition of; nil: none has.
func (d *debugInfo) chain(e *dwarf.Entry, attr dwarf.Attr) *dwarf.Entry {
	for range 4 {
		if e == nil {
			return nil
		}
		if e.Val(attr) != nil {
			return e
		}
		off, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			off, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset)
		}
		if !ok {
			return nil
		}
		e = d.data.Entry(off)
	}
	return nil
}

func (d *debugInfo) name(e *dwarf.Entry) string {
	if e = d.chain(e, dwarf.AttrName); e == nil {
		return ""
	}
	s, _ := e.Val(dwarf.AttrName).(string)
	return s
}

func (d *debugInfo) typeOf(e *dwarf.Entry) (dwarf.Offset, bool) {
	if e = d.chain(e, dwarf.AttrType); e == nil {
		return 0, false
	}
	return d.data.Ref(e, dwarf.AttrType)
}

// param makes a parameter's type; out tells that what it points to may change.
func (d *debugInfo) param(e *dwarf.Entry, depth int) (t calls.TypeID, out bool) {
	off, ok := d.typeOf(e)
	if !ok {
		return 0, false
	}
	key := debugKey{off: off, depth: depth}
	t, known := d.used[key]
	if !known {
		t = d.at(off, depth)
		d.used[key] = t
	}
	return t, d.c.Table.Type(t).Kind == calls.Pointer && !d.constant(off)
}

// bare follows names and qualifiers of a type down to its entry; constant tells that it is const.
func (d *debugInfo) bare(off dwarf.Offset) (e *dwarf.Entry, constant bool, name string) {
	for range 32 {
		e = d.data.Entry(off)
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
		next, ok := d.data.Ref(e, dwarf.AttrType)
		if !ok {
			return nil, constant, name // void
		}
		off = next
	}
	return nil, constant, name
}

// constant tells whether what a pointer leads to is const.
func (d *debugInfo) constant(off dwarf.Offset) bool {
	c, known := d.isConst[off]
	if !known {
		c = d.leadsToConst(off)
		d.isConst[off] = c
	}
	return c
}

func (d *debugInfo) leadsToConst(off dwarf.Offset) bool {
	e, _, _ := d.bare(off)
	if e == nil {
		return true
	}
	to, ok := d.data.Ref(e, dwarf.AttrType)
	if !ok {
		return true
	}
	_, constant, _ := d.bare(to)
	return constant
}
