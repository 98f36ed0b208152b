package probe

import (
	"alleria/engine/shm"
	"alleria/internal/sys"
)

const (
	// jumpRegionStep is how far from each other the places lie that are tried.
	jumpRegionStep = 1 << 20
	// lowSpace is what a region takes in front of a program at low addresses.
	lowSpace = (shm.JumpRegionBytes + shm.CountsBytes + jumpRegionStep - 1) &^ (jumpRegionStep - 1)
)

// JumpRegion is memory of ours near an image: code, and behind it the counts.
type JumpRegion struct {
	base uint64
	mem  []byte // the code
	next int
}

// counts is where the control area is mapped a second time.
func (a *JumpRegion) counts() uint64 { return a.base + shm.JumpRegionBytes }

// near tells whether every byte of the region and every byte of [start, end) reach each
// other by a displacement.
func (a *JumpRegion) near(start, end uint64) bool { return reaches(a.base, start, end) }

// holds tells whether an address lies in the region.
func (a *JumpRegion) holds(addr uint64) bool {
	return addr-a.base < shm.JumpRegionBytes+shm.CountsBytes
}

// reaches is near for a region that would begin at base.
func reaches(base, start, end uint64) bool {
	lo, hi := min(base, start), max(base+shm.JumpRegionBytes+shm.CountsBytes, end)
	return hi-lo < 1<<31-appPage
}

// RegionNear returns memory near the code at addr that has room for one more jump; nil if there is none, and then where some
// could be mapped, the best first. All native threads stand.
//
// It is mapped late, since most programs never need it. What can refuse it by then,
// a filter of system calls, is known, and other reasons (no descriptor left, another
// root directory) leave the int3 in place.
func (p *Points) RegionNear(addr uint64) (*JumpRegion, []uint64) {
	if !p.code.Executable(addr) {
		return nil, nil
	}
	m := p.code.Mapping(addr)
	for _, a := range p.jumps.regions {
		if a.near(m.Start, m.End) && a.next+max(maxJumpCode, maxCaptureCode) <= shm.JumpRegionBytes {
			return a, nil
		}
	}
	var bases []uint64
	add := func(base uint64) {
		if len(p.jumps.regions) < shm.MaxJumpRegions && reaches(base, m.Start, m.End) {
			bases = append(bases, base)
		}
	}
	for _, a := range p.cache.Regions {
		if a.Near(addr) {
			for k := range uint64(4) {
				add(a.Base + uint64(a.Size) + k*(shm.JumpRegionBytes+shm.CountsBytes))
			}
		}
	}
	if low := m.Start &^ (jumpRegionStep - 1); low < 1<<31 {
		// Programs at fixed low addresses: right in front of them, where nobody
		// maps anything by itself. Behind them comes the heap.
		low = min(low, p.code.Lowest()&^(jumpRegionStep-1))
		if low >= lowSpace+jumpRegionStep/8 {
			add(low - lowSpace)
		}
	}
	return nil, bases
}

// NewRegion is memory of the target's at base, which the tracer has at mem and where the counts lie behind it.
func (p *Points) NewRegion(base uint64, mem []byte) *JumpRegion {
	a := &JumpRegion{base: base, mem: mem}
	p.jumps.regions = append(p.jumps.regions, a)
	p.code.Remapped()
	return a
}

// NextRegion is where in the shared file the next region lies.
func (p *Points) NextRegion() int64 {
	return int64(shm.JumpsOff) + int64(len(p.jumps.regions))*shm.JumpRegionBytes
}

// RegionBases is where the target has memory for jumps, and how much of it each is.
func (p *Points) RegionBases() (bases []uint64, size uint64) {
	for _, a := range p.jumps.regions {
		bases = append(bases, a.base)
	}
	return bases, shm.JumpRegionBytes + shm.CountsBytes
}

// HoldsRegion tells whether an address lies in memory for jumps.
func (p *Points) HoldsRegion(addr uint64) bool {
	for _, a := range p.jumps.regions {
		if a.holds(addr) {
			return true
		}
	}
	return false
}

// Unmap takes the tracer's mappings away.
func (p *Points) Unmap() {
	for _, a := range p.jumps.regions {
		sys.Unmap(a.mem)
	}
}
