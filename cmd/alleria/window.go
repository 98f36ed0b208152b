package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"alleria/analysis/live"
	"alleria/config"
	"alleria/internal/against"
)

// windowFlags say which window configuration a command uses: a file, or a window
// for a single use put together from flags.
// path and the others exclude each other: flags that change a file's window would
// leave nobody able to say what was recorded.
type windowFlags struct {
	path   string
	oneOff config.OneOffOptions
	fields string
}

// register declares the flags. Their names are those of the language's
// elements and attributes where there is one.
func (f *windowFlags) register(fl *pflag.FlagSet) {
	o := &f.oneOff
	fl.StringVarP(&f.path, "config", "c", "", "window configuration `file` (also -cfg)")
	fl.StringVar(&o.OnCall, "on-call", "", "open the window when this `function` is entered (function@image: one of another image)")
	fl.StringVar(&o.TillReturn, "till-return", "", "close the window when this `function` has returned")
	fl.StringVar(&o.OnInstructions, "on-instructions", "", "open the window after this `number` of instructions (10k, 5M, 2G)")
	fl.StringVar(&o.TillInstructions, "till-instructions", "", "close the window after this `number` of instructions")
	fl.BoolVar(&o.Reopenable, "reopenable", false, "let the window open again")
	fl.StringVar(&o.Process, "process", "", "record only these `processes`, separated by commas: numbers in order of creation, names (which may hold *) or paths of the programs that they execute; the others are followed")
	fl.StringVar(&o.Image, "image", "", "record only this `image`: main, app (all but the system's), all (the default), a file name or a path")
	fl.StringVar(&o.Function, "function", "", "record only functions of this `name`, which may hold *")
	fl.StringVar(&o.Select, "select", "", "record only these `instructions`: any, anyMem (default, except where an analysis counts all), or form=, class=, isa=, ext= or cat= and a XED name")
	fl.StringArrayVar(&o.Intercept, "intercept", nil, "capture calls of this `function` (function@image: only of that image; it may hold *) with arguments and result instead of recording instructions; may be repeated. alleria intercepts prints them")
	fl.StringVar(&f.fields, "fields", "", "what to record of each instruction: a comma-separated `list` of time, function, address, value, branch; none records the instruction alone, all everything")
}

// given tells whether flags or a file say what is to be recorded.
func (f *windowFlags) given(outputs []string) bool {
	if f.path != "" || f.fields != "" || !f.oneOff.IsZero() {
		return true
	}
	wd, first := "", ""
	if d, err := os.Getwd(); err == nil {
		wd = d
	}
	if len(outputs) > 0 {
		first = outputs[0]
	}
	return config.Find("", wd, first) != ""
}

// analysed has a window of flags select every instruction where an analysis counts instructions and --select says nothing:
// its numbers would silently be of those that access memory alone. Captured calls select no instructions.
func (f *windowFlags) analysed(specs []live.Spec) {
	o := &f.oneOff
	window := f.fields != "" || !o.IsZero()
	if window && o.Select == "" && len(o.Intercept) == 0 {
		o.Select = selectFor(specs)
	}
}

// load returns the configuration and where it is from. Warnings go to messages.
//
// Where a configuration is looked for, first match wins: --config, alleria.config in
// the working directory, alleria.config in the first output directory. Without any,
// the built-in one records every access, as the published profiler does.
func (f *windowFlags) load(messages io.Writer, outputs []string) (*config.Config, string, error) {
	oneOff := !f.oneOff.IsZero() || f.fields != ""
	if f.path != "" && oneOff {
		return nil, "", usagef("--config and a window of flags (--on-call … --fields) exclude each other")
	}
	if oneOff {
		return f.fromFlags(messages)
	}
	wd, err := os.Getwd()
	if err != nil {
		wd = "" // it was removed: nothing to find there
	}
	first := ""
	if len(outputs) > 0 {
		first = outputs[0]
	}
	path := config.Find(f.path, wd, first)
	if path == "" {
		fmt.Fprintln(messages, "alleria: no configuration: recording every memory access of every process")
		return config.Default(), "built-in", nil
	}
	c, err := loadConfig(messages, path)
	if err == nil && f.path == "" { // nobody has named it
		fmt.Fprintf(messages, "alleria: configuration: %s, which was found there\n", path)
	}
	return c, path, err
}

// fromFlags builds the window that the flags describe.
// Warnings have no place but the flag's own text. Of names that no instruction has they are errors here.
func (f *windowFlags) fromFlags(messages io.Writer) (c *config.Config, from string, err error) {
	if f.fields != "" {
		if f.oneOff.Fields, err = config.ParseFields(f.fields); err != nil {
			return nil, "", usagef("--fields: %w", err)
		}
	}
	c, warnings, err := config.OneOff(f.oneOff)
	if err != nil {
		return nil, "", &statusError{statusUsage, err}
	}
	for _, w := range append(warnings, against.UnknownClasses(c)...) {
		if w.Unmatched {
			return nil, "", usagef("--select: %s; %s", w.What, w.Right)
		}
		fmt.Fprintf(messages, "alleria: %s; %s (warning)\n", w.What, w.Right)
	}
	return c, "options", nil
}

// loadConfig loads a file and prints its warnings.
// They come before the errors, as in the file they mostly do.
func loadConfig(messages io.Writer, path string) (*config.Config, error) {
	c, warnings, err := config.Load(path)
	for _, w := range warnings {
		fmt.Fprintln(messages, w, "(warning)")
	}
	if err != nil {
		return nil, configError(err)
	}
	for _, w := range against.UnknownClasses(c) {
		fmt.Fprintln(messages, w, "(warning)")
	}
	return c, nil
}

// configError gives errors of a configuration their status and leaves them in
// the form that editors jump to: no prefix of ours.
func configError(err error) error {
	var all config.Errors
	if errors.As(err, &all) {
		return &statusError{status: statusUsage, err: &located{all}}
	}
	return &statusError{statusUsage, err}
}

// located marks an error whose lines begin with a place in a file.
type located struct{ error }

// Unwrap gives errors.As the list inside.
func (l *located) Unwrap() error { return l.error }
