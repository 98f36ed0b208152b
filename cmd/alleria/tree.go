package main

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"alleria/abp"
	"alleria/analysis/pstree"
	"alleria/config"
	"alleria/config/draft"
	"alleria/config/vocab"
	"alleria/internal/session"
	"alleria/internal/sys"
	"alleria/proctree"
)

// dryRun runs a program and follows all of its processes without recording. exit is the
// program's status as a shell has it; an error is ours, and there may be processes all
// the same.
type dryRun func(ctx context.Context, program string, args []string) (processes []proctree.Process, exit int, err error)

// treeFlags are the options of tree.
type treeFlags struct {
	json   bool
	wide   bool
	format string
	output string // of the drawing
	config newFlags
	write  string // the configuration's file
}

// treeCommand shows the tree of one run; numbers of several would collide.
//
// The numbers are the point: they are what Process elements select by, and running a
// program once without recording is how to find them out, as the paper suggests
// (Alleria, section 2.5).
func (a *app) treeCommand() *cobra.Command {
	f := &treeFlags{}
	c := &cobra.Command{
		Use:   "tree [flags] PROFILE",
		Short: "Show the processes of a run with their numbers",
		Long: `tree shows which process started which, with the numbers that window
configurations name them by, what they ran and how they ended.

With --write-config it writes a window configuration that records the processes
of --process; the others are followed, so that all have the same numbers.`,
		Example: `  alleria tree out
  alleria tree --format svg -o tree.svg out
  alleria tree --process 4,cc1* --write-config alleria.config out`,
		Args: a.treeArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if c.ArgsLenAtDash() == 0 {
				return a.runTree(f, args)
			}
			return a.openProfiles(args, func(profiles []*abp.Profile) error {
				return a.showTree(f, a.stdout, pstree.Link(pstree.FromProfile(profiles[0])))
			})
		},
	}
	if a.dryRun != nil {
		c.Use = "tree [flags] PROFILE | -- PROGRAM [ARGUMENT...]"
		c.Long = `tree shows which process started which, with the numbers that window
configurations name them by, what they ran, how they ended and what they used.
It shows the tree of a profile, or of PROGRAM, which it then runs without recording
anything. The program's input and output are its own: the tree goes to standard error,
or to the file of --output. The exit status is then the program's.

With --write-config it writes a window configuration that records the processes
of --process; the others are followed, so that all have the same numbers.`
		c.Example = "  alleria tree -- make -j4\n" + c.Example
	}
	fl := c.Flags()
	fl.BoolVar(&f.json, "json", false, "print JSON")
	fl.BoolVar(&f.wide, "wide", false, "on a terminal, do not cut commands to its width")
	fl.StringVar(&f.format, "format", "text", "draw in this `format`: text, json, dot (Graphviz) or svg (along time)")
	fl.StringVarP(&f.output, "output", "o", "", "draw to this `file`")
	fl.StringVar(&f.write, "write-config", "", "write a window configuration to this `file`")
	fl.StringVar(&f.config.Process, "process", "", "for --write-config: the `processes` to record, separated by commas: numbers, names (which may hold *) or paths of programs")
	fl.StringVar(&f.config.What, "what", "addresses", "for --write-config: `what` to record: "+strings.Join(draft.Recordables(), ", "))
	fl.BoolVar(&f.config.force, "force", false, "replace files that exist")
	return c
}

// treeArgs takes one profile, or a command behind "--".
func (a *app) treeArgs(c *cobra.Command, args []string) error {
	if at := c.ArgsLenAtDash(); a.dryRun != nil && at >= 0 {
		switch {
		case at > 0:
			return usagef("tree takes a profile, or a program after --, not both")
		case len(args) == 0:
			return usagef("no program is named: alleria tree [flags] -- PROGRAM [ARGUMENT...]")
		}
		return nil
	}
	return oneProfile(c, args)
}

// check looks at the flags before anything is opened or run.
func (f *treeFlags) check() error {
	if f.json {
		f.format = "json"
	}
	switch f.format {
	case "text", "json", "dot", "svg":
	default:
		return usagef("--format is text, json, dot or svg, not %q", f.format)
	}
	// Files first: behind the run it would be too late, and the tree lost.
	for _, path := range []string{f.output, f.write} {
		if !f.config.force && isFile(path) {
			return existing(path)
		}
	}
	switch {
	case f.write == "" && f.config.Process != "":
		return usagef("--process is for --write-config, which is not given")
	case f.write == "":
		return nil
	case f.config.Process == "":
		return usagef("--write-config needs --process: what to record")
	}
	// The text without comments on what the processes are: all that can be wrong with the
	// flags shows.
	f.config.Image, f.config.output = "main", f.write
	if _, err := f.config.Text(); err != nil {
		return usagef("%w", err)
	}
	return nil
}

// runTree runs a program and shows its tree. Its failure is told by the exit status alone,
// as always.
func (a *app) runTree(f *treeFlags, args []string) error {
	program, err := findProgram(args[0])
	if err != nil {
		return err
	}
	ctx, stop := session.Outlive()
	defer stop()
	processes, exit, err := a.dryRun(ctx, program, args)
	if err == nil || len(processes) > 0 {
		err = errors.Join(err, a.showTree(f, a.stderr, pstree.Link(runNodes(processes))))
	}
	if err == nil && exit != 0 {
		return &statusError{status: exit}
	}
	return err
}

// showTree draws to the file that was asked for, else to out, and writes the configuration.
func (a *app) showTree(f *treeFlags, out io.Writer, roots []*pstree.Node) error {
	if err := f.known(roots); err != nil {
		return err
	}
	if f.output == "" {
		if err := f.draw(out, roots); err != nil {
			return err
		}
	} else if err := f.drawFile(roots); err != nil {
		return err
	}
	if f.write == "" {
		return nil
	}
	f.config.Notes = map[int]string{}
	pstree.Walk(roots, func(n *pstree.Node, _ int) { f.config.Notes[n.Number] = n.Line() })
	text, err := f.config.Text()
	if err != nil {
		return usagef("%w", err)
	}
	return f.config.write(a, text)
}

// draw draws in the format that was asked for.
func (f *treeFlags) draw(w io.Writer, roots []*pstree.Node) error {
	switch f.format {
	case "json":
		return writeJSON(w, roots)
	case "dot":
		return pstree.DOT(w, roots)
	case "svg":
		return pstree.SVG(w, roots)
	}
	columns := 0
	if file, ok := w.(*os.File); ok && !f.wide && isTerminal(file) {
		columns = sys.Columns(file)
	}
	return pstree.Text(w, roots, columns)
}

// drawFile draws to the file of --output.
func (f *treeFlags) drawFile(roots []*pstree.Node) error {
	file, err := createFile(f.output, f.config.force)
	if err != nil {
		return err
	}
	return errors.Join(f.draw(file, roots), file.Close())
}

// known refuses processes that the tree has not: a misspelt name would record nothing.
func (f *treeFlags) known(roots []*pstree.Node) error {
	if f.write == "" {
		return nil
	}
	list, err := config.ParseProcesses(f.config.Process)
	if err != nil {
		return usagef("--process: %w", err)
	}
	for _, p := range list {
		found, last := false, 0
		var names []string
		pstree.Walk(roots, func(n *pstree.Node, _ int) {
			facts := config.ProcessFacts{Number: n.Number, Path: n.Program, Also: n.Executed, Args: n.Command}
			if len(n.Command) > 0 { // profiles have no paths
				facts.Also = append(facts.Also[:len(facts.Also):len(facts.Also)], n.Command[0])
			}
			found, last = found || p.Matches(&facts), max(last, n.Number)
			for _, path := range append(facts.Also, n.Program) {
				names = append(names, path[strings.LastIndexByte(path, '/')+1:])
			}
		})
		switch near := vocab.Nearest(p.Name, names); {
		case found:
		case p.N > 0:
			return usagef("--process %d: there is no such process; the tree has 1 to %d", p.N, last)
		case near != "" && p.Name != "":
			return usagef("--process %s: no process of the tree executes that; the nearest is %s", p.Name, near)
		default:
			return usagef("--process %s: no process of the tree executes that", p.Path+p.Name)
		}
	}
	return nil
}

// followOnly is a dryRun: the program and what it creates run their own code, traced for what
// the kernel reports alone.
func (a *app) followOnly(ctx context.Context, program string, args []string) ([]proctree.Process, int, error) {
	t := proctree.New(args, proctree.Options{})
	defer t.Close()
	exit, err := session.Record(ctx, session.Options{
		Program: program, Args: args, Config: config.FollowOnly(), ConfigFrom: "built-in", Tool: "alleria " + version, Discard: true, Tree: t,
		Children: session.Children{Warnings: a.stderr},
	})
	return t.Processes(), exit, err
}

// runNodes turns the processes of a run into what is drawn.
func runNodes(processes []proctree.Process) []*pstree.Node {
	var nodes []*pstree.Node
	for i := range processes {
		p := &processes[i]
		n := &pstree.Node{
			Number: p.Number, PID: p.PID, Parent: p.Parent, Command: p.Args, Program: p.Path, Followed: p.Followed(), Started: &p.Started,
			CPUSeconds: (p.Usage.User + p.Usage.System).Seconds(), MaxRSS: p.Usage.MaxRSS, Instructions: p.Instructions,
		}
		for _, program := range p.Programs {
			n.Executed = append(n.Executed, program.Path)
		}
		if !p.Ended.IsZero() {
			n.EndedWith(p.Status, p.Ended.Sub(p.Started))
		}
		nodes = append(nodes, n)
	}
	return nodes
}
