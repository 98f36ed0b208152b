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
		proc: p, places: newPlaces(p), windows: map[uint32]*abp.Counts{},
		images: map[*abp.Image]*abp.Counts{}, functions: map[functionKey]*abp.Counts{},
	}
}

// thread adds one thread's tally. Instructions are attributed here, once for
// each that ran, and not while reading, once for each time that it ran.
// Threads come in any order; the report's are in the order of calls.
func (s *summary) thread(t *abp.Thread, counted *tally) {
	tr := ThreadReport{Number: t.Number, OSID: t.OSID}
	counted.each(s.proc, func(windows uint64, b *abp.Block, ins int, c abp.Counts) {
		tr.Add(c, 1)
		img := s.places.image(b)
		addTo(s.images, img, c)
		addTo(s.functions, functionKey{s.places.function(b, ins), img}, c)
		for i := uint32(0); windows != 0; i, windows = i+1, windows>>1 {
			if windows&1 != 0 {
				addTo(s.windows, i, c)
			}
		}
	})
	s.total.Add(tr.Counts, 1)
	s.threads = append(s.threads, tr)
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
func (s *summary) report() *ProcessReport {
	h := s.proc.Header()
	pr := &ProcessReport{
		Number: h.Process, PID: h.PID, Command: h.CommandLine, Followed: true, Counts: s.total,
		Threads: len(s.threads), PerThread: s.threads, Windows: s.windowReports(),
		Images: s.imageReports(), Functions: s.functionReports(),
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
	return pr
}

// imageReports lists the images that anything was recorded of, the busiest
// first.
func (s *summary) imageReports() []ImageReport {
	out := []ImageReport{}
	for img, c := range s.images {
		r := ImageReport{Name: imageName(img), Counts: *c}
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
		r := FunctionReport{Name: noFunction, Image: imageName(k.image), Counts: *c}
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
func (s *summary) windowReports() []WindowReport {
	out := []WindowReport{}
	for _, def := range s.proc.WindowDefs() {
		w := WindowReport{Name: def.Name, Description: def.Description}
		if c := s.windows[def.Index]; c != nil {
			w.Counts = *c
		}
		list := s.places.openings(def.Index)
		w.Openings = len(list)
		if len(list) > 0 {
			w.First, w.Last = &list[0], &list[len(list)-1]
		}
		out = append(out, w)
	}
	return out
}

// Openings returns all openings of a process's window, each with its closing.
// They are in the order of the profile's table, which is that of time. Addresses
// are named from the tables, which may make the first call slow: callers with
// several windows of a large process pay for that once a window.
func Openings(p *abp.Process, window uint32) []WindowOpening { return newPlaces(p).openings(window) }

// openings pairs openings with closings in the order in which they were
// written. One without the other is an opening that lasted to the end, or a
// closing whose opening was lost; the latter is left out.
// A process's windows open for all of its threads, so that no two openings of one
// window can overlap.
func (pl *places) openings(window uint32) []WindowOpening {
	var out []WindowOpening
	for _, e := range pl.proc.WindowEvents() {
		if e.Window != window {
			continue
		}
		o := pl.opening(&e)
		switch {
		case e.Opened:
			out = append(out, o)
		case len(out) > 0 && out[len(out)-1].Closed == nil:
			out[len(out)-1].Closed = &o
		}
	}
	return out
}

// opening words one event. Its time counts from the process's start.
// An event without a time stamp, which a run without a clock has, gets none.
func (pl *places) opening(e *abp.WindowEvent) WindowOpening {
	o := WindowOpening{
		Reason: e.Reason, Thread: e.Thread, Address: e.Addr, Place: pl.describe(e.Addr),
		Instructions: e.Instructions, Loads: e.Loads, Stores: e.Stores, Overshoot: e.Overshoot,
	}
	if h := pl.proc.Header(); e.TSC != 0 && h.TSCFrequency != 0 {
		o.Seconds = h.TimeOf(e.TSC).Sub(h.Started).Seconds()
	}
	return o
}
