package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"alleria/abp"
	"alleria/analysis"
	"alleria/config/vocab"
)

// openProfiles opens every path and hands them to use, as openQuietly does, and says before what is missing
// from them: whatever a command makes of a profile that is not whole looks like what comes of a whole one.
func (a *app) openProfiles(paths []string, use func([]*abp.Profile) error) error {
	return openQuietly(paths, func(profiles []*abp.Profile) error {
		a.warnGaps(profiles)
		return use(profiles)
	})
}

// openQuietly opens every path and hands them to use, then closes them. It is for what says by itself that a
// profile is not whole.
//
// One that cannot be opened is a usage error and ends the command before any other
// is read: half a report on two profiles is none. Nothing that use keeps may outlive
// it.
func openQuietly(paths []string, use func([]*abp.Profile) error) (err error) {
	var open []*abp.Profile
	defer func() {
		for _, p := range open {
			err = errors.Join(err, p.Close())
		}
	}()
	for _, path := range paths {
		p, err := abp.Open(path)
		if err != nil {
			return &statusError{statusUsage, err}
		}
		open = append(open, p)
	}
	return use(open)
}

// warnGaps says what belongs to the profiles and is not there, and of which only the beginning is there.
// report and verify say it as part of what they print. It is said with -q too.
func (a *app) warnGaps(profiles []*abp.Profile) {
	for _, p := range profiles {
		for _, g := range p.Gaps() {
			fmt.Fprintf(a.stderr, "alleria: the profile is not complete: %s\n", g)
		}
		// Files that lack their ends are no gaps.
		if !p.Complete() && len(p.Gaps()) == 0 {
			fmt.Fprintf(a.stderr, "alleria: the profile is not complete: %s was cut off: what follows is what had been written by then\n", p.Path())
		}
	}
}

// lacking says what a command makes of a sampled process that is not the program's: what lies between bursts is missing.
type lacking string

// How commands depend on what lies between bursts.
const (
	lacksCounts      lacking = "" // only counts are too few
	lacksCallers     lacking = "callers in front of a burst are not known, unless it returns to them: inclusive counts are of what bursts show"
	lacksSomeCallers lacking = "callers in front of a burst whose stack could not be read are missing in inclusive counts"
	lacksPaths       lacking = "paths end where bursts do"
	lacksMisses      lacking = "misses are of what is recorded alone"
	lacksOrder       lacking = "what lies between bursts is missing, so that misses, distances and strides across it are not those of the program"
	lacksWarmth      lacking = "the first half of each burst fills caches and is not counted, but what lies between bursts is missing, so that rare misses and long distances are told too often"
	lacksRecords     lacking = "what lies between bursts is missing"
)

// callersSince is the minor version of profiles that have the callers of bursts.
const callersSince = 17

// scales tells whether the commands show estimates.
func (l lacking) scales() bool { return l != lacksOrder && l != lacksWarmth && l != lacksRecords }

// wanted lists the processes of profiles that a query asks for.
func wanted(profiles []*abp.Profile, q abp.Query) (all []*abp.Process) {
	for _, p := range profiles {
		for _, proc := range p.Processes() {
			if len(q.Processes) == 0 || slices.Contains(q.Processes, proc.Number()) {
				all = append(all, proc)
			}
		}
	}
	return all
}

// sayBursts says of each sampled process how much of it is recorded, whether what is shown is an estimate, and what it
// lacks. What was found while a process ran is an estimate, which sayLive says.
// It is said with -q too, as warnGaps is.
func (a *app) sayBursts(profiles []*abp.Profile, q abp.Query, what lacking) {
	for _, proc := range wanted(profiles, q) {
		if len(proc.Strata()) == 0 || len(analysedAs(proc)) > 0 {
			continue
		}
		text := burstsOf(proc) + "; counts are estimates"
		if !what.scales() {
			text = burstsOf(proc) + "; counts are those of what is recorded"
		}
		if what == lacksCallers && proc.Header().Minor >= callersSince {
			what = lacksSomeCallers
		}
		if what != lacksCounts {
			text += "; " + string(what)
		}
		fmt.Fprintf(a.stderr, "alleria: process %s was sampled: %s\n", proc.Name(), text)
	}
}

// burstsOf says how much of a sampled process is recorded.
func burstsOf(proc *abp.Process) string {
	var recorded, passed, byTime uint64
	for _, s := range proc.Strata() {
		recorded, passed, byTime = recorded+s.Recorded, passed+s.Passed, byTime+s.ByTime
	}
	if byTime > 0 { // nobody has counted instructions there
		return fmt.Sprintf("%s instructions are recorded, which stand for %.3f s of processor time", analysis.FormatExact(recorded), float64(byTime)/1e9)
	}
	return fmt.Sprintf("%s of %s instructions are recorded", analysis.FormatExact(recorded), analysis.FormatExact(recorded+passed))
}

// queryFlags are the filters that all commands which read profiles have.
//
// Numbers are those of the configuration language: processes by order of creation in
// the tree, threads by order of creation in their process (Alleria, section 2.5).
type queryFlags struct {
	processes []uint
	threads   []uint
	functions []string
	windows   []string
	address   string
	data      string
	time      string
}

// register declares the flags, the same for every command.
// Lists may be given as --thread 1,2 or by repeating the flag; functions only by
// repeating, since C++ names hold commas.
func (f *queryFlags) register(fl *pflag.FlagSet) {
	fl.UintSliceVar(&f.processes, "process", nil, "only these processes, by `number`")
	fl.UintSliceVar(&f.threads, "thread", nil, "only these threads, by `number` within their process")
	fl.StringArrayVar(&f.functions, "function", nil, "only instructions of this `function`; * stands for anything; may be repeated")
	fl.StringArrayVar(&f.windows, "window", nil, "only what ran while this `window` was open; may be repeated")
	fl.StringVar(&f.address, "address", "", "only instructions in this `range`: 0x401000-0x402000, 0x401000+0x100 or one address")
	fl.StringVar(&f.data, "data", "", "only accesses to this `range` of addresses")
	fl.StringVar(&f.time, "time", "", "only this `range` of seconds since the start of each process: 0.5-1.5")
}

// query makes the reading library's query. Times count from the start of each
// process, as those that are printed do.
// A flag that was not given filters nothing. The reading library knows nothing of
// seconds: they are turned into time stamps here.
func (f *queryFlags) query(profiles []*abp.Profile) (q abp.Query, err error) {
	q.Functions, q.Windows = f.functions, f.windows
	for _, n := range f.processes {
		q.Processes = append(q.Processes, uint32(n))
	}
	for _, n := range f.threads {
		q.Threads = append(q.Threads, uint32(n))
	}
	// Ranges are not looked up: nothing at an address is an answer.
	if err := f.known(&q, profiles); err != nil {
		return q, err
	}
	if q.Code, err = parseRange(f.address); err != nil {
		return q, usagef("--address: %w", err)
	}
	if q.Data, err = parseRange(f.data); err != nil {
		return q, usagef("--data: %w", err)
	}
	if f.time != "" {
		q.TimeOf, err = parseTimeRange(f.time, profiles)
	}
	return q, err
}

// queryRecords makes the query of a command that reads records, which no results of analyses can stand in for. It refuses
// processes that have none: a table without rows looks like a program that did nothing.
func (f *queryFlags) queryRecords(profiles []*abp.Profile) (q abp.Query, err error) {
	for _, n := range f.processes {
		q.Processes = append(q.Processes, uint32(n))
	}
	for _, proc := range wanted(profiles, q) {
		if made := analysedAs(proc); len(made) > 0 {
			return q, notKept(proc, "records, only results of "+strings.Join(made, ", "))
		}
	}
	return f.query(profiles)
}

// known refuses names and numbers that none of the profiles has: an empty answer
// to a misspelt question looks like a fact about the program.
func (f *queryFlags) known(q *abp.Query, profiles []*abp.Profile) error {
	var names, windows []string
	numbers, threads := make(map[uint32]bool), make(map[uint32]bool)
	for _, p := range profiles {
		noteCounted(p, numbers)
		for _, proc := range p.Processes() {
			numbers[proc.Header().Process] = true
			for _, t := range proc.Threads() {
				threads[t.Number] = true
			}
			for _, s := range proc.Syscalls() {
				threads[s.Thread] = true
			}
			for _, s := range proc.Signals() {
				threads[s.Thread] = true
			}
			for _, d := range proc.WindowDefs() {
				windows = append(windows, d.Name)
			}
			for i := range proc.Functions() {
				names = append(names, proc.Functions()[i].Display(), proc.Functions()[i].Name)
			}
		}
	}
	for _, n := range q.Processes {
		if !numbers[n] {
			return usagef("--process %d: there is no such process in the profile; alleria tree lists them", n)
		}
	}
	// A profile of counts has no threads that it could list.
	for _, n := range q.Threads {
		if len(threads) > 0 && !threads[n] {
			return usagef("--thread %d: there is no such thread in the profile; alleria report lists them", n)
		}
	}
	for _, name := range q.Windows {
		if !slices.Contains(windows, name) {
			hint := ""
			if near := vocab.Nearest(name, windows); near != "" {
				hint = "; the nearest name is " + near
			}
			return usagef("--window %s: no profile has such a window; alleria report lists them%s", name, hint)
		}
	}
	for _, name := range q.Functions {
		one := abp.Query{Functions: []string{name}}
		if !slices.ContainsFunc(names, func(s string) bool { return one.WantsFunction(&abp.Function{Name: s}) }) {
			return usagef("--function %s: nothing was recorded of such a function%s", name, nearestRecorded(name, names))
		}
	}
	return nil
}

// noteCounted notes the numbers of processes that were only counted: they have no profiles of their own, run.json has them.
func noteCounted(p *abp.Profile, numbers map[uint32]bool) {
	if run := p.Run(); run != nil && len(p.Processes()) == 0 {
		for _, e := range run.Processes {
			numbers[e.Number] = true
		}
	}
}

// nearestRecorded is the end of a sentence: the name that resembles a wrong one.
func nearestRecorded(name string, names []string) string {
	if near := vocab.Nearest(name, names); near != "" {
		return "; the nearest name is " + near
	}
	return "; alleria report --top 0 lists what was"
}

// parseRange reads FROM-TO (TO not included), FROM+SIZE or one address.
// The empty text is the range of everything, which abp.Range's zero value is.
// The upper bound is not included, so that ranges can be put side by side.
func parseRange(s string) (r abp.Range, err error) {
	if s == "" {
		return r, nil
	}
	bad := fmt.Errorf("%q is not a range like 0x401000-0x402000 or 0x401000+0x100", s)
	first, second, sign := s, "1", "+"
	if i := strings.IndexAny(s, "-+"); i > 0 {
		first, sign, second = s[:i], s[i:i+1], s[i+1:]
	}
	from, err := strconv.ParseUint(first, 0, 64)
	if err != nil {
		return r, bad
	}
	to, err := strconv.ParseUint(second, 0, 64)
	if err != nil {
		return r, bad
	}
	if sign == "+" {
		to += from
	}
	if to <= from {
		return r, fmt.Errorf("the range %q is empty", s)
	}
	return abp.Range{From: from, To: to}, nil
}

// parseTimeRange turns seconds since a process's start into time stamps, which differ from process to process and from profile
// to profile. One that does not say how fast its clock ran has that of the others of its profile: all of a run read the same
// counter.
func parseTimeRange(s string, profiles []*abp.Profile) (func(*abp.Process) abp.Range, error) {
	from, to, found := strings.Cut(s, "-")
	a, errA := strconv.ParseFloat(from, 64)
	b, errB := strconv.ParseFloat(to, 64)
	// Asked the right way round: what is not a number is in no order.
	if !found || errA != nil || errB != nil || !(a >= 0 && b > a) {
		return nil, usagef("--time: %q is not a range of seconds like 0.5-1.5", s)
	}
	ranges := make(map[*abp.Process]abp.Range)
	for _, p := range profiles {
		perSecond := uint64(0)
		for _, proc := range p.Processes() {
			perSecond = cmp.Or(perSecond, proc.Header().TSCFrequency)
		}
		for _, proc := range p.Processes() {
			h := proc.Header()
			hz := cmp.Or(h.TSCFrequency, perSecond)
			if hz == 0 {
				return nil, usagef("--time: %s does not say how fast its clock ran", p.Path())
			}
			ranges[proc] = timeStamps(h.TSCAtStart, hz, a, b)
		}
	}
	return func(p *abp.Process) abp.Range { return ranges[p] }, nil
}

// timeStamps turns seconds since a process's start into time stamps.
// From 0 on is everything from the beginning: what has no stamps of its own has that of its chunk, which was opened in front
// of the process's first instruction, and of the moment that is noted as its start.
func timeStamps(start, perSecond uint64, from, to float64) (r abp.Range) {
	at := func(seconds float64) uint64 {
		ticks := seconds * float64(perSecond)
		if ticks >= float64(math.MaxUint64-start) {
			return math.MaxUint64
		}
		return start + uint64(ticks)
	}
	if from > 0 {
		r.From = at(from)
	}
	if r.To = at(to); r.To == math.MaxUint64 {
		r.To = 0 // no bound
	}
	return r
}

// oneProfile is for commands that take a profile. Cobra's own words count arguments and do
// not say which.
func oneProfile(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usagef("%s takes one profile, not %d", c.Name(), len(args))
	}
	return someProfiles(c, args)
}

// someProfiles is for those that take several.
func someProfiles(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("no profile is named: %s %s", c.Parent().CommandPath(), c.Use)
	}
	return nil
}
