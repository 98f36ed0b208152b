package reuse

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/lanes"
	"alleria/analysis/stream"
)

// Options are what to count.
type Options struct {
	Line    uint64 // bytes
	Limit   int    // lines that a sample follows; 0: exactly
	Threads []uint32
	// Part is what counts; all references move lines. There are no working sets of a part.
	Part stream.Part
}

// Result is what was found of a process. It is the documented JSON.
type Result struct {
	Process    uint32   `json:"process"`
	Command    []string `json:"command"`
	LineSize   uint64   `json:"line_size"`
	References uint64   `json:"references"` // to lines
	Lines      float64  `json:"lines"`      // different ones, of a part of the run those first used in it; of a sample an estimate
	Rate       float64  `json:"rate"`       // share of the lines that was followed
	Histogram  []Step   `json:"histogram"`
	Curve      []Point  `json:"curve"`
	Sets       []uint64 `json:"working_sets,omitempty"` // different lines in each stretch of time
	Every      uint64   `json:"references_a_stretch,omitempty"`
	// Unscaled is there where only bursts were recorded: counts are those of what is recorded, and no estimates.
	Unscaled *analysis.SamplingReport `json:"unscaled_sampling,omitempty"`
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
	hist, missed := c.found()
	for b, n := range hist {
		if bucketFrom(b) >= lines {
			missed += n
		}
	}
	if c.Refs == 0 {
		return 0
	}
	return min(missed/float64(c.Refs), 1)
}

// Totals puts together what was counted of a process's threads, each by itself: as if none used memory of another's.
// Its methods are for one goroutine at a time.
type Totals struct {
	proc    *abp.Process
	options Options
	refs    uint64
	hist    []float64
	cold    float64
	rate    float64           // the lowest of all threads
	warmed  bool              // some were of bursts, of which a part does not count
	tables  [][]entry         // of the lines that were met, of a sample of those that were followed
	sets    map[uint][]uint64 // working sets by length
	every   uint              // the length that is told, a shift of units
	atOnce  bool              // Counter's
}

// NewTotals begins with nothing.
func NewTotals(proc *abp.Process, o Options) *Totals {
	return &Totals{proc: proc, options: o, rate: 1, sets: map[uint][]uint64{}}
}

// AtOnce has one goroutine count all of a thread, for comparison.
func (t *Totals) AtOnce() { t.atOnce = true }

// Thread returns what counts a thread, and what takes its executions apart for it.
func (t *Totals) Thread() (*Counter, stream.Counted) {
	c := New(t.options.Line, t.options.Limit)
	c.when.never = t.atOnce
	c.lines = stream.NewLines(t.proc, c.shift, 1<<unitBits, c.refer)
	if c.limit > 0 {
		c.lines.Sample(c.threshold)
	}
	return c, counted{c.lines, c}
}

// Add adds what was counted of a thread, times scale. The thread is at its end.
func (t *Totals) Add(c *Counter, scale float64) {
	c.flush()
	counted{c.lines, c}.Count(true)
	hist, cold := c.found()
	refs := c.Refs - c.part.refs
	if c.part.refs > 0 && t.options.Part.All() && refs > 0 { // bursts: what has counted stands for what has only warmed
		t.warmed = true
		t.refs += uint64(math.Round(float64(c.Refs) * scale))
		scale *= float64(c.Refs) / float64(refs)
	} else {
		t.refs += uint64(math.Round(float64(refs) * scale))
	}
	for len(t.hist) < len(hist) {
		t.hist = append(t.hist, 0)
	}
	for b, n := range hist {
		t.hist[b] += n * scale
	}
	t.cold += cold * scale
	t.rate = min(t.rate, c.Rate())
	t.tables = append(t.tables, c.table)
	if c.Refs == 0 || t.options.Limit > 0 || !t.options.Part.All() {
		return
	}
	t.every = max(t.every, c.sets.told())
	for s := c.sets.shortest; s < longestStretch; s++ {
		sum := t.sets[s]
		for i, n := range c.sets.of(s) {
			if i == len(sum) {
				sum = append(sum, 0)
			}
			sum[i] += n
		}
		t.sets[s] = sum
	}
}

// different is how many lines were met in all, of a sample an estimate.
func (t *Totals) different() float64 {
	if len(t.tables) == 1 && !t.warmed || !t.options.Part.All() {
		return t.cold
	}
	lines, most := map[uint64]struct{}{}, ^uint64(0)
	if t.rate < 1 {
		most = uint64(t.rate * (1 << 64))
	}
	for _, table := range t.tables {
		for i := range table {
			if l := table[i].line; l != 0 && lanes.Hash(l-1) <= most {
				lines[l] = struct{}{}
			}
		}
	}
	return float64(len(lines)) / t.rate
}

// Count counts the threads of a process, each by itself. progress may be nil.
func Count(p *abp.Profile, proc *abp.Process, o Options, progress *analysis.Progress) (*Result, error) {
	wanted := func(t *abp.Thread) bool { return len(o.Threads) == 0 || slices.Contains(o.Threads, t.Number) }
	threads := proc.Threads()
	for i := range threads {
		if wanted(&threads[i]) {
			progress.Expect(&threads[i])
		}
	}
	all := NewTotals(proc, o)
	for i := range threads {
		if !wanted(&threads[i]) {
			continue
		}
		c, sink := all.Thread()
		if err := stream.Thread(p, proc, &threads[i], progress, all.sink(sink)); err != nil {
			return nil, fmt.Errorf("reuse distances of thread %d: %w", threads[i].Number, err)
		}
		all.Add(c, 1)
	}
	return all.Result(), nil
}

// sink is what a thread's executions are brought to.
func (t *Totals) sink(c stream.Counted) stream.Sink {
	if analysis.SamplingOf(t.proc) != nil && t.options.Part.All() {
		return stream.Warm(c)
	}
	return stream.Only(t.options.Part, c)
}

// Result puts what was counted together.
func (t *Totals) Result() *Result {
	c := &Counter{Refs: t.refs, Hist: t.hist, Cold: t.cold, shift: uint(bits.TrailingZeros64(t.options.Line))}
	r := &Result{Process: t.proc.Number(), Command: t.proc.Header().CommandLine, LineSize: t.options.Line, References: t.refs,
		Lines: t.different(), Rate: t.rate, Histogram: []Step{}, Curve: []Point{}, Sets: t.sets[t.every], Unscaled: analysis.SamplingOf(t.proc)}
	if len(r.Sets) > 0 {
		r.Every = 1 << (t.every + unitBits)
	}
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

// WriteText writes the curve and the working sets: no table of them has more rows than can be read.
func (r *Result) WriteText(w io.Writer, _ int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Process %d: %s\n", r.Process, analysis.PrintableCommand(r.Command))
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
