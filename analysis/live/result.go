package live

import (
	"bufio"
	"fmt"
	"io"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/calls"
)

// HeatResult is the accesses by address of one process. It is the documented JSON.
type HeatResult struct {
	Process uint32      `json:"process"`
	Command []string    `json:"command"`
	Grain   uint64      `json:"grain"` // bytes of a page
	Pages   [][3]uint64 `json:"pages"` // address, reads, writes; by address
}

// heatResult lists what a count has.
func heatResult(p *abp.Process, h *analysis.Heat) *HeatResult {
	out := &HeatResult{Process: p.Number(), Command: p.Header().CommandLine, Grain: h.Grain(), Pages: [][3]uint64{}}
	for _, c := range h.Cells(h.Grain()) {
		out.Pages = append(out.Pages, [3]uint64{c.Addr, c.Reads, c.Writes})
	}
	return out
}

// Heat makes the count that the result was made of.
func (r *HeatResult) Heat() *analysis.Heat {
	h := analysis.NewHeat(r.Grain)
	for _, p := range r.Pages {
		h.Add(p[0], false, p[1])
		h.Add(p[0], true, p[2])
	}
	return h
}

// check says what is wrong with a result that was read.
func (r *HeatResult) check() error {
	if r.Grain < 8 || r.Grain&(r.Grain-1) != 0 {
		return fmt.Errorf("a page of %d bytes", r.Grain)
	}
	return nil
}

// WriteText says how much there is: maps are drawn by a command of their own.
func (r *HeatResult) WriteText(w io.Writer, _ int) error {
	var t analysis.Traffic
	for _, p := range r.Pages {
		t.Reads += p[1]
		t.Writes += p[2]
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "  %s reads and %s writes of %s (%d pages)\n", analysis.FormatExact(t.Reads), analysis.FormatExact(t.Writes),
		analysis.FormatBytes(uint64(len(r.Pages))*r.Grain), len(r.Pages))
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write heat: %w", err)
	}
	return nil
}

// WriteSummary writes a result as the analysis that was named shows it, with at most top rows a table.
func WriteSummary(w io.Writer, name string, r Result, top int) error {
	if t, ok := r.(*calls.Tree); ok {
		switch name {
		case "callgraph":
			return t.WriteGraph(w, calls.TextOptions{Top: top})
		case "calltree":
			return t.WriteTree(w, calls.TextOptions{Top: top, Percent: 0.5})
		}
	}
	return r.WriteText(w, top)
}
