package interceptors

import (
	"encoding/xml"
	"fmt"
	"strings"

	"alleria/abp/calls"
)

// Explicit writes prototypes in the configuration language, for editing. Types that it has no words for (unions, bit fields)
// become integers of their size.
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
	if p.CaptureResult && p.Result != 0 {
		head += attr("retType", e.use(p.Result))
	}
	if len(p.Captures) == 0 {
		return []string{head + "/>"}
	}
	lines := []string{head + ">"}
	seen := make(map[string]bool)
	for i := range p.Captures {
		w := &p.Captures[i]
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
	return append(lines, "</Intercept>")
}

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

// record writes a Type: arrays become fields of their own, bit fields are left to the bytes between.
func (e *Explicit) record(id calls.TypeID, t *calls.Type) string {
	name := e.fresh(id, t.Name)
	at := len(e.types)
	e.types = append(e.types, "")
	lines := []string{`<Type` + attr("name", name) + attr("size", fmt.Sprint(t.Size)) + ">"}
	used := make(map[string]bool)
	field := func(label string, typ calls.TypeID, off uint32) {
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
		case ft.Kind == calls.Array && ft.Count <= 16:
			elem := e.c.Table.Type(ft.Elem)
			for k := range uint32(ft.Count) {
				field(fmt.Sprintf("%s_%d", f.Name, k), ft.Elem, f.Offset+k*elem.Size)
			}
		case ft.Kind == calls.Array || ft.Kind == calls.Union && ft.Size > 8:
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
