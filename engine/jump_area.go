package engine

import (
	"fmt"
	"os"

	"alleria/engine/shm"
	"alleria/internal/sys"
)

const (
	// jumpAreaStep is how far from each other the places lie that are tried.
	jumpAreaStep = 1 << 20
	// lowSpace is what an area takes in front of a program at low addresses.
	lowSpace = (shm.JumpAreaBytes + shm.CountsBytes + jumpAreaStep - 1) &^ (jumpAreaStep - 1)
)

// jumpArea is memory of ours near an image: code, and behind it the counts.
type jumpArea struct {
	base uint64
	mem  []byte // the code
	next int
}

// counts is where the control area is mapped a second time.
func (a *jumpArea) counts() uint64 { return a.base + shm.JumpAreaBytes }

// near tells whether every byte of the area and every byte of [start, end) reach each
// other by a displacement.
func (a *jumpArea) near(start, end uint64) bool { return reaches(a.base, start, end) }

// reaches is near for an area that would begin at base.
func reaches(base, start, end uint64) bool {
	lo, hi := min(base, start), max(base+shm.JumpAreaBytes+shm.CountsBytes, end)
	return hi-lo < 1<<31-pageSize
}

// jumpArea returns memory near the code at addr, mapped now by t, which is stopped,
// if there was none. All native threads stand. nil: there can be none.
//
// It is mapped late, since most programs never need it. What can refuse it by then,
// a filter of system calls, is known, and other reasons (no descriptor left, another
// root directory) leave the int3 in place.
func (tr *Tracer) jumpArea(t *Thread, addr uint64) (*jumpArea, error) {
	p := t.p
	if !p.executable(addr) {
		return nil, nil
	}
	m := p.code.mapping(addr)
	for _, a := range p.jumps.areas {
		if a.near(m.Start, m.End) && a.next+max(maxJumpCode, maxCaptureCode) <= shm.JumpAreaBytes {
			return a, nil
		}
	}
	var bases []uint64
	for _, a := range p.cache.Regions {
		if a.Near(addr) {
			for k := range uint64(4) {
				bases = append(bases, a.Base+uint64(a.Size)+k*(shm.JumpAreaBytes+shm.CountsBytes))
			}
		}
	}
	if low := m.Start &^ (jumpAreaStep - 1); low < 1<<31 {
		// Programs at fixed low addresses: right in front of them, where nobody
		// maps anything by itself. Behind them comes the heap.
		for _, o := range p.code.maps {
			low = min(low, o.Start&^(jumpAreaStep-1))
		}
		if low >= lowSpace+jumpAreaStep/8 {
			bases = append(bases, low-lowSpace)
		}
	}
	for _, base := range bases {
		if len(p.jumps.areas) < shm.MaxJumpAreas && reaches(base, m.Start, m.End) {
			a, err := tr.mapJumpArea(t, base)
			if a != nil || err != nil {
				return a, err
			}
		}
	}
	return nil, nil
}

// mapJumpArea has t map an area at base. nil: the kernel did not let it.
func (tr *Tracer) mapJumpArea(t *Thread, base uint64) (*jumpArea, error) {
	const scratch = 0x800 // nothing else in a slot uses it
	p := t.p
	n := len(p.jumps.areas)
	off := int64(shm.JumpsOff) + int64(n)*shm.JumpAreaBytes
	mem, err := sys.MapShared(p.shm.File, off, shm.JumpAreaBytes)
	if err != nil {
		return nil, fmt.Errorf("memory for jumps: %w", err)
	}
	rt := p.cache.Regions[0]
	in := &injector{t: t, at: rt.Base + rt.Routines.Inject}
	if err := sys.GetRegs(t.tid, &in.saved); err != nil {
		return nil, err
	}
	path := append([]byte(fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), p.shm.File.Fd())), 0)
	copy(t.slot.Mem[scratch:], path)
	ok := mapBoth(in, t.slot.Base+scratch, base, uint64(off))
	if err := in.close(); err != nil || !ok {
		sys.Unmap(mem)
		return nil, err
	}
	a := &jumpArea{base: base, mem: mem}
	p.jumps.areas = append(p.jumps.areas, a)
	p.code.valid = false
	return a, nil
}

// mapBoth opens the shared file by its path in the target and maps an area's code and
// counts.
func mapBoth(in *injector, path, base, off uint64) bool {
	const cloexec = 0o2000000
	fd, err := in.call(sysOpen, path, uint64(os.O_RDWR)|cloexec, 0)
	if err != nil {
		return false
	}
	flags := uint64(mapShared | mapNoReserve | mapFixedNoReplace)
	got, err := in.call(sysMmap, base, shm.JumpAreaBytes, protRead|protExec, flags, fd, off)
	ok := err == nil && got == base
	if ok {
		var counts uint64
		counts, err = in.call(sysMmap, base+shm.JumpAreaBytes, shm.CountsBytes, protRead|protWrite, flags, fd, shm.ControlOff)
		if ok = err == nil && counts == base+shm.JumpAreaBytes; !ok {
			_, _ = in.call(sysMunmap, base, shm.JumpAreaBytes)
			if err == nil {
				_, _ = in.call(sysMunmap, counts, shm.CountsBytes)
			}
		}
	} else if err == nil { // an old kernel took the address for a hint
		_, _ = in.call(sysMunmap, got, shm.JumpAreaBytes)
	}
	if ok {
		_, _ = in.call(sysMadvise, base, shm.JumpAreaBytes+shm.CountsBytes, madvDontDump)
	}
	_, _ = in.call(sysClose, fd)
	return ok
}
