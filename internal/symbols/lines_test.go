package symbols

import (
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestLinesAgainstAddr2line compares every fourth byte of the fixture's code.
func TestLinesAgainstAddr2line(t *testing.T) {
	for _, dwarf := range []string{"-gdwarf-4", "-gdwarf-5", "-gz"} {
		path := build(t, "gcc", "-g", dwarf, "-O2", "testdata/shapes.c", "testdata/shapes_more.c")
		im := mustOpen(t, path)
		var addrs []string
		for _, name := range []string{"main", "splits", "more", "twin", "splits.cold"} {
			for _, f := range im.Find(name, true) {
				for a := f.Addr; a < f.Addr+f.Size; a += 4 {
					addrs = append(addrs, fmt.Sprintf("%#x", a))
				}
			}
		}
		lines := oracle(t, "addr2line", append([]string{"-e", path}, addrs...)...)
		if len(lines) != len(addrs) || len(addrs) < 20 {
			t.Fatalf("addr2line gives %d lines for %d addresses", len(lines), len(addrs))
		}
		for i, want := range lines {
			want, _, _ = strings.Cut(want, " (") // a discriminator
			file, line, err := im.Line(unhex(t, addrs[i]))
			got := filepath.Base(file) + ":" + strconv.Itoa(line)
			if strings.HasSuffix(want, ":?") { // line 0: code of no line
				if err == nil {
					t.Errorf("%s %s: %s, addr2line knows none", dwarf, addrs[i], got)
				}
			} else if err != nil || got != filepath.Base(want) {
				t.Errorf("%s %s: %s, %v; want %s", dwarf, addrs[i], got, err, want)
			}
		}
	}
}

func TestNoLines(t *testing.T) {
	im := mustOpen(t, system(t, "/bin/gzip"))
	if file, line, err := im.Line(im.Entry); !errors.Is(err, ErrNoLine) {
		t.Errorf("gzip has %s:%d, %v", file, line, err)
	}
	im = mustOpen(t, build(t, "gcc", "-g", "-O2", "testdata/shapes.c", "testdata/shapes_more.c"))
	for _, a := range []uint64{0, im.Entry, ^uint64(0)} { // crt files have no DWARF
		if file, line, err := im.Line(a); !errors.Is(err, ErrNoLine) {
			t.Errorf("%#x has %s:%d, %v", a, file, line, err)
		}
	}
}
