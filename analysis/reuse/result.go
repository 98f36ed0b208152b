package reuse

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/stream"
)

// Options are what to count.
type Options struct {
	Line    uint64 // bytes
	Limit   int    // lines that a sample follows; 0: exactly
	Threads []uint32
}

// stretches is how many working sets there are over time.
const stretches = 50

// Result is what was found of a process. It is the documented JSON.
type Result struct {
	Process    uint32   `json:"process"`
	Command    []string `json:"command"`
	LineSize   uint64   `json:"line_size"`
	References uint64   `json:"references"` // to lines
	Lines      float64  `json:"lines"`      // different ones; of a sample an estimate
	Rate       float64  `json:"rate"`       // share of the lines that was followed
	Histogram  []Step   `json:"histogram"`
	Curve      []Point  `json:"curve"`
	Sets       []uint64 `json:"working_sets,omitempty"` // different lines in each stretch of time
	Every      uint64   `json:"references_a_stretch,omitempty"`
}

// Step is the references whose distance is From lines or more, and less than To.
type Step struct {
	From       uint64  `json:"from"`
	To         uint64  `json:"to"`
	References float64 `json:"references"`
}

// Point is the share of references that miss a cache of so many bytes.
type Point struct {
	Bytes     uint64  `json:"bytes"`
	MissRatio float64 `json:"miss_ratio"`
}

// MissRatio is the share of references that miss a cache of so many lines, which is exact for
// powers of two and small numbers. Of a sample what its references have too many or too few
// of counts as hits (the authors' adjustment): a few hot lines, followed or not, would
// otherwise weigh for all.
func (c *Counter) MissRatio(lines uint64) float64 {
	missed := c.Cold
	for b, n := range c.Hist {
		if bucketFrom(b) >= lines {
			missed += n
		}
	}
	if c.Refs == 0 {
		return 0
	}
	return min(missed/float64(c.Refs), 1)
}

// Count counts the threads of a process, one after the other. progress may be nil.
func Count(p *abp.Profile, proc *abp.Process, o Options, progress *analysis.Progress) (*Result, error) {
	var accesses uint64
	wanted := func(t *abp.Thread) bool { return len(o.Threads) == 0 || slices.Contains(o.Threads, t.Number) }
	threads := proc.Threads()
	for i := range threads {
		if wanted(&threads[i]) {
			progress.Expect(&threads[i])
			accesses += threads[i].Counts.Loads + threads[i].Counts.Stores
		}
	}
	every := uint64(0)
	if o.Limit == 0 {
		every = max(accesses/stretches, 1)
	}
	c := New(o.Line, o.Limit, every)
	sink := stream.NewAccesses(proc, c.Access)
	for i := range threads {
		if !wanted(&threads[i]) {
			continue
		}
		if err := stream.Thread(p, proc, &threads[i], progress, sink); err != nil {
			return nil, fmt.Errorf("reuse distances of thread %d: %w", threads[i].Number, err)
		}
	}
	r := c.result()
	r.Process, r.Command = proc.Number(), proc.Header().CommandLine
	return r, nil
}

// result puts what was counted together.
func (c *Counter) result() *Result {
	r := &Result{LineSize: 1 << c.shift, References: c.Refs, Lines: c.Cold, Rate: c.Rate(), Histogram: []Step{}, Curve: []Point{}, Sets: c.epochs, Every: c.every}
	far := uint64(1)
	for b, n := range c.Hist {
		if n > 0 {
			r.Histogram = append(r.Histogram, Step{bucketFrom(b), bucketFrom(b + 1), n})
			far = bucketFrom(b + 1)
		}
	}
	lines := uint64(1)
	for float64(lines)*r.Rate < 2 && lines < far {
		lines *= 2 // a sample does not tell sizes of less than a few followed lines apart
	}
	for ; ; lines *= 2 {
		r.Curve = append(r.Curve, Point{lines << c.shift, c.MissRatio(lines)})
		if lines >= far {
			return r
		}
	}
}

// WriteText writes the curve and the working sets.
func (r *Result) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Process %d: %s\n", r.Process, strings.Join(r.Command, " "))
	fmt.Fprintf(out, "  %s references to %s lines of %d bytes", analysis.FormatExact(r.References), analysis.FormatExact(uint64(r.Lines+0.5)), r.LineSize)
	if r.Rate < 1 {
		fmt.Fprintf(out, ", of which %.4g %% were followed", 100*r.Rate)
	}
	fmt.Fprintln(out)
	t := analysis.NewTextTable("cache", "misses %", "")
	t.Text = 1
	for _, p := range r.Curve {
		t.Add(analysis.FormatBytes(p.Bytes), fmt.Sprintf("%.4f", 100*p.MissRatio), "")
	}
	t.Write(out, "\n  ")
	if len(r.Sets) > 0 {
		t := analysis.NewTextTable("references from", "working set", "bytes")
		for i, n := range r.Sets {
			t.Add(analysis.FormatExact(uint64(i)*r.Every), analysis.FormatExact(n)+" lines", analysis.FormatBytes(n*r.LineSize))
		}
		t.Write(out, "\n  ")
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write reuse distances: %w", err)
	}
	return nil
}
