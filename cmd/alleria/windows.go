package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/intercepts"
	"alleria/analysis/openings"
)

// windowsCommand lists what the report only sums up.
// A name that none of several profiles has is refused; some may be without it.
func (a *app) windowsCommand() *cobra.Command {
	asJSON, summary := false, false
	var only []string
	c := &cobra.Command{
		Use:   "windows PROFILE...",
		Short: "List every opening and closing of the windows",
		Args:  someProfiles,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.openProfiles(args, func(profiles []*abp.Profile) error {
				if err := knownWindows(profiles, only); err != nil {
					return err
				}
				var known openings.Counted
				defer func() { a.sayUncounted(&known) }()
				if summary {
					all, err := openings.Summaries(profiles, only, &known)
					if err != nil {
						return err
					}
					if asJSON {
						return a.printJSON(all)
					}
					return a.printSummaries(all)
				}
				if asJSON {
					return a.printOpenings(profiles, only, &known)
				}
				return openings.Each(profiles, only, fetcher(), func(o *openings.Opening) error {
					known.Note(&o.WindowOpening)
					_, err := fmt.Fprintf(a.stdout, "process %s window %s #%d: opened %s\n", abp.ProgramName(o.Process, o.Program), o.Window, o.Number, o.Words())
					return err
				})
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&summary, "summary", false, "one line per window: the number of openings, and the minimum, median and maximum time and instructions of one")
	c.Flags().StringArrayVar(&only, "window", nil, "only the window of this `name`; may be repeated")
	return c
}

// knownWindows refuses a name that no profile has.
func knownWindows(profiles []*abp.Profile, only []string) error {
	var names []string
	for _, p := range profiles {
		for _, proc := range p.Processes() {
			for _, def := range proc.WindowDefs() {
				names = append(names, def.Name)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	for _, name := range only {
		if !slices.Contains(names, name) {
			return usagef("--window %s: there is no such window; there are %s", name, analysis.FormatList(names, 10))
		}
	}
	return nil
}

// nameCallers names the callers of openings that nothing was recorded of, by the symbols of
// their images: the profile has no names of those.
func nameCallers(r *analysis.Report) {
	names := intercepts.NewCallers(fetcher())
	defer names.Close()
	r.NameCallers(names.Name)
}

// printOpenings prints them as printJSON prints a list, one after the other.
func (a *app) printOpenings(profiles []*abp.Profile, only []string, known *openings.Counted) error {
	w := bufio.NewWriter(a.stdout)
	before := "[\n  "
	err := openings.Each(profiles, only, fetcher(), func(o *openings.Opening) error {
		known.Note(&o.WindowOpening)
		b, err := json.MarshalIndent(o, "  ", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s%s", before, b)
		before = ",\n  "
		return err
	})
	if before[0] == '[' {
		w.WriteString("[]\n")
	} else {
		w.WriteString("\n]\n")
	}
	if ferr := w.Flush(); err == nil {
		err = ferr
	}
	if err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

// printSummaries writes them as a table.
func (a *app) printSummaries(all []openings.Summary) error {
	t := analysis.NewTextTable("process", "window", "openings", "s: min", "median", "max", "instructions: min", "median", "max")
	t.Text = 2
	for _, s := range all {
		row := []string{analysis.FormatExact(uint64(s.Process)), s.Window, analysis.FormatExact(uint64(s.Openings))}
		row = append(row, cells(s.Seconds, func(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) })...)
		row = append(row, cells(s.Instructions, func(v float64) string { return analysis.FormatExact(uint64(v)) })...)
		t.Add(row...)
	}
	out := bufio.NewWriter(a.stdout)
	t.Write(out, "")
	return out.Flush()
}

// cells are the three numbers of a spread, empty for one that there is not.
func cells(s *openings.Spread, format func(float64) string) []string {
	if s == nil {
		return []string{"", "", ""}
	}
	return []string{format(s.Min), format(s.Median), format(s.Max)}
}

// sayUncounted tells of openings and closings at which nobody knows how many instructions had been executed, and what would have them counted.
func (a *app) sayUncounted(k *openings.Counted) {
	if k.Unknown > 0 {
		fmt.Fprintf(a.messages(), "alleria: there is no count of instructions for %d of %d openings and closings: nothing counted them at the time. "+
			"To count them throughout, let a window wait for Instructions with a threshold that is never reached.\n", k.Unknown, k.Moments)
	}
}
