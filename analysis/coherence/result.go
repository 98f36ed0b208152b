package coherence

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/cache"
	"alleria/analysis/stream"
)

// Options are what to simulate.
type Options struct {
	Own       cache.Shape     // first level of each processor; its lines are what is shared
	Own2      cache.Shape     // second level of each processor; without ways there is none
	Inclusion cache.Inclusion // what it has to do with the first
	Shared    cache.Shape     // behind them; without ways there is none
	// Threads names those that take part; none: all.
	Threads []uint32
	// Part is what counts; all goes through the caches.
	Part stream.Part
}

// Names are the options that ParseOptions reads.
func Names() []string { return []string{"private", "private-l2", "inclusion", "shared"} }

// Default is an option where it is not given.
func Default(name string) string {
	return map[string]string{"private": "32k,8,64", "private-l2": "off", "inclusion": cache.Neither.String(), "shared": cache.Default("ll")}[name]
}

// ParseOptions reads the caches' shapes and what private levels have to do with each other. value returns the empty string for what is as Default has it.
func ParseOptions(value func(name string) string) (o Options, err error) {
	for _, c := range []struct {
		name string
		to   *cache.Shape
	}{{"private", &o.Own}, {"private-l2", &o.Own2}, {"shared", &o.Shared}} {
		text := cmp.Or(value(c.name), Default(c.name))
		if text == "off" && c.to != &o.Own {
			continue
		}
		if *c.to, err = cache.ParseShape(text); err != nil {
			return o, fmt.Errorf("--%s: %w", c.name, err)
		}
		if c.to.Line != o.Own.Line {
			return o, fmt.Errorf("--%s: its lines have %d bytes, those of --private %d: they have to be the same", c.name, c.to.Line, o.Own.Line)
		}
	}
	if o.Inclusion, err = cache.ParseInclusion(cmp.Or(value("inclusion"), Default("inclusion"))); err != nil {
		return o, fmt.Errorf("--inclusion: %w", err)
	}
	if o.Inclusion != cache.Neither && o.Own2.Ways == 0 {
		return o, fmt.Errorf("--inclusion: %s is what --private-l2 is to --private; there is one private level only", o.Inclusion)
	}
	return o, nil
}

// Result is what a simulation of one process found. It is the documented JSON.
type Result struct {
	Process uint32   `json:"process"`
	Command []string `json:"command"`
	Private string   `json:"private_cache"`
	// PrivateL2 is the second private level, and Inclusion what it has to do with the first; empty: there is none, and nothing.
	PrivateL2 string `json:"private_l2_cache,omitempty"`
	Inclusion string `json:"inclusion,omitempty"`
	Shared    string `json:"shared_cache,omitempty"`
	// Timed: all records have time stamps. Else threads take turns by chunks of records, and what was shared is seen in part.
	Timed bool `json:"timed"`
	// Late is how many executions were simulated behind others that were later, beside the program.
	Late    uint64         `json:"late_executions,omitempty"`
	Total   Counts         `json:"total"`
	Threads []ThreadCounts `json:"threads"`
	Lines   []Line         `json:"lines"` // with a coherence miss; the most first
	Pairs   []Pair         `json:"pairs"` // over all lines, likewise
	// Unscaled is there where only bursts were recorded: counts are those of what is recorded, and no estimates.
	Unscaled *analysis.SamplingReport `json:"unscaled_sampling,omitempty"`
}

// ThreadCounts are what a thread did.
type ThreadCounts struct {
	Thread uint32 `json:"thread"`
	Counts
}

// Line is a line of memory that went from one processor to another.
type Line struct {
	Address uint64 `json:"address"`
	Place   string `json:"place,omitempty"` // the region that it lies in
	True    uint64 `json:"true_sharing_misses"`
	False   uint64 `json:"false_sharing_misses"`
	Dirty   uint64 `json:"dirty_transfers"`
	Takes   uint64 `json:"invalidating_stores"`
	Pairs   []Pair `json:"pairs"` // the most misses first
}

// Pair is a store that takes a line away and an instruction that misses it then.
type Pair struct {
	Taker       uint64 `json:"store"`
	TakerPlace  string `json:"store_place,omitempty"`
	Victim      uint64 `json:"instruction"` // that misses
	VictimPlace string `json:"instruction_place,omitempty"`
	True        uint64 `json:"true_sharing_misses"`
	False       uint64 `json:"false_sharing_misses"`
	// Of a line's pairs: which of its bytes the store and those that come after the miss touch. Bit i is byte i or, in lines of more than 64 bytes, part i of 64.
	Stored uint64 `json:"stored_bytes,omitempty"`
	Used   uint64 `json:"used_bytes,omitempty"`
}

// Misses is all of a line's.
func (l *Line) Misses() uint64 { return l.True + l.False }

// Misses is all of a pair's.
func (p *Pair) Misses() uint64 { return p.True + p.False }

// Simulate takes the threads of a process through private caches, in the order of time. progress may be nil.
func Simulate(p *abp.Profile, proc *abp.Process, o Options, progress *analysis.Progress) (*Result, error) {
	threads := proc.Threads()
	numbers := []uint32{}
	for i := range threads {
		if t := &threads[i]; len(o.Threads) == 0 || slices.Contains(o.Threads, t.Number) {
			progress.Expect(t)
			numbers = append(numbers, t.Number)
		}
	}
	sim := NewSimulator(o)
	out := newResult(proc, o)
	all := newExecutions(proc, sim)
	err := p.EachExec(abp.Query{Order: abp.OrderTime, Processes: []uint32{proc.Number()}, Programs: []uint32{proc.Generation()}, Threads: numbers}, func(x *abp.Exec) error {
		out.Timed = out.Timed && x.Timed
		sim.muted = !o.Part.Has(x)
		all.take(x)
		progress.Add(1)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("simulate coherence: %w", err)
	}
	sim.finish()
	out.sum(sim, proc, all.threads)
	return out, nil
}

// newResult begins with what was asked for.
func newResult(proc *abp.Process, o Options) *Result {
	out := &Result{Process: proc.Number(), Command: proc.Header().CommandLine, Private: o.Own.String(), Timed: true,
		Threads: []ThreadCounts{}, Lines: []Line{}, Pairs: []Pair{}, Unscaled: analysis.SamplingOf(proc)}
	if o.Shared.Ways > 0 {
		out.Shared = o.Shared.String()
	}
	if o.Own2.Ways > 0 {
		out.PrivateL2 = o.Own2.String()
	}
	if o.Inclusion != cache.Neither {
		out.Inclusion = o.Inclusion.String()
	}
	return out
}

// sum lists what a simulator found, whose processors are these threads'.
func (r *Result) sum(s *Simulator, proc *abp.Process, numbers []uint32) {
	for n := range s.cpus {
		r.Total.add(&s.cpus[n].Counts)
		if n < len(numbers) {
			r.Threads = append(r.Threads, ThreadCounts{numbers[n], s.cpus[n].Counts})
		}
	}
	slices.SortFunc(r.Threads, func(a, b ThreadCounts) int { return cmp.Compare(a.Thread, b.Thread) })
	places, regions := analysis.NewPlaces(proc), analysis.Regions(proc)
	pairs := map[pairKey]*Pair{}
	for _, number := range s.noted {
		note := s.dir.at(number).note
		l := Line{Address: number << s.line, Dirty: note.dirty, Takes: note.takes}
		for k, c := range note.pairs {
			pair := Pair{Taker: k.taker, Victim: k.victim, TakerPlace: places.Describe(k.taker), VictimPlace: places.Describe(k.victim), True: c.shared, False: c.falsely}
			l.True, l.False = l.True+c.shared, l.False+c.falsely
			if sum := pairs[k]; sum == nil {
				one := pair
				pairs[k] = &one
			} else {
				sum.True, sum.False = sum.True+c.shared, sum.False+c.falsely
			}
			pair.Stored, pair.Used = c.written, c.referenced
			l.Pairs = append(l.Pairs, pair)
		}
		if l.Misses() == 0 {
			continue
		}
		if k := slices.IndexFunc(regions, func(g analysis.Region) bool { return l.Address >= g.Lo && l.Address < g.Hi }); k >= 0 {
			l.Place = regions[k].Name
		}
		slices.SortFunc(l.Pairs, byMisses)
		r.Lines = append(r.Lines, l)
	}
	for _, p := range pairs {
		r.Pairs = append(r.Pairs, *p)
	}
	slices.SortFunc(r.Pairs, byMisses)
	slices.SortFunc(r.Lines, func(a, b Line) int {
		return cmp.Or(cmp.Compare(b.Misses(), a.Misses()), cmp.Compare(a.Address, b.Address))
	})
}

// byMisses puts the most misses first.
func byMisses(a, b Pair) int {
	return cmp.Or(cmp.Compare(b.Misses(), a.Misses()), cmp.Compare(a.Taker, b.Taker), cmp.Compare(a.Victim, b.Victim))
}

// ranges writes the bytes of a mask, as 0-3,8.
func ranges(mask uint64, grain uint64) string {
	text := []byte{}
	for at := 0; mask>>at != 0; {
		from := at + bits.TrailingZeros64(mask>>at)
		to := from + bits.TrailingZeros64(^(mask >> from))
		if len(text) > 0 {
			text = append(text, ',')
		}
		if first, last := uint64(from)*grain, uint64(to)*grain-1; first == last {
			text = fmt.Appendf(text, "%d", first)
		} else {
			text = fmt.Appendf(text, "%d-%d", first, last)
		}
		if at = to; at >= 64 {
			break
		}
	}
	return string(text)
}
