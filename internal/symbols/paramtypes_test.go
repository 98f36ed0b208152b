package symbols

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHasParam asks for types of two programs' functions in many spellings.
func TestHasParam(t *testing.T) {
	dir := t.TempDir()
	cpp := filepath.Join(dir, "m.cc")
	text := `namespace ns { class Box { public: int n; int get(const Box &other); }; typedef Box *Handle; struct Outer { struct Nested; }; struct Outer::Nested { int n; }; }
int ns::Box::get(const Box &other) { return n + other.n; }
enum Color { red };
struct Pair { int a, b; };
__attribute__((noinline)) int use(ns::Handle h, Color c) { return h->n + c; }
__attribute__((noinline)) int nested(const ns::Outer::Nested &n) { return n.n; }
__attribute__((noinline)) int take(Pair &&p, const char *const s) { return p.a + s[0]; }
int main() { ns::Box b{1}; return use(&b, red) + take(Pair{1, 2}, "x") + b.get(b) + nested({1}); }
`
	if err := os.WriteFile(cpp, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ compilers, source, cases string }{
		{"gcc clang", "../../testdata/intercept/by-type.c", `
			struct foo *           : plain constant named
			struct foo*            : plain constant named
			const struct foo *     : constant
			struct foo const *     : constant
			foo_t *                : named
			struct foo             : value callback
			struct foo **          : twice
			foo *                  :
			union either *         : number
			unsigned long          : number
			long unsigned int      : number
			int                    : constant`},
		{"g++ clang++", cpp, `
			ns::Box *              : use ns::Box::get
			class ns::Box *        : use ns::Box::get
			ns::Handle             : use
			Box *                  :
			ns::Outer::Nested &    : nested
			Nested &               :
			Color                  : use
			enum Color             : use
			Pair &&                : take
			const char *           : take
			char *                 : take
			const ns::Box &        : ns::Box::get
			ns::Box &              : ns::Box::get`},
	} {
		for _, version := range []string{"-gdwarf-5", "-gdwarf-4", "-gdwarf-5 -fdebug-types-section", "-gdwarf-4 -fdebug-types-section"} {
			for compiler := range strings.FieldsSeq(c.compilers) {
				if _, err := exec.LookPath(compiler); err != nil {
					t.Logf("no %s here", compiler)
					continue
				}
				if strings.HasPrefix(compiler, "clang") && !strings.Contains(version, " ") {
					continue // only type units differ from gcc's
				}
				hasParams(t, append(append([]string{compiler}, strings.Fields(version)...), "-O1", c.source), c.cases)
			}
		}
	}
}

// hasParams compiles a program and compares the functions that have parameters of types with those that lines name.
func hasParams(t *testing.T, compile []string, lines string) {
	prog := filepath.Join(t.TempDir(), "prog")
	if out, err := exec.Command(compile[0], append(compile[1:], "-o", prog)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	im, err := Open(prog)
	if err != nil {
		t.Fatal(err)
	}
	defer im.Close()
	for _, line := range strings.Split(strings.TrimSpace(lines), "\n") {
		spelling, names, _ := strings.Cut(strings.TrimSpace(line), " :")
		var got []string
		for _, fn := range im.Functions() {
			if im.HasParam(fn.Addr, spelling) {
				got = append(got, fn.Name())
			}
		}
		if want := strings.Fields(names); !sameNames(got, want) {
			t.Errorf("%v: %q is a parameter's type in %v, want %v", compile, spelling, got, want)
		}
	}
}

// sameNames compares lists whatever their order.
func sameNames(a, b []string) bool {
	count := make(map[string]int)
	for _, s := range a {
		count[s]++
	}
	for _, s := range b {
		count[s]--
	}
	for _, n := range count {
		if n != 0 {
			return false
		}
	}
	return true
}
