package symbols

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestPattern(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"main", "main", true}, {"main", "main2", false}, {"main", "amain", false},
		{"*", "", true}, {"*", "ns::f", true}, {"ns::*", "ns::a::b", true}, {"ns::*", "n::a", false},
		{"*::get", "a::b::get", true}, {"*::get", "get", false}, {"a*a", "a", false}, {"a*a", "aa", true},
		{"a*b*c", "aXbYbZc", true}, {"a*b*c", "acb", false}, {"**", "x", true}, {"", "", true}, {"", "x", false},
		{"*ab*ab", "ab", false}, {"*ab*ab", "abab", true}, {"operator*", "operator+", true},
	} {
		if got := NewPattern(c.pattern).Match(c.name); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.name, got)
		}
	}
	if p := NewPattern("ab*c*"); p.Literal() != 3 || p.Exact() {
		t.Errorf("literal part %d of ab*c*", p.Literal())
	}
}

func TestClones(t *testing.T) {
	for _, c := range []struct{ linked, parent, name string }{
		{"foo.cold", "foo", "foo.cold"},
		{"foo.part.0", "foo", "foo.part.0"},
		{"foo.constprop.12", "foo", "foo.constprop.12"},
		{"foo.isra.0.part.3.cold", "foo", "foo.isra.0.part.3.cold"},
		{"foo.cold.7", "foo", "foo.cold.7"},
		{"_ZN2ns5Class6methodEi.isra.0", "_ZN2ns5Class6methodEi", "ns::Class::method.isra.0"},
		{"foo.lto_priv.0", "", "foo"},
		{"_Z3barv.llvm.123", "", "bar"},
		{"foo.lto_priv.0.cold", "foo.lto_priv.0", "foo.lto_priv.0.cold"},
		{"foo.1", "", "foo.1"}, {"a.b", "", "a.b"}, {".cold", "", ".cold"}, {"foo.part.", "", "foo.part."},
	} {
		f := Function{Aliases: []Alias{{Linked: c.linked}}, image: &Image{Name: "x"}}
		if got := f.Parent(); got != c.parent {
			t.Errorf("%s: parent %q, want %q", c.linked, got, c.parent)
		}
		if got := f.Name(); got != c.name {
			t.Errorf("%s: name %q, want %q", c.linked, got, c.name)
		}
	}
	f := Function{Aliases: []Alias{{Linked: "main.cold"}}, image: &Image{elfFile: elfFile{golang: true}}}
	if got := f.Parent(); got != "" {
		t.Errorf("Go's main.cold is part of %q", got)
	}
}

// linkedNames finds functions and gives their linked names.
func linkedNames(im *Image, pattern string) []string {
	var s []string
	for _, f := range im.Find(pattern, false) {
		s = append(s, f.Linked())
	}
	slices.Sort(s)
	return s
}

func TestCPlusPlusNames(t *testing.T) {
	im := mustOpen(t, build(t, "g++", "-O1", "testdata/names.cc"))
	for _, c := range []struct {
		pattern string
		want    []string
	}{
		{"ns::Class::method", []string{"_ZN2ns5Class6methodEd", "_ZN2ns5Class6methodEi"}}, // overloads
		{"ns::Class::Class", []string{"_ZN2ns5ClassC1Ei"}},                                // C1 and C2 are one function
		{"ns::Class::~Class", []string{"_ZN2ns5ClassD1Ev"}},
		{"ns::Class::operator+", []string{"_ZNK2ns5ClassplERKS0_"}},
		{"ns::twice", []string{"_ZN2ns5twiceIdEET_S1_", "_ZN2ns5twiceIiEET_S1_"}}, // any arguments
		{"ns::twice<int>", []string{"_ZN2ns5twiceIiEET_S1_"}},
		{"ns::(anonymous namespace)::hidden", []string{"_ZN2ns12_GLOBAL__N_16hiddenEi"}},
		{"_ZN2ns5Class6methodEi", []string{"_ZN2ns5Class6methodEi"}}, // a plain name may be the linked one
		{"method", nil},
		{"ns::Cl*::meth*", []string{"_ZN2ns5Class6methodEd", "_ZN2ns5Class6methodEi"}},
		{"main", []string{"main"}},
	} {
		if got := linkedNames(im, c.pattern); !slices.Equal(got, c.want) {
			t.Errorf("Find(%q) = %v, want %v", c.pattern, got, c.want)
		}
	}
	for _, f := range im.Find("operator new*", false) {
		if f.Kind == PLT && !strings.HasSuffix(f.Name(), "@plt") {
			t.Errorf("the stub %s is called %s", f.Linked(), f.Name())
		}
	}
	if got := linkedNames(im, "operator new"); got != nil {
		t.Errorf("a stub is found as its function: %v", got)
	}
	if got := linkedNames(im, "operator new@plt"); len(got) != 1 {
		t.Errorf("the stub of operator new is %v", got)
	}
	if got := im.Find("ns::Class::method", true); got != nil {
		t.Errorf("as linked, a demangled name finds %v", got)
	}
	if got := im.Find("main::{lambda(int)#1}::operator()", false); len(got) != 1 {
		t.Errorf("the lambda is %v", got)
	}
}

// TestDemangleAgainstFilt compares every name of the C++ library with binutils',
// up to the parameters.
func TestDemangleAgainstFilt(t *testing.T) {
	path := system(t, "/usr/lib/x86_64-linux-gnu/libstdc++.so.6")
	im := mustOpen(t, path)
	row := regexp.MustCompile(`^([0-9a-f]{16}) [TWiu] (.*)$`)
	agree, differ := 0, 0
	for _, line := range oracle(t, "nm", "-D", "-C", "--without-symbol-versions", path) {
		m := row.FindStringSubmatch(line)
		if m == nil || !im.executable(unhex(t, m[1])) {
			continue
		}
		f := im.Lookup(unhex(t, m[1]))
		if f == nil {
			t.Fatalf("%s is in no function", line)
		}
		ok := slices.ContainsFunc(f.Aliases, func(a Alias) bool {
			name := demangleName(a.Linked)
			// Return types stand before the name, qualifiers behind.
			return strings.Contains(m[2], name)
		})
		if ok {
			agree++
		} else {
			differ++
			t.Logf("%s: %q", line, f.Name())
		}
	}
	if agree < 1000 || differ > agree/100 {
		t.Errorf("%d names agree with nm -C, %d differ", agree, differ)
	}
}

func TestRustNames(t *testing.T) {
	for name, flags := range map[string][]string{"legacy": nil, "v0": {"-C", "symbol-mangling-version=v0"}} {
		t.Run(name, func(t *testing.T) {
			im := mustOpen(t, build(t, "rustc", append(flags, "-C", "opt-level=1", "testdata/names.rs")...))
			for pattern, want := range map[string]int{
				"names::main": 1, "names::outer::Thing::turn": 1, "names::outer::generic": 2, "names::out*": 3, "turn": 0,
			} {
				if got := im.Find(pattern, false); len(got) != want {
					t.Errorf("Find(%q) = %d functions, want %d; near are %q", pattern, len(got), want, im.Nearest(pattern, 5))
				}
			}
		})
	}
}

func TestNearest(t *testing.T) {
	im := mustOpen(t, build(t, "g++", "-O1", "testdata/names.cc"))
	for wrong, right := range map[string]string{
		"ns::Class::metod": "ns::Class::method", "Method": "ns::Class::method",
		"mian": "main", "ns::twcie": "ns::twice<int>", "ns::class::method": "ns::Class::method",
	} {
		if got := im.Nearest(wrong, 3); !slices.Contains(got, right) || len(got) > 3 {
			t.Errorf("Nearest(%q) = %q, lacks %q", wrong, got, right)
		}
	}
	if got := im.Nearest("completely_different_name", 3); len(got) != 0 {
		t.Errorf("Nearest of nothing near = %q", got)
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"main", "mian", 1}, {"kitten", "sitting", 3}, {"abc", "abc", 0}, {"abcd", "xyz", 4}} {
		if got := editDistance(c.a, c.b, 5); got != c.want {
			t.Errorf("%q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
	}
	if got := editDistance("aaaaaaaa", "bbbbbbbb", 2); got != 3 {
		t.Errorf("beyond the limit: %d", got)
	}
}
