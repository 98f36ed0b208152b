package main

import (
	"bufio"
	"math/rand/v2"
	"slices"
	"strconv"

	"alleria/abp"
	"alleria/analysis"
)

// windowSummary sums the openings of a window in a process up: a line of windows --summary.
type windowSummary struct {
	Profile  string `json:"profile"`
	Process  uint32 `json:"process"`
	Window   string `json:"window"`
	Openings int    `json:"openings"`
	// StillOpen: the last opening was never closed, and is in none of the ranges.
	StillOpen bool    `json:"still_open"`
	Seconds   *spread `json:"seconds,omitempty"` // that it was open
	// Instructions of the process while it was open; missing where they were not counted.
	Instructions *spread `json:"instructions,omitempty"`
}

// spread is the smallest, middle and largest of some numbers. The middle one is of a random part of
// them where they are more than keptNumbers.
type spread struct {
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
func (s *spread) add(v float64, random *rand.Rand) {
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

// done returns the spread with its median; nil if it has no numbers.
func (s *spread) done() *spread {
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

// windowSummaries sums up what eachOpening lists, in its order. Windows that never opened are in it.
func windowSummaries(profiles []*abp.Profile, only []string, known *countsKnown) ([]windowSummary, error) {
	out := []windowSummary{}
	for _, p := range profiles {
		for _, proc := range p.Processes() {
			for _, def := range proc.WindowDefs() {
				if len(only) > 0 && !slices.Contains(only, def.Name) {
					continue
				}
				s := windowSummary{Profile: p.Path(), Process: proc.Number(), Window: def.Name}
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
func (s *windowSummary) read(proc *abp.Process, window uint32, known *countsKnown) error {
	random := rand.New(rand.NewPCG(1, 2))
	var seconds, instructions spread
	err := analysis.EachOpening(proc, window, func(o *analysis.WindowOpening) error {
		s.Openings++
		s.StillOpen = o.Closed == nil
		known.note(o)
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

// printSummaries writes them as a table.
func (a *app) printSummaries(all []windowSummary) error {
	t := analysis.NewTextTable("process", "window", "openings", "s: min", "median", "max", "instructions: min", "median", "max")
	t.Text = 2
	for _, s := range all {
		row := []string{analysis.FormatExact(uint64(s.Process)), s.Window, analysis.FormatExact(uint64(s.Openings))}
		row = append(row, s.Seconds.cells(func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) })...)
		row = append(row, s.Instructions.cells(func(v float64) string { return analysis.FormatExact(uint64(v)) })...)
		t.Add(row...)
	}
	out := bufio.NewWriter(a.stdout)
	t.Write(out, "")
	return out.Flush()
}

// cells are the three numbers of a spread, empty for one that there is not.
func (s *spread) cells(format func(float64) string) []string {
	if s == nil {
		return []string{"", "", ""}
	}
	return []string{format(s.Min), format(s.Median), format(s.Max)}
}
