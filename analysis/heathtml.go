package analysis

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// heatPageHTML is the page without its data.
//
//go:embed heat.html
var heatPageHTML string

// heatData is what the page's script reads.
// Its field names are the script's: heat.html has to change with them.
type heatData struct {
	Title   string       `json:"title"`
	Grain   uint64       `json:"grain"`   // bytes a page
	Block   uint64       `json:"block"`   // pages a block, to begin with
	Columns int          `json:"columns"` // blocks a line
	Reads   uint64       `json:"reads"`
	Writes  uint64       `json:"writes"`
	Colors  [][3]uint8   `json:"colors"`
	Fit     bool         `json:"fit"`   // the page may begin with smaller blocks
	Cells   []uint64     `json:"cells"` // by threes: pages since the last one, reads, writes
	Regions []heatRegion `json:"regions"`
}

// heatRegion is a Region in pages.
type heatRegion struct {
	Lo   uint64 `json:"lo"`
	Hi   uint64 `json:"hi"`
	Name string `json:"name"`
}

// maxHTMLCells bounds the page's size, at some 12 bytes a cell. A map of more
// pages is given at a coarser grain.
const maxHTMLCells = 1 << 19

// WriteHTML writes the map as one page that needs no other file: it zooms by
// changing the size of the blocks, down to a page of memory. Counts above 2^53
// lose their last digits in it, as JavaScript has no other numbers.
//
// The counts are embedded as differences of page numbers: neighbours are usual, and
// a small number is one or two letters where an address is twelve. Compressing them
// was refused: the page would need a decompressor, or a browser that brings one.
func (m *HeatMap) WriteHTML(w io.Writer) error {
	grain := max(m.heat.Grain(), heatPage) // finer page numbers exceed 2^53
	cells := m.heat.Cells(grain)
	for len(cells) > maxHTMLCells {
		grain *= 4
		cells = m.heat.Cells(grain)
	}
	d := heatData{
		Title: m.Title, Grain: grain, Block: max(m.Block/grain, 1), Columns: m.Columns, Fit: m.Block == DefaultHeatBlock,
		Reads: m.Total.Reads, Writes: m.Total.Writes,
		Cells: make([]uint64, 0, 3*len(cells)), Regions: []heatRegion{},
	}
	for _, c := range heatColors {
		d.Colors = append(d.Colors, [3]uint8{c.R, c.G, c.B})
	}
	last := uint64(0)
	for _, c := range cells {
		page := c.Addr / grain
		d.Cells = append(d.Cells, page-last, c.Reads, c.Writes)
		last = page
	}
	unnamed, end, before := 0, uint64(0), ""
	for _, r := range m.regions {
		if r.Hi <= r.Lo {
			continue
		}
		name := r.Name
		if of, ok := strings.CutPrefix(name, anonymous); ok || name == "" { // numbered by address, as there may be nothing else to tell them by; those that follow each other are one
			if r.Lo != end || unnamed == 0 || name != before {
				unnamed++
			}
			kind := "anonymous"
			if ok {
				kind = anonymous
			}
			before, end = name, r.Hi
			name = fmt.Sprintf("%s %d%s", kind, unnamed, of)
		}
		d.Regions = append(d.Regions, heatRegion{r.Lo / grain, (r.Hi-1)/grain + 1, name})
	}
	text, err := json.Marshal(d) // escapes <, > and &: safe within a script element
	if err != nil {
		return fmt.Errorf("heat map page: %w", err)
	}
	head, tail, _ := strings.Cut(heatPageHTML, "/*DATA*/")
	for _, part := range []string{head, string(text), tail} {
		if _, err := io.WriteString(w, part); err != nil {
			return fmt.Errorf("heat map page: %w", err)
		}
	}
	return nil
}
