package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// oldSpelling turns the published profiler's -cfg into --config. Left alone,
// -cfg would be read as -c with the value "fg". Only flags of ours may be
// touched: what follows the program's name or "--" belongs to the target.
//
// The walk over the arguments repeats what pflag will do, with the one difference
// that matters: it has to know which flags take the next argument as their value, lest
// it take that for the program's name. An argument list that it misjudges is left as
// it was.
func oldSpelling(root *cobra.Command, args []string) []string {
	cmd, _, err := root.Find(args)
	if err != nil || cmd == root || cmd.Flags().Lookup("config") == nil {
		return args
	}
	out := append([]string(nil), args...)
	named := false // the subcommand's own name has been passed
	for i := 0; i < len(out); i++ {
		arg := out[i]
		switch {
		case arg == "--":
			return out
		case !strings.HasPrefix(arg, "-") || arg == "-":
			if named {
				return out
			}
			named = true
		case arg == "-cfg":
			out[i] = "--config"
			i++
		case strings.HasPrefix(arg, "-cfg="):
			out[i] = "--config" + strings.TrimPrefix(arg, "-cfg")
		case takesNext(cmd, arg):
			i++
		}
	}
	return out
}

// takesNext tells whether a flag's value is the argument after it.
//
// A flag that may stand alone (a switch, or one with a default when no value is
// given) has NoOptDefVal set. Combined short flags (-qc) are none of ours.
func takesNext(cmd *cobra.Command, arg string) bool {
	if strings.Contains(arg, "=") {
		return false
	}
	find := func(set *pflag.FlagSet) *pflag.Flag {
		if name, long := strings.CutPrefix(arg, "--"); long {
			return set.Lookup(name)
		}
		if len(arg) != 2 { // -ovalue has its value with it
			return nil
		}
		return set.ShorthandLookup(arg[1:])
	}
	f := find(cmd.Flags())
	if f == nil {
		f = find(cmd.InheritedFlags())
	}
	return f != nil && f.NoOptDefVal == ""
}
