package probe

import (
	"alleria/engine/shm"
	"alleria/internal/sys"
)

const (
	// jumpAreaStep is how far from each other the places lie that are tried.
	jumpAreaStep = 1 << 20
	// lowSpace is what an area takes in front of a program at low addresses.
	lowSpace = (shm.JumpAreaBytes + shm.CountsBytes + jumpAreaStep - 1) &^ (jumpAreaStep - 1)
)

// JumpArea is memory of ours near an image: code, and behind it the counts.
type JumpArea struct {
	base uint64
	mem  []byte // the code
	next int
}

// counts is where the control area is mapped a second time.
func (a *JumpArea) counts() uint64 { return a.base + shm.JumpAreaBytes }

// near tells whether every byte of the area and every byte of [start, end) reach each
// other by a displacement.
func (a *JumpArea) near(start, end uint64) bool { return reaches(a.base, start, end) }

// reaches is near for an area that would begin at base.
func reaches(base, start, end uint64) bool {
	lo, hi := min(base, start), max(base+shm.JumpAreaBytes+shm.CountsBytes, end)
	return hi-lo < 1<<31-appPage
}

// AreaNear returns memory near the code at addr that has room for one more jump; nil if there is none, and then where some
// could be mapped, the best first. All native threads stand.
//
// It is mapped late, since most programs never need it. What can refuse it by then,
// a filter of system calls, is known, and other reasons (no descriptor left, another
// root directory) leave the int3 in place.
func (p *Points) AreaNear(addr uint64) (*JumpArea, []uint64) {
	if !p.code.Executable(addr) {
		return nil, nil
	}
	m := p.code.Mapping(addr)
	for _, a := range p.jumps.areas {
		if a.near(m.Start, m.End) && a.next+max(maxJumpCode, maxCaptureCode) <= shm.JumpAreaBytes {
			return a, nil
		}
	}
	var bases []uint64
	add := func(base uint64) {
		if len(p.jumps.areas) < shm.MaxJumpAreas && reaches(base, m.Start, m.End) {
			bases = append(bases, base)
		}
	}
	for _, a := range p.cache.Regions {
		if a.Near(addr) {
			for k := range uint64(4) {
				add(a.Base + uint64(a.Size) + k*(shm.JumpAreaBytes+shm.CountsBytes))
			}
		}
	}
	if low := m.Start &^ (jumpAreaStep - 1); low < 1<<31 {
		// Programs at fixed low addresses: right in front of them, where nobody
		// maps anything by itself. Behind them comes the heap.
		low = min(low, p.code.Lowest()&^(jumpAreaStep-1))
		if low >= lowSpace+jumpAreaStep/8 {
			add(low - lowSpace)
		}
	}
	return nil, bases
}

// NewArea is memory of the target's at base, which the tracer has at mem and where the counts lie behind it.
func (p *Points) NewArea(base uint64, mem []byte) *JumpArea {
	a := &JumpArea{base: base, mem: mem}
	p.jumps.areas = append(p.jumps.areas, a)
	p.code.Remapped()
	return a
}

// NextArea is where in the shared file the next area lies.
func (p *Points) NextArea() int64 {
	return int64(shm.JumpsOff) + int64(len(p.jumps.areas))*shm.JumpAreaBytes
}

// AreaBases is where the target has memory for jumps, and how much of it each is.
func (p *Points) AreaBases() (bases []uint64, size uint64) {
	for _, a := range p.jumps.areas {
		bases = append(bases, a.base)
	}
	return bases, shm.JumpAreaBytes + shm.CountsBytes
}

// HoldsArea tells whether an address lies in memory for jumps.
func (p *Points) HoldsArea(addr uint64) bool {
	for _, a := range p.jumps.areas {
		if addr-a.base < shm.JumpAreaBytes+shm.CountsBytes {
			return true
		}
	}
	return false
}

// Unmap takes the tracer's mappings away.
func (p *Points) Unmap() {
	for _, a := range p.jumps.areas {
		sys.Unmap(a.mem)
	}
}
