package interceptors

import (
	"encoding/xml"
	"fmt"
	"strings"

	"alleria/abp/calls"
)

// Explicit writes prototypes in the configuration language, for editing. A parameter's type says also how it travels, and with it those behind it. So parameters of types
// that the language has no words for (unions, vectors, bit fields) are left out, and known from where all are; of what pointers lead to, such fields are.
type Explicit struct {
	c     *Compiler
	names map[calls.TypeID]string
	taken map[string]bool
	types []string
}

// NewExplicit makes one for the prototypes of a compiler.
func NewExplicit(c *Compiler) *Explicit {
	return &Explicit{c: c, names: make(map[calls.TypeID]string), taken: make(map[string]bool)}
}

// Types are the lines of Types that the prototypes so far need.
func (e *Explicit) Types() []string { return e.types }

// Intercept gives the lines of an Intercept.
func (e *Explicit) Intercept(p *Prototype) []string {
	head := "<Intercept"
	var left, lines []string
	if p.CaptureResult && p.Result != 0 {
		if e.says(p, p.Result) {
			head += attr("retType", e.use(p.Result))
		} else {
			left = append(left, "the result ("+e.c.Table.Type(p.Result).Name+")")
		}
	}
	seen := make(map[string]bool)
	for i := range p.Captures {
		w := &p.Captures[i]
		if w.Type != 0 && !e.says(p, w.Type) || w.Type == 0 && p.Unsure != nil && p.Unsure[w.Index] {
			left = append(left, strings.TrimSpace(w.Name+" ("+e.c.Table.Type(w.Type).Name+")"))
			continue
		}
		line := "  <Parameter"
		if w.Name != "" && !seen[w.Name] {
			seen[w.Name] = true
			line += attr("name", w.Name)
		}
		t := w.Type
		if t == 0 {
			t = e.c.named("unsigned long", calls.Unsigned, 8)
		}
		line += attr("index", fmt.Sprint(w.Index)) + attr("type", e.use(t))
		if w.In {
			line += ` in="true"`
		}
		if w.Out {
			line += ` out="true"`
		}
		lines = append(lines, line+"/>")
	}
	switch {
	case len(lines) == 0:
		lines = []string{head + "/>"}
	default:
		lines = append(append([]string{head + ">"}, lines...), "</Intercept>")
	}
	if len(left) > 0 {
		text := strings.ReplaceAll(strings.Join(left, ", "), "--", "- -")
		lines = append([]string{"<!-- Left out, since there are no words for their types: " + text + ". What is left out is looked up again for a recording. -->"}, lines...)
	}
	return lines
}

// says tells whether a value that travels by itself can be written so that it, and what comes behind it, is where it is.
func (e *Explicit) says(p *Prototype, id calls.TypeID) bool {
	if p.Rust > 0 {
		return true // a configuration does not change how a Rust value travels
	}
	_, ok := e.layout(id, p.Go, 0)
	return ok
}

// layout tells whether a configuration can say of a value in registers or on the stack what it is, and how what it says then is aligned.
func (e *Explicit) layout(id calls.TypeID, goes bool, depth int) (align uint32, ok bool) {
	t := e.c.Table.Type(id)
	if t.Kind != calls.Struct && t.Kind != calls.String {
		return t.Size, e.isPlain(t)
	}
	if e.c.byRef[id] || t.IsVariants() || len(t.Fields) == 0 || depth > 16 {
		return 0, false
	}
	align = 1
	for i := range t.Fields {
		f := &t.Fields[i]
		of := e.c.Table.Type(f.Type)
		isArray, inner := of.Kind == calls.Array, f.Type
		if isArray {
			inner = of.Elem
		}
		a, ok := e.layout(inner, goes, depth+1)
		if !ok || f.Bits > 0 || f.Offset%a != 0 || isArray && (goes || of.Count == 0 || of.Count > mostWritten && t.Size <= 16) {
			return 0, false
		}
		align = max(align, a)
	}
	return align, t.Size%align == 0 && max(align, 8) == max(t.Align, 8)
}

// isPlain tells whether there is a built-in type for one that is no record.
func (e *Explicit) isPlain(t *calls.Type) bool {
	switch t.Kind {
	case calls.Pointer, calls.Address:
		return true
	case calls.Float:
		return !t.IsDecimal() && (t.Size == 4 || t.Size == 8 || t.Size == 16 && !strings.Contains(t.Name, "128"))
	case calls.Signed, calls.Unsigned, calls.Enum, calls.Char, calls.Char16, calls.Char32, calls.Bool:
		return t.Size == 1 || t.Size == 2 || t.Size == 4 || t.Size == 8
	}
	return false
}

// mostWritten is the longest array that becomes fields.
const mostWritten = 16

// attr writes an attribute.
func attr(name, value string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(value)) // memory takes everything
	return fmt.Sprintf(` %s="%s"`, name, b.String())
}

// use is the name of a type, which is written if it has not been.
func (e *Explicit) use(id calls.TypeID) string {
	if name := e.names[id]; name != "" {
		return name
	}
	t := e.c.Table.Type(id)
	switch t.Kind {
	case calls.Pointer:
		return e.pointer(id, t)
	case calls.Struct, calls.String:
		return e.record(id, t)
	}
	return plainName(t)
}

// plainName is the built-in type that comes nearest.
func plainName(t *calls.Type) string {
	size := min(max(t.Size, 1), 8)
	switch t.Kind {
	case calls.Signed:
		return fmt.Sprintf("s%d", size)
	case calls.Enum:
		return fmt.Sprintf("s%d", size)
	case calls.Char:
		return "ascii"
	case calls.Char16:
		return "unicode"
	case calls.Bool:
		return "bool"
	case calls.Address:
		return "ptr"
	case calls.Float:
		if t.IsDecimal() { // explicit configurations have no name for them
			break
		}
		switch t.Size {
		case 4, 8:
			return fmt.Sprintf("f%d", t.Size)
		case 16:
			return "f10"
		}
	}
	return fmt.Sprintf("u%d", size)
}

// fresh makes a name for a type out of what it is called.
func (e *Explicit) fresh(id calls.TypeID, name string) string {
	clean := strings.TrimSpace(strings.NewReplacer("struct ", "", "class ", "", " *", "_p", "*", "_p", " ", "_").Replace(name))
	for _, b := range []string{"ascii", "unicode", "bool", "ptr"} {
		if clean == b {
			clean += "_type"
		}
	}
	if clean == "" || len(clean) == 2 && strings.ContainsAny(clean[:1], "usf") {
		clean += "_type"
	}
	out := clean
	for n := 2; e.taken[out]; n++ {
		out = fmt.Sprintf("%s_%d", clean, n)
	}
	e.taken[out] = true
	e.names[id] = out
	return out
}

// pointer writes a Pointer.
func (e *Explicit) pointer(id calls.TypeID, t *calls.Type) string {
	elem := e.c.Table.Type(t.Elem)
	if !e.isPlain(elem) && elem.Kind != calls.Struct && elem.Kind != calls.String {
		e.names[id] = "ptr"
		return "ptr"
	}
	label := t.Name
	if t.Extent == calls.ExtentSentinel && elem.Kind == calls.Char {
		label = "string"
	}
	name := e.fresh(id, label)
	at := len(e.types)
	e.types = append(e.types, "")
	line := `<Pointer` + attr("name", name) + attr("elementType", e.use(t.Elem))
	switch t.Extent {
	case calls.ExtentCount:
		if line += ` direction="inc"` + attr("count", fmt.Sprint(max(t.Count, 1))); t.Count == 1 {
			line = strings.Replace(line, ` direction="inc"`, "", 1)
		}
	case calls.ExtentSentinel:
		// A sentinel is of a built-in type; one that is a pointer ends where it is null.
		line += ` direction="inc"` + attr("sentinel", fmt.Sprint(t.Sentinel))
	case calls.ExtentVariable:
		if t.Variable == ResultName {
			e.names[id] = "ptr" // the language cannot hang a length on the result
			e.types = e.types[:at]
			return "ptr"
		}
		line += ` direction="inc"` + attr("countVariable", t.Variable)
	}
	if facts := e.c.facts[id]; facts.max > 0 {
		line += attr("maxBytes", fmt.Sprint(facts.max))
	}
	e.types[at] = line + "/>"
	return name
}

// aligned is how a configuration aligns what it says of a type, or less.
func (e *Explicit) aligned(id calls.TypeID, depth int) uint32 {
	t := e.c.Table.Type(id)
	if t.Kind != calls.Struct && t.Kind != calls.String {
		return max(t.Size, 1)
	}
	align := uint32(1)
	for i := range t.Fields {
		of := t.Fields[i].Type
		if ft := e.c.Table.Type(of); ft.Kind == calls.Array {
			of = ft.Elem
		}
		if ft := e.c.Table.Type(of); depth < 16 && t.Fields[i].Bits == 0 && (e.isPlain(ft) || ft.Kind == calls.Struct || ft.Kind == calls.String) {
			align = max(align, e.aligned(of, depth+1))
		}
	}
	return align
}

// record writes a Type: arrays become fields of their own, bit fields are left to the bytes between.
func (e *Explicit) record(id calls.TypeID, t *calls.Type) string {
	name := e.fresh(id, t.Name)
	at := len(e.types)
	e.types = append(e.types, "")
	lines := []string{`<Type` + attr("name", name) + attr("size", fmt.Sprint(t.Size)) + ">"}
	used := make(map[string]bool)
	align := uint32(1)
	field := func(label string, typ calls.TypeID, off uint32) {
		ft := e.c.Table.Type(typ)
		if !e.isPlain(ft) && ft.Kind != calls.Struct && ft.Kind != calls.String {
			return
		}
		asks := max(align, e.aligned(typ, 0))
		if (off+ft.Size+asks-1)/asks*asks > t.Size {
			return // it is packed
		}
		align = asks
		if label == "" || used[label] {
			label = fmt.Sprintf("%sat%d", label, off)
		}
		used[label] = true
		lines = append(lines, "  <Field"+attr("name", label)+attr("type", e.use(typ))+attr("offset", fmt.Sprint(off))+"/>")
	}
	for i := range t.Fields {
		f := &t.Fields[i]
		ft := e.c.Table.Type(f.Type)
		switch {
		case f.Bits > 0:
		case ft.Kind == calls.Array && ft.Count <= mostWritten:
			elem := e.c.Table.Type(ft.Elem)
			for k := range uint32(ft.Count) {
				field(fmt.Sprintf("%s_%d", f.Name, k), ft.Elem, f.Offset+k*elem.Size)
			}
		case ft.Kind == calls.Array:
		default:
			field(f.Name, f.Type, f.Offset)
		}
	}
	if len(lines) == 1 {
		lines = append(lines, `  <Field name="bytes"`+attr("type", fmt.Sprintf("u%d", min(max(t.Size, 1), 8)))+`/>`)
	}
	e.types[at] = strings.Join(append(lines, "</Type>"), "\n")
	return name
}
