package appcode

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"alleria/engine/codecache"
	"alleria/internal/sys"
)

// testFile maps pages of code of a file, full of rets but for where a breakpoint of ours may lie; settles: it is old enough for its time to say when it is written.
func testFile(t *testing.T, pages int, settles bool) (path string, code []byte, addr uint64, c *Pages, s *self) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "code")
	text := bytes.Repeat([]byte{0xc3}, pages*PageSize)
	text[0] = 0x90
	if err := os.WriteFile(path, text, 0o755); err != nil {
		t.Fatal(err)
	}
	if settles {
		time.Sleep(2 * settled)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if code, err = syscall.Mmap(int(f.Fd()), 0, pages*PageSize, syscall.PROT_READ|syscall.PROT_EXEC, syscall.MAP_PRIVATE); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(code) })
	maps, err := sys.CodeMaps(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(maps, func(m sys.Mapping) bool { return m.Path == path })
	if i < 0 {
		t.Fatalf("%s is not mapped", path)
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	var cache codecache.Cache
	cache.Init(false, nil)
	s = &self{}
	p := New(s, os.Getpid(), &sys.ProcessMemory{File: mem}, &cache, false)
	t.Cleanup(p.Close)
	return path, code, maps[i].Start, &p, s
}

// patch writes a byte of code as the program itself may.
func patch(t *testing.T, at uint64, b byte) {
	t.Helper()
	f, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{b}, int64(at)); err != nil {
		t.Fatal(err)
	}
}

// natively has the process do something unseen, and compares.
func natively(c *Pages, what func()) {
	c.RunsNatively()
	what()
	c.Check(true, false)
}

// kept tells which of the first pages still have translations.
func kept(c *Pages, addr uint64, n int) string {
	var b strings.Builder
	for i := range uint64(n) {
		b.WriteByte(" x"[map[bool]int{true: 1}[c.HasCode(addr+i*PageSize, addr+(i+1)*PageSize)]])
	}
	return b.String()
}

// TestPatchedFile: of pages of a file, those are forgotten that were written meanwhile, or dropped, and no others.
func TestPatchedFile(t *testing.T) {
	_, code, addr, c, s := testFile(t, 3, true)
	fetch := func() {
		for i := range uint64(3) {
			c.Fetch(addr+i*PageSize, 1)
		}
	}
	check := func(what, want string, do func()) {
		t.Helper()
		fetch()
		if natively(c, do); kept(c, addr, 3) != want {
			t.Errorf("%s: kept %q, not %q", what, kept(c, addr, 3), want)
		}
	}
	s.probed = addr
	check("a breakpoint of ours", "xxx", func() { patch(t, s.probed, 0xcc) })
	check("nothing", "xxx", func() {})
	check("patched", "x x", func() { patch(t, addr+PageSize+5, 0x90) })
	if got := c.Fetch(addr+PageSize+5, 1)[0]; got != 0x90 {
		t.Errorf("%#x is read then", got)
	}
	check("nothing, of a page that was patched", "xxx", func() {})
	check("patched again", "x x", func() { patch(t, addr+PageSize+5, 0x91) })
	check("dropped", "x x", func() {
		if err := syscall.Madvise(code[PageSize:2*PageSize], syscall.MADV_DONTNEED); err != nil {
			t.Fatal(err)
		}
	})
	check("patched anew", "x x", func() { patch(t, addr+PageSize+5, 0x92) })
	check("written with what it has", "xxx", func() { patch(t, addr+2*PageSize, 0xc3) })
}

// TestPatchedBeforehand: a page that was a copy before anything was unseen is compared with what it was then.
func TestPatchedBeforehand(t *testing.T) {
	_, code, addr, c, _ := testFile(t, 2, true)
	patch(t, addr+5, 0x90)
	c.Fetch(addr, 1)
	c.Fetch(addr+PageSize, 1)
	if natively(c, func() {}); kept(c, addr, 2) != "xx" {
		t.Errorf("kept %q of what did not change", kept(c, addr, 2))
	}
	natively(c, func() {
		if err := syscall.Madvise(code, syscall.MADV_DONTNEED); err != nil {
			t.Fatal(err)
		}
	})
	if kept(c, addr, 2) != " x" {
		t.Errorf("kept %q of what was dropped", kept(c, addr, 2))
	}
}

// TestWrittenFile: a file that is written shows in all pages but those that are copies, also if its time stays as it was.
func TestWrittenFile(t *testing.T) {
	for _, settles := range []bool{false, true} {
		path, _, addr, c, _ := testFile(t, 2, settles)
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		c.Fetch(addr, 1)
		c.Fetch(addr+PageSize, 1)
		if natively(c, func() {}); settles != (len(c.files.held) == 0) {
			t.Errorf("settled %t: %d pages are compared by themselves", settles, len(c.files.held))
		}
		natively(c, func() { patch(t, addr+PageSize, 0x90) })
		c.Fetch(addr+PageSize, 1)
		for _, b := range []byte{0x90, 0x91} {
			natively(c, func() {
				if _, err := f.WriteAt([]byte{b}, 7); err != nil {
					t.Fatal(err)
				}
			})
			if kept(c, addr, 2) != " x" || c.Fetch(addr+7, 1)[0] != b {
				t.Errorf("settled %t: kept %q", settles, kept(c, addr, 2))
			}
		}
	}
}

// TestFaults: where many pages were translated from, copies are looked for where there was a page fault, or always.
func TestFaults(t *testing.T) {
	for _, always := range []bool{false, true} {
		_, _, addr, c, _ := testFile(t, 2*fewPages, true)
		if always {
			c.IgnoreFaults()
		}
		for i := range uint64(2 * fewPages) {
			c.Fetch(addr+i*PageSize, 1)
		}
		for i := range uint64(4) {
			if natively(c, func() { patch(t, addr+i*PageSize, 0x91) }); c.HasCode(addr+i*PageSize, addr+(i+1)*PageSize) {
				t.Errorf("always %t: page %d is kept", always, i)
			}
			if !c.HasCode(addr+(i+1)*PageSize, addr+(i+2)*PageSize) {
				t.Errorf("always %t: page %d is not kept", always, i+1)
			}
			c.Fetch(addr+i*PageSize, 1)
		}
		if (c.files.faults == 0) != always {
			t.Errorf("always %t: %d faults", always, c.files.faults)
		}
	}
}

// TestDroppedFiles: a file is held open as long as it is mapped.
func TestDroppedFiles(t *testing.T) {
	path, code, addr, c, _ := testFile(t, 1, true)
	holds := func() bool {
		return slices.ContainsFunc(c.files.files, func(f file) bool { return f.path == path && f.f != nil })
	}
	c.Fetch(addr, 1)
	natively(c, func() {})
	if !holds() {
		t.Error("it is not held open")
	}
	natively(c, func() {
		if err := syscall.Mprotect(code, syscall.PROT_READ); err != nil {
			t.Fatal(err)
		}
	})
	if holds() || c.HasCode(addr, addr+PageSize) {
		t.Error("it is held though no code is mapped of it")
	}
}

// TestInheritedCopies: a child compares with what its creator's pages were.
func TestInheritedCopies(t *testing.T) {
	_, _, addr, c, s := testFile(t, 2, true)
	c.Fetch(addr, 1)
	c.Fetch(addr+PageSize, 1)
	natively(c, func() { patch(t, addr, 0x91) })
	c.Fetch(addr, 1)
	child := New(s, c.pid, c.mem, c.cache, false)
	defer child.Close()
	child.Inherit(c.Inherited())
	if child.CompareCode(); kept(&child, addr, 2) != "xx" {
		t.Errorf("kept %q of what is the same", kept(&child, addr, 2))
	}
	other := New(s, c.pid, c.mem, c.cache, false)
	defer other.Close()
	other.RunsNatively()
	patch(t, addr, 0x92)
	other.Inherit(c.Inherited())
	if other.CompareCode(); kept(&other, addr, 2) != " x" || kept(c, addr, 2) != "xx" {
		t.Errorf("kept %q, the creator %q", kept(&other, addr, 2), kept(c, addr, 2))
	}
}

// TestWrittenByUs: a page that became a copy because we wrote there is looked at though the process had no page fault.
func TestWrittenByUs(t *testing.T) {
	cmd := exec.Command("/bin/sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	var code *sys.Mapping
	for range 100 { // until it sleeps
		time.Sleep(10 * time.Millisecond)
		maps, _ := sys.CodeMaps(cmd.Process.Pid)
		if i := slices.IndexFunc(maps, func(m sys.Mapping) bool { return strings.Contains(m.Path, "libc") }); i >= 0 {
			code = &maps[i]
		}
		if where, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", cmd.Process.Pid)); code != nil && strings.Contains(string(where), "nanosleep") {
			break
		}
	}
	if code == nil || code.End-code.Start < 2*fewPages*PageSize {
		t.Skip("no large library")
	}
	mem, err := os.OpenFile(fmt.Sprintf("/proc/%d/mem", cmd.Process.Pid), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	var cache codecache.Cache
	cache.Init(false, nil)
	c := New(&self{}, cmd.Process.Pid, &sys.ProcessMemory{File: mem}, &cache, false)
	defer c.Close()
	for at := code.Start; at < code.End; at += PageSize {
		c.Fetch(at, 1)
	}
	natively(&c, func() {})
	if natively(&c, func() {}); c.files.faults == 0 {
		t.Fatal("faults are not counted")
	}
	natively(&c, func() { write(t, &c, code.Start+PageSize, 0x91) })
	if kept(&c, code.Start, 3) != "x x" {
		t.Errorf("kept %q", kept(&c, code.Start, 3))
	}
}
