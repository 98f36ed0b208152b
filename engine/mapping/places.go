package mapping

import (
	"slices"

	"alleria/engine/codecache"
	"alleria/engine/shm"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Places are where the target's memory has room for ours: the control area with the slots behind it, and regions of the cache.
type Places struct {
	Slots   uint64
	Regions []uint64
}

// PlacesOf are where a process has its memory.
func PlacesOf(memory *shm.Memory, cache *codecache.Cache) *Places {
	pl := &Places{Slots: memory.Control()}
	for _, a := range cache.Regions {
		pl.Regions = append(pl.Regions, a.Base)
	}
	return pl
}

// placesLike are as, which are free in a child of the process that has its memory there, or chosen if that is nil.
func (m *Target) placesLike(as *Places) (Places, error) {
	if as != nil {
		return Places{Slots: as.Slots, Regions: slices.Clone(as.Regions)}, nil
	}
	maps, err := sys.Maps(m.PID)
	if err != nil {
		return Places{}, err
	}
	return choose(maps), nil
}

// choose chooses addresses: a region a gigabyte below the loader, where the
// libraries come, and one below the main program if that lies high; both out
// of the way of brk, the stack, the first two gigabytes, Go's arenas and
// sanitizers' shadows. The slots lie further down.
//
// Addresses are rounded to large pages. They are only proposals: mapNear tries the
// neighbourhood if something is there.
func choose(maps []sys.Mapping) Places {
	// The lowest mapping of the loader's part of the address space, and of the
	// program's if that lies high (a position-independent executable).
	var lib, exe uint64
	for _, m := range maps {
		switch {
		case m.Start >= 0x7e0000000000 && m.Path != "[stack]" && m.Path != "[vdso]" && m.Path != "[vvar]" && m.Path != "[vsyscall]" && lib == 0:
			lib = m.Start
		case m.Start >= 1<<31 && m.Start < 0x7e0000000000 && exe == 0:
			exe = m.Start
		}
	}
	// A static program has nothing up there: below its stack there is room.
	if lib == 0 {
		for _, m := range maps {
			if m.Path == "[stack]" {
				lib = m.Start - 64<<30
			}
		}
	}
	lib &^= sys.HugePage - 1
	pl := Places{Slots: freeBelow(maps, lib-160<<30, layout.BellBelow, shm.SharedBytes), Regions: []uint64{freeBelow(maps, lib-1<<30, 0, shm.RegionBytes)}}
	if exe != 0 {
		pl.Regions = append(pl.Regions, freeBelow(maps, exe&^(sys.HugePage-1)-512<<20, 0, shm.RegionBytes))
	}
	return pl
}

// freeBelow is the highest address at or below one where size bytes, and some in front of them, are free: a
// process that was traced before, or its creator, may have left mappings of ours where they always lie.
func freeBelow(maps []sys.Mapping, at, before, size uint64) uint64 {
	for i := len(maps) - 1; i >= 0; i-- {
		if m := &maps[i]; m.Start < at+size && m.End > at-before && m.Start > size {
			at = (m.Start - size) &^ (sys.HugePage - 1)
		}
	}
	return at
}
