package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"alleria/config"
	"alleria/config/draft"
)

// newFlags are the options of new.
type newFlags struct {
	// program is where names are looked up; empty: nowhere, for a program that is
	// on another machine or not built yet.
	program string
	draft.Draft
	// output is empty for standard output, so that the text can be looked at first.
	output string
	force  bool
	// intercepts are functions whose calls are captured, depth how many pointers are followed, header and
	// prototypes files that declare functions.
	intercepts []string
	depth      int
	prototypeFlags
}

// newCommand writes what record's options for a single window describe, but to a file
// and with more than one function: where those options end, a file begins.
func (a *app) newCommand() *cobra.Command {
	f := &newFlags{}
	c := &cobra.Command{
		Use:   "new [flags]",
		Short: "Write a window configuration to start from, with comments",
		Long: `new writes a window configuration with one window, to be changed by hand. The
options describe the window, and comments in the file explain it. Without options
it records the addresses of all memory accesses of the main executable.

With --program every name is looked up in that program and its libraries, and
nothing is written if one does not exist.

The file refers to alleria.xsd beside it: alleria schema > alleria.xsd lets
editors complete and check while typing.`,
		Example: `  alleria new --what values --function deflate --image gzip -o alleria.config
  alleria new --program ./tool --on-call parse --till-return parse --reopenable
  alleria new --instructions 1G:2G --what all
  alleria new --intercept getaddrinfo --intercept main ./tool -o alleria.config`,
		Args: func(c *cobra.Command, args []string) error {
			if len(f.intercepts) > 0 {
				return cobra.MaximumNArgs(1)(c, args)
			}
			return cobra.NoArgs(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.program = args[0]
			}
			if len(f.intercepts) > 0 {
				return a.newIntercepts(f)
			}
			// What a window on a library's function is about is that library.
			if _, image := config.SplitFunction(f.OnCall); image != "" && !c.Flags().Changed("image") {
				f.Image = image
			}
			return a.newConfig(f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.program, "program", "", "look the names up in this `program`")
	fl.StringVar(&f.Process, "process", "", "record only these `processes`, separated by commas: numbers in order of creation, names (which may hold *) or paths of the programs that they execute")
	fl.StringArrayVar(&f.Functions, "function", nil, "record only this `function`, which may hold *; may be repeated")
	fl.StringVar(&f.Image, "image", "main", "record only this `image`: main, app (all but the system's), all, a file name or a path; by default that of --on-call")
	fl.StringVar(&f.What, "what", "addresses", "`what` to record: "+strings.Join(draft.Recordables(), ", "))
	fl.StringVar(&f.OnCall, "on-call", "", "open the window when this `function` is entered (function@image: one of another image)")
	fl.StringVar(&f.TillReturn, "till-return", "", "close the window when this `function` has returned")
	fl.StringVar(&f.Instructions, "instructions", "", "open and close the window at these `numbers` of instructions: 1G:2G, 1G: or :500M")
	fl.BoolVar(&f.Reopenable, "reopenable", false, "let the window open again")
	fl.StringVar(&f.Name, "name", "", "the window's `name`, for reports")
	fl.StringVarP(&f.output, "output", "o", "", "write to this `file` instead of standard output")
	fl.BoolVar(&f.force, "force", false, "replace the file if it exists")
	fl.StringArrayVar(&f.intercepts, "intercept", nil, "capture calls of this `function` of the program or its libraries (function@image: only of that image), with its parameters and types written out; may be repeated")
	fl.IntVar(&f.depth, "depth", config.DefaultDepth, "with --intercept: follow this `number` of levels of pointers")
	f.register(fl)
	return c
}

// newConfig writes the file, after the parser and, where there is one, the
// program have nothing against it.
//
// Nothing is written before everything was checked: the exit status is 2 and no file
// is left for a name that does not exist or events that contradict each other.
func (a *app) newConfig(f *newFlags) error {
	// Written first and read back: then nothing can be written that would not load,
	// and the checks of files serve for options too.
	text, err := f.Text()
	if err != nil {
		return usagef("%w", err)
	}
	c, warnings, err := config.Parse("(options)", text)
	if err != nil {
		// What the text's own lines are, nobody has seen yet: the place means nothing.
		var errs config.Errors
		if errors.As(err, &errs) {
			return usagef("%s; %s", errs[0].What, errs[0].Right)
		}
		return err
	}
	// Refused and not warned of, unlike in check: the names were given to be looked
	// up, and there is no file yet that somebody could lose.
	if f.program != "" {
		t, err := openTarget(f.program)
		if err != nil {
			return err
		}
		defer t.Close()
		t.Notices(a.messages())
		if wrong := t.CheckNames(c); len(wrong) > 0 {
			return usagef("%s; %s", wrong[0].What, wrong[0].Right)
		}
	}
	// After the program's: a refusal makes them pointless.
	for _, w := range warnings {
		fmt.Fprintf(a.messages(), "alleria: %s; %s\n", w.What, w.Right)
	}
	if f.output == "" {
		_, err := a.stdout.Write(text)
		return err
	}
	return f.write(a, text)
}

// write makes the file.
func (f *newFlags) write(a *app, text []byte) error {
	file, err := createFile(f.output, f.force)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", f.output, err)
	}
	fmt.Fprintf(a.messages(), "alleria: wrote %s; alleria check %s says what it does\n", f.output, f.output)
	return nil
}
