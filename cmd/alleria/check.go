package main

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"alleria/config"
	"alleria/internal/against"
	"alleria/internal/session"
	"alleria/internal/symbols"
	"alleria/schemas"
)

// checkCommand is both the checker and the language's dictionary, because
// both are asked while writing a configuration.
//
// Without a file it looks for the one that record would find in this directory, so
// that "check, then record" is about the same file. An output directory is no place
// to look in here: there is none yet.
func (a *app) checkCommand() *cobra.Command {
	asJSON := false
	element, program := "", ""
	c := &cobra.Command{
		Use:   "check [FILE...]",
		Short: "Check window configurations and say in words what they do",
		Long: `check loads each window configuration (without a FILE, the one that record would
use here), reports all errors and warnings with their places, and explains in
plain words when its windows open and close and what they record.
With --against it also looks every image and function that a file names up in a
program and the libraries that it is linked with, and counts how much of their
code each window selects. Nothing is executed for that.
--element explains an element of the language instead, like alleria explain.

With --json a list of errors and warnings is printed, with --against an object
that holds that list as "diagnostics" and the counts as "estimates".`,
		Example: "  alleria check window.xml\n  alleria check --against gzip window.xml\n  alleria check --element Call",
		RunE: func(_ *cobra.Command, args []string) error {
			if element != "" {
				text, err := config.ExplainElement(element)
				if err != nil {
					return &statusError{statusUsage, err}
				}
				fmt.Fprintln(a.stdout, strings.TrimSpace(text))
				return nil
			}
			if len(args) == 0 {
				found := config.Find("", ".", "")
				if found == "" {
					return usagef("there is no %s here; name a file", config.DefaultName)
				}
				args = []string{found}
			}
			return a.check(args, program, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print errors and warnings as JSON")
	c.Flags().StringVar(&program, "against", "", "look names up in this `program` and its libraries, and count what is selected")
	c.Flags().StringVar(&element, "element", "", "explain this `element` of the language")
	return c
}

// diagnostic is a line of check --json.
// Line and Column count from 1; 0 is "the file as a whole". Severity is error,
// warning, or unsupported: right in itself, but not to be recorded by this version.
type diagnostic struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Severity string `json:"severity"`
	What     string `json:"what"`
	Right    string `json:"right,omitempty"`
}

// diagnosticOf is an error or a warning in JSON's form.
func diagnosticOf(e config.Error, severity string) diagnostic {
	return diagnostic{e.File, e.Line, e.Col, severity, e.What, e.Right}
}

// check checks every file before it gives its verdict, so that one run finds
// everything.
//
// The exit status is 2 with at least one error, else 0: warnings, also those of
// names that were not found, leave it at 0, since a program may load later what it
// does not map at its start. With --json they are in the list only.
func (a *app) check(files []string, program string, asJSON bool) error {
	var t *against.Target
	if program != "" {
		var err error
		if t, err = openTarget(program); err != nil {
			return err
		}
		defer t.Close()
		// Once, and not with each file: they are about the program.
		t.Notices(a.messages())
	}
	r := checkResult{app: a, asJSON: asJSON, list: []diagnostic{}, estimates: []*against.Estimate{}}
	for _, file := range files {
		if err := r.file(file, t); err != nil {
			return err
		}
	}
	if asJSON {
		if err := r.print(t != nil); err != nil {
			return err
		}
		if len(r.errs) > 0 {
			// Without an error in it: the list has been printed, and nothing is to
			// be said twice.
			return &statusError{status: statusUsage}
		}
		return nil
	}
	if len(r.errs) > 0 {
		return &statusError{statusUsage, &located{errors.Join(r.errs...)}}
	}
	return nil
}

// openTarget finds a program as a shell does and opens it. Unlike findProgram it does not ask
// whether the program may be executed: it is not going to be.
//
// Errors carry the exit status that record would end with for the same program:
// 127 not found, 126 not to be read. The caller closes the target.
func openTarget(name string) (*against.Target, error) {
	path := name
	if !strings.Contains(name, "/") {
		found, err := exec.LookPath(name)
		if err != nil && !errors.Is(err, exec.ErrDot) {
			return nil, &statusError{statusNotFound, fmt.Errorf("%s: no such program in PATH%s", name, besideUs(name))}
		}
		path = found
	}
	t, err := against.Open(path, fetcher())
	switch {
	case errors.Is(err, symbols.ErrNotFound):
		return nil, &statusError{statusNotFound, err}
	case err != nil:
		return nil, &statusError{statusNotTraced, err}
	}
	return t, nil
}

// checkResult is what has been found so far.
// errs and list hold the same errors twice, once to be joined into the command's
// own and once for JSON.
type checkResult struct {
	*app
	asJSON    bool
	errs      []error
	list      []diagnostic
	estimates []*against.Estimate
}

// file checks one file. What it returns is a failure of ours; what is wrong with
// the file goes into errs.
//
// A file with errors is not explained and not held against the program: there is no
// model of it to do that with.
func (r *checkResult) file(file string, t *against.Target) error {
	c, warnings, err := config.Load(file)
	r.warn(warnings, "warning")
	var errs config.Errors
	if errors.As(err, &errs) {
		for _, e := range errs {
			r.list = append(r.list, diagnosticOf(e, "error"))
			r.errs = append(r.errs, e)
		}
		return nil
	}
	if err != nil {
		return err
	}
	// Such a file is right and says what it means; but to find out only when
	// recording that it cannot be run yet would be late.
	for _, e := range c.Unsupported() {
		r.warn([]config.Warning{config.Warning(e)}, "unsupported")
	}
	if refused := session.Refused(c); len(refused) > 0 { // by record, likewise
		for _, e := range refused {
			r.list = append(r.list, diagnosticOf(e, "error"))
			r.errs = append(r.errs, e)
		}
		return nil
	}
	r.warn(against.UnknownClasses(c), "warning")
	var e *against.Estimate
	if t != nil {
		warnings, e = t.Compare(c)
		r.warn(warnings, "warning")
		r.estimates = append(r.estimates, e)
	}
	if r.asJSON || r.quiet {
		return nil
	}
	fmt.Fprintf(r.stdout, "%s is correct.\n\n", file)
	if err := c.Explain(r.stdout); err != nil {
		return err
	}
	if e != nil {
		return e.Print(r.stdout)
	}
	return nil
}

// warn notes warnings and prints them, in the form of errors.
func (r *checkResult) warn(warnings []config.Warning, severity string) {
	for _, w := range warnings {
		r.list = append(r.list, diagnosticOf(config.Error(w), severity))
		if !r.asJSON {
			fmt.Fprintf(r.messages(), "%s (%s)\n", w, severity)
		}
	}
}

// print writes what was found as JSON. Without a program it is the bare list,
// as it has been before there were estimates.
func (r *checkResult) print(estimates bool) error {
	if !estimates {
		return r.printJSON(r.list)
	}
	return r.printJSON(struct {
		Diagnostics []diagnostic        `json:"diagnostics"`
		Estimates   []*against.Estimate `json:"estimates"`
	}{r.list, r.estimates})
}

// schemaCommand prints what is embedded, so that the schema always is the one
// of this very program.
// A packaged file would be the schema of whatever was installed last.
func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema [NAME]",
		Short: "Print the XML schema of window configurations, or another schema",
		Long: `schema prints the XML schema of window configurations, for editors and for
xmllint --schema. With a NAME it prints another of the built-in schemas; --help
does not list them, a wrong name does.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := schemas.ConfigName
			if len(args) == 1 {
				name = args[0]
			}
			text, err := schemas.Files.ReadFile(name)
			// The embedding pattern takes the package's own source along.
			if err != nil || strings.HasSuffix(name, ".go") {
				return usagef("no schema %q; there are %s", name, strings.Join(schemaNames(), ", "))
			}
			_, err = a.stdout.Write(text)
			return err
		},
	}
}

// schemaNames lists what can be printed. The folder's Go file is embedded
// too, by its pattern, and is none.
func schemaNames() []string {
	entries, err := schemas.Files.ReadDir(".")
	if err != nil {
		return nil // embedded: cannot happen, and the message is whole without
	}
	var names []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") {
			names = append(names, e.Name())
		}
	}
	return names
}

// explainCommand is the language's dictionary. Its texts are those of the
// schema's annotations, so that editor and terminal say the same.
//
// It is the same as check --element, which came first and stays for scripts; here
// several names may be given at a time, and attributes too.
func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [ELEMENT | ATTRIBUTE | ELEMENT.ATTRIBUTE]...",
		Short: "Explain the elements and attributes of window configurations",
		Long: `explain says what an element of the window configuration language means, where
it stands, what it holds, which attributes it takes with which defaults, and
shows an example. For the name of an attribute, it explains the attribute in each
element that has it. Without a name it lists all elements. The flags of adaptive profiling
(record --tuner, --affinity, --ptc, --bc, --bs, --tf, --tp, --tay1, --tay2, --taz) are
explained by their names without dashes.`,
		Example:           "  alleria explain\n  alleria explain Call\n  alleria explain Instruction.registers threshold\n  alleria explain tuner tp",
		ValidArgsFunction: completeElements,
		RunE: func(_ *cobra.Command, args []string) error {
			// Not the help of the command: who asks without a name wants to know which
			// there are.
			if len(args) == 0 {
				_, err := fmt.Fprint(a.stdout, config.ExplainLanguage())
				return err
			}
			// All names are looked up before the first is explained: a message about
			// the last would be missed above a screen of text.
			texts := make([]string, len(args))
			for i, name := range args {
				text, err := config.ExplainElement(name)
				if knob := explainKnob(name); err != nil && knob != "" {
					text, err = knob, nil
				}
				if err != nil {
					return &statusError{statusUsage, err}
				}
				texts[i] = text
			}
			_, err := fmt.Fprint(a.stdout, strings.Join(texts, "\n"))
			return err
		},
	}
}

// completeElements completes by the language table, like everything here, so that
// a new element is offered without a change to this file.
func completeElements(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	// Elements only: with all attributes the list would be too long to choose from.
	return config.ElementNames(), cobra.ShellCompDirectiveNoFileComp
}
