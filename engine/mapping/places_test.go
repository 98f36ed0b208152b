package mapping

import (
	"testing"

	"alleria/engine/shm"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// TestPlaces has all parts lie where nothing is, whatever a program maps, each where it is said to belong.
func TestPlaces(t *testing.T) {
	m := func(start, end uint64, path string) sys.Mapping {
		return sys.Mapping{Start: start, End: end, Path: path}
	}
	stack := m(0x7ffffffde000, 0x7ffffffff000, "[stack]")
	loader := m(0x7ffff7fc3000, 0x7ffff7fff000, "/lib/ld.so")
	for _, c := range []struct {
		what    string
		maps    []sys.Mapping
		regions int
		below   uint64 // what the first region is to lie below, by one to three gigabytes
	}{
		{"position-independent", []sys.Mapping{m(0x555555554000, 0x555555556000, "/bin/true"), loader, m(0x7ffff7fbf000, 0x7ffff7fc3000, "[vvar]"), stack}, 2, loader.Start},
		{"at a fixed address", []sys.Mapping{m(0x400000, 0x500000, "/bin/old"), loader, stack}, 1, loader.Start},
		{"static", []sys.Mapping{m(0x400000, 0x500000, "/bin/static"), stack}, 1, stack.Start - 64<<30},
		{"with mappings of ours left", []sys.Mapping{m(0x555555554000, 0x555555556000, "/bin/true"),
			m(loader.Start-1<<30-shm.RegionBytes/2, loader.Start-1<<30, ""), loader, stack}, 2, loader.Start},
	} {
		pl := choose(c.maps)
		if len(pl.Regions) != c.regions {
			t.Errorf("%s: %d regions, want %d", c.what, len(pl.Regions), c.regions)
		}
		if d := c.below - pl.Regions[0]; d < 1<<30-sys.HugePage || d > 3<<30 {
			t.Errorf("%s: the first region lies %#x below %#x", c.what, d, c.below)
		}
		free := func(part string, start, end uint64) {
			if start%sys.HugePage != 0 && part != "doorbell" {
				t.Errorf("%s: the %s lies at %#x, in the middle of a large page", c.what, part, start)
			}
			for _, m := range c.maps {
				if start < m.End && end > m.Start {
					t.Errorf("%s: the %s at %#x lies in %q at %#x", c.what, part, start, m.Path, m.Start)
				}
			}
		}
		for _, r := range pl.Regions {
			free("region", r, r+shm.RegionBytes)
		}
		free("control area", pl.Slots, pl.Slots+shm.SharedBytes)
		free("doorbell", pl.Slots-layout.BellBelow, pl.Slots)
	}
}

// TestPlacesOfCreator has a child's memory lie where its creator's does, which stays as it is.
func TestPlacesOfCreator(t *testing.T) {
	as := &Places{Slots: 1 << 40, Regions: []uint64{2 << 40}}
	var m Target
	got, err := m.placesLike(as)
	if err != nil || got.Slots != as.Slots || got.Regions[0] != as.Regions[0] {
		t.Fatalf("%v: %+v, want %+v", err, got, as)
	}
	if got.Regions[0]++; as.Regions[0] != 2<<40 {
		t.Error("what came of the child's changes the creator's")
	}
}
