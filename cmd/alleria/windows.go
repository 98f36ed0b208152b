package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"alleria/abp"
	"alleria/analysis"
)

// openingLine is a line of windows --json.
// The fields of the opening itself are those of report --json's first and last.
type openingLine struct {
	Profile string `json:"profile"`
	Process uint32 `json:"process"`
	Window  string `json:"window"`
	Number  int    `json:"opening"` // from 1
	analysis.WindowOpening
}

// windowsCommand lists what the report only sums up.
// A window of a name that the profile does not have gives an empty list and no
// error: with several profiles, some may have it.
func (a *app) windowsCommand() *cobra.Command {
	asJSON := false
	var only []string
	c := &cobra.Command{
		Use:   "windows PROFILE...",
		Short: "List every opening and closing of the windows",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return openProfiles(args, func(profiles []*abp.Profile) error {
				list := openings(profiles, only)
				if asJSON {
					return a.printJSON(list)
				}
				for _, o := range list {
					fmt.Fprintf(a.stdout, "process %d window %s #%d: opened %s\n", o.Process, o.Window, o.Number, o.Words())
				}
				return nil
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().StringArrayVar(&only, "window", nil, "only the window of this `name`; may be repeated")
	return c
}

// openings lists them process by process, window by window. By time would mix
// processes whose clocks start apart.
// Every opening is in memory at a time: some 200 bytes each, after all of the
// process's events that the profile's tables hold anyway.
// Numbers count from 1 within a window of a process.
func openings(profiles []*abp.Profile, only []string) []openingLine {
	list := []openingLine{}
	for _, p := range profiles {
		for _, proc := range p.Processes() {
			for _, def := range proc.WindowDefs() {
				if len(only) > 0 && !slices.Contains(only, def.Name) {
					continue
				}
				// Definitions in the configuration's order, openings in time: as
				// the report counts them.
				for i, o := range analysis.Openings(proc, def.Index) {
					list = append(list, openingLine{p.Path(), proc.Number(), def.Name, i + 1, o})
				}
			}
		}
	}
	return list
}
