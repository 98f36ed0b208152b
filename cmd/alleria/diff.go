package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"alleria/abp"
	"alleria/analysis"
)

// diffCommand compares two runs by function, by line, or by what functions call.
func (a *app) diffCommand() *cobra.Command {
	var filter queryFlags
	json, byLine, byPage, top := false, false, false, 20
	c := &cobra.Command{
		Use:   "diff BEFORE AFTER",
		Short: "Compare two profiles: which functions, lines, windows and pages have more, and which less",
		Long: `diff counts two profiles and lists what differs, the largest difference first.
Processes are compared by their numbers, functions by image and name, lines by file
and number, pages by where they lie in their region; addresses need not be the same. Filters apply to both profiles.`,
		Example: "  alleria diff before after\n  alleria diff --by-line --function 'parse_*' before after",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("diff takes two profiles, not %d: alleria diff BEFORE AFTER", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case top < 0:
				return usagef("--top is a number from 0, not %d", top)
			case byLine && byPage:
				return usagef("--by-line and --by-page are two tables; leave one of them out")
			}
			return a.openProfiles(args, func(profiles []*abp.Profile) error {
				q, err := filter.queryRecords(profiles)
				if err != nil {
					return err
				}
				a.sayBursts(profiles, q, lacksCounts)
				var d *analysis.Difference
				progress, stop := a.reading()
				switch {
				case byLine:
					d, err = diffLines(profiles, q, progress)
				case byPage:
					d, err = analysis.CompareHeat(profiles[0], profiles[1], q, progress)
				default:
					d, err = analysis.Compare(profiles[0], profiles[1], q, progress)
				}
				stop()
				if err != nil {
					return err
				}
				d.Sampling = analysis.SampledProcesses(profiles, q)
				if json {
					return a.printJSON(d)
				}
				return d.WriteText(a.stdout, top)
			})
		},
	}
	filter.register(c.Flags())
	c.Flags().BoolVar(&json, "json", false, "print JSON, with everything that differs")
	c.Flags().BoolVar(&byLine, "by-line", false, "compare source lines, where images have debug information")
	c.Flags().BoolVar(&byPage, "by-page", false, "compare what was read and written by pages of 4 KiB: heat maps as a table")
	c.Flags().IntVar(&top, "top", 20, "show this `number` of rows; 0: all")
	return c
}

// diffLines counts both by line.
func diffLines(profiles []*abp.Profile, q abp.Query, progress *analysis.Progress) (d *analysis.Difference, err error) {
	src := newSourceLines()
	defer func() { err = errors.Join(err, src.close()) }()
	var sides [2][]analysis.LineCount
	for i, p := range profiles {
		for _, proc := range p.Processes() {
			if len(q.Processes) > 0 && !slices.Contains(q.Processes, proc.Number()) {
				continue
			}
			all, err := analysis.Instructions(p, proc, q, progress)
			if err != nil {
				return nil, err
			}
			sides[i] = append(sides[i], analysis.ByLine(all, src.find)...)
		}
	}
	return analysis.CompareLines(sides[0], sides[1]), nil
}
