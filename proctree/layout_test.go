package proctree

import (
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"
)

// TestLayout holds the region's words in their places: another program reads them.
func TestLayout(t *testing.T) {
	var h header
	var tr treeSlot
	var p processSlot
	for _, c := range []struct {
		what      string
		got, want uintptr
	}{
		{"header", unsafe.Sizeof(h), 16},
		{"header.allocated", unsafe.Offsetof(h.allocated), 12},
		{"treeSlot", unsafe.Sizeof(tr), slotSize},
		{"treeSlot.counter", unsafe.Offsetof(tr.counter), 4},
		{"treeSlot.start", unsafe.Offsetof(tr.start), 16},
		{"treeSlot.command", unsafe.Offsetof(tr.command), 32},
		{"processSlot", unsafe.Sizeof(p), slotSize},
		{"processSlot.number", unsafe.Offsetof(p.number), 8},
		{"processSlot.state", unsafe.Offsetof(p.state), 24},
		{"processSlot.start", unsafe.Offsetof(p.start), 32},
		{"processSlot.instructions", unsafe.Offsetof(p.instructions), 48},
		{"processSlot.program", unsafe.Offsetof(p.program), 64},
		{"region", regionSize, 4263936},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
}

func TestTexts(t *testing.T) {
	var length atomic.Uint64
	words := make([]atomic.Uint64, 3)
	for _, s := range []string{"", "a", "12345678", "123456789", strings.Repeat("x", 24)} {
		storeWords(&length, words, s)
		if got := loadWords(&length, words); got != s {
			t.Errorf("%q came back as %q", s, got)
		}
	}
	length.Store(1 << 40) // somebody else's mistake
	if got := loadWords(&length, words); len(got) != 24 {
		t.Errorf("%d bytes", len(got))
	}
	if got := keepEnd("/usr/lib/gcc/x86_64/cc1", 12); got != "…86_64/cc1" || len(got) != 12 {
		t.Errorf("keepEnd: %q", got)
	}
	if got := keepStart("make -j4 all", 10); got != "make -j…" {
		t.Errorf("keepStart: %q", got)
	}
	if keepEnd("abc", 3) != "abc" || keepStart("abc", 3) != "abc" {
		t.Error("what fits is cut")
	}
}
