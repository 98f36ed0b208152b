package asks

import (
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"alleria/engine/asking"
	"alleria/internal/session/executables"
	"alleria/internal/sys"
)

// TestFind looks through programs that call ptrace in every way, and one that does not.
func TestFind(t *testing.T) {
	source := filepath.Join("..", "..", "..", "testdata", "trees")
	for _, c := range []struct {
		name, file, flags string
		sites             map[asking.Kind]int // at least
	}{
		{name: "a static program", file: "tracers.c", flags: "-DDIRECT -static -s", sites: map[asking.Kind]int{asking.Number: 1}},
		{name: "a program that imports it", file: "tracers.c", flags: "-DDIRECT"},
		{name: "by its number", file: "tracers.c", flags: "-DRAW", sites: map[asking.Kind]int{asking.C: 4}},
		{name: "through a slot", file: "tracers.c", flags: "-DRAW -O2 -fno-plt", sites: map[asking.Kind]int{asking.C: 4}},
		{name: "static, by its number", file: "tracers.c", flags: "-DRAW -static -s", sites: map[asking.Kind]int{asking.C: 4}},
		{name: "Go", file: "traces.go", sites: map[asking.Kind]int{asking.Go: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, file := filepath.Join(t.TempDir(), "out"), filepath.Join(source, c.file)
			build := "go build -o " + out + " " + file
			if filepath.Ext(c.file) == ".c" {
				build = "cc -o " + out + " " + file + " " + c.flags
			}
			if text, err := exec.Command("sh", "-c", build).CombinedOutput(); err != nil {
				t.Skipf("%s: %v: %s", build, err, text)
			}
			f, err := os.Open(out)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			kinds := make(map[asking.Kind]int)
			for _, s := range find(out, sys.Inode(f)).sites {
				kinds[s.Kind]++
			}
			for kind, least := range c.sites {
				if kinds[kind] < least {
					t.Errorf("%d sites of kind %d, want %d", kinds[kind], kind, least)
				}
			}
			if len(c.sites) == 0 && len(kinds) > 0 {
				t.Errorf("sites where there are none: %v", kinds)
			}
			if len(find(out, sys.Inode(f)+1).sites) > 0 {
				t.Error("another file is taken for it")
			}
		})
	}
}

// TestLibrary: of the C library ptrace, clone, setrlimit and prlimit are found, where fork and getrlimit, which need nothing, make the same calls; of another library nothing.
func TestLibrary(t *testing.T) {
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	maps, err := sys.Maps(c.Process.Pid)
	for err == nil && !slices.ContainsFunc(maps, func(m sys.Mapping) bool { return m.Exec() && strings.HasPrefix(filepath.Base(m.Path), "libc.so") }) {
		maps, err = sys.Maps(c.Process.Pid)
	}
	if err != nil {
		t.Fatal(err)
	}
	for i := range maps {
		m := &maps[i]
		if !m.Exec() || m.Inode == 0 {
			continue
		}
		calls, anyCall := make(map[uint32]int), 0
		for _, s := range findLibrary(m.Path, m.Inode).sites {
			if s.Kind == asking.Number {
				calls[s.Call]++
			}
			if s.Kind == asking.Any {
				anyCall++
			}
		}
		switch {
		case strings.HasPrefix(filepath.Base(m.Path), "libc.so"):
			if anyCall != 1 || calls[asking.Ptrace] == 0 || calls[asking.Clone] != 1 || calls[asking.Setrlimit]+calls[asking.Prlimit] != 2 || calls[asking.Sigaction] != 1 || calls[asking.Mlockall] != 1 {
				t.Errorf("%s: %v", m.Path, calls)
			}
		case (strings.Contains(m.Path, "sleep") || strings.Contains(m.Path, "ld-linux")) && len(calls) > 0:
			t.Errorf("%s: %v", m.Path, calls)
		}
	}
}

// TestSites finds the C library's ptrace in a process, and looks no further while nothing is mapped.
func TestSites(t *testing.T) {
	c := exec.Command("cat")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	// What it answers is all that it does: it maps nothing more afterwards.
	if _, err := in.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	var f Finder
	pid := c.Process.Pid
	if len(f.Sites(pid)) == 0 {
		t.Fatal("there is none")
	}
	mapped, err := sys.OpenMappedPages(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer mapped.Close()
	settled, err := mapped.Read()
	if err != nil {
		t.Fatal(err)
	}
	for n, s := range f.Sites(pid) {
		code := make([]byte, 5)
		mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
		if err != nil {
			t.Skip(err)
		}
		_, err = mem.ReadAt(code, int64(s.At))
		mem.Close()
		if err != nil || s.Kind == asking.Number && string(code) != string(binary.LittleEndian.AppendUint32([]byte{0xb8}, s.Call)) {
			t.Errorf("site %d: % x, %v", n, code, err)
		}
	}
	s := f.spaces[pid]
	if s.all.mapped != settled {
		t.Errorf("%d pages are mapped, and not %d", settled, s.all.mapped)
	}
	s.all.sites = nil
	f.spaces[pid] = s
	if f.Sites(pid) != nil {
		t.Error("it is looked at again")
	}
	if f.Forget(pid); len(f.Sites(pid)) == 0 {
		t.Error("it is not looked at again where it has executed another program")
	}
	if f.Sites(1<<30) != nil {
		t.Error("a process that is none has sites")
	}
	if f.open != 1 {
		t.Errorf("%d files are open", f.open)
	}
	f.Forget(pid)
	f.open = mostOpen
	if f.Sites(pid); f.spaces[pid].pages != nil || f.open != mostOpen {
		t.Error("another file is open than there is room for")
	}
	f.open = 0
	if f.Sites(pid); f.spaces[pid].pages == nil || f.open != 1 {
		t.Error("none is opened though there is room")
	}
}

// linked is a process of a program that is linked to a library, whose sources are given, and the Finder's answer for it once it has started: it says so by a line.
func linked(t *testing.T, f *Finder, dir, program, library, env string) (sites, all []asking.Site) {
	t.Helper()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	build := func(args ...string) {
		if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
			t.Fatalf("cc %s: %v\n%s", args, err, out)
		}
	}
	lib, prog := filepath.Join(dir, "libother.so"), filepath.Join(dir, "program")
	build("-shared", "-fPIC", "-o", lib, write("other.c", library))
	build("-o", prog, write("program.c", program), "-Wl,--no-as-needed", lib)
	c := exec.Command(prog)
	c.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir, env)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	id, err := sys.Identify(prog)
	if err != nil {
		t.Fatal(err)
	}
	f.Executes(c.Process.Pid, executables.Program{File: id, Loader: env})
	return f.Followed(c.Process.Pid), f.Sites(c.Process.Pid)
}

// TestFollowed has programs of which nobody can call the C library's ptrace, and those of which somebody can, itself or by a library: the C library's sites are left out of the first alone, and the next process of
// such a program is not looked at.
func TestFollowed(t *testing.T) {
	const begin, end = "#include <stdio.h>\n#include <unistd.h>\nint main(void) { puts(\"\"); fflush(stdout); ", "pause(); return 0; }\n"
	const plain, none = begin + end, "int other(void) { return 1; }\n"
	for _, c := range []struct {
		name, program, library string
		sites, still           bool
	}{
		{name: "nobody", program: plain, library: none, still: true},
		{name: "the program", program: "#include <sys/ptrace.h>\n" + begin + "ptrace(PTRACE_TRACEME, 0, 0, 0); " + end, library: none, sites: true},
		{name: "the library", program: plain, library: "#include <sys/ptrace.h>\nlong other(void) { return ptrace(PTRACE_TRACEME, 0, 0, 0); }\n", sites: true},
		{name: "who loads more", program: "#include <dlfcn.h>\n" + begin + "dlopen(\"a\", 0); " + end, library: none, sites: true},
		{name: "a call of its own", program: plain, library: "long other(void) { long r; __asm__ volatile(\"mov $101,%%eax; syscall\" : \"=a\"(r) : : \"rcx\", \"r11\", \"memory\"); return r; }\n", sites: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var f Finder
			sites, all := linked(t, &f, t.TempDir(), c.program, c.library, "LD_A=b")
			if len(all) == 0 {
				t.Error("the C library has no sites")
			}
			if got := len(sites) > 0; got != c.sites {
				t.Errorf("%d sites of %d", len(sites), len(all))
			}
			if got := len(f.still) > 0; got != c.still {
				t.Errorf("that nothing comes is known: %t", got)
			}
			var program executables.Program
			for program = range f.still {
			}
			f.Executes(1<<30, program) // a process that is none: it would have no space if it had been looked at
			f.Created(1<<30+1, 1<<30)
			if f.Followed(1<<30 + 1); c.still && f.spaces[1<<30+1].program != program {
				t.Error("a process of such a program is looked at")
			}
		})
	}
}
