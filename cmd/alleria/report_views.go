package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/adaptive"
	"alleria/analysis/calls"
)

// reportViews are the flags that have report show something else than its tables. One at a
// time: each is a table of its own.
type reportViews struct {
	inclusive             bool
	callers, callees      string
	byLine, byInstruction bool
	byAddress, byLineOf   bool
	tree, byProgram       bool
	adaptive              bool
	svg                   string // file for the picture of --adaptive
	json                  bool
	top                   int
}

// register declares the flags.
func (v *reportViews) register(fl *pflag.FlagSet) {
	fl.BoolVar(&v.inclusive, "inclusive", false, "functions including what they call, the most inclusive instructions first")
	fl.StringVar(&v.callers, "callers", "", "who calls this `function`; * stands for anything")
	fl.StringVar(&v.callees, "callees", "", "what this `function` calls; * stands for anything")
	fl.BoolVar(&v.byLine, "by-line", false, "source lines, where images have debug information")
	fl.BoolVar(&v.byInstruction, "by-instruction", false, "single instructions")
	fl.BoolVar(&v.byAddress, "by-address", false, "memory in words of 8 bytes, with the code that touches them")
	fl.BoolVar(&v.byLineOf, "by-cacheline", false, "cache lines of 64 bytes, with the threads and how they share them")
	fl.BoolVar(&v.tree, "tree", false, "the tree of processes, each with its own counts and those of its subtree")
	fl.BoolVar(&v.byProgram, "by-program", false, "programs, each with the counts of all processes that executed it")
	fl.BoolVar(&v.adaptive, "adaptive", false, "how the numbers of processing threads and buffers followed the load during the recording, over time, and why")
	fl.StringVar(&v.svg, "svg", "", "with --adaptive: draw it into this `file`")
}

// chosen says which view is asked for, "" the usual report. The names are the flags'.
func (v *reportViews) chosen() (string, error) {
	var names []string
	for name, set := range map[string]bool{"inclusive": v.inclusive, "callers": v.callers != "", "callees": v.callees != "", "by-line": v.byLine,
		"by-instruction": v.byInstruction, "by-address": v.byAddress, "by-cacheline": v.byLineOf, "tree": v.tree, "by-program": v.byProgram, "adaptive": v.adaptive} {
		if set {
			names = append(names, name)
		}
	}
	if v.svg != "" && !v.adaptive {
		return "", usagef("--svg is for --adaptive; heatmap and tree draw their own pictures")
	}
	if v.svg != "" && v.json {
		return "", usagef("--svg and --json are two formats: ask for one")
	}
	slices.Sort(names)
	if len(names) > 1 {
		return "", usagef("--%s and --%s are two reports: ask for one", names[0], names[1])
	}
	return cmp.Or(append(names, "")...), nil
}

// query makes the query of a view. All but those of processes, whose counts run.json has as well, read records.
func (v *reportViews) query(f *queryFlags, view string, profiles []*abp.Profile) (abp.Query, error) {
	if view == "" || v.tree || v.byProgram {
		return f.query(profiles)
	}
	return f.queryRecords(profiles)
}

// show prints a view of each process of each profile.
func (v *reportViews) show(a *app, view string, profiles []*abp.Profile, q abp.Query) error {
	if v.tree || v.byProgram {
		return v.trees(a, view, profiles, q)
	}
	switch view {
	case "inclusive", "callers", "callees":
		a.sayBursts(profiles, q, lacksCallers)
	case "by-address", "by-cacheline", "by-line", "by-instruction":
		a.sayBursts(profiles, q, lacksCounts)
	}
	all := []any{}
	for _, p := range profiles {
		for _, proc := range p.Processes() {
			if len(q.Processes) > 0 && !slices.Contains(q.Processes, proc.Number()) {
				continue
			}
			if !v.json {
				fmt.Fprintf(a.stdout, "Process %d: %s\n", proc.Number(), analysis.PrintableCommand(proc.Header().CommandLine))
			}
			one, err := v.process(a, view, p, proc, q)
			if err != nil {
				return err
			}
			row := map[string]any{"profile": p.Path(), "process": proc.Number(), "view": view, "rows": one}
			if sampling := analysis.SamplingOf(proc); sampling != nil { // all rows are estimates
				row["sampling"] = sampling
			}
			all = append(all, row)
		}
	}
	if v.json {
		return a.printJSON(all)
	}
	return nil
}

// trees prints a view of each profile's processes together.
func (v *reportViews) trees(a *app, view string, profiles []*abp.Profile, q abp.Query) error {
	a.sayBursts(profiles, q, lacksCounts)
	progress, stop := a.reading()
	r, err := analysis.Summarise(profiles, q, progress)
	stop()
	if err != nil {
		return err
	}
	all := []any{}
	for i := range r.Profiles {
		path := r.Profiles[i].Path
		var rows any
		if v.tree {
			rows = r.Tree(path)
		} else {
			rows = r.Programs(path)
		}
		row := map[string]any{"profile": path, "view": view, "rows": rows}
		if i < len(profiles) {
			if sampled := analysis.SampledProcesses(profiles[i:i+1], q); len(sampled) > 0 {
				row["sampling"] = sampled
			}
		}
		all = append(all, row)
		if v.json {
			continue
		}
		if len(r.Profiles) > 1 {
			fmt.Fprintf(a.stdout, "Profile %s\n", path)
		}
		if v.tree {
			err = analysis.WriteTree(a.stdout, r.Tree(path))
		} else {
			err = analysis.WritePrograms(a.stdout, r.Programs(path), v.top)
		}
		if err != nil {
			return err
		}
	}
	if v.json {
		return a.printJSON(all)
	}
	return nil
}

// process prints a view of one process, or returns its rows for JSON.
func (v *reportViews) process(a *app, view string, p *abp.Profile, proc *abp.Process, q abp.Query) (any, error) {
	progress, stop := a.reading()
	switch view {
	case "by-line", "by-instruction":
		all, err := analysis.Instructions(p, proc, q, progress)
		stop()
		if err != nil {
			return nil, err
		}
		if view == "by-line" {
			return v.lines(a, all)
		}
		return v.instructions(a, proc, all)
	case "by-address", "by-cacheline":
		size := uint64(64)
		if view == "by-address" {
			size = 8
		}
		all, err := analysis.Touched(p, proc, q, size, v.top, progress)
		stop()
		if err != nil || v.json {
			return all, err
		}
		return nil, analysis.WriteTouched(a.stdout, all, v.top)
	}
	if len(q.Functions) > 0 || !q.Code.All() || !q.Data.All() {
		stop()
		return nil, usagef("--%s follows calls through all code: --function, --address and --data leave out what it needs", view)
	}
	t, err := calls.Build(p, proc, calls.QueryOf(proc, q), progress)
	stop()
	if err != nil {
		return nil, err
	}
	return v.calls(a, view, t)
}

// calls prints a view of a call tree.
func (v *reportViews) calls(a *app, view string, t *calls.Tree) (any, error) {
	if view == "inclusive" {
		if v.json {
			return t.MethodsJSON().Functions, nil
		}
		return nil, t.WriteInclusive(a.stdout, v.top)
	}
	pattern := cmp.Or(v.callers, v.callees)
	matches := func(f *calls.Function) bool {
		q := abp.Query{Functions: []string{pattern}}
		return f != nil && (q.WantsFunction(&abp.Function{Name: cmp.Or(f.Linked, f.Name), Demangled: f.Name}))
	}
	edges := slices.DeleteFunc(t.Edges(), func(e *calls.Edge) bool {
		if view == "callers" {
			return !matches(e.Callee)
		}
		return !matches(e.Caller)
	})
	if len(edges) == 0 {
		var names []string
		for _, m := range t.Methods() {
			if matches(m.Func) {
				names = nil
				break
			}
			names = append(names, m.Func.Name)
		}
		if names != nil {
			return nil, usagef("--%s %s: nothing was recorded of such a function%s", view, pattern, nearestRecorded(pattern, names))
		}
	}
	if v.json {
		return t.EdgesJSON(edges), nil
	}
	return nil, t.WriteEdges(a.stdout, edges, v.top)
}

// lines prints lines of source.
func (v *reportViews) lines(a *app, all []analysis.InsCount) (rows any, err error) {
	src := newSourceLines()
	defer func() { err = errors.Join(err, src.close()) }()
	lines := analysis.ByLine(all, src.find)
	if v.json {
		return lines, nil
	}
	return nil, analysis.WriteLines(a.stdout, lines, instructionsOf(all), v.top)
}

// instructionsOf is how many were executed together.
func instructionsOf(all []analysis.InsCount) (n uint64) {
	for i := range all {
		n += all[i].Instructions
	}
	return n
}

// instructionRow is a row of report --by-instruction --json.
type instructionRow struct {
	Address uint64 `json:"address"`
	Place   string `json:"place,omitempty"`
	Code    string `json:"code"`
	Text    string `json:"text"`
	abp.Counts
}

// instructions prints single instructions.
func (v *reportViews) instructions(a *app, proc *abp.Process, all []analysis.InsCount) (any, error) {
	total := instructionsOf(all)
	slices.SortStableFunc(all, func(x, y analysis.InsCount) int {
		return cmp.Or(cmp.Compare(y.Instructions, x.Instructions), cmp.Compare(y.Loads+y.Stores, x.Loads+x.Stores))
	})
	d, err := analysis.NewDisassembler(analysis.Intel)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	places := analysis.NewPlaces(proc)
	if !v.json {
		return nil, analysis.WriteInstructions(a.stdout, all, total, v.top, func(c *analysis.InsCount) string { return d.Text(c.Code, c.Addr) }, places.DescribeCode)
	}
	rows := []instructionRow{}
	for i := range all {
		c := &all[i]
		rows = append(rows, instructionRow{c.Addr, places.DescribeCode(c.Place()), fmt.Sprintf("%x", c.Code), d.Text(c.Code, c.Addr), c.Counts})
	}
	return rows, nil
}

// adaptiveColumns is how wide the lines on a terminal are.
const adaptiveColumns = 72

// adaptation shows what runs have adapted: to the terminal, as JSON, or as a picture in a file.
func (v *reportViews) adaptation(a *app, dirs []string) error {
	if v.svg != "" && len(dirs) > 1 {
		return usagef("--svg draws one run, not %d", len(dirs))
	}
	all := []any{}
	for _, dir := range dirs {
		rows, err := abp.ReadAdaptive(dir)
		if errors.Is(err, fs.ErrNotExist) {
			if _, err := abp.ReadRun(dir); err != nil {
				return err
			}
			return fmt.Errorf("%s has no %s: nothing was adapted in it (--ptc, --tuner off, --discard)", dir, abp.AdaptiveFile)
		}
		if err != nil {
			return err
		}
		title := dir
		if run, err := abp.ReadRun(dir); err == nil {
			title = strings.Join(run.Command, " ")
		}
		switch {
		case v.svg != "":
			return drawAdaptation(v.svg, rows, title)
		case v.json:
			all = append(all, map[string]any{"profile": dir, "rows": rows})
		default:
			fmt.Fprintln(a.stdout, title)
			if err := adaptive.Text(a.stdout, adaptive.New(rows, adaptiveColumns), v.top); err != nil {
				return err
			}
		}
	}
	if v.json {
		return a.printJSON(all)
	}
	return nil
}

// drawAdaptation writes the picture.
func drawAdaptation(path string, rows []abp.Adaptation, title string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("picture: %w", err)
	}
	return errors.Join(adaptive.SVG(f, adaptive.New(rows, adaptive.Columns), title), f.Close())
}
