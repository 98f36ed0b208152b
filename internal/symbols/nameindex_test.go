package symbols

import (
	"os/exec"
	"slices"
	"testing"
)

// TestIndexedNames asks for all names of real images, and for some that are none, through the
// index and by walking the table: the answers are the same.
func TestIndexedNames(t *testing.T) {
	for _, name := range []string{"bash", "gdb", "g++"} {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		im, err := OpenWith(path, Options{WholeTables: true})
		if err != nil {
			t.Fatal(err)
		}
		walk, err := OpenWith(path, Options{WholeTables: true})
		if err != nil {
			t.Fatal(err)
		}
		im.lookups.Store(indexAfter)
		fns := im.Functions()
		step := max(len(fns)/300, 1)
		n := 0
		for i := 0; i < len(fns); i += step {
			if len(fns[i].Aliases) == 0 {
				continue
			}
			d := demangleBoth(fns[i].Linked())
			for _, name := range []string{fns[i].Linked(), d.full, d.short, fns[i].Parent(), fns[i].Linked() + "x", fns[i].Aliases[0].String()} {
				for _, linked := range []bool{false, true} {
					walk.lookups.Store(0)
					if got, want := addresses(im.Find(name, linked)), addresses(walk.Find(name, linked)); !slices.Equal(got, want) {
						t.Errorf("%s: Find %q %v: %x, by walking %x", path, name, linked, got, want)
					}
					walk.lookups.Store(0)
					if got, want := addresses(im.Select(name, linked)), addresses(walk.Select(name, linked)); !slices.Equal(got, want) {
						t.Errorf("%s: Select %q %v: %x, by walking %x", path, name, linked, got, want)
					}
					n++
				}
			}
		}
		if im.byName == nil || n < 100 {
			t.Errorf("%s: %d names, index of %d", path, n, len(im.byName))
		}
		im.Close()
		walk.Close()
	}
}

func addresses(fns []*Function) (out []uint64) {
	for _, f := range fns {
		out = append(out, f.Addr)
	}
	return out
}
