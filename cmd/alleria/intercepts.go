package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"alleria/abp"
	"alleria/abp/calls"
	"alleria/analysis/intercepts"
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
		Short: "Print captured calls: arguments, results, times; their statistics",
		Args:  someProfiles,
		RunE: func(_ *cobra.Command, args []string) error {
			q, err := f.query()
			if err != nil {
				return err
			}
			if f.live {
				return a.liveIntercepts(args, &f, q)
			}
			return openProfiles(args, func(profiles []*abp.Profile) error {
				a.warnGaps(profiles)
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
	fl.BoolVar(&f.nested, "nested", false, "print calls as they are entered, indented by depth, and how they are left")
	fl.BoolVar(&f.table, "table", false, "print a table: seconds, thread, duration, depth, call")
	fl.BoolVar(&f.json, "json", false, "print a line of JSON for each call, or one document with --stats and --leaks")
	fl.BoolVar(&f.csv, "csv", false, "print comma-separated values")
	fl.BoolVar(&f.stats, "stats", false, "print for each function: calls, times inside and exclusive, callers, and how values were distributed")
	fl.BoolVar(&f.leaks, "leaks", false, "print the allocations that were never freed, from calls of malloc, free and their like")
	fl.BoolVar(&f.live, "live", false, "follow a recording that is still going on, until it ends")
	fl.BoolVar(&f.callers, "callers", false, "with each call, print where it was made")
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
		if err != nil || !ok {
			return nil, usagef("--time %s: two numbers of seconds with - between them are wanted, such as 0.5-1.5", t)
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
	w := bufio.NewWriterSize(a.stdout, 64<<10)
	names := intercepts.NewCallers()
	defer names.Close()
	var p callPrinter
	switch {
	case f.stats:
		p = &statsPrinter{app: a, w: w, f: f, names: names, stats: intercepts.NewStats()}
	case f.leaks:
		p = &leaksPrinter{app: a, w: w, f: f, names: names, leaks: intercepts.NewLeaks()}
	default:
		p = f.printer(w, names)
	}
	some := false
	left := f.limit
	err := eachProcess(profiles, f, func(proc *abp.Process) error {
		c, err := proc.Calls()
		if err != nil || c == nil {
			return err
		}
		defer func() { _ = c.Close() }() // read only
		some = true
		return intercepts.EachOf(proc, c, q, p.entries(), func(i *intercepts.Item) error {
			if f.limit > 0 && !i.Entered {
				if left == 0 {
					return errLimit
				}
				left--
			}
			return p.call(i)
		})
	})
	if err == errLimit {
		err = nil
	}
	if err == nil {
		err = p.end()
	}
	if ferr := w.Flush(); err == nil && ferr != nil {
		err = fmt.Errorf("print calls: %w", ferr)
	}
	if err == nil && !some {
		fmt.Fprintln(a.messages(), "alleria: no calls were captured: the configuration has no Intercept for any of these processes")
	}
	return err
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

// callPrinter prints calls in some form.
type callPrinter interface {
	entries() bool // whether it wants to be told of entries as well
	call(i *intercepts.Item) error
	end() error
}

// printer is what the flags ask for of lists.
func (f *interceptsFlags) printer(w *bufio.Writer, names *intercepts.Callers) callPrinter {
	switch {
	case f.json:
		return &jsonPrinter{enc: json.NewEncoder(w), f: f, names: names}
	case f.csv:
		return &csvPrinter{w: csv.NewWriter(w), f: f, names: names}
	}
	return &textPrinter{w: w, f: f, names: names, format: calls.Format{Elements: f.elements, Bytes: f.text}}
}

// textPrinter prints a line for each call, or for each entry and end.
type textPrinter struct {
	w      *bufio.Writer
	f      *interceptsFlags
	names  *intercepts.Callers
	format calls.Format
	buf    []byte
}

func (p *textPrinter) entries() bool { return p.f.nested }
func (p *textPrinter) end() error    { return nil }

func (p *textPrinter) call(i *intercepts.Item) error {
	p.buf = p.buf[:0]
	switch {
	case p.f.nested:
		p.nested(i)
	case p.f.table:
		c := i.Call
		p.buf = fmt.Appendf(p.buf, "%12.6f  %s/%d  %10s  %3d  ", i.Seconds(c.Start), abp.ProgramName(i.Process.Number(), i.Process.Generation()), c.Thread, durationOf(i), c.Depth)
		p.buf = p.format.AppendCall(p.buf, c, i.Calls.Table)
	default:
		p.buf = p.format.AppendCall(p.buf, i.Call, i.Calls.Table)
	}
	if p.f.callers && (i.Entered || !p.f.nested) {
		p.buf = append(append(p.buf, " from "...), p.names.Name(i.Process, i.Call.Caller)...)
	}
	p.buf = append(p.buf, '\n')
	_, err := p.w.Write(p.buf)
	return err
}

// nested appends an entry, or the end of a call under the brace that it opened.
func (p *textPrinter) nested(i *intercepts.Item) {
	c := i.Call
	p.buf = fmt.Appendf(p.buf, "%s/%d ", abp.ProgramName(i.Process.Number(), i.Process.Generation()), c.Thread)
	for range c.Depth {
		p.buf = append(p.buf, "  "...)
	}
	if i.Entered {
		p.buf = append(p.format.AppendEntry(p.buf, c, i.Calls.Table), " {"...)
		return
	}
	p.buf = append(p.buf, "} "...)
	p.buf = append(p.buf, c.Sig.Name...)
	p.buf = p.format.AppendExit(append(p.buf, ' '), c, i.Calls.Table)
}

// durationOf is how long a call took, in words.
func durationOf(i *intercepts.Item) string {
	c := i.Call
	if c.End != calls.Returned {
		return "-"
	}
	return fmt.Sprintf("%.1f us", 1e6*(i.Seconds(c.Stop)-i.Seconds(c.Start)))
}

// jsonPrinter prints a line of JSON for each call.
type jsonPrinter struct {
	enc   *json.Encoder
	f     *interceptsFlags
	names *intercepts.Callers
}

func (p *jsonPrinter) entries() bool { return false }
func (p *jsonPrinter) end() error    { return nil }

func (p *jsonPrinter) call(i *intercepts.Item) error {
	return p.enc.Encode(intercepts.NewRow(i, p.names.Name(i.Process, i.Call.Caller)))
}

// csvPrinter prints rows; arguments as they are printed in text.
type csvPrinter struct {
	w     *csv.Writer
	f     *interceptsFlags
	names *intercepts.Callers
	begun bool
}

func (p *csvPrinter) entries() bool { return false }

func (p *csvPrinter) call(i *intercepts.Item) error {
	if !p.begun {
		p.begun = true
		if err := p.w.Write([]string{"process", "thread", "call", "seconds", "duration", "depth", "function", "caller", "arguments", "result", "out", "end"}); err != nil {
			return err
		}
	}
	c, format := i.Call, calls.Format{Elements: p.f.elements, Bytes: p.f.text}
	var in, out []string
	result, took := "", ""
	args, _ := c.In(i.Calls.Table)
	for _, v := range args {
		in = append(in, intercepts.ParamName(c.Sig, &v)+"="+string(format.Append(nil, v.Value)))
	}
	rest, _ := c.Out(i.Calls.Table)
	for _, v := range rest {
		if v.Param == calls.ResultParam {
			result = string(format.Append(nil, v.Value))
			continue
		}
		out = append(out, intercepts.ParamName(c.Sig, &v)+"="+string(format.Append(nil, v.Value)))
	}
	if c.End == calls.Returned {
		took = fmt.Sprintf("%.9f", i.Seconds(c.Stop)-i.Seconds(c.Start))
	}
	return p.w.Write([]string{abp.ProgramName(i.Process.Number(), i.Process.Generation()), strconv.Itoa(int(c.Thread)), strconv.FormatUint(c.Number, 10),
		fmt.Sprintf("%.9f", i.Seconds(c.Start)), took, strconv.Itoa(c.Depth), c.Sig.Name, p.names.Name(i.Process, c.Caller),
		strings.Join(in, "; "), result, strings.Join(out, "; "), c.End.String()})
}

func (p *csvPrinter) end() error {
	p.w.Flush()
	return p.w.Error()
}
