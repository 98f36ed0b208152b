package main

import (
	"github.com/spf13/cobra"

	"alleria/abp"
	"alleria/analysis"
)

// dumpCommand takes one profile: numbers of instructions mean nothing over
// several.
func (a *app) dumpCommand() *cobra.Command {
	var (
		filter  queryFlags
		options analysis.DumpOptions
		syntax  string
		byTime  bool
		count   string
		from    string
	)
	c := &cobra.Command{
		Use:   "dump PROFILE",
		Short: "Print a profile's instructions and accesses as text",
		Long: `dump prints each recorded instruction with its number in the thread, address,
function, bytes and disassembly, followed by its accesses with addresses, sizes
and values, as far as they were recorded. Windows and threads have lines of
their own that begin with #.`,
		Example: `  alleria dump --count 100 out
  alleria dump --thread 1 --from 1M --count 50 out
  alleria dump --function main --syntax att out`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) (err error) {
			switch options.Syntax = analysis.Syntax(syntax); options.Syntax {
			case analysis.Intel, analysis.ATT:
			default:
				return usagef("--syntax is intel or att, not %q", syntax)
			}
			if options.From, err = optionalCount("--from", from); err != nil {
				return err
			}
			if options.Count, err = optionalCount("--count", count); err != nil {
				return err
			}
			if byTime && options.From > 0 {
				return usagef("--from counts within one thread, which --by-time mixes with others")
			}
			return openProfiles(args, func(profiles []*abp.Profile) error {
				q, err := filter.query(profiles)
				if err != nil {
					return err
				}
				if byTime {
					q.Order = abp.OrderTime
				}
				return analysis.Dump(a.stdout, profiles[0], q, options)
			})
		},
	}
	fl := c.Flags()
	filter.register(fl)
	fl.StringVar(&syntax, "syntax", string(analysis.Intel), "assembler `syntax`: intel or att")
	fl.StringVar(&from, "from", "", "begin with this `instruction` of the thread, counted from 0")
	fl.StringVar(&count, "count", "", "end after this `number` of instructions")
	fl.BoolVar(&byTime, "by-time", false, "mix threads by time instead of one after the other")
	fl.BoolVar(&options.NoCode, "no-bytes", false, "leave out the instructions' bytes")
	return c
}

// optionalCount reads a flag that takes suffixes, which pflag's own numbers
// do not.
func optionalCount(flag, text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := parseCount(text)
	if err != nil {
		return 0, usagef("%s: %w", flag, err)
	}
	return n, nil
}
