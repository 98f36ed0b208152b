package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// app is what all subcommands share: the streams, and the flags of the root.
//
// There is one for each run. Subcommands are its methods, and get at nothing of the
// process but through it, the environment and the file system excepted: that is what
// lets tests run commands.
type app struct {
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer

	quiet   bool   // -q
	logPath string // --log

	dryRun dryRun // of tree; nil: it shows profiles only
}

// wholeSuffix is what the whole command is called besides the one that only runs programs, in the same directory (recorder.go).
const wholeSuffix = "-whole"

// run is all of the command: arguments in, exit status out.
// It never calls os.Exit itself and leaves the arguments as they were.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	if err := elsewhere(args); err != nil {
		return a.status(err)
	}
	a.dryRun = a.followOnly
	root := a.root(args)
	if len(args) > 0 && args[0] == cobra.ShellCompRequestCmd {
		plainUsage(root)
	}
	root.SetArgs(oldSpelling(root, args))
	return a.status(root.Execute())
}

// subcommand is one that can be made.
type subcommand struct {
	name string
	make func() *cobra.Command
}

// root builds the tree of commands anew for each run: cobra keeps the values
// of flags in the commands themselves, so that a tree is good for one run only.
// Where the first argument names a command, the tree is that one alone: all of them, with what completes their flags, take 2 ms, a tenth of what
// tracing a small program does. Every other line gets all.
//
// Flags of the root hold for every subcommand and may stand before or behind its
// name. markOwnErrors comes last, when every command has its RunE.
func (a *app) root(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "alleria",
		Short: "Trace unmodified Linux programs through windows",
		Long: `alleria runs a program under a dynamic binary translator outside of its process
and records its instructions and memory accesses, only where and when a window
configuration says. The other commands read what was recorded.

Exit status: the program's own; 128+N if signal N ended it; 2 bad usage,
configuration or profile; 125 alleria's own failure; 126 cannot be executed or traced;
127 not found.`,
		Args:          unknownCommand,
		SilenceErrors: true, // status prints them, once and in one form
		SilenceUsage:  true, // a screenful of flags hides the one line that says what is wrong
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help() // writes to stdout; nothing to do if that is closed
			return usagef("a command is needed")
		},
	}
	root.Version = version // which gives it --version
	root.SetVersionTemplate(versionLine() + "\n")
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.PersistentFlags().BoolVarP(&a.quiet, "quiet", "q", false, "print no messages but errors and what could not be recorded")
	root.PersistentFlags().StringVar(&a.logPath, "log", "", "append what happens inside to this `file`, for developers")
	root.SetFlagErrorFunc(flagError)
	all := a.subcommands(root)
	if n := named(all, args); n >= 0 {
		root.CompletionOptions.DisableDefaultCmd = true
		root.AddCommand(all[n].make())
	} else {
		for _, c := range all {
			root.AddCommand(c.make())
		}
		a.complete(root)
		a.completionCommand(root)
		helpCommand(root)
	}
	for _, c := range root.Commands() {
		markOwnErrors(c)
	}
	return root
}

// named is which command the first argument names, of those that need no other to be there; else -1.
func named(all []subcommand, args []string) int {
	if len(args) == 0 || args[0] == "man" {
		return -1
	}
	return slices.IndexFunc(all, func(c subcommand) bool { return c.name == args[0] })
}

// helpCommand has the command for help refuses what is no command. Cobra's own prints what root has to say.
func helpCommand(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if c.Name() != "help" {
			continue
		}
		c.Args = func(_ *cobra.Command, args []string) error {
			if found, _, err := root.Find(args); len(args) > 0 && (err != nil || found == root) {
				return unknownCommand(root, args)
			}
			return nil
		}
	}
}

// completionCommand adds the command for shells' completion. Cobra would add it when it is executed, and print its help for a shell that it does not know.
func (a *app) completionCommand(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		c.Args, c.RunE = cobra.ArbitraryArgs, unknownShell
		for _, shell := range c.Commands() {
			if shell.Name() == "bash" {
				shell.RunE = func(*cobra.Command, []string) error { return bashCompletion(root, a.stdout) }
			}
		}
	}
}

// unknownShell is what the command for completion does by itself: its subcommands are the shells.
func unknownShell(c *cobra.Command, args []string) error {
	var shells []string
	for _, s := range c.Commands() {
		shells = append(shells, s.Name())
	}
	return usagef("completion is for one of %s", strings.Join(shells, ", "))
}

// flagError says of a number that it is none without the name of the Go function that read it.
func flagError(c *cobra.Command, err error) error {
	if bad := notExisting(err); bad != nil {
		return unknownFlag(c, bad)
	}
	var bad *pflag.InvalidValueError
	var num *strconv.NumError
	if !errors.As(err, &bad) || !errors.As(err, &num) {
		return err
	}
	reason := "not a number that it can take"
	if errors.Is(num, strconv.ErrRange) {
		reason = "out of range"
	}
	return usagef("invalid argument %q for --%s: %s", bad.GetValue(), bad.GetFlag().Name, reason)
}

// unknownCommand says what a misspelt command may have been meant to be. Cobra's
// own suggestion takes several lines.
// An edit distance of 2 finds a letter left out, doubled or exchanged.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	root.SuggestionsMinimumDistance = 2
	hint := ""
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usagef("unknown command %q%s", args[0], hint)
}

// messages is where warnings and notices go.
// Errors do not go through it: they are printed also with --quiet.
func (a *app) messages() io.Writer {
	if a.quiet {
		return io.Discard
	}
	return a.stderr
}

// progress is where progress goes: nil unless stderr is a terminal, so that
// log files of other programs stay free of it.
func (a *app) progress() io.Writer {
	if f, ok := a.stderr.(*os.File); ok && !a.quiet && isTerminal(f) {
		return f
	}
	return nil
}

// isTerminal takes any character device but /dev/null for a terminal. The
// precise question is an ioctl, and a wrong answer here costs a line of text.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// openLog opens --log's file; nil without the flag. The caller closes it.
// It is appended to, so that a log of several runs, or of a run that starts
// another, stays whole.
func (a *app) openLog() (*os.File, error) {
	if a.logPath == "" {
		return nil, nil
	}
	f, err := os.OpenFile(a.logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, usagef("log file: %w", err)
	}
	return f, nil
}

// printJSON prints what a command was asked for with --json: one document,
// indented, with a line end, so that it can be read as well as parsed.
//
// Everything that --json prints goes through here but the version, which is one
// line on purpose, and the report, whose form analysis documents. Callers pass
// empty slices and not nil ones: `null` would be one more case for every script.
func (a *app) printJSON(v any) error { return writeJSON(a.stdout, v) }

// writeJSON prints the same anywhere.
func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}
