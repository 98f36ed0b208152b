package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"alleria/abp"
)

// Report is the summary of one or several profiles. Its JSON form is documented
// for users; fields are only ever added.
type Report struct {
	Profiles  []ProfileReport `json:"profiles"`
	Processes []ProcessReport `json:"processes"`
}

// ProfileReport is what concerns a profile as a whole.
type ProfileReport struct {
	Path     string     `json:"path"`
	Command  []string   `json:"command,omitempty"`
	Started  *time.Time `json:"started,omitempty"`
	Seconds  float64    `json:"seconds,omitempty"` // from start to end of the recording
	Outcome  string     `json:"outcome,omitempty"`
	Complete bool       `json:"complete"` // every file was closed in order
	// OutputBytes is the size of the profile's files; per instruction it is the
	// measure of compactness.
	OutputBytes         uint64   `json:"output_bytes"`
	BytesPerInstruction float64  `json:"bytes_per_instruction"`
	Notes               []string `json:"notes,omitempty"`
}

// ProcessReport is one process of the tree.
type ProcessReport struct {
	Profile  string   `json:"profile"`
	Number   uint32   `json:"number"`
	PID      uint32   `json:"pid"`
	Parent   uint32   `json:"parent,omitempty"`
	Command  []string `json:"command"`
	Followed bool     `json:"followed"`
	Exit     *int     `json:"exit"` // as a shell reports it; null: not known
	abp.Counts
	Threads   int              `json:"threads"`
	PerThread []ThreadReport   `json:"per_thread"`
	Windows   []WindowReport   `json:"windows"`
	Images    []ImageReport    `json:"images"`
	Functions []FunctionReport `json:"functions"`
}

// ThreadReport is one thread of a process.
type ThreadReport struct {
	Number uint32 `json:"number"`
	OSID   uint32 `json:"tid"`
	abp.Counts
}

// ImageReport is the code of one image.
type ImageReport struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Main bool   `json:"main,omitempty"`
	abp.Counts
}

// FunctionReport is one function, exclusive of what it calls.
type FunctionReport struct {
	Name   string `json:"name"`
	Linked string `json:"linked_name,omitempty"` // where it differs
	Image  string `json:"image"`
	File   string `json:"file,omitempty"`
	Line   uint32 `json:"line,omitempty"`
	abp.Counts
}

// WindowReport is one window of the configuration in one process.
type WindowReport struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Openings    int            `json:"openings"`
	abp.Counts                 // recorded while it was open
	First       *WindowOpening `json:"first"`
	Last        *WindowOpening `json:"last"`
}

// WindowOpening is an opening of a window, or its closing.
type WindowOpening struct {
	Reason       string         `json:"reason"`
	Seconds      float64        `json:"seconds"` // since the process's start
	Thread       uint32         `json:"thread,omitempty"`
	Address      uint64         `json:"address,omitempty"`
	Place        string         `json:"place,omitempty"`
	Instructions uint64         `json:"instructions"` // of the process so far
	Loads        uint64         `json:"loads"`
	Stores       uint64         `json:"stores"`
	Overshoot    uint64         `json:"overshoot,omitempty"`
	Closed       *WindowOpening `json:"closed,omitempty"` // nil: it stayed open
}

// Summarise reads profiles once and makes their report. What q excludes is not
// counted. progress may be nil.
func Summarise(profiles []*abp.Profile, q abp.Query, progress *Progress) (*Report, error) {
	r := &Report{Profiles: []ProfileReport{}, Processes: []ProcessReport{}}
	for _, p := range profiles {
		first := len(r.Processes)
		for _, proc := range p.Processes() {
			if !wants(q.Processes, proc.Number()) {
				continue
			}
			pr, err := summariseProcess(p, proc, q, progress)
			if err != nil {
				return nil, fmt.Errorf("report of %s: %w", p.Path(), err)
			}
			r.Processes = append(r.Processes, *pr)
		}
		r.Processes = append(r.Processes, others(p, r.Processes[first:], q)...)
		slices.SortFunc(r.Processes[first:], func(a, b ProcessReport) int { return cmp.Compare(a.Number, b.Number) })
		r.Profiles = append(r.Profiles, profileReport(p, r.Processes[first:]))
	}
	return r, nil
}

// profileReport sums a profile up as a whole. Bytes an instruction are over
// all of its files, tables included: that is what the disk has to hold.
func profileReport(p *abp.Profile, processes []ProcessReport) ProfileReport {
	pr := ProfileReport{Path: p.Path(), Complete: p.Complete(), OutputBytes: outputBytes(p)}
	var recorded uint64
	for _, proc := range processes {
		recorded += proc.Instructions
	}
	if recorded > 0 {
		pr.BytesPerInstruction = float64(pr.OutputBytes) / float64(recorded)
	}
	if run := p.Run(); run != nil {
		pr.Command, pr.Started, pr.Notes = run.Command, &run.Started, run.Notes
		pr.Outcome = run.Outcome.State
		if run.Outcome.Reason != "" {
			pr.Outcome += ": " + run.Outcome.Reason
		}
		if run.Ended != nil {
			pr.Seconds = run.Ended.Sub(run.Started).Seconds()
		}
	}
	return pr
}

// outputBytes adds up the files that entries and tables are in.
func outputBytes(p *abp.Profile) (sum uint64) {
	for _, proc := range p.Processes() {
		files := proc.Files()
		if !slices.Contains(files, proc.Main()) {
			files = append([]*abp.File{proc.Main()}, files...)
		}
		for _, f := range files {
			if st, err := os.Stat(f.Path()); err == nil { // gone since it was opened: nothing to add
				sum += uint64(st.Size())
			}
		}
	}
	return sum
}

// summariseProcess counts a process's threads side by side: each has frames of
// its own, and readers share nothing.
func summariseProcess(p *abp.Profile, proc *abp.Process, q abp.Query, progress *Progress) (*ProcessReport, error) {
	var threads []abp.Thread
	for _, t := range proc.Threads() {
		if wants(q.Threads, t.Number) {
			threads = append(threads, t)
		}
	}
	tallies := make([]*tally, len(threads))
	errs := make([]error, len(threads))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for i, t := range threads {
		tq := q
		tq.Processes, tq.Threads = []uint32{proc.Number()}, []uint32{t.Number}
		m := &meter{progress: progress, left: progress.expect(&t)}
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			tallies[i], errs[i] = tallyOf(p, tq, m)
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	s := newSummary(proc)
	for i, t := range threads {
		s.thread(&t, tallies[i])
	}
	pr := s.report()
	pr.Profile = p.Path()
	fromRun(pr, p)
	return pr, nil
}

// fromRun completes a process's report with what run.json knows of it.
func fromRun(pr *ProcessReport, p *abp.Profile) {
	if p.Run() == nil {
		return
	}
	if pr.Exit == nil && pr.Number == 1 {
		pr.Exit = p.Run().Outcome.Status // the run ends as its first process does
	}
	for _, e := range p.Run().Processes {
		if e.Number != pr.Number {
			continue
		}
		if e.Exit != nil {
			pr.Exit = e.Exit
		}
		pr.Parent = e.Parent
		if len(e.Command) > 0 {
			pr.Command = e.Command
		}
		// A run that only counted has no entries, but its totals.
		if pr.Instructions == 0 && len(pr.PerThread) == 0 {
			pr.Counts, pr.Threads = e.Counts, e.Threads
		}
	}
}

// others reports the processes that run.json knows and that have no profile.
func others(p *abp.Profile, known []ProcessReport, q abp.Query) []ProcessReport {
	if p.Run() == nil {
		return nil
	}
	var out []ProcessReport
	for _, e := range p.Run().Processes {
		if !wants(q.Processes, e.Number) ||
			slices.ContainsFunc(known, func(k ProcessReport) bool { return k.Number == e.Number }) {
			continue
		}
		out = append(out, ProcessReport{
			Profile: p.Path(), Number: e.Number, PID: e.PID, Parent: e.Parent, Command: e.Command,
			Followed: e.Followed, Exit: e.Exit, Counts: e.Counts, Threads: e.Threads,
			PerThread: []ThreadReport{}, Windows: []WindowReport{}, Images: []ImageReport{}, Functions: []FunctionReport{},
		})
	}
	return out
}
