package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/intercepts"
)

// openingLine is a line of windows --json.
// The fields of the opening itself are those of report --json's first and last.
type openingLine struct {
	Profile string `json:"profile"`
	Process uint32 `json:"process"`
	Program uint32 `json:"program,omitempty"` // which of its recorded programs, from 1
	Window  string `json:"window"`
	Number  int    `json:"opening"` // from 1
	analysis.WindowOpening
}

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
			return openProfiles(args, func(profiles []*abp.Profile) error {
				a.warnGaps(profiles)
				if err := knownWindows(profiles, only); err != nil {
					return err
				}
				var known countsKnown
				defer func() { known.say(a) }()
				if summary {
					all, err := windowSummaries(profiles, only, &known)
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
				return eachOpening(profiles, only, func(o *openingLine) error {
					known.note(&o.WindowOpening)
					_, err := fmt.Fprintf(a.stdout, "process %s window %s #%d: opened %s\n", abp.ProgramName(o.Process, o.Program), o.Window, o.Number, o.Words())
					return err
				})
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVar(&summary, "summary", false, "a line for each window: openings, and the least, median and most time and instructions of one")
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

// eachOpening lists them process by process, window by window. By time would mix
// processes whose clocks start apart.
// There may be more than fit in memory: each is handed on as it is found, for which the
// profile is read once for each window.
// Numbers count from 1 within a window of a process.
func eachOpening(profiles []*abp.Profile, only []string, f func(o *openingLine) error) error {
	names := intercepts.NewCallers()
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
					return f(&openingLine{p.Path(), proc.Number(), proc.Generation(), def.Name, n, *o})
				})
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// nameCallers names the callers of openings that nothing was recorded of, by the symbols of
// their images: the profile has no names of those.
func nameCallers(r *analysis.Report) {
	names := intercepts.NewCallers()
	defer names.Close()
	r.NameCallers(names.Name)
}

// printOpenings prints them as printJSON prints a list, one after the other.
func (a *app) printOpenings(profiles []*abp.Profile, only []string, known *countsKnown) error {
	w := bufio.NewWriter(a.stdout)
	before := "[\n  "
	err := eachOpening(profiles, only, func(o *openingLine) error {
		known.note(&o.WindowOpening)
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

// countsKnown counts openings and closings, and those of which nobody knows how many instructions had been executed.
type countsKnown struct{ moments, unknown int }

// note counts an opening and its closing. At the start nothing has been executed.
func (k *countsKnown) note(o *analysis.WindowOpening) {
	for m := o; m != nil; m = m.Closed {
		k.moments++
		if m.Instructions == 0 && (m != o || m.Address != 0 || m.Thread != 0) {
			k.unknown++
		}
	}
}

// say tells of them, and what would have them counted.
func (k *countsKnown) say(a *app) {
	if k.unknown > 0 {
		fmt.Fprintf(a.messages(), "alleria: there is no count of instructions for %d of %d openings and closings: nothing counted them at the time. "+
			"They are counted throughout while a window waits for Instructions, with a threshold that is never reached.\n", k.unknown, k.moments)
	}
}
