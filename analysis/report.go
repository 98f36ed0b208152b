package analysis

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"time"

	"alleria/abp"
)

// Report is the summary of one or several profiles. Its JSON form is documented
// for users; fields are only ever added.
type Report struct {
	Profiles  []ProfileReport `json:"profiles"`  // in the order given
	Processes []ProcessReport `json:"processes"` // of all profiles, by profile and number
}

// ProfileReport is what concerns a profile as a whole.
// Fields that only run.json knows are missing for a single file that was opened
// without its directory.
type ProfileReport struct {
	Path     string     `json:"path"`              // as it was given
	Command  []string   `json:"command,omitempty"` // of the first process
	Started  *time.Time `json:"started,omitempty"` // when the recording began
	Seconds  float64    `json:"seconds,omitempty"` // from start to end of the recording
	Outcome  string     `json:"outcome,omitempty"`
	Complete bool       `json:"complete"` // every file is there and was closed in order
	// Missing is what belongs to the run and is not there, a sentence each.
	Missing []string `json:"missing,omitempty"`
	// OutputBytes is the size of the profile's files; per instruction it is the
	// measure of compactness.
	OutputBytes         uint64   `json:"output_bytes"`
	BytesPerInstruction float64  `json:"bytes_per_instruction"`
	Notes               []string `json:"notes,omitempty"`
	// Costs is what recording took, as run.json has it.
	Costs *abp.Costs `json:"costs,omitempty"`
}

// ProcessReport is one process of the tree.
//
// The lists are never null in JSON. PerThread, Images and Functions each add up to
// the process's counts; windows do not, as several may be open at a time.
type ProcessReport struct {
	Profile  string   `json:"profile"`          // path of the profile it is from
	Number   uint32   `json:"number"`           // in the run, in order of creation
	PID      uint32   `json:"pid"`              // the kernel's
	Parent   uint32   `json:"parent,omitempty"` // its number, 0 none
	Command  []string `json:"command"`          // arguments, argv[0] first
	Followed bool     `json:"followed"`         // it ran under the engine
	Exit     *int     `json:"exit"`             // as a shell reports it; null: not known
	abp.Counts
	// Counted: instructions were counted and nothing was recorded, so that there are
	// no other counts.
	Counted bool `json:"counted,omitempty"`
	// Sampling is there where only bursts were recorded.
	Sampling  *SamplingReport  `json:"sampling,omitempty"`
	Threads   int              `json:"threads"`
	PerThread []ThreadReport   `json:"per_thread"`
	Windows   []WindowReport   `json:"windows"`
	Images    []ImageReport    `json:"images"`
	Functions []FunctionReport `json:"functions"`
	// Syscalls and Signals are those that were asked for, by how often they happened.
	Syscalls []SyscallReport `json:"syscalls,omitempty"`
	Signals  []SignalReport  `json:"signals,omitempty"`

	proc     *abp.Process         // nil for one that was not followed
	programs []abp.CountedProgram // of one that was counted; none: nobody has told them apart
}

// ThreadReport is one thread of a process.
// Number is the order of creation within the process, from 1; OSID the kernel's
// thread id, which may be used again.
type ThreadReport struct {
	Number uint32 `json:"number"` // in the process
	OSID   uint32 `json:"tid"`    // the kernel's thread id
	abp.Counts
}

// ImageReport is the code of one image.
type ImageReport struct {
	Name string `json:"name"`           // file name
	Path string `json:"path"`           // empty for code in no image
	Main bool   `json:"main,omitempty"` // the program itself
	abp.Counts
	Error float64 `json:"error,omitempty"` // of an estimate, see SamplingReport
}

// FunctionReport is one function, exclusive of what it calls.
// Name is demangled where it can be. File and Line are those of the definition.
type FunctionReport struct {
	Name   string `json:"name"`                  // demangled
	Linked string `json:"linked_name,omitempty"` // where it differs
	Image  string `json:"image"`
	File   string `json:"file,omitempty"`
	Line   uint32 `json:"line,omitempty"`
	abp.Counts
	Error float64 `json:"error,omitempty"` // of an estimate, see SamplingReport
}

// WindowReport is one window of the configuration in one process.
// First and Last are null for a window that never opened.
type WindowReport struct {
	Name        string         `json:"name"`                  // the configuration's
	Description string         `json:"description,omitempty"` // the configuration's
	Openings    int            `json:"openings"`              // how often it opened
	abp.Counts                 // recorded while it was open
	First       *WindowOpening `json:"first"`
	Last        *WindowOpening `json:"last"`
}

// WindowOpening is an opening of a window, or its closing.
//
// Instructions, Loads and Stores are the process's totals at that moment, counted
// from its start, recorded or not where the configuration had them counted.
// Overshoot is by how many instructions a count over several threads was exceeded;
// within one thread counts are exact.
//
// Caller is where the function returns to whose call it was, 0 for other events and in profiles of
// before 1.12; CalledFrom names it.
type WindowOpening struct {
	Reason       string         `json:"reason"`  // the event, in words
	Seconds      float64        `json:"seconds"` // since the process's start
	Thread       uint32         `json:"thread,omitempty"`
	Address      uint64         `json:"address,omitempty"`
	Place        string         `json:"place,omitempty"`
	Caller       uint64         `json:"caller,omitempty"`
	CalledFrom   string         `json:"called_from,omitempty"`
	Instructions uint64         `json:"instructions"` // of the process so far, 0: not counted
	Loads        uint64         `json:"loads"`
	Stores       uint64         `json:"stores"`
	Overshoot    uint64         `json:"overshoot,omitempty"`
	Closed       *WindowOpening `json:"closed,omitempty"` // nil: it stayed open
}

// Summarise reads profiles once and makes their report. What q excludes is not
// counted. progress may be nil.
//
// Processes come by number within a profile, profiles in the order given. A process
// of the tree that was not followed is listed without counts, so that the tree is
// whole. The first unreadable process ends it with an error; a cut-off file is no
// error, its profile says so.
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
		r.Profiles = append(r.Profiles, profileReport(p, &q, r.Processes[first:]))
	}
	return r, nil
}

// profileReport sums a profile up as a whole. Bytes an instruction are over
// all of its files, tables included: that is what the disk has to hold. Of a part of the
// instructions they would say nothing.
func profileReport(p *abp.Profile, q *abp.Query, processes []ProcessReport) ProfileReport {
	pr := ProfileReport{Path: p.Path(), Complete: p.Complete(), OutputBytes: outputBytes(p)}
	for _, g := range p.Gaps() {
		pr.Missing = append(pr.Missing, g.String())
	}
	var recorded uint64
	for _, proc := range processes {
		recorded += proc.Instructions
	}
	if recorded > 0 && !filters(q) {
		pr.BytesPerInstruction = float64(pr.OutputBytes) / float64(recorded)
	}
	if run := p.Run(); run != nil {
		pr.Command, pr.Started, pr.Notes, pr.Costs = run.Command, &run.Started, run.Notes, run.Costs
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
// A main profile may also carry entries, and is then in the list already.
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

// summariseProcess counts a process's frames side by side.
func summariseProcess(p *abp.Profile, proc *abp.Process, q abp.Query, progress *Progress) (*ProcessReport, error) {
	s := newSummary(proc)
	_, err := eachFrame(proc, q, progress, func(threads []abp.Thread) func() frameWorker {
		all := newTallies(s, threads)
		return func() frameWorker {
			return &tallyWorker{all: all, reader: p.FrameReader(q), proc: proc, entries: picksInstructions(q), execs: picksExecutions(q), decode: q.Decode}
		}
	})
	if err != nil {
		return nil, err
	}
	pr, err := s.report()
	if err != nil {
		return nil, err
	}
	pr.outsideReport(proc, &q)
	pr.Profile = p.Path()
	fromRun(pr, p)
	return pr, nil
}

// fromRun completes a process's report with what run.json knows of it.
// run.json is written at the end of a run and may be missing or older than the
// tables: what the tables say is only overridden where they cannot know, which is
// how the process ended and who its parent was.
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
		r := ProcessReport{
			Profile: p.Path(), Number: e.Number, PID: e.PID, Parent: e.Parent, Command: e.Command,
			Followed: e.Followed, Exit: e.Exit, Counts: e.Counts, Threads: e.Threads,
			PerThread: []ThreadReport{}, Windows: []WindowReport{}, Images: []ImageReport{}, Functions: []FunctionReport{},
		}
		if e.Counted != nil {
			r.counted(e.Counted)
		}
		out = append(out, r)
	}
	return out
}

// counted adds what a run found that counted instructions and recorded none.
// Images are the sums of their functions.
func (r *ProcessReport) counted(c *abp.Counted) {
	r.Counted, r.programs = true, c.Programs
	for _, t := range c.Threads {
		r.PerThread = append(r.PerThread, ThreadReport{Number: t.Number, OSID: t.TID, Counts: abp.Counts{Instructions: t.Instructions}})
	}
	images := make(map[string]uint64)
	for _, f := range c.Functions {
		image, name := cmp.Or(f.Image, noImage), cmp.Or(f.Name, noFunction)
		images[image] += f.Instructions
		r.Functions = append(r.Functions, FunctionReport{Name: name, Image: image, Counts: abp.Counts{Instructions: f.Instructions}})
	}
	for name, n := range images {
		r.Images = append(r.Images, ImageReport{Name: name, Counts: abp.Counts{Instructions: n}})
	}
	slices.SortFunc(r.Images, func(a, b ImageReport) int {
		return cmp.Or(cmp.Compare(b.Instructions, a.Instructions), cmp.Compare(a.Name, b.Name))
	})
}
