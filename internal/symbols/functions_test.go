package symbols

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// readelfFunctions gives address, size and name of all functions in a table.
func readelfFunctions(t *testing.T, path string, flags ...string) (out []symbol) {
	for _, line := range oracle(t, "readelf", append(append([]string{"-W"}, flags...), path)...) {
		m := readelfSymbol.FindStringSubmatch(line)
		if m == nil || m[4] == "UND" {
			continue
		}
		size, err := strconv.ParseUint(m[2], 0, 64)
		if err != nil {
			t.Fatal(err)
		}
		s := symbol{addr: unhex(t, m[1]), size: size, name: m[5]}
		if m[3] == "IFUNC" {
			s.kind = IFunc
		}
		out = append(out, s)
	}
	return out
}

// TestAgainstReadelf finds every function symbol of readelf in the table, at its
// address, with its size and kind, by name and by address.
func TestAgainstReadelf(t *testing.T) {
	check := func(t *testing.T, path string, flags ...string) {
		im := mustOpen(t, path)
		im.Prepare() // beside what follows, which waits for it
		want := readelfFunctions(t, path, flags...)
		if len(want) < 4 {
			t.Fatalf("readelf shows %d functions", len(want))
		}
		for _, w := range want {
			f := im.Lookup(w.addr)
			if f == nil || f.Addr != w.addr {
				t.Errorf("%s at %#x: Lookup gives %v", w.name, w.addr, f)
				continue
			}
			has := func(a Alias) bool {
				return a.String() == w.name || a.Linked == strings.SplitN(w.name, "@", 2)[0] && a.Version == ""
			}
			if !slices.ContainsFunc(f.Aliases, has) {
				t.Errorf("%s at %#x: aliases are %v", w.name, w.addr, f.Aliases)
			}
			if w.size != 0 && f.Size < w.size {
				t.Errorf("%s: size %d, want %d", w.name, f.Size, w.size)
			}
			if w.kind == IFunc && f.Kind != IFunc {
				t.Errorf("%s: not marked as an IFUNC", w.name)
			}
			if f.Size == 0 {
				t.Errorf("%s: no size", w.name)
			}
		}
		for _, w := range want[:min(len(want), 200)] {
			if !slices.ContainsFunc(im.Find(w.name, true), func(f *Function) bool { return f.Addr == w.addr }) && !namesClone(w.name) {
				t.Errorf("Find(%s) lacks %#x", w.name, w.addr)
			}
		}
	}
	shapes(t, func(t *testing.T, path string) { check(t, path, "-s") })
	t.Run("libc", func(t *testing.T) {
		check(t, system(t, "/lib/x86_64-linux-gnu/libc.so.6"), "--dyn-syms")
	})
	t.Run("perl", func(t *testing.T) { check(t, system(t, "/usr/bin/perl"), "--dyn-syms") })
}

// TestTableIsSane holds for any image: sorted, one function an address, all in
// code, and what has a start also has an end.
func TestTableIsSane(t *testing.T) {
	paths := []string{"/bin/gzip", "/usr/bin/python3", "/usr/bin/perl", "/lib/x86_64-linux-gnu/libc.so.6",
		"/lib/x86_64-linux-gnu/libm.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/lib64/ld-linux-x86-64.so.2"}
	for _, path := range paths {
		im := mustOpen(t, system(t, path))
		fns := im.Functions()
		for i := range fns {
			f := &fns[i]
			if i > 0 && f.Addr <= fns[i-1].Addr {
				t.Fatalf("%s: %#x follows %#x", path, f.Addr, fns[i-1].Addr)
			}
			if !im.executable(f.Addr) || f.Size == 0 {
				t.Errorf("%s: %s at %#x, size %d", path, f.Linked(), f.Addr, f.Size)
			}
			if f.Source == Unwind && i+1 < len(fns) && f.Addr+f.Size > fns[i+1].Addr {
				t.Errorf("%s: nameless %#x reaches into the next", path, f.Addr)
			}
			if got := im.Lookup(f.Addr); got != f {
				t.Errorf("%s: Lookup(%#x) = %v", path, f.Addr, got)
			}
			if i%50 != 0 || f.Parent() != "" {
				continue
			}
			if got := im.Find(f.Linked(), true); !slices.Contains(got, f) {
				t.Errorf("%s: Find(%q) lacks %#x", path, f.Linked(), f.Addr)
			}
		}
		if err := im.Problem(); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

var readelfFDE = regexp.MustCompile(`FDE .*pc=([0-9a-f]+)\.\.([0-9a-f]+)`)

// TestUnwindAgainstReadelf compares all bounds.
func TestUnwindAgainstReadelf(t *testing.T) {
	for _, path := range []string{"/bin/gzip", "/usr/bin/python3", "/lib/x86_64-linux-gnu/libc.so.6", "/usr/bin/sqlite3"} {
		im := mustOpen(t, system(t, path))
		got, err := im.unwindBounds()
		if err != nil {
			t.Fatal(err)
		}
		var want []bound
		for _, line := range oracle(t, "readelf", "--debug-dump=frames", im.Path) {
			if m := readelfFDE.FindStringSubmatch(line); m != nil {
				low, high := unhex(t, m[1]), unhex(t, m[2])
				want = append(want, bound{low, high - low})
			}
		}
		slices.SortFunc(want, func(x, y bound) int { return int(int64(x.addr - y.addr)) })
		want = slices.Compact(want)
		if len(want) == 0 || !slices.Equal(got, want) {
			t.Errorf("%s: %d bounds, readelf has %d", path, len(got), len(want))
		}
	}
}

// TestUnwindThroughIndex damages the first CIE's neighbour, so that the walk
// stops, and expects the index to make good for it.
func TestUnwindThroughIndex(t *testing.T) {
	im := mustOpen(t, system(t, "/bin/gzip"))
	whole, err := im.unwindBounds()
	if err != nil {
		t.Fatal(err)
	}
	s, _ := im.section(".eh_frame")
	b, err := im.contents(s)
	if err != nil {
		t.Fatal(err)
	}
	c := cursor{b: b}
	at := c.u32() + 4 // the second record
	b[at+3] = 0x7f    // is two gigabytes long now
	table := unwindTable{b: b, base: s.vaddr, encodings: make(map[uint64]byte)}
	if table.walk(im) {
		t.Fatal("the walk survived a record that is too long")
	}
	table.fromIndex(im)
	if lost := len(whole) - len(table.out); lost < 0 || lost > 1 {
		t.Errorf("%d of %d bounds through the index", len(table.out), len(whole))
	}
}

var objdumpStub = regexp.MustCompile(`^([0-9a-f]{16}) <([^>]+@plt)>:`)

// TestStubs compares PLT names with objdump's.
func TestStubs(t *testing.T) {
	check := func(t *testing.T, path string) {
		im := mustOpen(t, path)
		n := 0
		for _, line := range oracle(t, "objdump", "-d", "-j", ".plt", "-j", ".plt.sec", "-j", ".plt.got", path) {
			m := objdumpStub.FindStringSubmatch(line)
			// objdump calls a static program's stubs after the resolver's address.
			if m == nil || strings.HasPrefix(m[2], "*ABS*") {
				continue
			}
			n++
			f := im.Lookup(unhex(t, m[1]))
			name, _, _ := strings.Cut(m[2], "@")
			if f == nil || f.Addr != unhex(t, m[1]) || f.Linked() != name+"@plt" || f.Kind != PLT {
				t.Errorf("%s at %s: %+v", m[2], m[1], f)
			}
		}
		if n == 0 && !im.Static() {
			t.Error("objdump shows no stubs")
		}
	}
	shapes(t, check)
	for _, path := range []string{"/bin/gzip", "/usr/bin/python3", "/lib/x86_64-linux-gnu/libc.so.6"} {
		t.Run(path, func(t *testing.T) { check(t, system(t, path)) })
	}
}

// TestStrippedProgram strips a program and expects the same bounds as before,
// main by its name, and the rest under image+0xOFFSET.
func TestStrippedProgram(t *testing.T) {
	path := build(t, "gcc", "-O2", "testdata/shapes.c", "testdata/shapes_more.c")
	whole := mustOpen(t, path)
	stripped := copyFile(t, path)
	run(t, "strip", stripped)
	im := mustOpen(t, stripped)
	for _, name := range []string{"main", "global_one", "splits", "more", "splits.cold"} {
		w := whole.Find(name, true)
		if len(w) != 1 {
			t.Fatalf("%s: %d functions before stripping", name, len(w))
		}
		f := im.Lookup(w[0].Addr)
		if f == nil || f.Addr != w[0].Addr || f.Size != w[0].Size {
			t.Errorf("%s: %+v, was %+v", name, f, w[0])
			continue
		}
		if name == "main" {
			if f.Linked() != "main" || f.Source != StartCode {
				t.Errorf("main is called %s from %v", f.Linked(), f.Source)
			}
			continue
		}
		if want := im.Name + "+0x" + strconv.FormatUint(f.Addr, 16); f.Linked() != want || f.Source != Unwind {
			t.Errorf("%s is called %s, want %s", name, f.Linked(), want)
		}
		if got := im.Find(f.Linked(), false); len(got) != 1 || got[0] != f {
			t.Errorf("Find(%s) = %v", f.Linked(), got)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(stripped, link); err != nil {
		t.Fatal(err)
	}
	linked := mustOpen(t, link)
	offset := offsetMark + strconv.FormatUint(whole.Find("more", true)[0].Addr, 16)
	if a, b := linked.Find("link"+offset, false), linked.Find(im.Name+offset, true); len(a) != 1 || len(b) != 1 || linked.Name != im.Name {
		t.Errorf("through a link %v, by its own name %v, called %s", a, b, linked.Name)
	}
	if got := im.Find(im.Name+"+0x1", false); got != nil {
		t.Errorf("an offset inside of nothing is %v", got)
	}
}

// TestPartlyStripped removes some symbols and keeps others.
func TestPartlyStripped(t *testing.T) {
	path := build(t, "gcc", "-O2", "testdata/shapes.c", "testdata/shapes_more.c")
	more := mustOpen(t, path).Find("more", true)[0]
	partly := copyFile(t, path)
	run(t, "strip", "--strip-symbol=more", "--strip-symbol=twin", partly)
	im := mustOpen(t, partly)
	if len(im.Find("global_one", true)) != 1 {
		t.Error("global_one went too")
	}
	if f := im.Lookup(more.Addr); f == nil || f.Source != Unwind || f.Size != more.Size {
		t.Errorf("more without its symbol: %+v", f)
	}
}

// TestAliasesAndVersions looks at what the C library is known for.
func TestAliasesAndVersions(t *testing.T) {
	im := mustOpen(t, system(t, "/lib/x86_64-linux-gnu/libc.so.6"))
	two := im.Find("memcpy", true)
	if len(two) != 2 {
		t.Fatalf("memcpy has %d versions, want 2.2.5 and 2.14", len(two))
	}
	one := im.Find("memcpy@@GLIBC_2.14", false)
	if len(one) != 1 || one[0].Kind != IFunc || one[0].Addr != two[0].Addr && one[0].Addr != two[1].Addr {
		t.Errorf("memcpy@@GLIBC_2.14 is %v", one)
	}
	if old := im.Find("memcpy@GLIBC_2.2.5", false); len(old) != 1 || old[0].Addr == one[0].Addr {
		t.Errorf("memcpy@GLIBC_2.2.5 is %v", old)
	}
	malloc := im.Find("malloc", false)
	if len(malloc) != 1 || malloc[0].Linked() != "malloc" || malloc[0].Kind != Plain {
		t.Errorf("malloc is %v", malloc)
	}
}

// TestTrampoline: the signal trampoline's unwind record begins a byte early.
func TestTrampoline(t *testing.T) {
	im := mustOpen(t, build(t, "gcc", "-static", "-O2", "testdata/shapes.c", "testdata/shapes_more.c"))
	f := im.Find("__restore_rt", true)
	if len(f) != 1 || f[0].Size != 9 {
		t.Fatalf("__restore_rt is %v", f)
	}
	if before := im.Lookup(f[0].Addr - 1); before != nil {
		t.Errorf("the byte before it belongs to %s", before.Linked())
	}
}

// TestSelection tells entry points from the code that belongs to a name.
func TestSelection(t *testing.T) {
	path := build(t, "gcc", "-O2", "testdata/shapes.c", "testdata/shapes_more.c")
	im := mustOpen(t, path)
	names := func(fns []*Function) string {
		var s []string
		for _, f := range fns {
			s = append(s, f.Linked())
		}
		slices.Sort(s)
		return strings.Join(s, " ")
	}
	for _, c := range []struct{ pattern, find, selected string }{
		{"splits", "splits", "splits splits.cold"},
		{"splits*", "splits", "splits splits.cold"},
		{"splits.cold", "splits.cold", "splits.cold"},
		{"twin", "twin twin", "twin twin"},
		{"alias_one", "alias_one", "alias_one"},
		{"*_one", "alias_one", "alias_one"}, // three names, one function
		{"__hidden_alias", "alias_one", "alias_one"},
		{"chosen", "chosen", "chosen"},
		{"puts", "", ""},
		{"puts@plt", "puts@plt", "puts@plt"},
		{"nothing", "", ""},
		{"", "", ""},
	} {
		if got := names(im.Find(c.pattern, false)); got != c.find {
			t.Errorf("Find(%q) = %q, want %q", c.pattern, got, c.find)
		}
		if got := names(im.Select(c.pattern, false)); got != c.selected {
			t.Errorf("Select(%q) = %q, want %q", c.pattern, got, c.selected)
		}
	}
	if all := im.Find("*", false); len(all) < 10 {
		t.Errorf("* finds %d functions", len(all))
	}
}
