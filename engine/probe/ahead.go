package probe

import (
	"slices"
)

// aheadMost is how many pages that follow each other are read and written at a time, and aheadLeast from how many addresses on.
const (
	aheadMost  = 64
	aheadLeast = 16
)

// PlaceAhead writes the int3s of functions that are going to be watched at once, if the process runs natively, with two questions to the kernel a stretch of
// pages instead of two for each: thousands are armed in each process. What cannot be written so is left to Add, which says why.
//
// Bytes in between are written as they were read. So only code that is not writable is meant, which nobody changes meanwhile; threads execute it on.
func (p *Points) PlaceAhead(addrs []uint64) {
	if p.off.PlaceAhead || p.gone || len(addrs) < aheadLeast || !p.host.Native() {
		return
	}
	if !p.code.Executable(slices.Max(addrs)) {
		p.code.Remapped() // natively what is mapped is not told of
	}
	addrs = slices.DeleteFunc(slices.Sorted(slices.Values(addrs)), func(a uint64) bool { return !p.plain(a) })
	for len(addrs) > 0 {
		n := 1
		for n < len(addrs) && addrs[n]/appPage-addrs[n-1]/appPage <= 1 && addrs[n]-addrs[0] < aheadMost*appPage {
			n++
		}
		p.placeStretch(slices.Compact(addrs[:n]))
		addrs = addrs[n:]
	}
}

// plain tells whether nothing of ours lies at an address yet, in code that nobody changes.
func (p *Points) plain(addr uint64) bool {
	if _, ok := p.probes.get(addr); ok || p.coveredBy(addr) != nil {
		return false
	}
	return p.code.Executable(addr) && !p.code.Mapping(addr).Writable()
}

// placeStretch writes int3s at some addresses, in order.
func (p *Points) placeStretch(addrs []uint64) {
	first := addrs[0]
	b := make([]byte, addrs[len(addrs)-1]+1-first)
	if _, err := p.mem.ReadAt(b, int64(first)); err != nil {
		return
	}
	originals := make([]byte, len(addrs))
	for i, a := range addrs {
		originals[i], b[a-first] = b[a-first], 0xcc
	}
	n, _ := p.mem.WriteAt(b, int64(first))
	for i, a := range addrs {
		if a-first < uint64(n) {
			p.probes.put(a, originals[i])
		}
	}
}
