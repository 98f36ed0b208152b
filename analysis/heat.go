package analysis

import (
	"math"
	"math/bits"
	"sort"
)

// DefaultHeatBlock and DefaultHeatColumns are the paper's figure 11: blocks of
// 1 MiB, 256 of them a row.
const (
	DefaultHeatBlock   = 1 << 20
	DefaultHeatColumns = 256
)

// heatPage is the grain at which Heat counts, unless its block is smaller. It
// is finer than a block so that the HTML page can zoom into one.
const heatPage = 4096

// heatCache is the number of entries of the look-aside table in front of the
// map. Programs touch few pages at a time: nearly all accesses end here, at the
// cost of a shift, a compare and an add.
const heatCache = 1 << 12

// Traffic is what a stretch of memory has seen.
// Reads and writes are accesses, not bytes: a load of 64 bytes and one of a single
// byte count alike, as in the paper's figure 11 (Alleria, section 6).
type Traffic struct {
	Reads  uint64 `json:"reads"`  // load accesses
	Writes uint64 `json:"writes"` // store accesses
}

// Heat counts accesses by address. Each access counts once, for the page of its
// first byte, as in the paper; the few that straddle two pages are not worth a
// second look-up each. Not for concurrent use: give each goroutine its own and
// Merge them.
type Heat struct {
	shift uint // log2 of the grain
	// every page met; entries are never removed, so that pointers stay good
	pages map[uint64]*Traffic
	// direct-mapped by the page's low bits
	cache [heatCache]heatEntry
}

// heatEntry is a line of the look-aside table. The page is kept as a whole,
// not only its upper bits: that saves a shift and a compare with zero.
//
// The zero entry names page 0 without a traffic: Add tests the pointer too, because
// page 0 is a page like any other to a program that maps it.
type heatEntry struct {
	page    uint64
	traffic *Traffic
}

// NewHeat makes an empty count, fine enough for blocks of that size, which is a
// power of two.
//
// The grain is the smaller of block and 4 KiB. Blocks that are no power of two must
// have been refused: there is no error, they would be counted at the grain of their
// lowest set bit.
func NewHeat(block uint64) *Heat {
	grain := min(block, heatPage)
	return &Heat{shift: uint(bits.TrailingZeros64(grain)), pages: map[uint64]*Traffic{}}
}

// Add counts n accesses at an address.
// n may be more than one, so that merging and counting ahead are the same call.
func (h *Heat) Add(addr uint64, store bool, n uint64) {
	page := addr >> h.shift
	e := &h.cache[page%heatCache]
	if e.page != page || e.traffic == nil {
		h.miss(e, page)
	}
	if store {
		e.traffic.Writes += n
	} else {
		e.traffic.Reads += n
	}
}

// miss is kept out of Add so that the compiler inlines the rest of it.
// It replaces whatever the line held: that page's count stays in the map.
func (h *Heat) miss(e *heatEntry, page uint64) {
	t := h.pages[page]
	if t == nil {
		t = new(Traffic)
		h.pages[page] = t
	}
	e.page, e.traffic = page, t
}

// Merge adds what another count, made for the same block size, has.
// other is left as it was. Through Add and not into the map directly, so that the
// look-aside table cannot hold a pointer that the map has replaced.
func (h *Heat) Merge(other *Heat) {
	for page, t := range other.pages {
		h.Add(page<<h.shift, false, t.Reads)
		h.Add(page<<h.shift, true, t.Writes)
	}
}

// scale multiplies all counts.
func (h *Heat) scale(by float64) {
	if by == 1 {
		return
	}
	for _, t := range h.pages {
		t.Reads, t.Writes = uint64(math.Round(float64(t.Reads)*by)), uint64(math.Round(float64(t.Writes)*by))
	}
}

// Grain returns the number of bytes that a page of this count covers.
func (h *Heat) Grain() uint64 { return 1 << h.shift }

// Cell is the traffic of one stretch of memory.
type Cell struct {
	Addr uint64 // of its first byte
	Traffic
}

// Cells returns the counts in stretches of that size (a power of two, at least
// the grain), by address, those without any traffic left out.
//
// A page without any traffic comes from an Add of nothing. The result is the
// caller's own.
func (h *Heat) Cells(size uint64) []Cell {
	size = max(size, h.Grain())
	sums := map[uint64]Traffic{}
	for page, t := range h.pages {
		base := page << h.shift &^ (size - 1)
		s := sums[base]
		s.Reads += t.Reads
		s.Writes += t.Writes
		sums[base] = s
	}
	cells := make([]Cell, 0, len(sums))
	for base, t := range sums {
		if t.Reads|t.Writes != 0 {
			cells = append(cells, Cell{base, t})
		}
	}
	sort.Slice(cells, func(i, j int) bool { return cells[i].Addr < cells[j].Addr })
	return cells
}
