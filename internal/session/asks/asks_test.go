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
		calls := make(map[uint32]int)
		for _, s := range findLibrary(m.Path, m.Inode).sites {
			if s.Kind == asking.Number {
				calls[s.Call]++
			}
		}
		switch {
		case strings.HasPrefix(filepath.Base(m.Path), "libc.so"):
			if calls[asking.Ptrace] == 0 || calls[asking.Clone] != 1 || calls[asking.Setrlimit]+calls[asking.Prlimit] != 2 || calls[asking.Sigaction] != 1 {
				t.Errorf("%s: %v", m.Path, calls)
			}
		case (strings.Contains(m.Path, "sleep") || strings.Contains(m.Path, "ld-linux")) && len(calls) > 0:
			t.Errorf("%s: %v", m.Path, calls)
		}
	}
}

// TestSites finds the C library's ptrace in a process, and looks no further while nothing is mapped.
func TestSites(t *testing.T) {
	c := exec.Command("sleep", "60")
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Process.Kill(); _ = c.Wait() }()
	var f Finder
	pid := c.Process.Pid
	for {
		if sites := f.Sites(pid); len(sites) > 0 {
			break
		}
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
	if s := f.spaces[pid]; s.mapped == settled {
		s.sites = nil
		f.spaces[pid] = s
		if f.Sites(pid) != nil {
			t.Error("it is looked at again")
		}
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
