package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/cache"
	"alleria/analysis/calls"
	"alleria/analysis/live"
	"alleria/analysis/paths"
	"alleria/analysis/reuse"
	"alleria/config"
)

// analysisConfig is what analyses need to have recorded: every instruction or those that access memory, with
// addresses or without.
func analysisConfig(specs []live.Spec) (*config.Config, error) {
	n := live.NeedsOf(specs)
	o := config.OneOffOptions{Select: selectFor(specs)}
	fields := "none"
	if n.Addresses {
		fields = "address"
	}
	if n.Times {
		fields += ",time"
	}
	var err error
	if o.Fields, err = config.ParseFields(fields); err != nil {
		return nil, fmt.Errorf("what analyses need: %w", err)
	}
	c, _, err := config.OneOff(o)
	if err != nil {
		return nil, fmt.Errorf("what analyses need: %w", err)
	}
	return c, nil
}

// selectFor is which instructions analyses need: all, or the default, which is those that access memory.
func selectFor(specs []live.Spec) string {
	if live.NeedsOf(specs).Code {
		return "any"
	}
	return ""
}

// liveResult returns what was found of a process while it ran, nil if it was not analysed while it ran: its records are there then.
func (a *app) liveResult(proc *abp.Process, kind string) (*live.File, live.Result, error) {
	dir := filepath.Dir(proc.Main().Path())
	f, r, err := live.Read(dir, kind)
	if !errors.Is(err, live.ErrNone) {
		return f, r, err
	}
	made := analysedAs(proc)
	if len(made) == 0 {
		return nil, nil, nil
	}
	if !slices.Contains(made, kind) {
		return nil, nil, notKept(proc, fmt.Sprintf("results of %s, only of %s", kind, strings.Join(made, ", ")))
	}
	return nil, nil, fmt.Errorf("the analysis of %s of process %s failed while it ran: report shows why", kind, proc.Name())
}

// notKept refuses what would need the records of a process that was analysed while it ran.
func notKept(proc *abp.Process, there string) error {
	return usagef("process %s was analysed while it ran, and its records were not kept: there are no %s", proc.Name(), there)
}

// analysedAs lists the analyses that were made of a process while it ran, none if its records are there.
func analysedAs(proc *abp.Process) []string {
	dir := filepath.Dir(proc.Main().Path())
	run, err := abp.ReadRun(filepath.Dir(dir))
	if err != nil { // whoever opened the profile has said so
		return nil
	}
	i := slices.IndexFunc(run.Processes, func(e abp.ProcessEntry) bool { return e.Dir == filepath.Base(dir) })
	if i < 0 || run.Processes[i].HasRecords() {
		return nil
	}
	return run.Processes[i].Analyses
}

// orRecords is an error that says that a result does not suit, nil where the process's records are there to be counted instead.
func orRecords(proc *abp.Process, err error) error {
	if len(analysedAs(proc)) == 0 {
		return nil
	}
	return err
}

// sayLive tells that a result was found while the program ran, and what it stands for.
func (a *app) sayLive(proc *abp.Process, f *live.File) {
	fmt.Fprintf(a.messages(), "alleria: %s of process %s as found while it ran\n", f.Named, proc.Name())
	if s := f.Sampling; s != nil {
		fmt.Fprintf(a.messages(), "alleria: counts are estimates from %d bursts: a share of 50 %% is ± %.2g %%, one of 5 %% ± %.2g %% at most (95 %% confidence)\n",
			s.Bursts, 100*s.Error(0.5), 100*s.Error(0.05))
	}
}

// wholeOnly refuses filters of a result that cannot be taken apart any more.
func (f *orderFlags) wholeOnly(proc *abp.Process) error {
	if len(f.threads) > 0 || f.time != "" || len(f.windows) > 0 {
		return usagef("process %s was analysed while it ran: --thread, --time and --window need a recorded profile", proc.Name())
	}
	return nil
}

// foundOr returns what was found of a process while it ran, where it suits what is asked for now (fits; nil: it always does),
// or counts over the process's records.
func foundOr[R any](a *app, proc *abp.Process, kind string, f *orderFlags, fits func(*R) error, count func() (*R, error)) (*R, error) {
	file, found, err := a.liveResult(proc, kind)
	if err != nil {
		return nil, err
	}
	r, ok := any(found).(*R)
	if !ok {
		return count()
	}
	err = f.wholeOnly(proc)
	if fits != nil {
		err = cmp.Or(fits(r), err)
	}
	if err != nil {
		if err = orRecords(proc, err); err == nil {
			return count()
		}
		return nil, err
	}
	a.sayLive(proc, file)
	return r, nil
}

// wholeFlags are what commands take that have one result for each process, of its accesses in their order.
type wholeFlags struct {
	orderFlags
	json bool
	top  int // rows to show; 0: all
}

// register declares the flags that all have; with says what JSON holds.
func (f *wholeFlags) register(fl *pflag.FlagSet, with string) {
	f.orderFlags.register(fl)
	fl.BoolVar(&f.json, "json", false, "print JSON, "+with+": a list of processes")
}

// registerTop declares how much of a result is shown.
func (f *wholeFlags) registerTop(fl *pflag.FlagSet, of string) {
	fl.IntVar(&f.top, "top", 20, "show this `number` of "+of+"; 0: all")
}

// eachResult makes a result for each process that is asked for, and writes it at once, or all of them as JSON.
func eachResult[R any](a *app, args []string, f *wholeFlags, what lacking, result func(*abp.Profile, *abp.Process, abp.Query, *analysis.Progress) (*R, error), write func(*abp.Process, *R) error) error {
	if f.top < 0 {
		return usagef("--top is a number from 0, not %d", f.top)
	}
	return a.openProfiles(args, func(profiles []*abp.Profile) error {
		q, err := f.query(profiles)
		if err != nil {
			return err
		}
		a.sayBursts(profiles, q, what)
		all := []*R{}
		err = a.eachProcess(profiles[0], q, func(proc *abp.Process, progress *analysis.Progress) error {
			r, err := result(profiles[0], proc, q, progress)
			if err != nil {
				return err
			}
			all = append(all, r)
			if f.json {
				return nil
			}
			return write(proc, r)
		})
		if err != nil || !f.json {
			return err
		}
		return a.printJSON(all)
	})
}

// cacheOf simulates caches over a process's records, or returns what was found while it ran: with the
// caches that were asked for then, other than which changed names none.
func (a *app) cacheOf(p *abp.Profile, proc *abp.Process, f *orderFlags, o cache.Options, changed []string, progress *analysis.Progress) (*cache.Result, error) {
	return foundOr(a, proc, "cache", f, func(r *cache.Result) error {
		for _, name := range changed {
			switch {
			case name == "processors":
			case name == "shared-ll" && o.SharedLL == r.SharedLL:
			case name == "inclusion" && o.Inclusion.String() == cmp.Or(r.Inclusion, cache.Neither.String()):
			case name == "shared-ll" || name == "inclusion" || name == "shared":
				return usagef("process %s was analysed while it ran, with another --%s; record it again", proc.Name(), name)
			case o.Shapes()[name] != r.Caches[name]:
				return usagef("process %s was analysed while it ran, with --%s %s; record it again with another", proc.Name(), name, r.Caches[name])
			}
		}
		return nil
	}, func() (*cache.Result, error) { return cache.Simulate(p, proc, o, progress) })
}

// reuseOf counts distances over a process's records, or returns what was found while it ran.
func (a *app) reuseOf(p *abp.Profile, proc *abp.Process, f *orderFlags, o reuse.Options, changed []string, progress *analysis.Progress) (*reuse.Result, error) {
	return foundOr(a, proc, "reuse", f, func(r *reuse.Result) error {
		if len(changed) > 0 && (o.Line != r.LineSize || slices.Contains(changed, "sample")) {
			return usagef("process %s was analysed while it ran, with lines of %d bytes; record it again for others", proc.Name(), r.LineSize)
		}
		return nil
	}, func() (*reuse.Result, error) { return reuse.Count(p, proc, o, progress) })
}

// heatOf counts accesses of a process's records, or returns what was counted while it ran.
func (h *heatmaps) heatOf(proc *abp.Process) (*analysis.Heat, error) {
	file, found, err := h.liveResult(proc, "heatmap")
	if err != nil {
		return nil, err
	}
	if r, ok := found.(*live.HeatResult); ok {
		if q := &h.query; len(q.Threads)+len(q.Windows)+len(q.Functions) > 0 || !q.Code.All() || !q.Data.All() || !q.AllTime() {
			err = usagef("process %s was analysed while it ran: filters need a recorded profile", proc.Name())
		}
		if err == nil {
			h.sayLive(proc, file)
			return r.Heat(), nil
		}
		if err := orRecords(proc, err); err != nil {
			return nil, err
		}
	}
	progress, stop := h.reading()
	defer stop()
	return analysis.HeatOf(h.profile, proc, h.query, h.block, progress)
}

// changedOf lists which of some flags were given.
func changedOf(fl *pflag.FlagSet, names ...string) []string {
	return slices.DeleteFunc(names, func(n string) bool { return !fl.Changed(n) })
}

// countedCalls shows what a run has counted that counted calls in the program's own threads, as methods or as a call graph; false for any other profile,
// which is opened again and told of then.
func (a *app) countedCalls(path, view string, f *orderFlags, top int, json bool) (done bool, err error) {
	err = openQuietly([]string{path}, func(profiles []*abp.Profile) error {
		run := profiles[0].Run()
		if run == nil {
			return nil
		}
		all := []calls.GraphJSON{}
		for i := range run.Processes {
			e := &run.Processes[i]
			if !hasCounted(e.Counted, view) {
				continue
			}
			done = true
			if len(f.processes) == 0 || slices.Contains(f.processes, uint(e.Number)) {
				all = append(all, graphOf(e))
			}
		}
		switch {
		case !done:
			return nil
		case len(f.threads) > 0 || f.time != "" || len(f.windows) > 0:
			return usagef("%s has counts of whole processes: --thread, --time and --window need a recorded profile", path)
		case json && view == "callgraph":
			return a.printJSON(all)
		case json:
			methods := []calls.MethodsJSON{}
			for i := range all {
				methods = append(methods, methodsIn(&all[i]))
			}
			return a.printJSON(methods)
		}
		for i := range all {
			if view == "callgraph" {
				a.printGraph(&all[i], top)
				continue
			}
			m := methodsIn(&all[i])
			a.printMethods(&m, top)
		}
		return nil
	})
	return done || err != nil, err
}

// hasCounted tells whether counts have what a view shows.
func hasCounted(c *abp.Counted, view string) bool {
	if c == nil || view != "methods" && view != "callgraph" {
		return false
	}
	if view == "callgraph" {
		return len(c.Edges) > 0
	}
	return slices.ContainsFunc(c.Functions, func(f abp.CountedFunction) bool { return f.Calls > 0 })
}

// methodsIn is the functions of a graph.
func methodsIn(g *calls.GraphJSON) calls.MethodsJSON {
	return calls.MethodsJSON{Process: g.Process, Command: g.Command, Total: g.Total, Functions: g.Functions}
}

// graphOf gives counts the form that trees of calls give.
func graphOf(e *abp.ProcessEntry) calls.GraphJSON {
	m := methodsOf(e)
	out := calls.GraphJSON{Process: m.Process, Command: m.Command, Total: m.Total, Functions: m.Functions, Edges: []calls.EdgeJSON{}}
	function := func(i int) *calls.FunctionJSON {
		if i < 0 || i >= len(m.Functions) {
			return nil
		}
		return &m.Functions[i].FunctionJSON
	}
	for _, c := range e.Counted.Edges {
		j := calls.EdgeJSON{Caller: function(c.Caller), Callee: function(c.Callee), Calls: c.Calls, Sites: []calls.SiteJSON{}}
		if j.Callee == nil {
			continue // of a file that others have written
		}
		for _, s := range c.Sites {
			j.Sites = append(j.Sites, calls.SiteJSON{Address: s[0], Calls: s[1]})
		}
		out.Edges = append(out.Edges, j)
	}
	return out
}

// methodsOf gives counts the form that trees of calls give.
func methodsOf(e *abp.ProcessEntry) calls.MethodsJSON {
	out := calls.MethodsJSON{Process: e.Number, Command: e.Command, Total: e.Counts, Functions: []calls.MethodJSON{}}
	for _, f := range e.Counted.Functions {
		m := calls.MethodJSON{Calls: f.Calls}
		m.Name, m.Image = f.Name, f.Image
		if m.Name == "" {
			m.Name = calls.NoFunction
		}
		if m.Image == "" {
			m.Image = analysis.ImageName(nil)
		}
		m.Exclusive.Instructions = f.Instructions
		out.Functions = append(out.Functions, m)
	}
	return out
}

// printMethods prints counts of a process.
func (a *app) printMethods(m *calls.MethodsJSON, top int) {
	fmt.Fprintf(a.stdout, "Process %d: %s\n  %s instructions; what functions call is not counted for them\n\n", m.Process, analysis.PrintableCommand(m.Command),
		analysis.FormatExact(m.Total.Instructions))
	t := analysis.NewTextTable("function", "image", "calls", "exclusive", "%")
	t.Text = 2
	for i := range m.Functions {
		if top > 0 && i == top {
			t.More = len(m.Functions) - i
			break
		}
		f := &m.Functions[i]
		t.Add(f.Name, f.Image, analysis.FormatExact(f.Calls), analysis.FormatExact(f.Exclusive.Instructions),
			fmt.Sprintf("%.1f", 100*float64(f.Exclusive.Instructions)/float64(max(m.Total.Instructions, 1))))
	}
	t.Write(a.stdout, "  ")
}

// printGraph prints who called whom in a process, the functions with the most calls first.
func (a *app) printGraph(g *calls.GraphJSON, top int) {
	fmt.Fprintf(a.stdout, "Process %d: %s\n  %s instructions; what functions call is not counted for them\n\n", g.Process, analysis.PrintableCommand(g.Command),
		analysis.FormatExact(g.Total.Instructions))
	callers, callees := map[*calls.FunctionJSON][]*calls.EdgeJSON{}, map[*calls.FunctionJSON][]*calls.EdgeJSON{}
	for i := range g.Edges {
		e := &g.Edges[i]
		callers[e.Callee] = append(callers[e.Callee], e)
		callees[e.Caller] = append(callees[e.Caller], e)
	}
	functions := make([]*calls.MethodJSON, len(g.Functions))
	for i := range functions {
		functions[i] = &g.Functions[i]
	}
	slices.SortStableFunc(functions, func(a, b *calls.MethodJSON) int { return cmp.Compare(b.Calls, a.Calls) })
	t := analysis.NewTextTable("", "function", "image", "calls", "exclusive")
	t.Text = 3
	row := func(how string, f *calls.FunctionJSON, n uint64) {
		if f == nil {
			f = &calls.FunctionJSON{Name: calls.UnknownCaller}
		}
		t.Add(how, f.Name, f.Image, analysis.FormatExact(n), "")
	}
	for i, f := range functions {
		if top > 0 && i == top {
			t.More = len(functions) - i
			break
		}
		if i > 0 {
			t.Add("", "", "", "", "")
		}
		for _, e := range callers[&f.FunctionJSON] {
			row("  from", e.Caller, e.Calls)
		}
		t.Add("function", f.Name, f.Image, analysis.FormatExact(f.Calls), analysis.FormatExact(f.Exclusive.Instructions))
		for _, e := range callees[&f.FunctionJSON] {
			row("  to", e.Callee, e.Calls)
		}
	}
	t.Write(a.stdout, "  ")
}

// pathsCommand counts acyclic paths.
func (a *app) pathsCommand() *cobra.Command {
	var all wholeFlags
	c := &cobra.Command{
		Use:   "paths PROFILE",
		Short: "Count paths through functions: which ways hot code takes, by source line",
		Long: `paths counts how often each path through a function was executed (Ball and Larus).
A path begins where the function is entered, or at the target of a backward jump, and
ends at a return or at the next backward jump: loops are cut at jumps to lower
addresses. Paths are shown as source lines where images have debug information, else as
addresses in the image's file. Code is followed as far as it was recorded: record with
--select any, and with addresses, which tell which call a return belongs to.`,
		Example: "  alleria record --analysis paths -o out -- ./tool\n  alleria analyze paths out",
		Args:    oneProfile,
		RunE: func(_ *cobra.Command, args []string) error {
			return eachResult(a, args, &all, lacksPaths, func(p *abp.Profile, proc *abp.Process, q abp.Query, progress *analysis.Progress) (*paths.Result, error) {
				return foundOr(a, proc, "paths", &all.orderFlags, nil, func() (*paths.Result, error) { return paths.Count(p, proc, calls.QueryOf(proc, q), progress) })
			}, func(proc *abp.Process, r *paths.Result) error { return a.printPaths(proc, r, all.top) })
		},
	}
	all.register(c.Flags(), "with everything in it")
	all.registerTop(c.Flags(), "paths")
	return c
}

// printPaths prints paths with the lines that the images of the process have.
func (a *app) printPaths(proc *abp.Process, r *paths.Result, top int) (err error) {
	src := newSourceLines()
	defer func() { err = errors.Join(err, src.close()) }()
	return r.Write(a.stdout, top, func(path string, base, addr uint64) (string, int, bool) {
		for i := range proc.Images() {
			if img := &proc.Images()[i]; img.Path == path && img.Base == base {
				file, line, ok := src.find(img, addr)
				return filepath.Base(file), line, ok && file != ""
			}
		}
		return "", 0, false
	})
}
