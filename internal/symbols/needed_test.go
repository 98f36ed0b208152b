package symbols

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var lddLine = regexp.MustCompile(`^\t(?:(\S+) => )?(\S+) \(0x[0-9a-f]+\)$`)

// lddPaths are the files that ldd shows, links resolved; the vdso is none.
func lddPaths(t *testing.T, program string, env ...string) []string {
	t.Helper()
	var out []string
	for _, line := range oracle(t, "env", append(env, "ldd", program)...) {
		m := lddLine.FindStringSubmatch(line)
		if m == nil || !strings.Contains(m[2], "/") {
			continue
		}
		out = append(out, realPath(m[2]))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// libraries are the found files, sorted like ldd's, and the names found nowhere.
func libraries(t *testing.T, program string, env LoaderEnv) (paths, missing []string) {
	t.Helper()
	c := NewCache(Options{})
	t.Cleanup(func() { c.Close() })
	libs, err := c.Libraries(program, env)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range libs {
		if l.Path == "" {
			missing = append(missing, l.Name)
		} else {
			paths = append(paths, l.Path)
		}
	}
	slices.Sort(paths)
	return paths, missing
}

func TestLibrariesAgainstLdd(t *testing.T) {
	for _, program := range []string{"/bin/gzip", "/usr/bin/sqlite3", "/usr/bin/python3", "/usr/bin/perl", "/usr/bin/gdb", "/bin/ls"} {
		if _, err := os.Stat(program); err != nil {
			continue
		}
		want := lddPaths(t, program)
		got, missing := libraries(t, program, LoaderEnv{})
		if !slices.Equal(got, want) || len(missing) > 0 {
			t.Errorf("%s: %v, missing %v; ldd says %v", program, got, missing, want)
		}
	}
}

// chain builds main -> liba -> libb, with libb where only the given linker flags
// of main and liba lead.
func chain(t *testing.T, mainFlags, aFlags string) (program string) {
	t.Helper()
	dir := t.TempDir()
	for _, d := range []string{"a", "b"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	src := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	gcc := func(args ...string) {
		run(t, "gcc", append(args, "-Wl,--unresolved-symbols=ignore-all")...)
	}
	system(t, "/usr/bin/gcc")
	b := filepath.Join(dir, "b", "libb.so.1")
	gcc("-shared", "-fPIC", "-Wl,-soname,libb.so.1", src("b.c", "int b(void){return 1;}"), "-o", b)
	a := filepath.Join(dir, "a", "liba.so.1.2")
	gcc("-shared", "-fPIC", "-Wl,-soname,liba.so.1", aFlags, src("a.c", "int b(void);int a(void){return b();}"), b, "-o", a)
	if err := os.Symlink("liba.so.1.2", filepath.Join(dir, "a", "liba.so.1")); err != nil {
		t.Fatal(err)
	}
	program = filepath.Join(dir, "main")
	gcc(mainFlags, src("main.c", "int a(void);int main(void){return a();}"), a, "-o", program)
	return program
}

// TestLibrarySearchRules compares with ldd under each rule that says where a
// library is, and where it isn't.
func TestLibrarySearchRules(t *testing.T) {
	const rpath, runpath = "-Wl,--disable-new-dtags,", "-Wl,--enable-new-dtags,"
	for _, c := range []struct {
		name, mainFlags, aFlags string
		env                     string // subdirectories for LD_LIBRARY_PATH
		missing                 []string
	}{
		{name: "rpath is inherited", mainFlags: rpath + "-rpath,$ORIGIN/a:$ORIGIN/b", aFlags: "-O2"},
		{name: "runpath is not", mainFlags: runpath + "-rpath,$ORIGIN/a:$ORIGIN/b", aFlags: "-O2", missing: []string{"libb.so.1"}},
		{name: "each its own runpath", mainFlags: runpath + "-rpath,${ORIGIN}/a", aFlags: runpath + "-rpath,$ORIGIN/../b"},
		{name: "runpath silences rpath", mainFlags: rpath + "-rpath,$ORIGIN/a:$ORIGIN/b", aFlags: runpath + "-rpath,/nowhere", missing: []string{"libb.so.1"}},
		{name: "environment", mainFlags: "-O2", aFlags: "-O2", env: "a:b"},
		{name: "nothing", mainFlags: "-O2", aFlags: "-O2", missing: []string{"liba.so.1"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			program := chain(t, c.mainFlags, c.aFlags)
			path := ""
			if c.env != "" {
				dir := filepath.Dir(program)
				path = filepath.Join(dir, "a") + ":" + filepath.Join(dir, "b")
			}
			got, missing := libraries(t, program, LoaderEnv{LibraryPath: path})
			if !slices.Equal(missing, c.missing) {
				t.Errorf("missing %v, want %v", missing, c.missing)
			}
			if want := lddPaths(t, program, "LD_LIBRARY_PATH="+path); !slices.Equal(got, want) {
				t.Errorf("%v, ldd says %v", got, want)
			}
		})
	}
}

func TestLibrariesOfOddPrograms(t *testing.T) {
	static := build(t, "gcc", "-static", "testdata/shapes.c", "testdata/shapes_more.c")
	if got, missing := libraries(t, static, LoaderEnv{}); len(got)+len(missing) > 0 {
		t.Errorf("a static program needs %v %v", got, missing)
	}
	libm := realPath(system(t, "/lib/x86_64-linux-gnu/libm.so.6"))
	got, _ := libraries(t, system(t, "/bin/gzip"), LoaderEnv{Preload: libm})
	if !slices.Contains(got, libm) {
		t.Errorf("the preloaded library is not in %v", got)
	}
	im := mustOpen(t, libm)
	if im.SOName() != "libm.so.6" {
		t.Errorf("SONAME of libm is %q", im.SOName())
	}
	c := NewCache(Options{})
	defer c.Close()
	if _, err := c.Libraries("/no/such/program", LoaderEnv{}); err == nil {
		t.Error("no error for a program that does not exist")
	}
}
