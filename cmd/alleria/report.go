package main

import (
	"github.com/spf13/cobra"

	"alleria/abp"
	"alleria/analysis"
)

// reportCommand takes several profiles, each with a part of its own in the
// report.
//
// Filters apply to all of them alike. What is filtered out is not counted, also not
// in shares: percentages are of what is left.
func (a *app) reportCommand() *cobra.Command {
	var filter queryFlags
	var views reportViews
	asJSON, decode, top := false, false, 0
	c := &cobra.Command{
		Use:   "report PROFILE...",
		Short: "Summarise profiles: instructions, loads and stores by image, function and window",
		Long: `report counts what was recorded, by process, thread, window, image and function
(without what the function calls), and says what the output takes. PROFILE is a run's
directory, a process's directory within it, or one .abp file.

Other tables instead: --inclusive, --callers, --callees (by following calls), --by-line,
--by-instruction (of code), --by-address, --by-cacheline (of data), --tree, --by-program (of
processes), --adaptive (of the recording itself: processing threads and buffers over time).`,
		Example: "  alleria report out\n  alleria report --function BZ2_compressBlock --json out\n  alleria report --callers malloc out\n  alleria report --tree out\n  alleria report --by-program out\n  alleria report --adaptive --svg adaptive.svg out\n  alleria report --by-line --function 'parse_*' out",
		Args:    someProfiles,
		RunE: func(_ *cobra.Command, args []string) error {
			if top < 0 {
				return usagef("--top is a number from 0, not %d", top)
			}
			views.json, views.top = asJSON, top
			view, err := views.chosen()
			if err != nil {
				return err
			}
			if view == "adaptive" {
				return views.adaptation(a, args)
			}
			return openQuietly(args, func(profiles []*abp.Profile) error {
				q, err := views.query(&filter, view, profiles)
				if err != nil {
					return err
				}
				q.Decode = decode
				if view != "" {
					a.warnGaps(profiles)
					return views.show(a, view, profiles, q)
				}
				return a.summary(profiles, q, asJSON, top)
			})
		},
	}
	filter.register(c.Flags())
	views.register(c.Flags())
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, with everything in it")
	c.Flags().BoolVar(&decode, "decode", false, "count by decoding everything, even what frames list (slower, the same counts)")
	c.Flags().IntVar(&top, "top", 20, "show this `number` of images and functions (or of another table's rows) per process; 0: all")
	return c
}

// summary prints the report without a view.
func (a *app) summary(profiles []*abp.Profile, q abp.Query, asJSON bool, top int) error {
	progress, stop := a.reading()
	r, err := analysis.Summarise(profiles, q, progress)
	// Before anything is printed: the progress line is wiped off the
	// terminal.
	stop()
	if err != nil {
		return err
	}
	nameCallers(r)
	if asJSON {
		return r.WriteJSON(a.stdout)
	}
	return r.WriteText(a.stdout, top)
}
