package appcode

import (
	"syscall"
	"testing"
	"time"

	"alleria/engine/x86"
	"alleria/internal/sys"
)

// everything is all rights.
const everything = syscall.PROT_READ | syscall.PROT_WRITE | syscall.PROT_EXEC

// writableCode is testCode that the program may write, and that compares itself.
func writableCode(t *testing.T) (code []byte, addr uint64, c *Pages) {
	t.Helper()
	code, addr, c, _ = testCode(t)
	protect(t, code, everything)
	if !c.Changes([]x86.Insn{{Addr: addr, Len: 1}}) {
		t.Fatal("code that may be written does not change")
	}
	return code, addr, c
}

// TestGuard: a page is guarded once it has been quiet, for longer each time that it is written soon after, and is writable to the program all along.
func TestGuard(t *testing.T) {
	code, addr, c := writableCode(t)
	page := Stretch{addr, addr + PageSize}
	now := time.Second
	quiet := func(after time.Duration, want bool) {
		t.Helper()
		if due := c.Quiet(now); len(due) != 0 {
			t.Fatalf("%v are due at once", due)
		}
		if now += after; len(c.Quiet(now)) > 0 != want {
			t.Fatalf("due after %v: %t", after, !want)
		}
	}
	taken := func() {
		t.Helper()
		protect(t, code[:PageSize], syscall.PROT_READ|syscall.PROT_EXEC)
		c.Guard(page, now)
		c.Remapped()
		if m := c.again(addr); c.Changing(addr) || !c.MayChange(addr) || !c.CaughtAt(addr+5) || c.CaughtAt(addr+PageSize) || m.Prot != "rwxp" || m.End < addr+2*PageSize {
			t.Errorf("guarded, in %+v: changing %t, may change %t, caught at %t", m, c.Changing(addr), c.MayChange(addr), c.CaughtAt(addr+5))
		}
	}
	given := func() {
		t.Helper()
		c.Unguard(page, true, now)
		protect(t, code[:PageSize], everything)
		if c.Guards() || !c.Changing(addr) {
			t.Error("it is guarded still")
		}
	}
	quiet(quietAtFirst, true)
	taken()
	if got := c.Fetch(addr, 1)[0]; got != 0xc3 {
		t.Errorf("%#x is read", got)
	}
	given()
	code[0] = 0x90
	if got := c.Fetch(addr, 1)[0]; got != 0x90 {
		t.Errorf("%#x is read of what was written", got)
	}
	quiet(quietAtFirst, false)
	if now += quietAtFirst; len(c.Quiet(now)) != 1 {
		t.Error("it is not due after twice as long")
	}
	taken()
	now += time.Second // a long time
	given()
	if quiet(quietAtFirst, false); len(c.Quiet(now+quietAtFirst)) != 1 {
		t.Error("it has to be quiet for longer though it was guarded for long")
	}
	c.Changed(addr + 7)
	if quiet(quietAtFirst, false); len(c.Quiet(now+quietAtFirst)) != 1 {
		t.Error("code that was found to have changed counts as a write")
	}
	protect(t, code, syscall.PROT_READ|syscall.PROT_EXEC)
	c.Remapped()
	if now += time.Hour; len(c.Quiet(now)) != 0 {
		t.Error("code that cannot be written is guarded")
	}
}

// TestGuardsPrivateMemoryAlone: other memory may be written by another mapping.
func TestGuardsPrivateMemoryAlone(t *testing.T) {
	for prot, want := range map[string]bool{"rwxp": true, "rwxs": false, "-wxp": false, "r-xp": false} {
		m := sys.Mapping{Prot: prot}
		if guardable(&m) != want {
			t.Errorf("%s: %t", prot, !want)
		}
	}
	for _, path := range []string{"[heap]", "[stack]", "/bin/true", "/memfd:x (deleted)"} {
		if m := (sys.Mapping{Prot: "rwxp", Path: path}); guardable(&m) {
			t.Errorf("%s is guarded", path)
		}
	}
}

// TestStill: what has become something else since it was found quiet is not guarded.
func TestStill(t *testing.T) {
	code, _, c := writableCode(t)
	c.Quiet(time.Second)
	due := c.Quiet(time.Second + quietAtFirst)
	if left := c.Still(due); len(due) != 1 || len(left) != 1 || left[0] != due[0] {
		t.Errorf("of %v %v", due, left)
	}
	protect(t, code[:PageSize], syscall.PROT_READ|syscall.PROT_WRITE)
	c.Remapped()
	if left := c.Still(due); len(left) != 0 {
		t.Errorf("%v are no code any more", left)
	}
	protect(t, code[:PageSize], everything)
	c.Remapped()
	if left := c.Still(due); len(left) != 1 {
		t.Errorf("of %v %v, which can be executed again", due, left)
	}
}
