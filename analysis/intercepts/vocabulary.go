package intercepts

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"alleria/abp"
	"alleria/abp/calls"
)

// Vocabulary is the names that a query can be about: those of captured functions, and of the parameters of those that it means.
type Vocabulary struct {
	q          *Query
	functions  map[string]bool
	parameters map[string]bool
	fields     map[int]bool // conditions of the query whose fields some type has
	extra      bool         // some function has variable arguments
	// Allocates and Frees tell whether some function does, of those that Leaks knows.
	Allocates, Frees bool
}

// NewVocabulary makes one without names.
func NewVocabulary(q *Query) *Vocabulary {
	return &Vocabulary{q: q, functions: make(map[string]bool), parameters: make(map[string]bool), fields: make(map[int]bool)}
}

// Add adds the functions of a process.
func (v *Vocabulary) Add(c *abp.Calls) {
	for _, s := range c.Signatures {
		s.Named(func(name string) bool { v.functions[name] = true; return false })
		switch kindOf(s) {
		case other:
		case free:
			v.Frees = true
		default:
			v.Allocates = true
		}
		if !v.q.means(s) {
			continue
		}
		v.extra = v.extra || s.Variadic
		for i := range s.Params {
			p := &s.Params[i]
			v.parameter(c.Table, p.Name, p.Type)
			v.parameter(c.Table, "#"+strconv.Itoa(int(p.Index)), p.Type)
		}
		if s.Result.Type != 0 {
			v.parameter(c.Table, "result", s.Result.Type)
		}
	}
}

// parameter adds a parameter.
func (v *Vocabulary) parameter(t *calls.Table, name string, typ calls.TypeID) {
	if name == "" {
		return
	}
	v.parameters[name] = true
	for i := range v.q.Where {
		if first, path, _ := strings.Cut(v.q.Where[i].Name, "."); first == name && hasFields(t, typ, path) {
			v.fields[i] = true
		}
	}
}

// hasFields tells whether a path of fields leads somewhere in a type, as below does in a value.
func hasFields(t *calls.Table, typ calls.TypeID, path string) bool {
	for path != "" {
		for range 8 {
			if t.Type(typ).Kind != calls.Pointer {
				break
			}
			typ = t.Type(typ).Elem
		}
		var name string
		name, path, _ = strings.Cut(path, ".")
		fields := t.Type(typ).Fields
		k := slices.IndexFunc(fields, func(f calls.Field) bool { return f.Name == name })
		if k < 0 {
			return false
		}
		typ = fields[k].Type
	}
	return true
}

// Empty tells whether there are no functions.
func (v *Vocabulary) Empty() bool { return len(v.functions) == 0 }

// HasFunction tells whether a pattern means some function, and HasParameter whether a condition of the query is about something that some function has.
func (v *Vocabulary) HasFunction(pattern string) bool {
	for name := range v.functions {
		if glob(pattern, name) {
			return true
		}
	}
	return false
}

func (v *Vocabulary) HasParameter(c *Condition) bool {
	for i := range v.q.Where {
		if &v.q.Where[i] == c && v.fields[i] {
			return true
		}
	}
	return c.Name == errnoName || v.extra && strings.HasPrefix(c.Name, calls.VariadicName)
}

// Functions and Parameters are the names, in order.
func (v *Vocabulary) Functions() []string { return slices.Sorted(maps.Keys(v.functions)) }

func (v *Vocabulary) Parameters() []string { return slices.Sorted(maps.Keys(v.parameters)) }
