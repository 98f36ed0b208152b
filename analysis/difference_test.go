package analysis

import (
	"bytes"
	"path/filepath"
	"regexp"
	"testing"

	"alleria/abp"
	"alleria/analysis/synthetic"
)

// TestCompareHeatByPage: pages of 4 KiB are compared, each a row.
func TestCompareHeatByPage(t *testing.T) {
	dir := t.TempDir()
	if err := synthetic.WriteLarge(dir, 10_000); err != nil {
		t.Fatal(err)
	}
	p, err := abp.Open(filepath.Join(dir, "p1"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	d, err := CompareHeat(p, p, abp.Query{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	pages := 0
	for _, proc := range p.Processes() {
		h, err := HeatOf(p, proc, abp.Query{}, 4096, nil)
		if err != nil {
			t.Fatal(err)
		}
		pages += len(h.Cells(4096))
	}
	if len(d.Rows) != 0 || d.Equal != pages || pages < 2 {
		t.Errorf("%d rows differ, %d are equal, of %d pages", len(d.Rows), d.Equal, pages)
	}
}

// TestPageNames: a page has the same name wherever its region was moved to.
func TestPageNames(t *testing.T) {
	for _, moved := range []uint64{0, 0x7f12_3000} {
		name := pageNames([]Region{{moved + 0x10000, moved + 0x12000, "lib.so"}, {moved + 0x12000, moved + 0x14000, "[heap]"}, {moved + 0x20000, moved + 0x30000, "[stack]"}})
		for addr, want := range map[uint64]string{0x11000: "lib.so+0x1000", 0x12000: "[heap]+0x0", 0x2f000: "[stack]-0x1000"} {
			if got := name(moved + addr); got != want {
				t.Errorf("%#x, moved by %#x: %s, not %s", addr, moved, got, want)
			}
		}
	}
}

// TestDifferenceOfPages: pages have accesses where functions have instructions.
func TestDifferenceOfPages(t *testing.T) {
	before, after := abp.Counts{Loads: 7, Stores: 4}, abp.Counts{Loads: 20, Stores: 5}
	d := Difference{Before: before, After: after, Rows: []DifferenceRow{{Kind: "page", Name: "[heap]+0x0", Before: before, After: after}}}
	var b bytes.Buffer
	if err := d.WriteText(&b, 0); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`accesses.*\n *page +\[heap\]\+0x0 +11 +25 +\+14 +\+13 +\+1\n`).MatchString(b.String()) {
		t.Errorf("%s", &b)
	}
}
