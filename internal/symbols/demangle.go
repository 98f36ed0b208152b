package symbols

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

const (
	// maxMangled bounds what is demangled: longer names exist (expression
	// templates), but nobody types them.
	maxMangled = 4 << 10
	// demangledPower bounds the result to 2^14 bytes, since substitutions let it
	// grow exponentially.
	demangledPower = 14
)

// mangled reports whether a name looks like one of C++ or Rust.
func mangled(linked string) bool {
	return len(linked) > 2 && len(linked) <= maxMangled && linked[0] == '_' &&
		(linked[1] == 'Z' || linked[1] == 'R' || strings.HasPrefix(linked, "___Z"))
}

// demangleName gives the name without parameters, of what isn't mangled the name
// itself. The suffix of a part or copy stays as it is linked: foo.cold, where
// the library would leave it out.
func demangleName(linked string) string { return demangleWith(linked) }

// demangleShort also leaves out the arguments of templates and generics:
// std::vector::push_back is what one types for all vectors. Of Rust's inherent
// methods, <module::Type>::method, it removes the brackets, which stand there
// only where the new mangling scheme is in use and have to be escaped in XML.
func demangleShort(linked string) string {
	s := demangleWith(linked, demangle.NoTemplateParams)
	s = strings.ReplaceAll(strings.ReplaceAll(s, "::<>", ""), "<>", "")
	if end := strings.LastIndex(s, ">::"); end > 0 && s[0] == '<' && !strings.ContainsAny(s[1:end], "<> ") {
		return s[1:end] + s[end+1:]
	}
	return s
}

func demangleWith(linked string, options ...demangle.Option) string {
	if !mangled(linked) {
		return cutRename(linked)
	}
	base, suffix := cutClone(linked)
	// A stub is not what it jumps to, and must not be found by that name.
	if of, ok := strings.CutSuffix(linked, stubMark); ok {
		base, suffix = of, stubMark
	}
	out, err := demangle.ToString(cutRename(base), append(options, demangle.NoParams, demangle.MaxLength(demangledPower))...)
	if err != nil || out == "" {
		return linked
	}
	return out + suffix
}

// demangledName is a function's best name, both ways. They share their bytes
// where there are no template arguments.
type demangledName struct{ full, short string }

// demangleBoth makes both forms, the second only where it can differ.
func demangleBoth(linked string) demangledName {
	d := demangledName{full: demangleName(linked)}
	d.short = d.full
	if strings.IndexByte(d.full, '<') >= 0 {
		d.short = demangleShort(linked)
	}
	return d
}

// Demangle returns the name of a function for people, from the one that it is linked by.
func Demangle(linked string) string { return demangleName(linked) }
