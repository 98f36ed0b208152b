package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"alleria/abp"
	"alleria/analysis/calls"
	"alleria/analysis/live"
)

// analyzeCommand groups the analyses that go over all executions in their order. Each is a
// subcommand, since their options have little in common.
func (a *app) analyzeCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "analyze ANALYSIS PROFILE",
		Short: "Find out who called whom, and how caches would have fared",
		Long: `analyze goes over a recorded profile in the order in which it was executed.
It finds out who called whom from calls, returns and the stack addresses at which
return addresses lie, even across tail calls, longjmp, exceptions, signal handlers
and stacks that the program makes itself. Record with addresses (the default): without
them it has only the return addresses. Only recorded instructions are counted;
record with --select any for all of them.`,
		Args: unknownAnalysis,
		RunE: func(c *cobra.Command, _ []string) error {
			_ = c.Help()
			return usagef("an analysis is needed: methods, callgraph, calltree, paths, cache, coherence, reuse or strides")
		},
	}
	c.AddCommand(
		a.callsCommand("methods", "Count calls, exclusive and inclusive instructions by function",
			(*calls.Tree).WriteMethods, func(t *calls.Tree) any { return t.MethodsJSON() }),
		a.callsCommand("callgraph", "Show each function with its callers and callees",
			(*calls.Tree).WriteGraph, func(t *calls.Tree) any { return t.GraphJSON() }),
		a.callsCommand("calltree", "Show functions below their callers",
			(*calls.Tree).WriteTree, func(t *calls.Tree) any { return t.TreeJSON() }),
		a.pathsCommand(),
		a.cacheCommand(),
		a.reuseCommand(),
		a.coherenceCommand(),
		a.stridesCommand(),
	)
	return c
}

// unknownAnalysis says of a word that is no analysis which ones there are.
func unknownAnalysis(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usagef("there is no analysis %q; there are methods, callgraph, calltree, paths, cache, coherence, reuse and strides", args[0])
}

// orderFlags are the filters of analyses that have to see everything in its order, and then
// count a part of it.
type orderFlags struct {
	queryFlags
	sites int // of calls: contexts that are told apart by call sites
}

// register declares them. Filters on code and data are left to report: what they leave out
// would have no callers.
func (f *orderFlags) register(fl *pflag.FlagSet) {
	fl.UintSliceVar(&f.processes, "process", nil, "only these processes, by `number`")
	fl.UintSliceVar(&f.threads, "thread", nil, "only these threads, by `number` within their process")
	fl.StringVar(&f.time, "time", "", "count only this `range` of seconds since the start: 0.5-1.5")
	fl.StringArrayVar(&f.windows, "window", nil, "count only what ran while this `window` was open, by name; may be repeated")
}

// eachTree builds the tree of each process that the flags want.
func (a *app) eachTree(path string, f *orderFlags, use func(p *abp.Profile, proc *abp.Process, t *calls.Tree) error) error {
	return a.openProfiles([]string{path}, func(profiles []*abp.Profile) error {
		p := profiles[0]
		q, err := f.query(profiles)
		if err != nil {
			return err
		}
		a.sayBursts(profiles, q, lacksCallers)
		for _, proc := range wanted(profiles, q) {
			t, err := a.tree(p, proc, f, q)
			if err != nil {
				return err
			}
			if err := use(p, proc, t); err != nil {
				return err
			}
		}
		return nil
	})
}

// tree is the tree of a process: as it was found while it ran, else from its records.
func (a *app) tree(p *abp.Profile, proc *abp.Process, f *orderFlags, q abp.Query) (*calls.Tree, error) {
	file, r, err := a.liveResult(proc, live.KindCalls)
	if err != nil {
		return nil, err
	}
	if t, ok := r.(*calls.Tree); ok {
		err := f.wholeOnly(proc)
		if err == nil && f.sites > 0 {
			err = usagef("process %s was analysed while it ran: --sites needs a recorded profile; record --analysis 'calltree(sites=N)' has it then", proc.Name())
		}
		if err == nil {
			a.sayLive(proc, file)
			return t, nil
		}
		if err := orRecords(proc, err); err != nil {
			return nil, err
		}
	}
	progress, stop := a.reading()
	defer stop()
	cq := calls.QueryOf(proc, q)
	cq.Sites = f.sites
	return calls.Build(p, proc, cq, progress)
}

// callsCommand is one of the three views of calls.
func (a *app) callsCommand(use, short string, text func(*calls.Tree, io.Writer, calls.TextOptions) error, asJSON func(*calls.Tree) any) *cobra.Command {
	var f orderFlags
	var o calls.TextOptions
	var outputs []string
	json := false
	c := &cobra.Command{
		Use:   use + " PROFILE",
		Short: short,
		Args:  oneProfile,
		RunE: func(_ *cobra.Command, args []string) error {
			if o.Top < 0 || o.Depth < 0 || o.Percent < 0 || o.Percent > 100 {
				return usagef("--top and --depth are numbers from 0, --min is one from 0 to 100")
			}
			if f.sites < 0 || f.sites > math.MaxInt32 {
				return usagef("--sites is a number of contexts from 1, or 0 for %d", calls.MostSites)
			}
			for _, o := range outputs {
				if _, err := treeWriter(o); err != nil {
					return err
				}
			}
			if done, err := a.countedCalls(args[0], use, &f, o.Top, json); done {
				return err
			}
			all := []any{}
			err := a.eachTree(args[0], &f, func(p *abp.Profile, proc *abp.Process, t *calls.Tree) error {
				if len(outputs) > 0 {
					return a.drawTree(t, outputs, len(p.Processes()) > 1 && len(f.processes) != 1)
				}
				if json {
					all = append(all, asJSON(t))
					return nil
				}
				return text(t, a.stdout, o)
			})
			if err != nil || !json {
				return err
			}
			return a.printJSON(all)
		},
	}
	fl := c.Flags()
	f.register(fl)
	fl.BoolVar(&json, "json", false, "print JSON, with everything in it: a list of processes")
	fl.IntVar(&f.sites, "sites", 0, fmt.Sprintf("tell apart from which places in a caller a function is called in the first so many `contexts`; in those behind it is called from anywhere in it; 0: %d", calls.MostSites))
	switch use {
	case "calltree":
		fl.StringArrayVarP(&outputs, "output", "o", nil, "write this `file` instead of text: a flame graph (.svg), or a page with one and an expandable tree (.html); may be repeated")
		fl.IntVar(&o.Top, "top", 200, "show this `number` of nodes; 0: all")
		fl.IntVar(&o.Depth, "depth", 0, "show this `number` of levels of calls; 0: all")
		fl.Float64Var(&o.Percent, "min", 0.5, "show nodes with at least this `percentage` of the instructions")
	default:
		fl.IntVar(&o.Top, "top", 20, "show this `number` of functions; 0: all")
	}
	return c
}

// treeWriter says how a file of that name is written.
func treeWriter(name string) (func(*calls.Tree, io.Writer) error, error) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".svg":
		return (*calls.Tree).WriteSVG, nil
	case ".html", ".htm":
		return (*calls.Tree).WriteHTML, nil
	}
	return nil, usagef("--output: a call tree is written to .svg or .html, not %q", name)
}

// drawTree writes the pictures of one process; with several each gets files of its own.
func (a *app) drawTree(t *calls.Tree, outputs []string, several bool) error {
	for _, name := range outputs {
		if several {
			ext := filepath.Ext(name)
			name = fmt.Sprintf("%s-p%d%s", strings.TrimSuffix(name, ext), t.Process, ext)
		}
		write, err := treeWriter(name)
		if err != nil {
			return err
		}
		f, err := os.Create(name)
		if err != nil {
			return fmt.Errorf("call tree: %w", err)
		}
		if err := errors.Join(write(t, f), f.Close()); err != nil {
			return err
		}
		fmt.Fprintf(a.messages(), "alleria: wrote %s\n", name)
	}
	return nil
}
