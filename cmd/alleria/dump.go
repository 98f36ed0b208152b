package main

import (
	"errors"

	"github.com/spf13/cobra"

	"alleria/abp"
	"alleria/analysis"
	"alleria/config/quantity"
)

// dumpCommand takes one profile: numbers of instructions mean nothing over
// several.
//
// The output is as long as the recording: it is written as it is read, and a pager
// that is closed ends it.
func (a *app) dumpCommand() *cobra.Command {
	var (
		filter queryFlags
		dump   dumpFlags
	)
	c := &cobra.Command{
		Use:   "dump PROFILE",
		Short: "Print a profile's instructions and accesses as text",
		Long: `dump prints each recorded instruction with its number in the thread, address,
function, bytes and disassembly, followed by its accesses with addresses, sizes
and values, as far as they were recorded. Windows and threads have lines of
their own that begin with #.

With --json each line is an object, whose "kind" is instruction, thread, windows,
syscall or signal. An instruction's accesses are a list in it.`,
		Example: `  alleria dump --count 100 out
  alleria dump --thread 1 --from 1M --count 50 out
  alleria dump --function main --syntax att out
  alleria dump --backwards --writes --data 0x7ffd1008+8 --from 1M --count 1 out   # who wrote that last?`,
		Args: oneProfile,
		RunE: func(_ *cobra.Command, args []string) error {
			options, err := dump.options()
			if err != nil {
				return err
			}
			return a.openProfiles(args, func(profiles []*abp.Profile) error {
				q, err := filter.queryRecords(profiles)
				if err != nil {
					return err
				}
				if dump.byTime {
					q.Order = abp.OrderTime
				}
				err = analysis.Dump(a.stdout, profiles[0], q, options)
				if errors.Is(err, abp.ErrNoSuchPlace) {
					return usagef("--from %s: the thread has no such instruction; alleria report says how many it has", dump.from)
				}
				return err
			})
		},
	}
	fl := c.Flags()
	filter.register(fl)
	fl.StringVar(&dump.syntax, "syntax", string(analysis.Intel), "assembler `syntax`: intel or att")
	fl.StringVar(&dump.from, "from", "", "begin with this `instruction` of the thread, counted from 0")
	fl.StringVar(&dump.count, "count", "", "end after this `number` of instructions")
	fl.BoolVar(&dump.backwards, "backwards", false, "begin with the thread's last instruction, or with --from, and go back; windows, system calls and signals are left out")
	fl.BoolVar(&dump.writes, "writes", false, "with --backwards: only instructions that write, to --data if it is given")
	fl.BoolVar(&dump.byTime, "by-time", false, "mix threads by time instead of one after the other")
	fl.BoolVar(&dump.json, "json", false, "print JSON, one object per line")
	fl.BoolVar(&dump.noBytes, "no-bytes", false, "leave out the instructions' bytes")
	return c
}

// dumpFlags are the flags that are dump's own, as they were written.
type dumpFlags struct {
	syntax      string
	from, count string // empty: from the start, to the end
	byTime      bool
	backwards   bool
	writes      bool
	noBytes     bool
	json        bool
}

// options checks the flags before a profile is opened.
// Zero stands for a flag that was not given, in from and count alike.
func (f *dumpFlags) options() (o analysis.DumpOptions, err error) {
	switch o.Syntax = analysis.Syntax(f.syntax); o.Syntax {
	case analysis.Intel, analysis.ATT:
	default:
		return o, usagef("--syntax is intel or att, not %q", f.syntax)
	}
	if o.From, err = optionalCount("--from", f.from); err != nil {
		return o, err
	}
	if o.Count, err = optionalCount("--count", f.count); err != nil {
		return o, err
	}
	if f.count != "" && o.Count == 0 {
		return o, usagef("--count is a number from 1, not %q", f.count)
	}
	if f.byTime && o.From > 0 {
		return o, usagef("--from counts within one thread, which --by-time mixes with others")
	}
	switch {
	case f.writes && !f.backwards:
		return o, usagef("--writes goes with --backwards; give both")
	case f.backwards && f.byTime:
		return o, usagef("--backwards goes back in one thread after the other, which --by-time mixes")
	}
	o.NoCode, o.JSON, o.Backwards, o.Stores = f.noBytes, f.json, f.backwards, f.writes
	return o, nil
}

// optionalCount reads a flag that takes suffixes, which pflag's own numbers
// do not.
func optionalCount(flag, text string) (uint64, error) {
	if text == "" {
		return 0, nil
	}
	n, err := quantity.Count(text)
	if err != nil {
		return 0, usagef("%s: %w", flag, err)
	}
	return n, nil
}
