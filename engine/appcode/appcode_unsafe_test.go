package appcode

import (
	"bytes"
	"os"
	"syscall"
	"testing"
	"unsafe"

	"alleria/engine/codecache"
	"alleria/internal/sys"
)

// self is the test's own process, of which one address holds a breakpoint of ours.
type self struct {
	probed  uint64
	mapped  int
	changed int
}

func (s *self) Ours(uint64) bool          { return false }
func (s *self) Mapped([]sys.Mapping)      { s.mapped++ }
func (s *self) ImagesChanged()            { s.changed++ }
func (s *self) Fetched([]byte, uint64)    {}
func (s *self) Forget([]*codecache.Block) {}
func (s *self) Unprobed(b []byte, at uint64) {
	if s.probed-at < uint64(len(b)) {
		b[s.probed-at] = 0x90
	}
}

// testCode is two pages of code in no file, full of rets, and what is known of the process.
func testCode(t *testing.T) (code []byte, addr uint64, c *Pages, s *self) {
	t.Helper()
	code, err := syscall.Mmap(-1, 0, 2*PageSize, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Munmap(code) })
	copy(code, bytes.Repeat([]byte{0xc3}, len(code)))
	protect(t, code, syscall.PROT_READ|syscall.PROT_EXEC)
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	var cache codecache.Cache
	cache.Init(false, nil)
	s = &self{}
	p := New(s, os.Getpid(), &sys.ProcessMemory{File: mem}, &cache, false)
	return code, uint64(uintptr(unsafe.Pointer(&code[0]))), &p, s
}

func protect(t *testing.T, code []byte, rights int) {
	t.Helper()
	if err := syscall.Mprotect(code, rights); err != nil {
		t.Fatal(err)
	}
}

// write changes code behind everybody's back.
func write(t *testing.T, c *Pages, at uint64, b byte) {
	t.Helper()
	if _, err := c.mem.WriteAt([]byte{b}, int64(at)); err != nil {
		t.Fatal(err)
	}
}

func TestFetch(t *testing.T) {
	_, addr, c, s := testCode(t)
	s.probed = addr + PageSize + 1
	write(t, c, s.probed, 0xcc)
	if got := c.Fetch(addr+PageSize-2, 4); !bytes.Equal(got, []byte{0xc3, 0xc3, 0xc3, 0x90}) {
		t.Errorf("across two pages: %x", got)
	}
	if got := c.Fetch(addr+2*PageSize-4, 16); len(got) < 4 || !bytes.Equal(got[:4], []byte{0xc3, 0xc3, 0xc3, 0xc3}) {
		t.Errorf("at the end: %x", got)
	}
	if c.Executable(uint64(uintptr(unsafe.Pointer(c)))) || c.Fetch(uint64(uintptr(unsafe.Pointer(c))), 1) != nil {
		t.Error("data is taken for code")
	}
	if s.mapped != 1 {
		t.Errorf("mappings were read %d times", s.mapped)
	}
}

// TestCheck: after a stretch of native code, what was read is compared with what is there.
func TestCheck(t *testing.T) {
	_, addr, c, _ := testCode(t)
	c.Fetch(addr, 1)
	c.Fetch(addr+PageSize, 1)
	write(t, c, addr+5, 0x90)
	if c.Check(true, false); c.Fetch(addr+5, 1)[0] != 0xc3 {
		t.Error("it is compared though nothing ran natively")
	}
	c.RunsNatively()
	c.Check(true, false)
	if c.HasCode(addr, addr+PageSize) || !c.HasCode(addr+PageSize, addr+2*PageSize) {
		t.Error("not just the page that was written is forgotten")
	}
	if got := c.Fetch(addr+5, 1)[0]; got != 0x90 {
		t.Errorf("%#x is read then", got)
	}
	if !c.AsMade() {
		t.Error("it would be compared once more")
	}
}

// TestCheckEach: each thread that comes back has what it has done natively since the one before compared, whatever others do; one that was stopped meanwhile has not.
func TestCheckEach(t *testing.T) {
	_, addr, c, _ := testCode(t)
	c.Fetch(addr, 1)
	c.RunsNatively()
	if !c.Check(true, true) {
		t.Error("the first is not compared")
	}
	c.Fetch(addr, 1)
	write(t, c, addr+5, 0x90)
	if !c.Check(true, true) || c.Fetch(addr+5, 1)[0] != 0x90 {
		t.Error("what the second has changed is not seen, as a third still runs natively")
	}
	if c.Check(false, true) || c.AsMade() {
		t.Error("it is compared for one that has not run, or what the last does is not")
	}
	if !c.Check(true, false) || !c.AsMade() || c.Check(true, false) {
		t.Error("it is not compared for the last, once")
	}
}

// TestInvalidate: of a page of which a part is forgotten there are still translations.
func TestInvalidate(t *testing.T) {
	_, addr, c, _ := testCode(t)
	c.Fetch(addr, 1)
	c.Fetch(addr+PageSize, 1)
	write(t, c, addr+5, 0x90)
	c.Invalidate(addr+5, addr+6)
	if !c.HasCode(addr, addr+PageSize) {
		t.Error("nobody would look for the page's other translations")
	}
	if got := c.Fetch(addr+5, 1)[0]; got != 0x90 {
		t.Errorf("%#x is read then", got)
	}
	c.Invalidate(addr+7, addr+PageSize+9)
	if c.Invalidate(addr, addr+PageSize); c.HasCode(addr, addr+PageSize) || !c.HasCode(addr+PageSize, addr+2*PageSize) {
		t.Error("not just the page that is forgotten as a whole has no translations")
	}
}

// TestProtect follows what a program does to the rights of its code, and compares that with what the kernel says.
func TestProtect(t *testing.T) {
	code, addr, c, _ := testCode(t)
	c.Fetch(addr, 1)
	protect(t, code[:PageSize], syscall.PROT_READ|syscall.PROT_WRITE)
	changed, known := c.Protect(addr, addr+PageSize, syscall.PROT_READ|syscall.PROT_WRITE)
	if len(changed) != 1 || changed[0] != [2]uint64{addr, addr + PageSize} || !known {
		t.Errorf("changed %#x, known %t", changed, known)
	}
	if c.Executable(addr) || !c.Executable(addr+PageSize) {
		t.Error("the first page alone is not executable")
	}
	if changed, _ := c.Protect(addr, addr+PageSize, syscall.PROT_READ|syscall.PROT_WRITE); len(changed) != 0 {
		t.Errorf("the same again changes %#x", changed)
	}
	protect(t, code[:PageSize], syscall.PROT_READ|syscall.PROT_EXEC)
	if _, known := c.Protect(addr, addr+PageSize, syscall.PROT_READ|syscall.PROT_EXEC); !known || !c.Executable(addr) {
		t.Error("the right is not given back")
	}
	followed := *c.Mapping(addr)
	c.Remapped()
	if read := *c.again(addr); read.Start > followed.Start || read.Prot != followed.Prot {
		t.Errorf("followed %+v, read %+v", followed, read)
	}
}

// again is Mapping after the mappings have been read again.
func (c *Pages) again(addr uint64) *sys.Mapping {
	c.Know()
	return c.Mapping(addr)
}

// TestWritableCodeChanges: a page that may be written is read each time.
func TestWritableCodeChanges(t *testing.T) {
	code, addr, c, _ := testCode(t)
	protect(t, code, syscall.PROT_READ|syscall.PROT_WRITE|syscall.PROT_EXEC)
	for _, b := range []byte{0x90, 0xcc} {
		code[7] = b
		if got := c.Fetch(addr+7, 1)[0]; got != b || !c.Changing(addr+7) {
			t.Errorf("%#x is read of %#x", got, b)
		}
	}
}

// TestSetAside: code that loses the right to execute is put back when it is executed again.
func TestSetAside(t *testing.T) {
	code, addr, c, _ := testCode(t)
	c.Fetch(addr, 1)
	protect(t, code, syscall.PROT_READ|syscall.PROT_WRITE)
	c.Remapped()
	c.SetAside(addr, addr+2*PageSize)
	if c.PutBack(addr) {
		t.Error("it is put back while it may not be executed")
	}
	code[9] = 0x90
	protect(t, code, syscall.PROT_READ|syscall.PROT_EXEC)
	c.Remapped()
	if !c.PutBack(addr) || c.PutBack(addr) {
		t.Error("it is not put back, once")
	}
	if got := c.Fetch(addr+9, 1)[0]; got != 0x90 {
		t.Errorf("%#x is read then", got)
	}
}
