package analysis

import (
	"math/rand/v2"
	"testing"

	"alleria/abp"
)

// TestLayers compares regions that are laid over each other with a table of addresses.
func TestLayers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	names := []string{anonymous, "a", "b"}
	for range 300 {
		var c layers
		var want [64]string
		for range 20 {
			lo := rnd.Uint64N(60)
			r := Region{lo, lo + rnd.Uint64N(64-lo), names[rnd.IntN(3)]}
			over := rnd.IntN(3) == 0
			if over {
				c.paintOver(r, anonymous)
			} else {
				c.paint(r)
			}
			for i := r.Lo; i < r.Hi; i++ {
				if !over || want[i] == "" || want[i] == anonymous {
					want[i] = r.Name
				}
			}
		}
		for i, name := range want {
			if got := RegionAt(c.grow(0), uint64(i)); got != name {
				t.Fatalf("%d is %q, expected %q, in %+v", i, got, name, c.regions)
			}
		}
	}
}

func TestRegionName(t *testing.T) {
	for want, r := range map[string]abp.Region{
		anonymous:   {},
		"[shared]":  {Label: "/dev/zero (deleted)", Inode: 3, Shared: true},
		"memfd:x":   {Label: "/memfd:x (deleted)", Inode: 3, Shared: true},
		"libc.so.6": {Label: "/lib/libc.so.6", Inode: 5},
		"[heap]":    {Label: "[heap]"},
	} {
		if got := RegionName(&r); got != want {
			t.Errorf("%+v is called %q, expected %q", r, got, want)
		}
	}
}

// TestStackGrows: a stack grows without a call, down to whatever is below it.
func TestStackGrows(t *testing.T) {
	var c layers
	c.paint(Region{0x1000, 0x2000, "x"})
	c.paint(Region{0x9000, 0xa000, "[stack]"})
	for _, most := range []uint64{0x1000, 1 << 40} {
		if got := RegionAt(c.grow(most), 0x8fff-min(most-0x1000, 0x6000)); got != "[stack]" {
			t.Errorf("below the stack by %#x is %q", most, got)
		}
	}
	if got := RegionAt(c.grow(1<<40), 0x1fff); got != "x" {
		t.Errorf("what is below the stack is %q", got)
	}
}
