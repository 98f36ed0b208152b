package symbols

import (
	"debug/dwarf"
	"fmt"
	"slices"
	"strings"

	"alleria/internal/debuginfo"
)

// Functions by the type of a parameter. One pass over the debug information collects the functions with the types of their parameters
// and the names of types with the namespaces that they lie in, which debug/dwarf's types do not have; spellings are made when they are asked for.

// paramTable is which types the parameters of an image's functions have. Guarded by Image.lineMu.
type paramTable struct {
	data  *debuginfo.Data
	at    map[uint64]dwarf.Offset         // functions by their first address
	args  map[dwarf.Offset][]dwarf.Offset // the types of a function's parameters
	of    map[dwarf.Offset]dwarf.Offset   // what a function or a type is a copy or the definition of
	names map[dwarf.Offset]typeName
	spelt map[uint64]map[string]bool // what was asked for
	err   error
}

// typeName is a type with a name of its own.
type typeName struct {
	word string // struct, union, class or enum
	name string // with its namespaces
	bare bool   // the name alone means it, as in C++
}

// HasParam tells whether the function that begins at an address, as the image states it, has a parameter of a type, spelt as
// in C or C++: "struct foo *". Qualifiers that the spelling has not don't matter, typedefs match by their names and by what they are.
// Without debug information that covers the function nothing matches.
func (im *Image) HasParam(vaddr uint64, spelling string) bool {
	im.lineMu.Lock()
	defer im.lineMu.Unlock()
	t := im.paramTypes()
	set := t.spelt[vaddr]
	if set == nil {
		set = t.spellings(vaddr)
		t.spelt[vaddr] = set
	}
	return set[canonicalType(spelling)]
}

// paramTypes makes the table, once. im.lineMu is held.
func (im *Image) paramTypes() *paramTable {
	if im.lines == nil {
		im.lines = im.openLines()
	}
	if im.lines.params == nil {
		im.lines.params = newParamTable(im.lines.data)
		if err := im.lines.params.err; err != nil {
			im.note(fmt.Errorf("parameters of the functions of %s: %w", im.Name, err))
		}
	}
	return im.lines.params
}

// newParamTable goes over the debug information; data may be nil.
func newParamTable(data *debuginfo.Data) (t *paramTable) {
	t = &paramTable{data: data, at: make(map[uint64]dwarf.Offset), args: make(map[dwarf.Offset][]dwarf.Offset), of: make(map[dwarf.Offset]dwarf.Offset),
		names: make(map[dwarf.Offset]typeName), spelt: make(map[uint64]map[string]bool)}
	if data == nil {
		return t
	}
	defer func() { // as for lines: debug/dwarf is not hardened
		if p := recover(); p != nil {
			t.err = fmt.Errorf("%v: %w", p, ErrNoTypes)
		}
	}()
	var scope []string // of the entries around the next one
	var function []dwarf.Offset
	cpp := false
	ends := 0
	for r := data.Reader(); ; {
		e, err := nextEntry(r, &ends)
		if err != nil || e == nil {
			t.err = err
			return t
		}
		if e.Tag == 0 {
			scope, function = scope[:max(len(scope)-1, 0)], function[:max(len(function)-1, 0)]
			continue
		}
		name := t.entryName(e)
		within := dwarf.Offset(0)
		if n := len(function); n > 0 {
			within = function[n-1]
		}
		inner := ""
		switch e.Tag {
		case dwarf.TagCompileUnit, dwarf.TagTypeUnit:
			lang, _ := e.Val(dwarf.AttrLanguage).(int64)
			cpp = isCpp(lang)
		case dwarf.TagNamespace, dwarf.TagModule:
			inner = name
		case dwarf.TagStructType, dwarf.TagUnionType, dwarf.TagClassType, dwarf.TagEnumerationType, dwarf.TagTypedef:
			t.name(e, scope, name, cpp)
			inner = name
		case dwarf.TagSubprogram:
			t.function(e)
			within = e.Offset
		case dwarf.TagFormalParameter:
			if typ, ok := data.Ref(e, dwarf.AttrType); ok && within != 0 {
				t.args[within] = append(t.args[within], typ)
			}
		}
		if e.Tag != dwarf.TagSubprogram {
			if e.Tag != dwarf.TagFormalParameter && e.Tag != dwarf.TagNamespace && e.Tag != dwarf.TagModule {
				within = 0 // parameters of what is called in place, or of a function's type, are none of the function's
			}
		}
		if e.Children {
			scope, function = append(scope, inner), append(function, within)
		}
	}
}

// nextEntry reads the next entry, nil behind the last; ends are those that only ended lists since the last other one.
func nextEntry(r *dwarf.Reader, ends *int) (*dwarf.Entry, error) {
	e, err := r.Next()
	if err != nil || e == nil {
		return nil, err
	}
	if *ends++; e.Tag != 0 {
		*ends = 0
	}
	if *ends > debuginfo.MostEnds {
		return nil, nil
	}
	return e, nil
}

// entryName is an entry's name. What stands for a type of a type unit may have none of its own.
func (t *paramTable) entryName(e *dwarf.Entry) string {
	name, ok := e.Val(dwarf.AttrName).(string)
	if !ok && e.Val(dwarf.AttrSignature) != nil {
		if e = t.data.Entry(e.Offset); e != nil {
			name, _ = e.Val(dwarf.AttrName).(string)
		}
	}
	return name
}

// isCpp tells whether in a language a record's name alone means it.
func isCpp(lang int64) bool {
	const c89, c, c99, c11, c17 = 0x01, 0x02, 0x0c, 0x1d, 0x2c
	return !slices.Contains([]int64{c89, c, c99, c11, c17}, lang)
}

// name notes a type with a name.
func (t *paramTable) name(e *dwarf.Entry, scope []string, name string, bare bool) {
	if name == "" {
		return
	}
	full := ""
	for _, s := range scope {
		if s != "" {
			full += s + "::"
		}
	}
	word := map[dwarf.Tag]string{dwarf.TagStructType: "struct", dwarf.TagUnionType: "union", dwarf.TagClassType: "class", dwarf.TagEnumerationType: "enum"}[e.Tag]
	t.names[e.Offset] = typeName{word, full + name, bare || word == ""}
	// What is defined outside of the namespace or class that declares it, as in a type unit, has its whole name there.
	if off, ok := e.Val(dwarf.AttrSpecification).(dwarf.Offset); ok {
		t.of[e.Offset] = off
	}
}

// function notes a function.
func (t *paramTable) function(e *dwarf.Entry) {
	if low, ok := e.Val(dwarf.AttrLowpc).(uint64); ok {
		t.at[low] = e.Offset
	} else if ranges, err := t.data.Ranges(e); err == nil && len(ranges) > 0 {
		t.at[ranges[0][0]] = e.Offset
	}
	for _, a := range []dwarf.Attr{dwarf.AttrAbstractOrigin, dwarf.AttrSpecification} {
		if off, ok := e.Val(a).(dwarf.Offset); ok {
			t.of[e.Offset] = off
		}
	}
}

// spellings are all ways of writing the types of a function's parameters, in their canonical form.
func (t *paramTable) spellings(vaddr uint64) map[string]bool {
	set := make(map[string]bool)
	fn, ok := t.at[vaddr]
	// A copy's parameters refer to those of what it is a copy of, which have the types.
	for range 4 {
		if !ok || len(t.args[fn]) > 0 {
			break
		}
		fn, ok = t.of[fn]
	}
	for _, typ := range t.args[fn] {
		for _, s := range t.spell(typ, 0) {
			set[canonicalType(s)] = true
			set[canonicalType(unqualified(s))] = true
		}
	}
	return set
}

// spell writes a type: by the names of typedefs, and as what they stand for.
func (t *paramTable) spell(off dwarf.Offset, depth int) []string {
	if depth > 16 {
		return nil
	}
	e := t.data.Entry(off)
	if e == nil {
		return nil
	}
	off = e.Offset
	to := func(void string) []string {
		typ, ok := t.data.Ref(e, dwarf.AttrType)
		if !ok {
			return []string{void}
		}
		return t.spell(typ, depth+1)
	}
	behind := func(list []string, suffix string) []string {
		for i := range list {
			list[i] += suffix
		}
		return list
	}
	name, _ := e.Val(dwarf.AttrName).(string)
	switch e.Tag {
	case dwarf.TagPointerType:
		out := behind(to("void"), "*")
		if name != "" { // Go's and Rust's
			out = append(out, name)
		}
		return out
	case dwarf.TagReferenceType:
		return behind(to("void"), "&")
	case dwarf.TagRvalueReferenceType:
		return behind(to("void"), "&&")
	case dwarf.TagConstType:
		return qualified(to("void"), "const")
	case dwarf.TagVolatileType:
		return qualified(to("void"), "volatile")
	case dwarf.TagRestrictType, dwarf.TagAtomicType:
		return to("void")
	case dwarf.TagTypedef:
		out := to("void")
		if n, ok := t.names[off]; ok {
			out = append(out, n.name)
		}
		return out
	}
	n, ok := t.whole(off)
	switch {
	case !ok && name == "":
		return nil
	case !ok:
		return []string{name}
	case n.bare && n.word != "":
		return []string{n.name, n.word + " " + n.name}
	}
	return []string{n.word + " " + n.name}
}

// whole is a type's name, with what it is declared in.
func (t *paramTable) whole(off dwarf.Offset) (typeName, bool) {
	if n, ok := t.names[t.of[off]]; ok {
		return n, true
	}
	n, ok := t.names[off]
	return n, ok
}

// qualified puts a qualifier where C has it: behind the last star, or in front of what has none.
func qualified(list []string, word string) []string {
	for i, s := range list {
		if strings.HasSuffix(s, "*") {
			list[i] = s + " " + word
		} else {
			list[i] = word + " " + s
		}
	}
	return list
}

// typeWords takes a spelling apart into words and signs.
func typeWords(s string) []string {
	var out []string
	word := -1
	for i, c := range s {
		sign := c == '*' || c == '&'
		if (sign || c == ' ' || c == '\t' || c == '\n') && word >= 0 {
			out, word = append(out, s[word:i]), -1
		}
		switch {
		case sign:
			out = append(out, string(c))
		case c != ' ' && c != '\t' && c != '\n' && word < 0:
			word = i
		}
	}
	if word >= 0 {
		out = append(out, s[word:])
	}
	return out
}

// unqualified is a spelling without qualifiers.
func unqualified(s string) string {
	return strings.Join(slices.DeleteFunc(typeWords(s), isQualifier), " ")
}

func isQualifier(w string) bool {
	return slices.Contains([]string{"const", "volatile", "restrict", "__restrict"}, w)
}

// canonicalType is one spelling for all that mean the same: qualifiers of a plain type come first, words of C's integers in one order.
func canonicalType(s string) string {
	words := typeWords(s)
	stars := slices.IndexFunc(words, func(w string) bool { return w == "*" || w == "&" })
	if stars < 0 {
		stars = len(words)
	}
	var quals, base []string
	for _, w := range words[:stars] {
		if isQualifier(w) {
			quals = append(quals, w)
		} else {
			base = append(base, w)
		}
	}
	slices.Sort(quals)
	out := append(quals, canonicalInteger(base)...)
	for _, w := range words[stars:] {
		if w != "restrict" && w != "__restrict" {
			out = append(out, w)
		}
	}
	for n := len(out); n > 0 && stars < len(words) && isQualifier(out[n-1]); n-- {
		out = out[:n-1] // of the parameter itself
	}
	return strings.Join(out, " ")
}

// canonicalInteger brings "long unsigned int" and "unsigned long" together; other words stay.
func canonicalInteger(words []string) []string {
	count := make(map[string]int)
	for _, w := range words {
		if !slices.Contains([]string{"unsigned", "signed", "char", "short", "int", "long"}, w) {
			return words
		}
		count[w]++
	}
	if len(words) == 0 {
		return words
	}
	var out []string
	switch {
	case count["unsigned"] > 0:
		out = append(out, "unsigned")
	case count["signed"] > 0 && count["char"] > 0:
		out = append(out, "signed")
	}
	switch {
	case count["char"] > 0:
		return append(out, "char")
	case count["short"] > 0:
		return append(out, "short")
	case count["long"] > 1:
		return append(out, "long", "long")
	case count["long"] > 0:
		return append(out, "long")
	}
	return append(out, "int")
}
