package starts

import (
	"os"
	"slices"
	"testing"

	"alleria/internal/sys"
)

// TestFind finds both calls where they are, and nothing where one of them is missing.
func TestFind(t *testing.T) {
	code := []byte("..." + mmapCode + ".." + rseqWide + "." + mmapCode)
	s := Find(code, 0x1000)
	if s == nil {
		t.Fatal("nothing is found")
	}
	first, rseq := uint64(0x1000+3+7), uint64(0x1000+3+len(mmapCode)+2+5)
	second := uint64(0x1000 + 3 + len(mmapCode) + 2 + len(rseqWide) + 1 + 7)
	all := slices.Sorted(s.All())
	if want := []uint64{first, rseq, second}; !slices.Equal(all, want) {
		t.Errorf("sites at %#x, want %#x", all, want)
	}
	if !s.Rseq(rseq) || s.Rseq(first) || !s.Has(second) || s.Has(0x1000) {
		t.Error("which site is which is wrong")
	}
	if s.Hit(first) || s.Hit(second) || !s.Hit(rseq) {
		t.Error("the start is not over with the registration, or earlier")
	}
	if Find([]byte(mmapCode), 0) != nil || Find([]byte(rseqCode), 0) != nil {
		t.Error("one of the calls is enough")
	}
	if code[first-0x1000] != 0x48 || code[rseq-0x1000] != 0x0f {
		t.Error("a breakpoint is not on an instruction")
	}
}

// TestLinker finds the sites in the linker of this machine.
func TestLinker(t *testing.T) {
	code, err := os.ReadFile("/lib64/ld-linux-x86-64.so.2")
	if err != nil {
		t.Skip(err)
	}
	if Find(code, 0) == nil {
		t.Error("the linker's calls don't look as they should: its starts are watched by stops")
	}
}

// TestSkip leads a thread behind the comparison, with the flags that it sets.
func TestSkip(t *testing.T) {
	regs := sys.Regs{Rax: ^uint64(4095), Rip: 0x100, Eflags: 0x202}
	if Skip(&regs); regs.Rip != 0x106 || regs.Eflags != 0x202|flagZero|flagParity {
		t.Errorf("flags %#x at %#x", regs.Eflags, regs.Rip)
	}
}
