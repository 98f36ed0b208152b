package analysis

import (
	"cmp"
	"slices"
	"strings"

	"alleria/abp"
)

// summary puts the tallies of a process's threads together: by thread, window,
// image and function.
type summary struct {
	proc      *abp.Process
	places    *places
	total     abp.Counts
	threads   []ThreadReport
	windows   map[uint32]*abp.Counts // by index
	images    map[*abp.Image]*abp.Counts
	functions map[functionKey]*abp.Counts
	spread    frameSpread // where only bursts were recorded
	part      float64
	lost      *abp.Image // stands for code that the main file lacks
	// instructions is by address; nil unless they are asked for.
	instructions map[Code]*InsCount
}

// functionKey is a function, or the code of an image that is in none.
// By pointer and not by name: a static function may exist once a source file.
type functionKey struct {
	function *abp.Function
	image    *abp.Image
}

// newSummary starts with nothing counted.
func newSummary(p *abp.Process) *summary {
	return &summary{
		part: SamplingOf(p).Part(),
		proc: p, places: newPlaces(p), windows: map[uint32]*abp.Counts{},
		images: map[*abp.Image]*abp.Counts{}, functions: map[functionKey]*abp.Counts{},
		lost: &abp.Image{Path: "(code that " + abp.MainFile + " lacks)"},
	}
}

// thread adds one thread's tally. Instructions are attributed here, once for
// each that ran, and not while reading, once for each time that it ran.
// Threads come in any order, and more than once where bursts are recorded.
func (s *summary) thread(t *abp.Thread, counted *tally) {
	i := slices.IndexFunc(s.threads, func(o ThreadReport) bool { return o.Number == t.Number && o.OSID == t.OSID })
	if i < 0 {
		i = len(s.threads)
		s.threads = append(s.threads, ThreadReport{Number: t.Number, OSID: t.OSID})
	}
	tr := ThreadReport{}
	counted.each(s.proc, func(windows uint64, b *abp.Block, ins int, c abp.Counts) {
		tr.Add(c, 1)
		if s.instructions != nil {
			s.instruction(b, ins, c)
		}
		img := s.places.image(b)
		addTo(s.images, img, c)
		addTo(s.functions, functionKey{s.places.function(b, ins), img}, c)
		for i := uint32(0); windows != 0; i, windows = i+1, windows>>1 {
			if windows&1 != 0 {
				addTo(s.windows, i, c)
			}
		}
	})
	if counted.lost != (abp.Counts{}) {
		tr.Add(counted.lost, 1)
		addTo(s.images, s.lost, counted.lost)
		addTo(s.functions, functionKey{nil, s.lost}, counted.lost)
	}
	s.total.Add(tr.Counts, 1)
	s.threads[i].Add(tr.Counts, 1)
}

// addTo adds to one of the maps. Pointers, so that a sum is looked up once
// and not stored back.
func addTo[K comparable](m map[K]*abp.Counts, k K, c abp.Counts) {
	sum := m[k]
	if sum == nil {
		sum = new(abp.Counts)
		m[k] = sum
	}
	sum.Add(c, 1)
}

// report puts the process's part of the report together. Lists are never nil:
// in JSON an empty list and null are not the same.
func (s *summary) report() (*ProcessReport, error) {
	s.spread.close(s.proc.Strata())
	slices.SortFunc(s.threads, func(a, b ThreadReport) int { return cmp.Compare(a.Number, b.Number) })
	h := s.proc.Header()
	windows, err := s.windowReports()
	if err != nil {
		return nil, err
	}
	pr := &ProcessReport{
		proc:   s.proc,
		Number: h.Process, PID: h.PID, Command: h.CommandLine, Followed: true, Counts: s.total,
		Threads: len(s.threads), PerThread: s.threads, Windows: windows,
		Images: s.imageReports(), Functions: s.functionReports(),
	}
	if pr.Sampling = SamplingOf(s.proc); pr.Sampling != nil {
		pr.Sampling.Error = s.spread.Error(nil, s.part)
	}
	if pr.PerThread == nil {
		pr.PerThread = []ThreadReport{}
	}
	for _, row := range s.proc.Family() {
		if row.Number == h.Process {
			pr.Parent = row.Parent
			if row.Exited {
				exit := row.ShellStatus()
				pr.Exit = &exit
			}
		}
	}
	return pr, nil
}

// imageReports lists the images that anything was recorded of, the busiest
// first.
func (s *summary) imageReports() []ImageReport {
	out := []ImageReport{}
	for img, c := range s.images {
		r := ImageReport{Name: imageName(img), Counts: *c, Error: s.spread.Error(img, s.part)}
		if img != nil {
			r.Path, r.Main = img.Path, img.Main
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b ImageReport) int { return busiest(a.Counts, b.Counts, a.Name, b.Name) })
	return out
}

// functionReports lists the functions likewise. Code in no function has a
// line for each image, so that the lines add up to the total.
func (s *summary) functionReports() []FunctionReport {
	out := []FunctionReport{}
	for k, c := range s.functions {
		r := FunctionReport{Name: noFunction, Image: imageName(k.image), Counts: *c, Error: s.spread.Error(k, s.part)}
		if f := k.function; f != nil {
			r.Name, r.File, r.Line = f.Display(), f.File, f.Line
			if f.Display() != f.Name {
				r.Linked = f.Name
			}
		}
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b FunctionReport) int {
		return busiest(a.Counts, b.Counts, a.Image+" "+a.Name, b.Image+" "+b.Name)
	})
	return out
}

// busiest orders by instructions, the most first, then by name, so that reports
// of equal runs are equal.
func busiest(a, b abp.Counts, nameA, nameB string) int {
	return cmp.Or(cmp.Compare(b.Instructions, a.Instructions), strings.Compare(nameA, nameB))
}

// windowReports lists all windows of the configuration, also those that never
// opened: that is what somebody who wonders about an empty profile looks for.
func (s *summary) windowReports() ([]WindowReport, error) {
	type ends struct {
		n           int
		first, last openingEvents
	}
	by := make(map[uint32]*ends)
	err := eachOpening(s.proc, func(window uint32, o openingEvents) error {
		e := by[window]
		if e == nil {
			e = &ends{first: o}
			by[window] = e
		}
		e.n++
		e.last = o
		return nil
	})
	out := []WindowReport{}
	for _, def := range s.proc.WindowDefs() {
		w := WindowReport{Name: def.Name, Description: def.Description}
		if c := s.windows[def.Index]; c != nil {
			w.Counts = *c
		}
		if e := by[def.Index]; e != nil {
			// Only these are worded: that takes a look at the tables each.
			w.Openings, w.First, w.Last = e.n, s.places.words(e.first), s.places.words(e.last)
		}
		out = append(out, w)
	}
	return out, err
}

// EachOpening calls f for all openings of a process's window, each with its closing,
// in the order of time. There may be tens of millions: none is kept. Addresses are
// named from the tables.
func EachOpening(p *abp.Process, window uint32, f func(o *WindowOpening) error) error {
	pl := newPlaces(p)
	return eachOpening(p, func(w uint32, o openingEvents) error {
		if w != window {
			return nil
		}
		return f(pl.words(o))
	})
}

// openingEvents is an opening and its closing, which may be missing.
type openingEvents struct {
	opened, closed abp.WindowEvent
	isClosed       bool
}

// eachOpening pairs openings with closings in the order in which they happened. One
// without the other is an opening that lasted to the end, or a closing whose opening
// was lost; the latter is left out.
// A process's windows open for all of its threads, so that no two openings of one
// window can overlap. An opening is told of when it is over.
func eachOpening(p *abp.Process, f func(window uint32, o openingEvents) error) error {
	open := make(map[uint32]abp.WindowEvent)
	var order []uint32
	err := p.EachWindowEvent(func(e *abp.WindowEvent) error {
		o, was := open[e.Window]
		switch {
		case e.Opened && was: // its closing was lost
			open[e.Window] = *e
			return f(e.Window, openingEvents{opened: o})
		case e.Opened:
			open[e.Window] = *e
			order = append(slices.DeleteFunc(order, func(w uint32) bool { return w == e.Window }), e.Window)
			return nil
		case was:
			delete(open, e.Window)
			return f(e.Window, openingEvents{o, *e, true})
		}
		return nil
	})
	for _, w := range order {
		if o, still := open[w]; still && err == nil {
			err = f(w, openingEvents{opened: o})
		}
	}
	return err
}

// words puts an opening and its closing into words.
func (pl *places) words(o openingEvents) *WindowOpening {
	w := pl.opening(&o.opened)
	if o.isClosed {
		c := pl.opening(&o.closed)
		w.Closed = &c
	}
	return &w
}

// opening words one event. Its time counts from the process's start.
// An event without a time stamp, which a run without a clock has, gets none.
func (pl *places) opening(e *abp.WindowEvent) WindowOpening {
	o := WindowOpening{
		Reason: e.Reason, Thread: e.Thread, Address: e.Addr, Place: pl.describeDuring(e.Addr, e.TSC),
		Instructions: e.Instructions, Loads: e.Loads, Stores: e.Stores, Overshoot: e.Overshoot,
		Caller: e.Caller,
	}
	if e.Caller != 0 {
		o.CalledFrom = pl.returnAddress(e.Caller, e.TSC)
	}
	if h := pl.proc.Header(); e.TSC != 0 && h.TSCFrequency != 0 {
		o.Seconds = h.TimeOf(e.TSC).Sub(h.Started).Seconds()
	}
	return o
}
