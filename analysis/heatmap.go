package analysis

import (
	"fmt"
	"sort"
	"strings"
)

// Region is a named part of an address space. It is used to label heat maps.
type Region struct {
	Lo, Hi uint64 // from Lo up to, not including, Hi
	Name   string
}

// HeatRow is one line of a heat map: a stretch of Columns blocks, or a fold that
// stands for many lines without any access.
type HeatRow struct {
	Addr  uint64    // of the first block
	Cells []Traffic // one a block; nil: a fold
	Fold  uint64    // bytes that a fold leaves out
	Label string    // regions that were accessed here; what a fold leaves out
}

// HeatMap is a drawn-up heat map, ready for any of the outputs.
type HeatMap struct {
	// what the picture is headed with
	Title   string
	Block   uint64 // bytes
	Columns int
	Rows    []HeatRow
	Total   Traffic
	Max     uint64 // the hottest block's reads or writes, whichever is more
	Touched int    // blocks with any access

	// kept for the outputs that go below the blocks: HTML and CSV
	heat *Heat
	// by Lo; labels only, drawing does not depend on them
	regions []Region
}

// foldFrom is how many empty lines in a row are folded into one. A single empty
// line is drawn: it says as much in the same space.
const foldFrom = 2

// Map draws the count up in lines of columns blocks. A 64-bit address space has
// 68 billion such lines, nearly all of them empty: they are folded.
//
// Blocks smaller than the grain become the grain. The map refers to the count and
// reads it again when it is written as HTML or CSV: nothing must be added to it in
// between.
func (h *Heat) Map(title string, block uint64, columns int, regions []Region) *HeatMap {
	m := &HeatMap{Title: title, Block: max(block, h.Grain()), Columns: columns, heat: h}
	m.regions = append(m.regions, regions...)
	sort.SliceStable(m.regions, func(i, j int) bool { return m.regions[i].Lo < m.regions[j].Lo })
	span := m.Block * uint64(columns)
	for _, c := range h.Cells(m.Block) {
		m.Total.Reads += c.Reads
		m.Total.Writes += c.Writes
		m.Max = max(m.Max, c.Reads, c.Writes)
		m.Touched++
		// Rows are counted and not addressed: the first address behind the last
		// row of the address space does not fit into 64 bits.
		row := c.Addr / span
		m.extend(row, span)
		last := &m.Rows[len(m.Rows)-1]
		last.Cells[(c.Addr-last.Addr)/m.Block] = c.Traffic
	}
	m.labelRows(h.Cells(h.Grain()))
	return m
}

// extend adds lines up to the given one, folding what is empty in between.
// row and span count in lines and bytes. Cells come by address, so that a line is
// never returned to.
func (m *HeatMap) extend(row, span uint64) {
	if len(m.Rows) > 0 {
		done := m.Rows[len(m.Rows)-1].Addr / span
		if done == row {
			return
		}
		if empty := row - done - 1; empty >= foldFrom {
			m.Rows = append(m.Rows, m.fold((done+1)*span, empty*span))
		} else if empty > 0 {
			m.Rows = append(m.Rows, m.line((done+1)*span))
		}
	} else if row > 0 {
		m.Rows = append(m.Rows, m.fold(0, row*span))
	}
	m.Rows = append(m.Rows, m.line(row*span))
}

// line makes an empty line of blocks.
func (m *HeatMap) line(addr uint64) HeatRow {
	return HeatRow{Addr: addr, Cells: make([]Traffic, m.Columns)}
}

// fold makes the line that stands for empty ones. What it says is the same in
// all outputs.
func (m *HeatMap) fold(addr, size uint64) HeatRow {
	return HeatRow{Addr: addr, Fold: size, Label: FormatBytes(size) + " without access"}
}

// labelRows names on each line the regions that were accessed there. It goes by
// the grain and not by the blocks: a library that is mapped into a block but was
// left alone explains nothing.
// Pages and rows are both sorted by address: one walk over both.
func (m *HeatMap) labelRows(pages []Cell) {
	row, seen := 0, map[string]bool{}
	span := m.Block * uint64(m.Columns)
	for _, p := range pages {
		for m.Rows[row].Cells == nil || p.Addr-m.Rows[row].Addr >= span {
			row++
			clear(seen)
		}
		for _, name := range m.namesAt(p.Addr) {
			if seen[name] {
				continue
			}
			seen[name] = true
			r := &m.Rows[row]
			r.Label = strings.TrimPrefix(r.Label+", "+name, ", ")
		}
	}
}

// namesAt returns the names of the regions that a page of the count touches.
// Regions are sorted and don't overlap, but for an image's over the kernel's
// view of the same memory; both names are welcome then.
func (m *HeatMap) namesAt(addr uint64) []string {
	last := addr + m.heat.Grain() - 1
	var names []string
	from := sort.Search(len(m.regions), func(i int) bool { return m.regions[i].Hi > addr })
	for _, r := range m.regions[from:] {
		if r.Lo > last {
			break
		}
		if r.Hi > addr && r.Name != "" {
			names = append(names, r.Name)
		}
	}
	return names
}

// FormatBytes writes a number of bytes for people, with a binary unit.
// Whole numbers have no decimals, others one: "4 KiB", "1.5 GiB".
func FormatBytes(n uint64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	v, u := float64(n), 0
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	if v == float64(uint64(v)) {
		return fmt.Sprintf("%d %s", uint64(v), units[u])
	}
	return fmt.Sprintf("%.1f %s", v, units[u])
}

// FormatCount writes a number for people: exact below 100,000, with three
// digits and a decimal unit above.
// Exactness ends where nobody reads the digits any more; tables that are compared
// with other tools' use group instead.
func FormatCount(n uint64) string {
	if n < 100_000 {
		return fmt.Sprint(n)
	}
	v, unit := float64(n), ""
	for _, u := range []string{"k", "M", "G", "T", "P", "E"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f %s", v, unit)
	case v >= 10:
		return fmt.Sprintf("%.1f %s", v, unit)
	}
	return fmt.Sprintf("%.2f %s", v, unit)
}
