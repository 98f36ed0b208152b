package coherence

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"alleria/analysis"
	"alleria/analysis/cache"
)

// pairsOfLine is how many pairs the table shows of a line.
const pairsOfLine = 3

// WriteText writes a result for people, with at most top lines (0: all).
func (r *Result) WriteText(w io.Writer, top int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Process %d: %s\n", r.Process, analysis.PrintableCommand(r.Command))
	fmt.Fprintf(out, "  a private cache of %s for each thread", r.Private)
	if r.PrivateL2 != "" {
		fmt.Fprintf(out, ", another of %s behind it", r.PrivateL2)
	}
	if r.Inclusion != "" {
		fmt.Fprintf(out, " (%s)", r.Inclusion)
	}
	if r.Shared != "" {
		fmt.Fprintf(out, ", one of %s for all", r.Shared)
	}
	fmt.Fprintln(out)
	if !r.Timed && len(r.Threads) > 1 {
		fmt.Fprintln(out, "  without time stamps, threads take turns by thousands of records: far too little sharing is seen (record with --fields address,time)")
	}
	if r.Late > 0 {
		fmt.Fprintf(out, "  %s executions were taken behind later ones: their rings were read late\n", analysis.FormatExact(r.Late))
	}
	r.writeThreads(out)
	r.writeLines(out, top)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write coherence: %w", err)
	}
	return nil
}

// writeThreads writes what each thread did.
func (r *Result) writeThreads(out io.Writer) {
	head := []string{"thread", "reads", "writes", "private l2 hits", "cold", "capacity", "true sharing", "false sharing", "dirty transfers", "memory", "invalidations"}
	if r.PrivateL2 == "" {
		head = slices.Delete(head, 3, 4)
	}
	t := analysis.NewTextTable(head...)
	t.Text = 1
	row := func(name string, c *Counts) {
		cells := []string{name}
		for _, n := range []uint64{c.Reads, c.Writes, c.Second, c.Cold, c.Capacity, c.True, c.False, c.Dirty, c.Memory, c.Losses} {
			cells = append(cells, analysis.FormatExact(n))
		}
		if r.PrivateL2 == "" {
			cells = slices.Delete(cells, 3, 4)
		}
		t.Add(cells...)
	}
	for i := range r.Threads {
		row(fmt.Sprint(r.Threads[i].Thread), &r.Threads[i].Counts)
	}
	row("all", &r.Total)
	t.Write(out, "\n  ")
}

// writeLines writes the lines that go back and forth, with the code of both sides.
func (r *Result) writeLines(out io.Writer, top int) {
	grain := uint64(1)
	if s, err := cache.ParseShape(r.Private); err == nil {
		grain = max(s.Line/64, 1)
	}
	t := analysis.NewTextTable("line", "region", "taken by the store", "missed by", "bytes stored", "bytes used", "true", "false", "dirty transfers")
	t.Text = 6
	for i := range r.Lines {
		if top > 0 && i == top {
			t.More = len(r.Lines) - i
			break
		}
		l := &r.Lines[i]
		t.Add(fmt.Sprintf("%#x", l.Address), l.Place, "", "", "", "", analysis.FormatExact(l.True), analysis.FormatExact(l.False), analysis.FormatExact(l.Dirty))
		for k := range l.Pairs {
			p := &l.Pairs[k]
			if k == pairsOfLine && top > 0 {
				t.Add("", "", fmt.Sprintf("%d more", len(l.Pairs)-k), "", "", "", "", "", "")
				break
			}
			t.Add("", "", place(p.TakerPlace, p.Taker), place(p.VictimPlace, p.Victim), ranges(p.Stored, grain), ranges(p.Used, grain), analysis.FormatExact(p.True), analysis.FormatExact(p.False), "")
		}
	}
	t.Write(out, "\n  ")
}

// place names code.
func place(name string, addr uint64) string {
	if name == "" {
		return fmt.Sprintf("%#x", addr)
	}
	return name
}
