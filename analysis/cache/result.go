package cache

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/stream"
)

// Options are what to simulate. A shape without ways is a level that is not there.
type Options struct {
	L1I, L1D, L2, LL Shape
	ITLB, DTLB       Shape // lines are pages
	Threads          []uint32
	Part             stream.Part // what counts; all goes through the caches
	Shared           bool        // threads go through the same caches, one after the other; else each has its own
	SharedLL         bool        // the last level is all threads', who come in the order of time; what is in front is each one's own
	Inclusion        Inclusion
	Processors       int // that simulate a thread side by side, by set, as far as what is simulated can be divided; 0: one

	oneByOne bool
}

// Result is what a simulation of one process found. It is the documented JSON.
type Result struct {
	Process   uint32            `json:"process"`
	Command   []string          `json:"command"`
	Caches    map[string]string `json:"caches"`              // name to shape
	Inclusion string            `json:"inclusion,omitempty"` // inclusive or exclusive; empty: neither
	// SharedLL: the last level is all threads', who came in the order of time.
	SharedLL bool `json:"shared_ll,omitempty"`
	// Untimed: of what came in the order of time some has no time stamps, so that the order is known to within thousands of records.
	Untimed bool `json:"untimed,omitempty"`
	// Late is how many executions came behind others that were later, beside the program.
	Late      uint64           `json:"late_executions,omitempty"`
	Total     Misses           `json:"total"`
	Functions []FunctionMisses `json:"functions"` // the most misses of the first levels first
	Lines     []DataLine       `json:"lines"`     // of data, likewise
	// CodeMissing: some code was not recorded, so that instructions are not all of them.
	CodeMissing bool `json:"code_missing,omitempty"`
	// Unscaled is there where only bursts were recorded: counts are those of what is recorded, and no estimates.
	Unscaled *analysis.SamplingReport `json:"unscaled_sampling,omitempty"`
}

// FunctionMisses are the misses of a function, exclusive of what it calls.
type FunctionMisses struct {
	Name  string `json:"name"`
	Image string `json:"image"`
	Misses
}

// DataLine is a line of data with its misses.
type DataLine struct {
	Address uint64 `json:"address"`
	Place   string `json:"place,omitempty"`
	L1      uint64 `json:"l1d_misses"`
	LL      uint64 `json:"ll_misses"`
}

// Totals puts together what simulators have found of a process's threads. Its methods are for one goroutine
// at a time.
type Totals struct {
	proc    *abp.Process
	options Options
	shared  *Hierarchy // with Options.Shared
	last    lastLevel  // with Options.SharedLL
	untimed bool
	late    uint64
	blocks  []*recipe // by number: counts of all simulators
	lines   map[uint64]*LineMisses
	atOnce  bool
}

// AtOnce has one goroutine do all of a thread, for comparison.
func (t *Totals) AtOnce() { t.atOnce = true }

// NewTotals begins with nothing.
func NewTotals(proc *abp.Process, o Options) *Totals {
	t := &Totals{proc: proc, options: o, lines: map[uint64]*LineMisses{}}
	switch {
	case o.SharedLL:
		t.last = o.lastLevel()
	case o.Shared:
		t.shared = o.hierarchy(lastLevel{})
	}
	return t
}

// lastLevel is a level that threads share: one of both, or none.
type lastLevel struct {
	plain   *Cache
	related *level // inclusive or exclusive
}

// lastLevel makes one.
func (o *Options) lastLevel() lastLevel {
	if o.Inclusion == Neither {
		return lastLevel{plain: New(o.LL)}
	}
	return lastLevel{related: newLevel(o.LL, o.Inclusion, nil)}
}

// hierarchy makes the caches, empty but for the last one if that is shared.
func (o *Options) hierarchy(last lastLevel) *Hierarchy {
	h := &Hierarchy{L1I: optional(o.L1I), L1D: optional(o.L1D), ITLB: optional(o.ITLB), DTLB: optional(o.DTLB)}
	if o.Inclusion != Neither {
		o.relate(h, last.related)
		return h
	}
	if o.L2.Ways > 0 {
		h.Levels = append(h.Levels, New(o.L2))
	}
	switch {
	case last.plain != nil:
		h.Levels = append(h.Levels, last.plain)
	case o.LL.Ways > 0:
		h.Levels = append(h.Levels, New(o.LL))
	}
	return h
}

// relate makes the caches of levels that include or exclude each other.
func (o *Options) relate(h *Hierarchy, behind *level) {
	if behind == nil && o.LL.Ways > 0 {
		behind = newLevel(o.LL, o.Inclusion, nil)
	}
	if o.LL.Ways > 0 {
		h.Levels = append(h.Levels, nil)
	}
	if o.L2.Ways > 0 {
		behind = newLevel(o.L2, o.Inclusion, behind)
		h.Levels = append(h.Levels, nil)
	}
	h.related = &levels{}
	if o.L1I.Ways > 0 {
		h.related.code = newLevel(o.L1I, o.Inclusion, behind)
	}
	if o.L1D.Ways > 0 {
		h.related.data = newLevel(o.L1D, o.Inclusion, behind)
	}
}

// Thread returns what simulates a thread, with caches of its own unless all share theirs.
func (t *Totals) Thread() *Simulator {
	h := t.shared
	if h == nil {
		h = t.options.hierarchy(t.last)
	}
	s := NewSimulator(t.proc, h)
	if !t.options.oneByOne && !t.options.SharedLL {
		s.filter = newFilter(s)
	}
	s.when.never = t.options.Shared || t.atOnce // threads that share caches come one after the other
	return s
}

// Add adds what a simulator has found, times scale.
func (t *Totals) Add(s *Simulator, scale float64) {
	s.settle()
	s.Count(true)
	t.add(s, scale, func(*Misses) {}, true)
	t.addLines(s, scale)
}

// AddWarmed is Add of bursts, of which a part has only warmed the caches (stream.Warm): executions and accesses are of all, misses of what
// has counted stand for the rest.
func (t *Totals) AddWarmed(s *Simulator, scale float64) {
	s.settle()
	s.Count(true)
	if s.apart == nil { // there was one burst
		t.Add(s, scale)
		return
	}
	counted := s.executed()
	s.Count(false)
	warming := s.executed()
	t.add(s, scale, func(m *Misses) { *m = Misses{Executed: m.Executed, Reads: m.Reads, Writes: m.Writes} }, true)
	s.Count(true)
	if counted == 0 {
		return
	}
	more := (counted + warming) / counted
	t.add(s, scale, func(m *Misses) {
		by := m.scaled(more)
		by.Executed, by.Reads, by.Writes = m.Executed, m.Reads, m.Writes
		*m = by
	}, true)
	t.addLines(s, scale*more)
}

// executed is how many instructions of whole executions are counted.
func (s *Simulator) executed() (n float64) {
	if s.filter != nil {
		s.filter.settle(s.recipes)
	}
	for _, r := range s.recipes {
		if r != nil {
			n += float64(r.runs) * float64(len(r.ins))
		}
	}
	return n
}

// add is Add of what keep leaves of an instruction's counts, with executions or without.
func (t *Totals) add(s *Simulator, scale float64, keep func(m *Misses), executions bool) {
	if s.filter != nil {
		s.filter.settle(s.recipes)
	}
	for id, r := range s.recipes {
		if r == nil {
			continue
		}
		for id >= len(t.blocks) {
			t.blocks = append(t.blocks, make([]*recipe, id+1-len(t.blocks)+len(t.blocks)/2)...)
		}
		sum := t.blocks[id]
		if sum == nil {
			sum = &recipe{block: r.block, ops: r.ops, ins: make([]Misses, len(r.ins))}
			t.blocks[id] = sum
		}
		if executions {
			sum.runs += scaled(r.runs, scale)
		}
		for i := range r.ins {
			m := r.ins[i].scaled(scale)
			keep(&m)
			sum.ins[i].Add(&m, 1)
		}
	}
}

// addLines adds misses by line.
func (t *Totals) addLines(s *Simulator, scale float64) {
	s.lines.each(func(l uint64, m LineMisses) {
		sum := t.lines[l]
		if sum == nil {
			sum = new(LineMisses)
			t.lines[l] = sum
		}
		sum.L1 += scaled(m.L1, scale)
		sum.LL += scaled(m.LL, scale)
	})
}

// scaled is a count times a factor.
func scaled(n uint64, by float64) uint64 {
	if by == 1 {
		return n
	}
	return uint64(math.Round(float64(n) * by))
}

// scaled is the counts times a factor.
func (m *Misses) scaled(by float64) Misses {
	if by == 1 {
		return *m
	}
	out := *m
	for _, n := range []*uint64{&out.Executed, &out.Reads, &out.Writes, &out.L1I, &out.L1DRead, &out.L1DWrite, &out.L2,
		&out.LLI, &out.LLRead, &out.LLWrite, &out.ITLB, &out.DTLB} {
		*n = scaled(*n, by)
	}
	return out
}

// Simulate takes the threads of a process through the caches. progress may be nil.
func Simulate(p *abp.Profile, proc *abp.Process, o Options, progress *analysis.Progress) (*Result, error) {
	all, err := SimulateAll(p, proc, o, progress)
	if err != nil {
		return nil, err
	}
	return all.Result(), nil
}

// SimulateAll is Simulate for who wants other sums than by function.
func SimulateAll(p *abp.Profile, proc *abp.Process, o Options, progress *analysis.Progress) (*Totals, error) {
	all := NewTotals(proc, o)
	if o.SharedLL {
		return all, all.inOrder(p, progress)
	}
	threads := proc.Threads()
	for i := range threads {
		if t := &threads[i]; len(o.Threads) == 0 || slices.Contains(o.Threads, t.Number) {
			progress.Expect(t)
		}
	}
	var one *Classes // all threads go through
	if o.Shared && !all.sampled() {
		one = all.Classes(o.Processors)
	}
	for i := range threads {
		t := &threads[i]
		if len(o.Threads) > 0 && !slices.Contains(o.Threads, t.Number) {
			continue
		}
		if err := all.thread(p, t, one, progress); err != nil {
			return nil, fmt.Errorf("cache simulation of thread %d: %w", t.Number, err)
		}
	}
	if one != nil {
		all.AddClasses(one, 1)
	}
	return all, nil
}

// thread simulates a thread of a profile, in the caches of all if there are any.
func (t *Totals) thread(p *abp.Profile, th *abp.Thread, one *Classes, progress *analysis.Progress) error {
	if one != nil {
		one.Count(true)
		return stream.Thread(p, t.proc, th, progress, stream.Only(t.options.Part, one))
	}
	if t.sampled() && t.options.Part.All() {
		sim := t.Thread()
		err := stream.Thread(p, t.proc, th, progress, stream.Warm(sim))
		t.AddWarmed(sim, 1)
		return err
	}
	sink := t.Sink()
	err := stream.Thread(p, t.proc, th, progress, stream.Only(t.options.Part, sink))
	t.AddSink(sink, 1)
	return err
}

// sampled tells whether only bursts were recorded. These are not divided over processors: what counts changes twice in each, where all would wait for each other.
func (t *Totals) sampled() bool { return analysis.SamplingOf(t.proc) != nil }

// Sink returns what simulates a thread, on as many processors as the options have.
func (t *Totals) Sink() stream.Counted {
	if c := t.Classes(t.options.Processors); c != nil {
		return c
	}
	return t.Thread()
}

// AddSink adds what a thread's sink has found, times scale.
func (t *Totals) AddSink(s stream.Sink, scale float64) {
	if c, ok := s.(*Classes); ok {
		t.AddClasses(c, scale)
		return
	}
	t.Add(s.(*Simulator), scale)
}

// optional makes a cache unless its shape is that of none.
func optional(s Shape) *Cache {
	if s.Ways == 0 {
		return nil
	}
	return New(s)
}

// whole is what complete executions of a block count for by themselves.
func (r *recipe) whole(i int) (m Misses) {
	m.Executed = 1
	for k := range r.ops {
		if op := &r.ops[k]; op.kind == opPlain && int(op.ins) == i {
			if op.store {
				m.Writes++
			} else {
				m.Reads++
			}
		}
	}
	return m
}

// Instructions are the misses by instruction.
func (t *Totals) Instructions() map[analysis.Code]Misses {
	places := analysis.NewPlaces(t.proc)
	out := map[analysis.Code]Misses{}
	for _, r := range t.blocks {
		if r == nil {
			continue
		}
		for i := range r.ins {
			at := places.Code(r.block, i)
			m := out[at]
			m.Add(&r.ins[i], 1)
			one := r.whole(i)
			m.Add(&one, r.runs)
			out[at] = m
		}
	}
	return out
}

// Result sums up by function.
func (t *Totals) Result() *Result {
	out := &Result{Process: t.proc.Number(), Command: t.proc.Header().CommandLine, Functions: []FunctionMisses{}, Lines: []DataLine{}, Unscaled: analysis.SamplingOf(t.proc)}
	places := analysis.NewPlaces(t.proc)
	type key struct {
		f   *abp.Function
		img *abp.Image
	}
	by := map[key]*FunctionMisses{}
	for _, r := range t.blocks {
		if r == nil {
			continue
		}
		for i := range r.ins {
			m := r.ins[i]
			one := r.whole(i)
			m.Add(&one, r.runs)
			if r.block.Ins[i].Flags&abp.InsPart != 0 { // the last part counts as the instruction
				m.Executed = 0
			}
			k := key{places.Function(r.block, i), places.Image(r.block)}
			f := by[k]
			if f == nil {
				f = &FunctionMisses{Name: "[no function]", Image: analysis.ImageName(k.img)}
				if k.f != nil {
					f.Name = k.f.Display()
				}
				by[k] = f
			}
			f.Add(&m, 1)
			out.Total.Add(&m, 1)
			if r.block.Ins[i].Flags&abp.InsRecorded == 0 {
				out.CodeMissing = true
			}
		}
	}
	for _, f := range by {
		out.Functions = append(out.Functions, *f)
	}
	slices.SortFunc(out.Functions, func(a, b FunctionMisses) int {
		return cmp.Or(cmp.Compare(b.first(), a.first()), cmp.Compare(b.Executed, a.Executed), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Image, b.Image))
	})
	for l, m := range t.lines {
		out.Lines = append(out.Lines, DataLine{Address: l * max(t.options.L1D.Line, 1), L1: m.L1, LL: m.LL})
	}
	slices.SortFunc(out.Lines, func(a, b DataLine) int { return cmp.Or(cmp.Compare(b.L1, a.L1), cmp.Compare(a.Address, b.Address)) })
	regions := analysis.Regions(t.proc)
	for i := range out.Lines {
		out.Lines[i].Place = analysis.RegionAt(regions, out.Lines[i].Address)
	}
	out.Caches = t.options.Shapes()
	if t.options.Inclusion != Neither {
		out.Inclusion = t.options.Inclusion.String()
	}
	out.SharedLL, out.Untimed, out.Late = t.options.SharedLL, t.untimed, t.late
	return out
}

// Shapes are the caches that there are, by name.
func (o *Options) Shapes() map[string]string {
	out := map[string]string{}
	for name, s := range map[string]Shape{"l1i": o.L1I, "l1d": o.L1D, "l2": o.L2, "ll": o.LL, "itlb": o.ITLB, "dtlb": o.DTLB} {
		if s.Ways > 0 {
			out[name] = s.String()
		}
	}
	return out
}

// first is the misses of the first levels.
func (m *Misses) first() uint64 { return m.L1I + m.L1DRead + m.L1DWrite }

// WriteText writes the result for people, with at most top functions and lines (0: all).
func (r *Result) WriteText(w io.Writer, top int) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "Process %d: %s\n", r.Process, analysis.PrintableCommand(r.Command))
	fmt.Fprintf(out, "  %s instructions executed, %s reads, %s writes\n", analysis.FormatExact(r.Total.Executed), analysis.FormatExact(r.Total.Reads), analysis.FormatExact(r.Total.Writes))
	if r.CodeMissing {
		fmt.Fprintf(out, "  blocks without any recorded instruction are not in the profile: misses of code are too few (record with --select any)\n")
	}
	r.writeHow(out)
	t := analysis.NewTextTable("cache", "size,ways,line", "read misses", "write misses", "instruction misses", "% of accesses", "per 1000 instructions")
	t.Text = 2
	r.row(t, "l1i", 0, 0, r.Total.L1I, 0)
	r.row(t, "l1d", r.Total.L1DRead, r.Total.L1DWrite, 0, r.Total.Reads+r.Total.Writes)
	if s, ok := r.Caches["l2"]; ok {
		t.Add("l2", s, "", "", "", "", fmt.Sprintf("%.3f", perThousand(r.Total.L2, r.Total.Executed)))
	}
	r.row(t, "ll", r.Total.LLRead, r.Total.LLWrite, r.Total.LLI, r.Total.Reads+r.Total.Writes)
	r.row(t, "itlb", 0, 0, r.Total.ITLB, 0)
	r.row(t, "dtlb", r.Total.DTLB, 0, 0, r.Total.Reads+r.Total.Writes)
	t.Write(out, "\n  ")
	t = analysis.NewTextTable("function", "image", "executed", "l1i", "l1d reads", "l1d writes", "ll", "tlb", "l1d per 1000")
	t.Text = 2
	for i := range r.Functions {
		f := &r.Functions[i]
		if top > 0 && i == top {
			t.More = len(r.Functions) - i
			break
		}
		t.Add(shorten(f.Name, 50), shorten(f.Image, 30), analysis.FormatExact(f.Executed), analysis.FormatExact(f.L1I), analysis.FormatExact(f.L1DRead), analysis.FormatExact(f.L1DWrite),
			analysis.FormatExact(f.LLI+f.LLRead+f.LLWrite), analysis.FormatExact(f.ITLB+f.DTLB), fmt.Sprintf("%.3f", perThousand(f.L1DRead+f.L1DWrite, f.Executed)))
	}
	t.Write(out, "\n  ")
	t = analysis.NewTextTable("line of data", "region", "l1d misses", "ll misses")
	t.Text = 2
	for i, l := range r.Lines {
		if top > 0 && i == top {
			t.More = len(r.Lines) - i
			break
		}
		t.Add(fmt.Sprintf("%#014x", l.Address), l.Place, analysis.FormatExact(l.L1), analysis.FormatExact(l.LL))
	}
	t.Write(out, "\n  ")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write caches: %w", err)
	}
	return nil
}

// writeHow says what was simulated besides the caches' shapes, if it is not what is simulated mostly.
func (r *Result) writeHow(out *bufio.Writer) {
	if r.Inclusion != "" {
		fmt.Fprintf(out, "  levels are %s\n", r.Inclusion)
	}
	if r.SharedLL {
		fmt.Fprintf(out, "  each thread has levels of its own and shares the last one, in the order of time\n")
	}
	if r.Untimed {
		fmt.Fprintf(out, "  without time stamps, the order between threads is known only to within thousands of records (record with --fields address,time)\n")
	}
	if r.Late > 0 {
		fmt.Fprintf(out, "  %s executions came late and were taken behind later ones\n", analysis.FormatExact(r.Late))
	}
}

// row adds a cache to the table if it is there.
func (r *Result) row(t *analysis.TextTable, name string, reads, writes, code, accesses uint64) {
	s, ok := r.Caches[name]
	if !ok {
		return
	}
	share := ""
	if accesses > 0 {
		share = fmt.Sprintf("%.3f", 100*float64(reads+writes)/float64(accesses))
	}
	t.Add(name, s, analysis.FormatExact(reads), analysis.FormatExact(writes), analysis.FormatExact(code), share, fmt.Sprintf("%.3f", perThousand(reads+writes+code, r.Total.Executed)))
}

// perThousand is n for each thousand of another count.
func perThousand(n, of uint64) float64 {
	if of == 0 {
		return 0
	}
	return 1000 * float64(n) / float64(of)
}

// shorten cuts a name that would make a table too wide.
func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
