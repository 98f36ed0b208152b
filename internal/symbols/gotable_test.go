package symbols

import (
	"path/filepath"
	"testing"
)

// TestStrippedGo finds the same functions in a Go program with and without its
// symbol table, in both linking models, by both linkers: with cgo C code comes first.
func TestStrippedGo(t *testing.T) {
	for _, c := range []struct{ name, mode, cgo, program string }{
		{"exe", "exe", "0", "goprog"}, {"pie", "pie", "0", "goprog"},
		{"exe, cgo", "exe", "1", "cgoprog"}, {"pie, cgo", "pie", "1", "cgoprog"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("CGO_ENABLED", c.cgo)
			dir := t.TempDir()
			whole, bare := filepath.Join(dir, "whole"), filepath.Join(dir, "bare")
			run(t, "go", "build", "-buildmode="+c.mode, "-o", whole, "./testdata/"+c.program)
			run(t, "go", "build", "-buildmode="+c.mode, "-ldflags=-s -w", "-o", bare, "./testdata/"+c.program)
			a, b := mustOpen(t, whole), mustOpen(t, bare)
			if b.Problem() != nil {
				t.Error(b.Problem())
			}
			n := 0
			for _, f := range a.Functions() {
				if f.Source != SymbolTable || f.Addr == 0 {
					continue
				}
				g := b.Lookup(f.Addr)
				// The table describes Go functions; assembler stubs of the
				// runtime may be symbols only.
				if g != nil && g.Addr == f.Addr && g.Linked() == f.Linked() && g.Source == GoTable {
					n++
				}
			}
			if total := len(a.Functions()); n < total*8/10 {
				t.Errorf("%d of %d functions without the symbol table", n, total)
			}
			for _, im := range []*Image{a, b} {
				for _, name := range []string{"main.main", "main.cold", "main.(*thing).part"} {
					f := im.Find(name, false)
					if len(f) != 1 || f[0].Parent() != "" || f[0].Name() != name {
						t.Errorf("%s: %s is %v", im.Name, name, f)
					}
				}
			}
		})
	}
}
