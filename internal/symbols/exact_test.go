package symbols

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Looking an exact name up in the symbols gives what the table of functions gives: for
// programs and libraries of the machine and ones built here, by linked names, with and
// without versions, demangled ones with and without template arguments, and for main,
// which stripped programs have no name for.
func TestExactIsTheTables(t *testing.T) {
	stride, perImage := 80, 15
	if os.Getenv("ALLERIA_TEST_ALL_IMAGES") != "" { // takes minutes
		stride, perImage = 1, 6
	}
	var paths []string
	for i, path := range images() {
		if i%stride == 0 {
			paths = append(paths, path)
		}
	}
	self, err := os.Executable() // of Go's linker
	if err != nil {
		t.Fatal(err)
	}
	paths = append(paths, self, "/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libstdc++.so.6", "/lib64/ld-linux-x86-64.so.2")
	answered, names := 0, 0
	for _, path := range paths {
		a, n := compareExact(t, path, perImage)
		answered, names = answered+a, names+n
	}
	t.Logf("%d images, %d names, %d answered without the table", len(paths), names, answered)
	if answered*4 < names*3 {
		t.Errorf("only %d of %d names were found in the symbols", answered, names)
	}
}

// The shapes of programs: each compiler, stripped or not, static or not.
func TestExactOfShapes(t *testing.T) {
	shapes(t, func(t *testing.T, path string) { compareExact(t, path, 40) })
}

// Functions of one name, labels, functions without a size, parts and several names of one
// address, in a program of two files; stripped, only main can be found.
func TestExactOfAliases(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a := write("a.c", `
static __attribute__((noinline)) int same(int x) { __asm__ volatile(""); return x + 1; }
int alias_target(int x) { return same(x); }
int other_name(int) __attribute__((alias("alias_target")));
int weak_name(int) __attribute__((weak, alias("alias_target")));
int b(int);
__asm__(".text\n.type unsized, @function\nunsized: ret\n.globl label\nlabel: nop\nret\n"
	".globl foo.cold\n.type foo.cold, @function\nfoo.cold: ret\n.size foo.cold, 1\n");
int main(int argc, char **argv) { return b(argc) + alias_target(argc); }
`)
	b := write("b.c", `
static __attribute__((noinline)) int same(int x) { __asm__ volatile(""); return x * 3; }
int b(int x) { return same(x); }
`)
	for _, flags := range [][]string{{"-O1"}, {"-O1", "-s"}, {"-O1", "-no-pie", "-s"}, {"-O1", "-rdynamic", "-s"}, {"-O1", "-static"}, {"-O1", "-static", "-s"}} {
		path := build(t, "gcc", append(flags, a, b)...)
		compareExact(t, path, 40)
		for _, name := range []string{"same", "alias_target", "other_name", "weak_name", "unsized", "label", "foo", "foo.cold", "main", "_start", "absent"} {
			compareName(t, path, mustOpen(t, path), mustOpen(t, path), name)
		}
	}
}

// images lists programs and libraries of the machine.
func images() []string {
	var out []string
	for _, pattern := range []string{"/usr/bin/*", "/usr/lib/x86_64-linux-gnu/*.so.*", "/usr/lib/gcc/x86_64-linux-gnu/*/*"} {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			if st, err := os.Lstat(f); err == nil && st.Mode().IsRegular() {
				out = append(out, f)
			}
		}
	}
	return out
}

// compareExact compares both ways for some of the names of an image, and tells how many
// names were found without the table.
func compareExact(t *testing.T, path string, names int) (answered, compared int) {
	t.Helper()
	quick, err := OpenWith(path, Options{})
	if err != nil {
		return 0, 0
	}
	defer quick.Close()
	whole, err := OpenWith(path, Options{WholeTables: true})
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	fns := whole.Functions()
	asked := []string{"main", "absent", "printf", "printf@plt"}
	for i := 0; i < len(fns); i += 1 + len(fns)/names {
		if fns[i].Kind == PLT { // only the table has these
			continue
		}
		for _, a := range fns[i].Aliases {
			d := demangleBoth(a.Linked)
			asked = append(asked, a.Linked, a.String(), d.full, d.short, d.short[strings.LastIndexByte(d.short, ':')+1:])
		}
	}
	slices.Sort(asked)
	for _, name := range slices.Compact(asked) {
		if !quick.made.Load() {
			answered++
		}
		compared++
		compareName(t, path, quick, whole, name)
		if quick.made.Load() { // another one, to go on
			quick.Close()
			if quick, err = OpenWith(path, Options{}); err != nil {
				t.Fatal(err)
			}
			answered--
		}
	}
	return answered, compared
}

// compareName compares both ways for one name.
func compareName(t *testing.T, path string, quick, whole *Image, name string) {
	t.Helper()
	whole.opts.WholeTables = true
	for _, linked := range []bool{false, true} {
		quick.scans.Store(0)
		if got, want := describe(quick.Find(name, linked)), describe(whole.Find(name, linked)); got != want {
			t.Errorf("%s: Find(%q, %v):\n got %s\nwant %s", path, name, linked, got, want)
		}
		quick.scans.Store(0)
		if got, want := describe(quick.Select(name, linked)), describe(whole.Select(name, linked)); got != want {
			t.Errorf("%s: Select(%q, %v):\n got %s\nwant %s", path, name, linked, got, want)
		}
	}
}

// describe spells functions out.
func describe(fns []*Function) string {
	var s strings.Builder
	for _, f := range fns {
		fmt.Fprintf(&s, "%#x+%d kind %d source %v %v; ", f.Addr, f.Size, f.Kind, f.Source, f.Aliases)
	}
	return s.String()
}
