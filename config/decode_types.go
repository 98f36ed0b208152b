package config

import (
	"fmt"
	"math"
	"slices"

	"alleria/config/vocab"
)

// declareTypes reads Types in two passes, names first: a record may hold a
// pointer to itself, so the order in the file cannot matter.
func (d *decoder) declareTypes(c *Config, root *node) {
	d.types = map[string]TypeRef{}
	var records, pointers []*node
	for _, section := range root.children {
		// A second Types is an error of shape; its types are declared all the same, or
		// each use of them would be an error too.
		if section.name != "Types" {
			continue
		}
		if c.Types.Line == 0 {
			c.Types.Pos = section.Pos
		}
		for _, n := range section.children {
			ref := TypeRef{Name: n.text("name")}
			switch n.name {
			case "Type":
				ref.Record = &Type{Pos: n.Pos, Name: ref.Name}
				c.Types.Types = append(c.Types.Types, ref.Record)
				records = append(records, n)
			case "Pointer":
				ref.Pointer = &Pointer{Pos: n.Pos, Name: ref.Name}
				c.Types.Pointers = append(c.Types.Pointers, ref.Pointer)
				pointers = append(pointers, n)
			}
			// Types and pointers share one space of names, as attributes that refer to
			// them do not say which they mean.
			d.declare(n, ref)
		}
	}
	// Every name is known now: first what each type says of itself, then what
	// needs to look inside others (sizes, variables, elements).
	// Pointers come before records in each step only because one of the two has to;
	// they do not depend on each other within a step.
	for i, n := range pointers {
		d.pointer(n, c.Types.Pointers[i])
	}
	for i, n := range records {
		d.record(n, c.Types.Types[i])
	}
	for i, n := range records {
		d.layout(n, c.Types.Types[i])
		d.fieldVariables(n, c.Types.Types[i])
	}
	for i, n := range pointers {
		d.pointerElement(n, c.Types.Pointers[i])
	}
}

// declare enters a type's name.
func (d *decoder) declare(n *node, ref TypeRef) {
	if ref.Name == "" {
		return
	}
	// Hiding a built-in type would be possible, and nobody who reads u4 would expect
	// it to be a record.
	if builtinNamed(ref.Name) != NoBuiltin {
		d.rule(n.get("name").Pos, fmt.Sprintf("%q is a built-in type", ref.Name), "give the type another name")
		return
	}
	if first, ok := d.types[ref.Name]; ok {
		d.rule(n.get("name").Pos, fmt.Sprintf("a second type is named %q", short(ref.Name)),
			fmt.Sprintf("give it another name than the one of line %d", first.pos().Line))
		return
	}
	d.types[ref.Name] = ref
}

// pos is where the type is declared. Built-in types are declared nowhere.
func (r TypeRef) pos() Pos {
	if r.Record != nil {
		return r.Record.Pos
	}
	if r.Pointer != nil {
		return r.Pointer.Pos
	}
	return Pos{}
}

// cNames is what C calls the built-in types: the slip to expect, and one where
// the nearest spelling misleads.
var cNames = map[string]string{
	"char": "s1, or ascii for text", "short": "s2", "int": "s4", "unsigned": "u4", "long": "s8", "float": "f4", "double": "f8",
	"size_t": "u8", "ssize_t": "s8", "void*": "ptr", "char*": "a Pointer to ascii with sentinel 0",
	"int8_t": "s1", "int16_t": "s2", "int32_t": "s4", "int64_t": "s8",
	"uint8_t": "u1", "uint16_t": "u2", "uint32_t": "u4", "uint64_t": "u8",
}

// use resolves the type that an attribute names.
func (d *decoder) use(n *node, name string) TypeRef {
	a := n.get(name)
	if a == nil || a.value == "" {
		return TypeRef{}
	}
	// Built-in names first: declare keeps them from being anything else.
	if b := builtinNamed(a.value); b != NoBuiltin {
		return TypeRef{Name: a.value, Builtin: b}
	}
	if ref, ok := d.types[a.value]; ok {
		return ref
	}
	if b, ok := cNames[a.value]; ok {
		d.rule(a.Pos, fmt.Sprintf("no type is named %q", a.value), fmt.Sprintf("C's %s is %s here", a.value, b))
		return TypeRef{}
	}
	known := make([]string, 0, len(d.types)+len(builtinRows))
	for _, row := range builtinRows[1:] {
		known = append(known, row.name)
	}
	// The file's own types are suggested along with the built-in ones: a misspelt
	// reference is as likely as a misspelt u8.
	for name := range d.types {
		known = append(known, name)
	}
	slices.Sort(known)
	best, _ := vocab.Closest(a.value, known)
	d.rule(a.Pos, fmt.Sprintf("no type is named %q", short(a.value)), fmt.Sprintf("the nearest known one is %q", best))
	return TypeRef{}
}

// lengthAttributes is indexed by LengthKind.
var lengthAttributes = [...]string{
	LengthNone: "", LengthCount: "count", LengthSentinel: "sentinel", LengthVariable: "countVariable",
	LengthEnd: "endVariable", LengthStart: "startVariable",
}

// pointer reads a Pointer. What its element type turns out to be, and whether
// its variable exists, cannot be said yet: the first is checked by
// pointerElement when all types are known, the second wherever the pointer is
// used, because a variable is looked for among the neighbours of the use and not
// of the declaration.
func (d *decoder) pointer(n *node, p *Pointer) {
	p.Element = d.use(n, "elementType")
	p.MaxBytes = n.count("maxBytes")
	p.HasDirection, p.Dec = n.get("direction") != nil, trim(n.text("direction")) == "dec"
	p.Count, p.EndValid, p.SentinelText = n.count("count"), n.flag("endValid"), trim(n.text("sentinel"))
	d.exactlyOne(n, lengthAttributes[1:]...)
	// Of several, which exactlyOne has reported, the first of the table: the rest of
	// the rules want some length to speak of.
	for k := LengthCount; k <= LengthStart; k++ {
		if n.get(lengthAttributes[k]) != nil {
			p.Length = k
			break
		}
	}
	if p.Length >= LengthVariable {
		p.Variable = n.text(lengthAttributes[p.Length])
	}
	d.direction(n, p)
}

// direction checks direction and endValid, each of which belongs to some of the
// lengths only.
func (d *decoder) direction(n *node, p *Pointer) {
	byEnds := p.Length == LengthEnd || p.Length == LengthStart
	endValid := n.get("endValid")
	switch {
	// Without a length, or with an attribute that could not be read, any demand for a
	// direction would be a guess about what was meant.
	case p.Length == LengthNone || n.bad:
	case byEnds && endValid == nil:
		d.rule(n.Pos, fmt.Sprintf("Pointer gives %s but no endValid", lengthAttributes[p.Length]),
			`add endValid="true" if the end is the last element, "false" if it is one past it`)
	case !byEnds && endValid != nil:
		d.rule(endValid.Pos, fmt.Sprintf("endValid means nothing besides %s", lengthAttributes[p.Length]),
			"it goes with endVariable or startVariable")
	// No default: "inc" would be right nearly always, and the rare descending array
	// would be captured as what lies behind it.
	case !byEnds && !p.HasDirection && !(p.Length == LengthCount && p.Count == 1):
		d.rule(n.Pos, fmt.Sprintf("Pointer gives %s but no direction", lengthAttributes[p.Length]),
			`add direction="inc" if it holds the lowest address, "dec" if the highest`)
	}
}

// pointerElement checks what a pointer points at, once all types are known.
func (d *decoder) pointerElement(n *node, p *Pointer) {
	// Each element would need a variable of its own, and a name can mean only one.
	if e := p.Element.Pointer; e != nil && e.Length >= LengthVariable {
		d.rule(n.get("elementType").Pos,
			fmt.Sprintf("the elements are pointers of type %q, whose length depends on the variable %q", short(e.Name), short(e.Variable)),
			"an element that is itself a pointer has a count or a sentinel")
	}
	if p.Length != LengthSentinel || p.Element.IsZero() {
		return
	}
	at := n.get("sentinel").Pos
	b := p.Element.Builtin
	// Records would need a value for each field, and ten bytes have no place in the 64
	// bits of the model.
	if b == NoBuiltin || b == F10 {
		d.rule(at, fmt.Sprintf("a sentinel cannot be compared with elements of type %q", short(p.Element.Name)),
			"the element type must be a built-in one of at most 8 bytes")
		return
	}
	bits, negative, v := parseSigned(p.SentinelText)
	// The misspelling itself was reported with the attribute.
	if !v.ok {
		return
	}
	var fits bool
	if p.Sentinel, fits = sentinelBits(b, bits, negative); !fits {
		d.rule(at, fmt.Sprintf("no element of type %s has the value %s", b, p.SentinelText),
			fmt.Sprintf("%s has %d bytes", b, b.Bytes()))
	}
}

// sentinelBits turns a sentinel into the bits that an element of the type has.
// Integers are compared by bits, so -1 and 0xff are the same u1: C programs
// write either. Floats are compared as numbers that the sentinel names.
func sentinelBits(b Builtin, bits uint64, negative bool) (uint64, bool) {
	switch {
	// -0 is the same bits as 0 here, although floats tell them apart: nobody ends an
	// array with it.
	case b == F8 || b == F4:
		f := float64(bits)
		if negative {
			f = -float64(-bits)
		}
		if b == F4 {
			return uint64(math.Float32bits(float32(f))), float64(float32(f)) == f
		}
		return math.Float64bits(f), true
	}
	width := uint(b.Bytes() * 8)
	// Apart, because shifting by the whole width would make the mask 0.
	if width == 64 {
		return bits, true
	}
	mask := uint64(1)<<width - 1
	if negative {
		return bits & mask, int64(bits) >= -(int64(1) << (width - 1))
	}
	return bits, bits <= mask
}
