package symbols

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"alleria/internal/programfile"
)

func TestParseMapping(t *testing.T) {
	for line, want := range map[string]Mapping{
		"55d0a0000000-55d0a0002000 r-xp 00001000 fe:01 1234                       /usr/bin/gzip": {
			Start: 0x55d0a0000000, End: 0x55d0a0002000, Prot: Read | Exec, Offset: 0x1000, Dev: "fe:01", Inode: 1234, Path: "/usr/bin/gzip"},
		"7f00-8f00 rw-s 00000000 00:01 7 /tmp/a b (deleted)": {
			Start: 0x7f00, End: 0x8f00, Prot: Read | Write, Shared: true, Dev: "00:01", Inode: 7, Path: "/tmp/a b", Deleted: true},
		`1000-2000 ---p 00000000 00:00 1 /a\012b`: {Start: 0x1000, End: 0x2000, Dev: "00:00", Inode: 1, Path: "/a\nb"},
		"1000-2000 rw-p 00000000 00:00 0 ":        {Start: 0x1000, End: 0x2000, Prot: Read | Write, Dev: "00:00"},
		"1000-2000 r-xp 00000000 00:00 0 [vdso]":  {Start: 0x1000, End: 0x2000, Prot: Read | Exec, Dev: "00:00", Path: "[vdso]"},
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]": {
			Start: 0xffffffffff600000, End: 0xffffffffff601000, Prot: Exec, Dev: "00:00", Path: "[vsyscall]"},
	} {
		got, err := ParseMapping(line)
		if err != nil || got != want {
			t.Errorf("%q:\n %+v, %v; want\n %+v", line, got, err, want)
		}
	}
	for _, line := range []string{"", "x", "1000 r--p 0 0:0 0", "2000-1000 r--p 0 0:0 0", "1-2 r-p 0 0:0 0", "1-2 r--p 0 0:0 x"} {
		if m, err := ParseMapping(line); err == nil {
			t.Errorf("%q is accepted as %+v", line, m)
		}
	}
}

// process is a fixture that runs and waits.
type process struct {
	pid      int
	exe      string
	mappings func() []Mapping
	memory   *os.File
}

// start runs a program of testdata/wait.c, after which it has its libraries.
func start(t *testing.T, exe string) process {
	t.Helper()
	cmd := exec.Command(exe)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	p := process{pid: cmd.Process.Pid, exe: exe}
	p.mappings = func() []Mapping {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", p.pid))
		if err != nil {
			t.Fatal(err)
		}
		m, err := ParseMaps(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	if p.memory, err = os.Open(fmt.Sprintf("/proc/%d/mem", p.pid)); err != nil {
		t.Skip("memory of processes is closed here")
	}
	t.Cleanup(func() { p.memory.Close() })
	return p
}

// checkLoaded compares what is mapped with what the files say: the bytes of
// each image's code in memory are those of its file.
func checkLoaded(t *testing.T, m *Map, memory io.ReaderAt) {
	t.Helper()
	for _, l := range m.Images() {
		fns := l.Image.Functions()
		if len(fns) == 0 {
			t.Errorf("%s: no functions", l.Path)
			continue
		}
		f := &fns[len(fns)/2]
		in, vaddr := m.ByAddr(f.Addr + l.Bias)
		if in != l || vaddr != f.Addr {
			t.Errorf("%s: ByAddr(%#x) = %v, %#x", l.Path, f.Addr+l.Bias, in, vaddr)
		}
		if _, g := m.Function(f.Addr + l.Bias); g == nil || !g.Contains(f.Addr) {
			t.Errorf("%s: Function(%#x) = %v", l.Path, f.Addr+l.Bias, g)
		}
		file, mem := make([]byte, min(f.Size, 64)), make([]byte, min(f.Size, 64))
		if _, err := l.Image.ReadVaddr(file, f.Addr); err != nil {
			t.Error(err)
		}
		if _, err := memory.ReadAt(mem, int64(f.Addr+l.Bias)); err != nil || !bytes.Equal(file, mem) {
			t.Errorf("%s: %s in memory is % x, in the file % x (%v)", l.Path, f.Name(), mem, file, err)
		}
	}
}

// TestMapOfProcess looks at running programs of every linking model.
func TestMapOfProcess(t *testing.T) {
	for name, cmd := range map[string]string{
		"pie": "gcc", "no-pie": "gcc -fno-pie -no-pie", "static": "gcc -static", "static-pie": "gcc -static-pie",
		"gold": "gcc -fuse-ld=gold", "one segment": "gcc -Wl,-z,noseparate-code", "musl static": "musl-gcc -static",
	} {
		t.Run(name, func(t *testing.T) {
			words := strings.Fields(cmd)
			p := start(t, build(t, words[0], append(words[1:], "testdata/wait.c")...))
			cache := NewCache(Options{})
			defer cache.Close()
			m := NewMap(MapOptions{Cache: cache, Exe: p.exe, Memory: p.memory, SystemDirs: SystemDirs("/")})
			came, went := m.Update(p.mappings())
			if len(went) != 0 || len(came) != len(m.Images()) {
				t.Errorf("first update: %d came, %d went", len(came), len(went))
			}
			main := m.Main()
			if main == nil || main.Path != p.exe || main.System || main.Deleted {
				t.Fatalf("main is %+v", main)
			}
			var names []string
			for _, l := range m.Images() {
				names = append(names, l.Name)
				if l != main && !l.System {
					t.Errorf("%s is not the system's", l.Path)
				}
			}
			want := []string{"[vdso]", filepath.Base(p.exe)}
			if !main.Image.Static() {
				want = append(want, "ld-linux-x86-64.so.2", "libc.so.6")
			}
			slices.Sort(names)
			slices.Sort(want)
			if !slices.Equal(names, want) {
				t.Errorf("images %v, want %v", names, want)
			}
			checkLoaded(t, m, p.memory)
			if l, _ := m.ByAddr(0x1000); l != nil {
				t.Errorf("address 0x1000 is in %s", l.Path)
			}
			before := m.Images()
			if came, went := m.Update(p.mappings()); len(came)+len(went) != 0 || !slices.Equal(before, m.Images()) {
				t.Errorf("second update: %v came, %v went", came, went)
			}
			_, went = m.Update(nil)
			if len(went) != len(before) || len(m.Images()) != 0 {
				t.Errorf("after all is unmapped %d went", len(went))
			}
		})
	}
}

// TestMapOfDeletedProgram reads an image out of the process whose file is gone,
// and one whose file has been replaced.
func TestMapOfDeletedProgram(t *testing.T) {
	for _, replace := range []bool{false, true} {
		exe := copyFile(t, build(t, "gcc", "-rdynamic", "testdata/wait.c"))
		main := mustOpen(t, exe).Find("main", true)[0].Addr
		p := start(t, exe)
		if err := os.Remove(exe); err != nil {
			t.Fatal(err)
		}
		if replace {
			// Made while the old one is still mapped, so with another inode.
			if err := programfile.Write(exe, []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		m := NewMap(MapOptions{Cache: NewCache(Options{}), Exe: exe, Memory: p.memory})
		m.Update(p.mappings())
		l := m.Main()
		if l == nil || !l.Deleted || l.Image == nil {
			t.Fatalf("main is %+v", l)
		}
		if f := l.Image.Find("main", true); len(f) != 1 || f[0].Addr != main {
			t.Errorf("main of the deleted program is %v, was at %#x", f, main)
		}
		if l.Image.Lookup(l.Image.Entry) == nil {
			t.Error("the entry point is in no function")
		}
		checkLoaded(t, m, p.memory)
		if came, went := m.Update(p.mappings()); len(came)+len(went) != 0 {
			t.Errorf("second update: %v came, %v went", came, went)
		}
	}
}

// TestMapIsNotFooled: files mapped as data, and protections taken away.
func TestMapIsNotFooled(t *testing.T) {
	path := build(t, "gcc", "testdata/wait.c")
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, path)
	mappings := p.mappings()
	var own []Mapping
	for _, m := range mappings {
		if m.Path == path {
			own = append(own, m)
		}
	}
	update := func(ms []Mapping) *Map {
		m := NewMap(MapOptions{Cache: NewCache(Options{})})
		m.Update(ms)
		return m
	}
	whole := own[0]
	whole.End = whole.Start + pageUp(uint64(st.Size()))
	if got := update([]Mapping{whole}).Images(); len(got) != 0 {
		t.Errorf("a file read through a mapping is loaded at %#x", got[0].Start)
	}
	if got := update(own[:1]).Images(); len(got) != 0 {
		t.Errorf("headers alone are loaded at %#x", got[0].Start)
	}
	// Text made unexecutable merges with the read-only data around it.
	merged := own[0]
	merged.End = own[2].End
	got := update(append([]Mapping{merged}, own[3:]...)).Images()
	if len(got) != 1 || got[0].Start != own[0].Start {
		t.Errorf("merged read-only segments: %v", got)
	}
	// The same library twice is two images.
	shifted := slices.Clone(own)
	for i := range shifted {
		shifted[i].Start += 1 << 32
		shifted[i].End += 1 << 32
	}
	if got := update(append(own, shifted...)).Images(); len(got) != 2 || got[1].Bias-got[0].Bias != 1<<32 {
		t.Errorf("twice the same image: %v", got)
	}
}

func TestSystemDirs(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"etc/ld.so.conf":          "include ld.so.conf.d/*.conf\n/opt/a  # comment\ninclude /etc/ld.so.conf\nhwcap 1 x\n",
		"etc/ld.so.conf.d/b.conf": "# c\n/opt/b/\n",
		"usr/lib/x":               "",
		"real/deep/x":             "",
	} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(path)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(root, "real/deep"), filepath.Join(root, "lib64")); err != nil {
		t.Fatal(err)
	}
	want := []string{"/lib", "/lib64", "/opt/a", "/opt/b", "/real/deep", "/usr/lib", "/usr/lib64"}
	if got := SystemDirs(root); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for path, is := range map[string]bool{"/lib/x": true, "/library/x": false, "/opt/b/c/d": true, "/usr/bin/x": false} {
		if below(path, want) != is {
			t.Errorf("%s is below: %v", path, !is)
		}
	}
}

// TestNear: whatever was asked for before, the function at an address is the one that is there.
func TestNear(t *testing.T) {
	p := start(t, build(t, "gcc", "testdata/wait.c"))
	m := NewMap(MapOptions{Cache: NewCache(Options{}), Exe: p.exe})
	m.Update(p.mappings())
	rng := rand.New(rand.NewPCG(1, 2))
	near, found, none := m.Near(), 0, 0
	for _, l := range m.Images() {
		addr := l.Start
		for range 20_000 {
			switch rng.IntN(8) {
			case 0:
				addr = l.Start - 100 + rng.Uint64N(l.End-l.Start+200)
			case 1:
				addr -= rng.Uint64N(1 << 12)
			default:
				addr += rng.Uint64N(1 << 9)
			}
			gotIn, got := near.Function(addr)
			in, want := m.Function(addr)
			if gotIn != in || got != want {
				t.Fatalf("%#x: %v in %v, want %v in %v", addr, got, gotIn, want, in)
			}
			if want != nil {
				found++
			} else {
				none++
			}
		}
	}
	if found < 10_000 || none < 1_000 {
		t.Errorf("%d addresses of functions, %d of none", found, none)
	}
}
