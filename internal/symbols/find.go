package symbols

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Find gives the functions that a name means, by address. The name may hold *.
// It is compared with names as linked (every alias, with and without a version)
// and, unless linked is set, also with demangled names without parameters; a
// name without '<' then matches with any template arguments. image+0xOFFSET
// means the function that begins there.
//
// Parts and copies (foo.cold, foo.constprop.0) are found only by a name that
// spells the suffix out: calling them is not calling foo. Select includes them.
//
// They need not be elements of the table of functions: an exact name is looked up without it.
//
// None is an empty list, and several are usual: overloads, static functions of one name
// in several files, instances of a template.
func (im *Image) Find(pattern string, linked bool) []*Function {
	p := NewPattern(pattern)
	m := matcher{p: p, linked: linked, clones: namesClone(pattern)}
	return im.match(&m)
}

// Select is Find together with the parts and copies of what is found: all code
// that belongs to the name.
func (im *Image) Select(pattern string, linked bool) []*Function {
	m := matcher{p: NewPattern(pattern), linked: linked, clones: true, parents: true}
	return im.match(&m)
}

// FindCopies is Find together with whole copies of the functions that it finds, which are entered by calls: foo.constprop.0 and foo.isra.0, not their parts.
func (im *Image) FindCopies(pattern string, linked bool) []*Function {
	if namesClone(pattern) {
		return im.Find(pattern, linked)
	}
	return slices.DeleteFunc(im.Select(pattern, linked), func(f *Function) bool { return f.Parent() != "" && !f.isCopy() })
}

// isCopy tells a whole copy of a function from the function and from its parts.
func (f *Function) isCopy() bool {
	parent := f.Parent()
	if parent == "" {
		return false
	}
	suffix := f.Linked()[len(parent):]
	return !strings.Contains(suffix, ".cold") && !strings.Contains(suffix, ".part.")
}

// matcher is a compiled Find.
type matcher struct {
	p       Pattern
	linked  bool
	clones  bool   // parts and copies count
	parents bool   // and match by the name of what they belong to
	must    string // what a mangled name has to contain, for not demangling all
}

// match runs a matcher over the table.
func (im *Image) match(m *matcher) []*Function {
	// A walk over all names: comparing 20,000 names takes 0.2 ms, a configuration asks a
	// few dozen times, and an index would cost memory for each image of each run.
	if m.p.Exact() {
		m.must = m.required()
		if found, ok := im.exact(m); ok {
			return found
		}
	}
	fns := im.Functions()
	if m.p.Exact() {
		if f := im.atOffset(m.p.text); f != nil {
			return []*Function{f}
		}
	}
	if at, ok := im.indexed(m); ok {
		return im.matchAt(m, at)
	}
	var names []demangledName
	if !m.linked && m.must == "" {
		names = im.demangledNames()
	}
	var out []*Function
	for i := range fns {
		f := &fns[i]
		if (m.clones || f.Parent() == "") && m.matches(f, names, i) {
			out = append(out, f)
		}
	}
	return out
}

// matchAt runs a matcher over some functions of the table.
func (im *Image) matchAt(m *matcher, at []int32) (out []*Function) {
	fns, names := im.Functions(), im.demangledNames()
	for _, i := range at {
		if f := &fns[i]; (m.clones || f.Parent() == "") && m.matches(f, names, int(i)) {
			out = append(out, f)
		}
	}
	return out
}

// matches compares one function's names.
func (m *matcher) matches(f *Function, names []demangledName, i int) bool {
	// Making the name of a nameless function is the expensive part, so first.
	if len(f.Aliases) == 0 {
		return !m.p.Exact() && m.p.Match(f.Linked()) // exact ones are found by offset
	}
	for _, a := range f.Aliases {
		if m.matchesLinked(a) {
			return true
		}
		if !m.linked && mangled(a.Linked) && (m.must == "" || strings.Contains(a.Linked, m.must)) {
			// The best name is cached; of the other aliases (constructors' C1 and C2, ICF)
			// the demangled form is usually the same, but not always.
			d := demangledName{}
			if names != nil && a.Linked == f.Aliases[0].Linked {
				d = names[i]
			} else {
				d = demangleBoth(a.Linked)
			}
			if m.matchesDemangled(d) {
				return true
			}
		}
	}
	return false
}

// matchesLinked compares a name as linked.
func (m *matcher) matchesLinked(a Alias) bool {
	if m.p.Match(a.Linked) || m.p.Match(cutRename(a.Linked)) {
		return true
	}
	// Versions only count when asked for: memcpy means all of them.
	if a.Version != "" && strings.IndexByte(m.p.text, '@') >= 0 && m.p.Match(a.String()) {
		return true
	}
	if !m.parents {
		return false
	}
	base, suffix := cutClone(a.Linked)
	return suffix != "" && (m.p.Match(base) || m.p.Match(cutRename(base)))
}

// matchesDemangled compares a demangled name, of a part or copy also without
// the suffix.
func (m *matcher) matchesDemangled(d demangledName) bool {
	if m.p.Match(d.full) || m.p.Match(d.short) {
		return true
	}
	if !m.parents {
		return false
	}
	full, suffix := cutClone(d.full)
	short, _ := cutClone(d.short)
	return suffix != "" && (m.p.Match(full) || m.p.Match(short))
}

// atOffset finds the function that image+0xOFFSET names. The image may go by
// the name of the link that it was opened through as well.
func (im *Image) atOffset(name string) *Function {
	at := strings.LastIndex(name, offsetMark)
	if at < 0 || name[:at] != im.Name && name[:at] != filepath.Base(im.Path) {
		return nil
	}
	offset := name[at+len(offsetMark):]
	vaddr, err := strconv.ParseUint(offset, 16, 64)
	if err != nil {
		return nil
	}
	if i := im.index(&Function{Addr: vaddr}); i < len(im.fns) && im.fns[i].Addr == vaddr {
		return &im.fns[i]
	}
	return nil
}

// demangledNames are the best names of all functions, made once: a wildcard
// has to see them all.
// Demangling costs microseconds a name, and a C++ library has tens of thousands.
func (im *Image) demangledNames() []demangledName {
	im.nameOnce.Do(func() {
		fns := im.Functions()
		im.demangled = make([]demangledName, len(fns))
		for i := range fns {
			if len(fns[i].Aliases) > 0 {
				im.demangled[i] = demangleBoth(fns[i].Linked())
			}
		}
	})
	return im.demangled
}

// required is what all names contain that an exact one matches, "" if that is not certain.
// What stands behind an @ is a version, which is no part of the name.
func (m *matcher) required() string {
	name, _, _ := strings.Cut(m.p.text, "@")
	if m.linked {
		return name
	}
	return finalIdentifier(name)
}

// finalIdentifier is the last part of ns::Class::method where that is certain
// to be spelled out in the mangled name, else "". It is not for constructors
// (their name is encoded as "constructor"), operators, and anything with
// punctuation or letters outside of ASCII.
func finalIdentifier(name string) string {
	rest, last := "", name
	if at := strings.LastIndex(name, "::"); at >= 0 {
		rest, last = name[:at], name[at+2:]
	}
	if dot := strings.IndexByte(last, '.'); dot > 0 {
		last = last[:dot]
	}
	for i := range len(last) {
		if c := last[i]; c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return ""
		}
	}
	// A class and its constructor: std::basic_string is mangled as "Ss".
	class, _, _ := strings.Cut(rest[strings.LastIndex(rest, "::")+1:], "<")
	if strings.TrimPrefix(class, ":") == last {
		return ""
	}
	return last
}

// namesClone reports whether a pattern spells out the suffix of a part or copy.
func namesClone(pattern string) bool {
	// By substring: with wildcards the number behind it may be missing.
	for _, mark := range []string{".cold", ".part", ".constprop", ".isra"} {
		if strings.Contains(pattern, mark) {
			return true
		}
	}
	return false
}
