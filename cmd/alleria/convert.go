//go:build !recorder

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"alleria/abp"
	"alleria/analysis/convert"
	"alleria/config/vocab"
)

// convertHelp is what convert says of itself.
const convertHelp = `convert writes what was recorded in the format of another tool: profilers, coverage
reports, cache and pipeline simulators, databases. It streams: memory does not
grow with the profile. Without --output it writes to standard output. A format that
holds one process or one thread makes several files of a profile with more, with -pN
or -pN-tN before the extension. An output that ends in .gz or .zst is compressed.

pprof and callgrind have all costs that were recorded: instructions, loads, stores,
and time where blocks were stamped with it; with --misses also the misses of caches,
as analyze cache has them. collapsed, speedscope and firefox have one, which --cost
chooses; for misses it is one of l1i_misses, l1d_misses and ll_misses.

--to help lists the formats, with what each needs recorded.`

// convertCommand takes one profile: most formats have no place for several.
//
// What is wrong with the format, its options or the output is said before anything is read,
// which may take minutes.
func (a *app) convertCommand() *cobra.Command {
	var (
		filter queryFlags
		c      = conversion{app: a}
		to     string
		rows   string
		misses bool
		caches cacheFlags
	)
	cmd := &cobra.Command{
		Use:   "convert --to FORMAT PROFILE",
		Short: "Write a profile in the format of another tool",
		Long:  convertHelp,
		Example: `  alleria convert --to help
  alleria convert --to pprof -o out.pb.gz out && go tool pprof -top out.pb.gz
  alleria convert --to csv --function main out | head
  alleria convert --to parquet -o accesses/ out`,
		Args: func(cmd *cobra.Command, args []string) error {
			if to == "help" && len(args) == 0 {
				return nil
			}
			return oneProfile(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "help" {
				return a.listFormats()
			}
			err := c.choose(to, rows)
			if err != nil {
				return err
			}
			if c.misses, err = caches.forStacks(cmd.Flags(), misses || convert.IsMisses(c.cost)); err != nil {
				return err
			}
			return a.openProfiles(args, func(profiles []*abp.Profile) error {
				if c.query, err = filter.queryRecords(profiles); err != nil {
					return err
				}
				a.sayBursts(profiles, c.query, lackingIn(c.format))
				c.profile = profiles[0]
				return c.run()
			})
		},
	}
	fl := cmd.Flags()
	filter.register(fl)
	fl.StringVar(&to, "to", "", "`format` to write; help lists them")
	fl.StringVarP(&c.output, "output", "o", "", "write to this `file`; for parquet also to a directory, which ends with a slash")
	fl.StringVar(&rows, "rows", string(convert.Accesses), "for csv, jsonl and parquet, what has a row: `accesses` or instructions")
	fl.BoolVar(&misses, "misses", false, "for pprof and callgrind: misses of caches as well, by call stack")
	fl.StringVar(&c.cost, "cost", "", "for collapsed, speedscope and firefox: the `cost` that stacks have, instead of instructions; time, loads, l1d_misses …")
	caches.register(fl)
	fl.BoolVar(&c.force, "force", false, "write into a directory that is not empty")
	_ = cmd.RegisterFlagCompletionFunc("to", completeFormats) // fails only for a flag that is not there
	_ = cmd.RegisterFlagCompletionFunc("cost", cobra.FixedCompletions(convert.CostNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("rows", cobra.FixedCompletions([]string{"accesses", "instructions"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// choose looks at what is asked for by name.
func (c *conversion) choose(to, rows string) (err error) {
	if c.format, err = findFormat(to); err != nil {
		return err
	}
	if names := convert.CostNames(); c.cost != "" && !slices.Contains(names, c.cost) {
		return usagef("--cost is one of %s, not %q", strings.Join(names, ", "), c.cost)
	}
	c.rows = convert.Rows(rows)
	if c.rows != convert.Accesses && c.rows != convert.Instructions {
		return usagef("--rows is accesses or instructions, not %q", rows)
	}
	return nil
}

// lackingIn says how a format depends on what lies between bursts.
func lackingIn(f *convert.Format) lacking {
	switch f.Name {
	case "callgrind", "collapsed", "firefox", "pprof", "speedscope":
		return lacksCallers
	case "drcov", "lcov":
		return lacksCounts
	}
	return lacksRecords
}

// completeFormats lists the formats for a shell.
func completeFormats(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, f := range convert.Formats() {
		names = append(names, f.Name+"\t"+f.Summary)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// findFormat returns the format of a name.
func findFormat(name string) (*convert.Format, error) {
	if f := convert.Find(name); f != nil {
		return f, nil
	}
	var names []string
	for _, f := range convert.Formats() {
		names = append(names, f.Name)
	}
	if name == "" {
		return nil, usagef("--to FORMAT is missing: one of %s", strings.Join(names, ", "))
	}
	hint := "--to help lists them"
	if near := vocab.Nearest(name, names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return nil, usagef("--to %s: there is no such format; %s", name, hint)
}

// listFormats prints what there is.
func (a *app) listFormats() error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	for _, f := range convert.Formats() {
		split := ""
		switch f.Split {
		case convert.SplitProcess:
			split = "; one file per process"
		case convert.SplitThread:
			split = "; one file per thread"
		}
		fmt.Fprintf(w, "%s\t%s%s\n\tneeds: %s\n", f.Name, f.Summary, split, f.Needs)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("list of formats: %w", err)
	}
	return nil
}

// conversionError gives an error of a conversion its exit status.
func conversionError(err error) error {
	if errors.Is(err, convert.ErrUsage) || errors.Is(err, convert.ErrNotRecorded) {
		return &statusError{statusUsage, err}
	}
	return err
}
