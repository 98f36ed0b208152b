// Package openings lists the openings of windows over several profiles, and sums them up by window: how often each has opened, for how long, and for how many instructions.
//
// The command windows prints what it finds. Profiles are read once for each window, since there may be more openings than fit in memory: each is
// handed on as it is found. What an opening is, and what is known of one, is package analysis's. It keeps no state.
package openings

import (
	"math/rand/v2"
	"slices"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/intercepts"
	"alleria/internal/symbols"
)

// Opening is an opening of a window, as JSON has it. The fields of the opening itself are those of report --json's first and last.
type Opening struct {
	Profile string `json:"profile"`
	Process uint32 `json:"process"`
	Program uint32 `json:"program,omitempty"` // which of its recorded programs, from 1
	Window  string `json:"window"`
	Number  int    `json:"opening"` // from 1
	analysis.WindowOpening
}

// Each calls f for the openings of windows, of all or of those that are named, process by process, window by window. By time would mix
// processes whose clocks start apart.
// There may be more than fit in memory: each is handed on as it is found, for which the
// profile is read once for each window. fetcher gets separate debug files for callers' names; nil: nobody does.
// Numbers count from 1 within a window of a process.
func Each(profiles []*abp.Profile, only []string, fetcher symbols.Fetcher, f func(o *Opening) error) error {
	names := intercepts.NewCallers(fetcher)
	defer names.Close()
	for _, p := range profiles {
		for _, proc := range p.Processes() {
			for _, def := range proc.WindowDefs() {
				if len(only) > 0 && !slices.Contains(only, def.Name) {
					continue
				}
				// Definitions in the configuration's order, openings in time: as
				// the report counts them.
				n := 0
				err := analysis.EachOpening(proc, def.Index, func(o *analysis.WindowOpening) error {
					n++
					o.NameCallers(func(ret uint64) string { return names.Name(proc, ret) })
					return f(&Opening{p.Path(), proc.Number(), proc.Generation(), def.Name, n, *o})
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Counted counts openings and closings, and those of which nobody knows how many instructions had been executed.
type Counted struct{ Moments, Unknown int }

// Note counts an opening and its closing. At the start nothing has been executed.
func (k *Counted) Note(o *analysis.WindowOpening) {
	for m := o; m != nil; m = m.Closed {
		k.Moments++
		if m.Instructions == 0 && (m != o || m.Address != 0 || m.Thread != 0) {
			k.Unknown++
		}
	}
}

// Summary sums the openings of a window in a process up.
type Summary struct {
	Profile  string `json:"profile"`
	Process  uint32 `json:"process"`
	Window   string `json:"window"`
	Openings int    `json:"openings"`
	// StillOpen: the last opening was never closed, and is in none of the ranges.
	StillOpen bool    `json:"still_open"`
	Seconds   *Spread `json:"seconds,omitempty"` // that it was open
	// Instructions of the process while it was open; missing where they were not counted.
	Instructions *Spread `json:"instructions,omitempty"`
}

// Spread is the smallest, middle and largest of some numbers. The middle one is of a random part of
// them where they are more than keptNumbers.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`

	n    int
	kept []float64
}

// keptNumbers bounds memory: a window may open tens of millions of times.
const keptNumbers = 1 << 18

// add adds a number. Which are kept is as good as random and the same in each run (Vitter's
// algorithm R with a fixed seed).
func (s *Spread) add(v float64, random *rand.Rand) {
	if s.n == 0 || v < s.Min {
		s.Min = v
	}
	s.Max = max(s.Max, v)
	s.n++
	if len(s.kept) < keptNumbers {
		s.kept = append(s.kept, v)
	} else if at := random.IntN(s.n); at < keptNumbers {
		s.kept[at] = v
	}
}

// done returns the Spread with its median; nil if it has no numbers.
func (s *Spread) done() *Spread {
	if s.n == 0 {
		return nil
	}
	slices.Sort(s.kept)
	s.Median = s.kept[len(s.kept)/2]
	if n := len(s.kept); n%2 == 0 {
		s.Median = (s.kept[n/2-1] + s.kept[n/2]) / 2
	}
	s.kept = nil
	return s
}

// Summaries sums up what Each lists, in its order. Windows that never opened are in it.
func Summaries(profiles []*abp.Profile, only []string, known *Counted) ([]Summary, error) {
	out := []Summary{}
	for _, p := range profiles {
		for _, proc := range p.Processes() {
			for _, def := range proc.WindowDefs() {
				if len(only) > 0 && !slices.Contains(only, def.Name) {
					continue
				}
				s := Summary{Profile: p.Path(), Process: proc.Number(), Window: def.Name}
				if err := s.read(proc, def.Index, known); err != nil {
					return nil, err
				}
				out = append(out, s)
			}
		}
	}
	return out, nil
}

// read goes through the openings of a window.
func (s *Summary) read(proc *abp.Process, window uint32, known *Counted) error {
	random := rand.New(rand.NewPCG(1, 2))
	var seconds, instructions Spread
	err := analysis.EachOpening(proc, window, func(o *analysis.WindowOpening) error {
		s.Openings++
		s.StillOpen = o.Closed == nil
		known.Note(o)
		if o.Closed == nil {
			return nil
		}
		seconds.add(o.Closed.Seconds-o.Seconds, random)
		if n := o.Closed.Instructions; n >= o.Instructions && o.Instructions > 0 { // else one of them is not known
			instructions.add(float64(n-o.Instructions), random)
		}
		return nil
	})
	s.Seconds, s.Instructions = seconds.done(), instructions.done()
	return err
}
