package analysis

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"alleria/abp"
)

// Difference is what two profiles have more and less of. It is the documented JSON.
type Difference struct {
	Before abp.Counts      `json:"before"`
	After  abp.Counts      `json:"after"`
	Rows   []DifferenceRow `json:"rows"`  // those that differ, by the difference in instructions
	Equal  int             `json:"equal"` // rows that do not
	// Sampling is there where only bursts of some process were recorded: its counts are estimates.
	Sampling []SampledProcess `json:"sampling,omitempty"`
}

// DifferenceRow is a function, a window, a line or a page of memory.
type DifferenceRow struct {
	Kind    string     `json:"kind"` // function, window, line or page
	Process uint32     `json:"process,omitempty"`
	Name    string     `json:"name"`
	Image   string     `json:"image,omitempty"`
	Before  abp.Counts `json:"before"`
	After   abp.Counts `json:"after"`
}

// size is by how many instructions (or accesses, where those are equal) a row differs, the
// largest first.
func (r *DifferenceRow) size() (instructions, accesses uint64) {
	return apart(r.Before.Instructions, r.After.Instructions), apart(r.Before.Loads, r.After.Loads) + apart(r.Before.Stores, r.After.Stores)
}

// apart is the distance of two counts.
func apart(a, b uint64) uint64 {
	if a > b {
		return a - b
	}
	return b - a
}

// rowKey says which rows of the two sides belong together.
type rowKey struct {
	kind        string
	process     uint32
	name, image string
}

// comparison pairs rows.
type comparison struct {
	rows map[rowKey]*DifferenceRow
	out  Difference
}

// add adds counts to one side of a row. Several functions of one name and image (static ones
// of several files) are one row.
func (c *comparison) add(k rowKey, counts abp.Counts, after bool) {
	r := c.rows[k]
	if r == nil {
		r = &DifferenceRow{Kind: k.kind, Process: k.process, Name: k.name, Image: k.image}
		c.rows[k] = r
	}
	if after {
		r.After.Add(counts, 1)
	} else {
		r.Before.Add(counts, 1)
	}
}

// result sorts the rows that differ.
func (c *comparison) result() *Difference {
	c.out.Rows = []DifferenceRow{}
	for _, r := range c.rows {
		if r.Before == r.After {
			c.out.Equal++
			continue
		}
		c.out.Rows = append(c.out.Rows, *r)
	}
	slices.SortFunc(c.out.Rows, func(a, b DifferenceRow) int {
		ai, aa := a.size()
		bi, ba := b.size()
		return cmp.Or(cmp.Compare(bi, ai), cmp.Compare(ba, aa), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Process, b.Process), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Image, b.Image))
	})
	return &c.out
}

// Compare counts two profiles by function and window. progress may be nil.
func Compare(before, after *abp.Profile, q abp.Query, progress *Progress) (*Difference, error) {
	c := comparison{rows: map[rowKey]*DifferenceRow{}}
	for i, p := range []*abp.Profile{before, after} {
		r, err := Summarise([]*abp.Profile{p}, q, progress)
		if err != nil {
			return nil, err
		}
		for _, proc := range r.Processes {
			sum := &c.out.Before
			if i == 1 {
				sum = &c.out.After
			}
			sum.Add(proc.Counts, 1)
			for _, f := range proc.Functions {
				c.add(rowKey{"function", proc.Number, f.Name, f.Image}, f.Counts, i == 1)
			}
			for _, w := range proc.Windows {
				c.add(rowKey{"window", proc.Number, w.Name, ""}, w.Counts, i == 1)
			}
		}
	}
	return c.result(), nil
}

// CompareLines compares what was counted by line.
func CompareLines(before, after []LineCount) *Difference {
	c := comparison{rows: map[rowKey]*DifferenceRow{}}
	for i, side := range [][]LineCount{before, after} {
		for k := range side {
			l := &side[k]
			name := "[no line]"
			if l.File != "" {
				name = fmt.Sprintf("%s:%d", l.File, l.Line)
			}
			c.add(rowKey{"line", 0, name, l.Image}, l.Counts, i == 1)
			if i == 0 {
				c.out.Before.Add(l.Counts, 1)
			} else {
				c.out.After.Add(l.Counts, 1)
			}
		}
	}
	return c.result()
}

// CompareHeat compares what was read and written by page of 4 KiB. Pages are known by where they lie in their region, that of
// the stack by how far they lie below its end, so that regions may have moved: systems move them by whole pages, and no page
// lies in two of them. progress may be nil.
func CompareHeat(before, after *abp.Profile, q abp.Query, progress *Progress) (*Difference, error) {
	c := comparison{rows: map[rowKey]*DifferenceRow{}}
	for i, p := range []*abp.Profile{before, after} {
		sum := &c.out.Before
		if i == 1 {
			sum = &c.out.After
		}
		for _, proc := range p.Processes() {
			if !wants(q.Processes, proc.Number()) {
				continue
			}
			heat, err := HeatOf(p, proc, q, heatPage, progress)
			if err != nil {
				return nil, err
			}
			name := pageNames(Regions(proc))
			for _, cell := range heat.Cells(heatPage) {
				counts := abp.Counts{Loads: cell.Reads, Stores: cell.Writes}
				sum.Add(counts, 1)
				c.add(rowKey{"page", proc.Number(), name(cell.Addr), ""}, counts, i == 1)
			}
		}
	}
	return c.result(), nil
}

// pageNames names pages by their regions. Of several regions of one name the first one's beginning counts.
func pageNames(regions []Region) func(addr uint64) string {
	base := map[string]uint64{}
	for _, r := range regions {
		if b, ok := base[r.Name]; !ok || r.Lo < b {
			base[r.Name] = r.Lo
		}
	}
	return func(addr uint64) string {
		for _, r := range regions {
			switch {
			case r.Name == "" || r.Lo >= addr+heatPage || r.Hi <= addr:
			case r.Name == "[stack]":
				return fmt.Sprintf("%s-%#x", r.Name, r.Hi-addr)
			default:
				return fmt.Sprintf("%s+%#x", r.Name, max(addr, base[r.Name])-base[r.Name])
			}
		}
		return fmt.Sprintf("%#x", addr)
	}
}

// WriteText writes the difference for people, with at most top rows (0: all).
func (d *Difference) WriteText(w io.Writer, top int) error {
	out := bufio.NewWriter(w)
	unit, of := "instructions", func(c *abp.Counts) uint64 { return c.Instructions }
	if d.Before.Instructions|d.After.Instructions == 0 { // of pages, which are accessed and not executed
		unit, of = "accesses", func(c *abp.Counts) uint64 { return c.Loads + c.Stores }
		fmt.Fprintf(out, "%s loads and %s stores before, %s and %s after\n", FormatExact(d.Before.Loads), FormatExact(d.Before.Stores), FormatExact(d.After.Loads), FormatExact(d.After.Stores))
	} else {
		d.writeHead(out)
	}
	t := NewTextTable("", "name", "image", "before", "after", unit, "loads", "stores")
	t.Text = 3
	for i := range d.Rows {
		r := &d.Rows[i]
		if top > 0 && i == top {
			t.More = len(d.Rows) - i
			break
		}
		name := r.Name
		if r.Kind == "line" {
			name = name[strings.LastIndexByte(name, '/')+1:]
		}
		before, after := of(&r.Before), of(&r.After)
		t.Add(r.Kind, cut(name, 60), cut(r.Image, 30), FormatExact(before), FormatExact(after),
			signed(before, after), signed(r.Before.Loads, r.After.Loads), signed(r.Before.Stores, r.After.Stores))
	}
	t.Write(out, "\n  ")
	fmt.Fprintf(out, "\n  %s rows are equal\n", FormatExact(uint64(d.Equal)))
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write difference: %w", err)
	}
	return nil
}

// writeHead writes the sums.
func (d *Difference) writeHead(w io.Writer) {
	fmt.Fprintf(w, "%s instructions before, %s after (%s)\n", FormatExact(d.Before.Instructions), FormatExact(d.After.Instructions), signed(d.Before.Instructions, d.After.Instructions))
}

// signed writes by how much a count has grown or shrunk.
func signed(before, after uint64) string {
	switch {
	case after > before:
		return "+" + FormatExact(after-before)
	case after < before:
		return "-" + FormatExact(before-after)
	}
	return "0"
}
