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
	text := `namespace ns { class Box { public: int n; int get(const Box &other); }; typedef Box *Handle; }
int ns::Box::get(const Box &other) { return n + other.n; }
enum Color { red };
struct Pair { int a, b; };
__attribute__((noinline)) int use(ns::Handle h, Color c) { return h->n + c; }
__attribute__((noinline)) int take(Pair &&p, const char *const s) { return p.a + s[0]; }
int main() { ns::Box b{1}; return use(&b, red) + take(Pair{1, 2}, "x") + b.get(b); }
`
	if err := os.WriteFile(cpp, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ compiler, source, cases string }{
		{"gcc", "../../testdata/intercept/by-type.c", `
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
		{"g++", cpp, `
			ns::Box *              : use ns::Box::get
			class ns::Box *        : use ns::Box::get
			ns::Handle             : use
			Box *                  :
			Color                  : use
			enum Color             : use
			Pair &&                : take
			const char *           : take
			char *                 : take
			const ns::Box &        : ns::Box::get
			ns::Box &              : ns::Box::get`},
	} {
		if _, err := exec.LookPath(c.compiler); err != nil {
			t.Skipf("no %s here", c.compiler)
		}
		for _, version := range []string{"-gdwarf-5", "-gdwarf-4"} {
			prog := filepath.Join(dir, "prog"+version)
			if out, err := exec.Command(c.compiler, "-O1", version, "-o", prog, c.source).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			im, err := Open(prog)
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(strings.TrimSpace(c.cases), "\n") {
				spelling, names, _ := strings.Cut(strings.TrimSpace(line), " :")
				var got []string
				for _, fn := range im.Functions() {
					if im.HasParam(fn.Addr, spelling) {
						got = append(got, fn.Name())
					}
				}
				want := strings.Fields(names)
				if !sameNames(got, want) {
					t.Errorf("%s %s: %q is a parameter's type in %v, want %v", c.source, version, spelling, got, want)
				}
			}
			im.Close()
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
