package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"alleria/abp"
	"alleria/abp/calls"
	"alleria/analysis/intercepts"
	"alleria/analysis/intercepts/present"
	"alleria/config"
	"alleria/config/draft"
	"alleria/config/vocab"
	"alleria/interceptors"
	"alleria/internal/against"
	"alleria/internal/symbols"
)

// interceptsFlags are the options of alleria intercepts.
type interceptsFlags struct {
	filter   queryFlags
	where    []string
	nested   bool
	table    bool
	json     bool
	csv      bool
	stats    bool
	leaks    bool
	live     bool
	callers  bool
	limit    uint64
	elements int
	text     int
}

// interceptsCommand prints captured calls.
func (a *app) interceptsCommand() *cobra.Command {
	var f interceptsFlags
	c := &cobra.Command{
		Use:   "intercepts PROFILE...",
		Short: "Print captured calls with arguments, results and times, or statistics of them",
		Args:  someProfiles,
		RunE: func(_ *cobra.Command, args []string) error {
			q, err := f.query()
			if err != nil {
				return err
			}
			if f.live {
				return a.liveIntercepts(args, &f, q)
			}
			return a.openProfiles(args, func(profiles []*abp.Profile) error {
				return a.intercepts(profiles, &f, q)
			})
		},
	}
	fl := c.Flags()
	fl.UintSliceVar(&f.filter.processes, "process", nil, "only these processes, by `number`")
	fl.UintSliceVar(&f.filter.threads, "thread", nil, "only these threads, by `number` within their process")
	fl.StringArrayVar(&f.filter.functions, "function", nil, "only calls of this `function`; * stands for anything; may be repeated")
	fl.StringVar(&f.filter.time, "time", "", "only calls entered in this `range` of seconds since the start: 0.5-1.5")
	fl.StringArrayVar(&f.where, "where", nil, "only calls for which this `condition` holds: fd=3, size>4096, path~/etc, result<0, box.width!=0; may be repeated")
	fl.BoolVar(&f.nested, "nested", false, "print calls as they are entered, indented by depth, and as they end")
	fl.BoolVar(&f.table, "table", false, "print a table: seconds, thread, duration, depth, call")
	fl.BoolVar(&f.json, "json", false, "print a line of JSON for each call, or one document with --stats and --leaks")
	fl.BoolVar(&f.csv, "csv", false, "print comma-separated values")
	fl.BoolVar(&f.stats, "stats", false, "print for each function: calls, inclusive and exclusive times, callers, and the distribution of values")
	fl.BoolVar(&f.leaks, "leaks", false, "print the allocations that were never freed, from calls of malloc, free and the like")
	fl.BoolVar(&f.live, "live", false, "follow a recording that is still running, until it ends")
	fl.BoolVar(&f.callers, "callers", false, "print with each call where it was made")
	fl.Uint64Var(&f.limit, "limit", 0, "print at most this `number` of calls")
	fl.IntVar(&f.elements, "max-elements", 32, "print at most this `number` of elements of an array; 0: all")
	fl.IntVar(&f.text, "max-string", 200, "print at most this `number` of bytes of a string; 0: all")
	c.MarkFlagsMutuallyExclusive("nested", "table", "json", "csv")
	c.MarkFlagsMutuallyExclusive("stats", "leaks", "live")
	return c
}

// query makes the query of the flags.
func (f *interceptsFlags) query() (*intercepts.Query, error) {
	q := &intercepts.Query{Functions: f.filter.functions}
	for _, n := range f.filter.threads {
		q.Threads = append(q.Threads, uint32(n))
	}
	for _, w := range f.where {
		c, err := intercepts.ParseCondition(w)
		if err != nil {
			return nil, usagef("--where %w", err)
		}
		q.Where = append(q.Where, c)
	}
	if t := f.filter.time; t != "" {
		from, to, ok := strings.Cut(t, "-")
		var err error
		if q.From, err = seconds(from); err == nil && ok {
			q.To, err = seconds(to)
		}
		if err != nil || !ok || math.IsNaN(q.From) || math.IsNaN(q.To) {
			return nil, usagef("--time %s: two numbers of seconds with - between them are needed, such as 0.5-1.5", t)
		}
	}
	return q, nil
}

// seconds reads one end of a range of time, which may be left out.
func seconds(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	return strconv.ParseFloat(s, 64)
}

// meant tells whether a process is asked about.
func (f *interceptsFlags) meant(p *abp.Process) bool {
	for _, n := range f.filter.processes {
		if uint32(n) == p.Number() {
			return true
		}
	}
	return len(f.filter.processes) == 0
}

// intercepts prints what the flags ask for.
func (a *app) intercepts(profiles []*abp.Profile, f *interceptsFlags, q *intercepts.Query) error {
	if err := f.known(profiles, q); err != nil {
		return err
	}
	w := bufio.NewWriterSize(a.stdout, 64<<10)
	names := intercepts.NewCallers(fetcher())
	defer names.Close()
	var p present.Printer
	switch {
	case f.stats:
		p = present.Statistics(w, f.options(), names)
	case f.leaks:
		p = present.Leaks(w, f.options(), names)
	default:
		p = present.List(w, f.options(), names)
	}
	p = f.limited(p)
	some := false
	err := eachProcess(profiles, f, func(proc *abp.Process) error {
		c, err := proc.Calls()
		if err != nil || c == nil {
			return err
		}
		defer func() { _ = c.Close() }() // read only
		some = true
		return intercepts.EachOf(proc, c, q, p.Entries(), p.Call)
	})
	if err == errLimit {
		err = nil
	}
	if err == nil {
		err = p.End()
	}
	if ferr := w.Flush(); err == nil && ferr != nil {
		err = fmt.Errorf("print calls: %w", ferr)
	}
	if err == nil && !some {
		fmt.Fprintln(a.messages(), "alleria: no calls were captured: the configuration has no Intercept for any of these processes")
	}
	return err
}

// known refuses names that no captured function, and no parameter of those that are asked about, has: an empty answer to a misspelt question looks like a
// fact about the program.
func (f *interceptsFlags) known(profiles []*abp.Profile, q *intercepts.Query) error {
	v := intercepts.NewVocabulary(q)
	if err := eachProcess(profiles, f, func(proc *abp.Process) error {
		c, err := proc.Calls()
		if err != nil || c == nil {
			return err
		}
		v.Add(c)
		return c.Close()
	}); err != nil {
		return err
	}
	if v.Empty() { // nothing was captured, which is said
		return nil
	}
	if f.leaks && !(v.Allocates && v.Frees) {
		return usagef("--leaks: functions that allocate memory and functions that free it have to be captured: record --intercept '*alloc@libc.so.6' --intercept free@libc.so.6")
	}
	hint := func(name string, names []string) string {
		if near := vocab.Nearest(name, names); near != "" {
			return "; the nearest name is " + near
		}
		return "; alleria intercepts --stats lists what was"
	}
	for _, name := range q.Functions {
		if !v.HasFunction(name) {
			return usagef("--function %s: no call of such a function was to be captured%s", name, hint(name, v.Functions()))
		}
	}
	for i := range q.Where {
		if name := q.Where[i].Name; !v.HasParameter(&q.Where[i]) {
			return usagef("--where %s: no captured function that is asked about has such a parameter or field%s", name, hint(name, v.Parameters()))
		}
	}
	return nil
}

// options is how calls are printed.
func (f *interceptsFlags) options() present.Options {
	return present.Options{Nested: f.nested, Table: f.table, Callers: f.callers, JSON: f.json, CSV: f.csv, Elements: f.elements, Text: f.text}
}

// errLimit ends a list that is long enough.
var errLimit = fmt.Errorf("the limit is reached")

// eachProcess goes through the processes that are asked about.
func eachProcess(profiles []*abp.Profile, f *interceptsFlags, do func(*abp.Process) error) error {
	for _, p := range profiles {
		for _, proc := range p.Processes() {
			if !f.meant(proc) {
				continue
			}
			if err := do(proc); err != nil {
				return err
			}
		}
	}
	return nil
}

// livePause is how long a follower waits for more.
const livePause = 100 * time.Millisecond

// liveIntercepts follows a run's calls while they are recorded, as strace does: each is printed when it has ended.
//
// The files are read again from where they ended the last time: what the recorder appends is whole blocks.
func (a *app) liveIntercepts(paths []string, f *interceptsFlags, q *intercepts.Query) error {
	if len(paths) != 1 {
		return usagef("--live follows one run")
	}
	w := bufio.NewWriter(a.stdout)
	names := intercepts.NewCallers(fetcher())
	defer names.Close()
	p := f.limited(present.List(w, f.options(), names))
	followed := make(map[string]*abp.CallFollower)
	defer func() {
		for _, c := range followed {
			_ = c.Close() // read only
		}
	}()
	for {
		run, err := abp.ReadRun(paths[0])
		over := err == nil && run.Outcome.State != abp.OutcomeRunning
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, abp.ErrCorrupt) {
			return err
		}
		err = a.followOnce(paths[0], f, q, p, followed, over)
		if err == errLimit {
			err, over = nil, true
		}
		if err != nil {
			return err
		}
		if err := w.Flush(); err != nil {
			return fmt.Errorf("print calls: %w", err)
		}
		if over {
			return p.End()
		}
		time.Sleep(livePause)
	}
}

// followOnce prints what has come since the last time; over: nothing will come any more.
func (a *app) followOnce(path string, f *interceptsFlags, q *intercepts.Query, p present.Printer, followed map[string]*abp.CallFollower, over bool) error {
	profile, err := abp.Open(path)
	if err != nil {
		if over {
			return &statusError{statusUsage, err}
		}
		return nil // not begun yet, or half of a section is there
	}
	defer func() { _ = profile.Close() }() // read only
	for _, proc := range profile.Processes() {
		if !f.meant(proc) {
			continue
		}
		c := followed[proc.Name()]
		if c == nil {
			if c, err = proc.FollowCalls(); err != nil || c == nil {
				if over && err != nil {
					return err
				}
				continue
			}
			followed[proc.Name()] = c
		}
		hand := func(entered bool) func(*calls.Call) error {
			return func(call *calls.Call) error {
				i := &intercepts.Item{Process: proc, Calls: c.Calls(), Call: call, Entered: entered}
				if !q.Chooses(i) {
					return nil
				}
				return p.Call(i)
			}
		}
		h := abp.CallHandler{Ended: hand(false)}
		if p.Entries() {
			h.Entered = hand(true)
		}
		if err := c.Next(h, over); err != nil {
			return err
		}
	}
	return nil
}

// prototypeFlags name files that declare functions of which there is no debug information.
type prototypeFlags struct {
	headers    []string
	prototypes []string
}

func (f *prototypeFlags) register(fl *pflag.FlagSet) {
	fl.StringArrayVar(&f.headers, "header", nil, "take prototypes of functions from this C `file`; may be repeated")
	fl.StringArrayVar(&f.prototypes, "prototypes", nil, "take prototypes of functions from this `file`, written as for ltrace; may be repeated")
}

// load reads the files; nil if there are none.
func (f *prototypeFlags) load() (*interceptors.Declarations, error) {
	if len(f.prototypes)+len(f.headers) == 0 {
		return nil, nil
	}
	d := &interceptors.Declarations{}
	for _, name := range f.prototypes {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, usagef("--prototypes: %w", err)
		}
		if err := d.ParsePrototypes(name, string(text)); err != nil {
			return nil, usagef("--prototypes: %w", err)
		}
	}
	for _, name := range f.headers {
		if err := d.Header(name); err != nil {
			return nil, usagef("--header: %w", err)
		}
	}
	return d, nil
}

// newIntercepts writes a configuration that captures calls of functions, with their types written out.
func (a *app) newIntercepts(f *newFlags) error {
	if f.program == "" {
		return usagef("--intercept looks functions up in a program: alleria new --intercept FUNCTION PROGRAM")
	}
	t, err := openTarget(f.program)
	if err != nil {
		return err
	}
	defer t.Close()
	c := interceptors.NewCompiler()
	if c.Added, err = f.load(); err != nil {
		return err
	}
	e := interceptors.NewExplicit(c)
	byImage := make(map[string][]string)
	var images []string
	for _, name := range f.intercepts {
		image, lines, err := interceptLines(t, c, e, name, f.depth)
		if err != nil {
			return err
		}
		if byImage[image] == nil {
			images = append(images, image)
		}
		byImage[image] = append(byImage[image], lines...)
	}
	var w draft.Writer
	w.Put(0, `<AlleriaConfig version="1.0"`)
	w.Put(0, `    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"`)
	w.Put(0, `    xsi:noNamespaceSchemaLocation="alleria.xsd">`)
	w.Comment(1, "Arguments and results of calls. in: as at entry, out: as at return. Leave out what is of no interest.")
	if types := e.Types(); len(types) > 0 {
		w.Put(1, "<Types>")
		for _, lines := range types {
			w.Lines(2, strings.Split(lines, "\n"))
		}
		w.Put(1, "</Types>")
	}
	w.Lines(1, []string{"<Window>", "  <Profile>", "    <Process>", "      <Thread>"})
	for _, image := range images {
		w.Put(5, "<Image %s>", image)
		w.Lines(6, byImage[image])
		w.Put(5, "</Image>")
	}
	w.Lines(1, []string{"      </Thread>", "    </Process>", "  </Profile>", "</Window>"})
	w.Put(0, "</AlleriaConfig>")
	if _, _, err := config.Parse("(options)", w.Bytes()); err != nil {
		return fmt.Errorf("the configuration that describes these functions is wrong, which is a bug in alleria: %w", err)
	}
	if f.output == "" {
		_, err := a.stdout.Write(w.Bytes())
		return err
	}
	return f.write(a, w.Bytes())
}

// interceptLines finds a function and gives the lines of its Function, and the attribute of its Image.
func interceptLines(t *against.Target, c *interceptors.Compiler, e *interceptors.Explicit, name string, depth int) (image string, lines []string, err error) {
	function, where := config.SplitFunction(name)
	for _, im := range t.Images() {
		if where != "" && !im.Key.HasName(where) && !im.Key.HasPath(where) && (where != "main" || !im.Key.Main) {
			continue
		}
		for _, fn := range im.Find(function, false) {
			if fn.Kind == symbols.PLT {
				continue
			}
			p := c.Known(im.Image, im.Key.System, fn, fn.Addr, function, depth)
			if p == nil {
				return "", nil, usagef("--intercept %s: there is neither debug information nor a known prototype of it; --header FILE or --prototypes FILE gives one", name)
			}
			image = "name=" + draft.Quoted(im.Name)
			if im.Key.Main {
				image = `main="true"`
			}
			lines = append(lines, "<Function name="+draft.Quoted(function)+">")
			for _, line := range e.Intercept(p) {
				lines = append(lines, "  "+line)
			}
			return image, append(lines, "</Function>"), nil
		}
	}
	return "", nil, usagef("--intercept %s: neither the program nor its libraries have that function; alleria functions lists what there is", name)
}
