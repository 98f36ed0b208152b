// Package present prints captured calls: as text, a line or an indented block each, as JSON, as rows, as statistics, or as the allocations that nobody has freed.
//
// Who goes through calls (intercepts.EachOf) gives each to a Printer, and tells it of their end. Options are a user's; errors are those of the writer. What a call is,
// and which calls are asked for, is package intercepts'.
package present

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"alleria/abp"
	"alleria/abp/calls"
	"alleria/analysis/intercepts"
)

// Printer prints calls in some form.
type Printer interface {
	Entries() bool                 // whether it wants to be told of entries as well
	Call(i *intercepts.Item) error // prints one, or takes it in
	End() error                    // prints what comes of all
}

// Options is how calls are printed.
type Options struct {
	Nested, Table, Callers bool // of text: entries and ends, columns, who has called
	JSON, CSV              bool
	Elements, Text         int // how many elements of an array, and bytes of a text, are shown
}

// List prints calls as the options ask for.
func List(w *bufio.Writer, o Options, names *intercepts.Callers) Printer {
	switch {
	case o.JSON:
		return &jsonPrinter{enc: json.NewEncoder(w), names: names}
	case o.CSV:
		return &csvPrinter{w: csv.NewWriter(w), o: o, names: names}
	}
	return &textPrinter{w: w, o: o, names: names, format: calls.Format{Elements: o.Elements, Bytes: o.Text}}
}

// Statistics prints what calls have in common, and Leaks the allocations that were never freed, at the end.
func Statistics(w *bufio.Writer, o Options, names *intercepts.Callers) Printer {
	return &statsPrinter{w: w, o: o, names: names, stats: intercepts.NewStats()}
}
func Leaks(w *bufio.Writer, o Options, names *intercepts.Callers) Printer {
	return &leaksPrinter{w: w, o: o, names: names, leaks: intercepts.NewLeaks()}
}

// textPrinter prints a line for each call, or for each entry and end.
type textPrinter struct {
	w      *bufio.Writer
	o      Options
	names  *intercepts.Callers
	format calls.Format
	buf    []byte
}

func (p *textPrinter) Entries() bool { return p.o.Nested }
func (p *textPrinter) End() error    { return nil }

func (p *textPrinter) Call(i *intercepts.Item) error {
	p.buf = p.buf[:0]
	switch {
	case p.o.Nested:
		p.nested(i)
	case p.o.Table:
		c := i.Call
		p.buf = fmt.Appendf(p.buf, "%12.6f  %s/%d  %10s  %3d  ", i.Seconds(c.Start), abp.ProgramName(i.Process.Number(), i.Process.Generation()), c.Thread, durationOf(i), c.Depth)
		p.buf = p.format.AppendCall(p.buf, c, i.Calls.Table)
	default:
		p.buf = p.format.AppendCall(p.buf, i.Call, i.Calls.Table)
	}
	if p.o.Callers && (i.Entered || !p.o.Nested) {
		if caller := p.names.Of(i); caller != "" {
			p.buf = append(append(p.buf, " from "...), caller...)
		}
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
	names *intercepts.Callers
}

func (p *jsonPrinter) Entries() bool { return false }
func (p *jsonPrinter) End() error    { return nil }

func (p *jsonPrinter) Call(i *intercepts.Item) error {
	return p.enc.Encode(intercepts.NewRow(i, p.names.Of(i)))
}

// csvPrinter prints rows; arguments as they are printed in text.
type csvPrinter struct {
	w     *csv.Writer
	o     Options
	names *intercepts.Callers
	begun bool
}

func (p *csvPrinter) Entries() bool { return false }

func (p *csvPrinter) Call(i *intercepts.Item) error {
	if !p.begun {
		p.begun = true
		if err := p.w.Write([]string{"process", "thread", "call", "seconds", "duration", "depth", "function", "caller", "arguments", "result", "out", "end"}); err != nil {
			return err
		}
	}
	c, format := i.Call, calls.Format{Elements: p.o.Elements, Bytes: p.o.Text}
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
		fmt.Sprintf("%.9f", i.Seconds(c.Start)), took, strconv.Itoa(c.Depth), c.Sig.Name, p.names.Of(i),
		strings.Join(in, "; "), result, strings.Join(out, "; "), c.End.String()})
}

func (p *csvPrinter) End() error {
	p.w.Flush()
	return p.w.Error()
}

// statsPrinter prints statistics.
type statsPrinter struct {
	w     *bufio.Writer
	o     Options
	names *intercepts.Callers
	stats *intercepts.Stats
}

func (p *statsPrinter) Entries() bool { return false }

func (p *statsPrinter) Call(i *intercepts.Item) error {
	p.stats.Add(i, p.names.Of(i))
	return nil
}

func (p *statsPrinter) End() error {
	list := p.stats.List(10)
	if p.o.JSON {
		if list == nil {
			list = []*intercepts.FunctionStats{}
		}
		return writeJSON(p.w, list)
	}
	for _, f := range list {
		fmt.Fprintf(p.w, "%s: %d calls, %d returned; %.6f s inside, %.6f s of it exclusive, %.1f to %.1f us a call\n",
			f.Function, f.Calls, f.Returned, f.Total, f.Self, 1e6*f.Min, 1e6*f.Max)
		for i := range f.Values {
			v := &f.Values[i]
			fmt.Fprintf(p.w, "  %s:", v.Name)
			if v.Mean != nil {
				fmt.Fprintf(p.w, " %g to %g, mean %.6g;", *v.Min, *v.Max, *v.Mean)
			}
			more := ""
			if v.More {
				more = " or more"
			}
			fmt.Fprintf(p.w, " %d%s distinct\n", v.Distinct, more)
			for _, c := range v.Top {
				fmt.Fprintf(p.w, "    %10d  %s\n", c.Count, c.Value)
			}
		}
		for i, c := range f.Callers {
			if i == 0 {
				fmt.Fprintln(p.w, "  callers:")
			}
			fmt.Fprintf(p.w, "    %10d  %s\n", c.Count, c.Value)
		}
	}
	return nil
}

// leaksPrinter prints the allocations that were never freed.
type leaksPrinter struct {
	w     *bufio.Writer
	o     Options
	names *intercepts.Callers
	leaks *intercepts.Leaks
}

func (p *leaksPrinter) Entries() bool { return true }

func (p *leaksPrinter) Call(i *intercepts.Item) error {
	p.leaks.Add(i)
	return nil
}

// leak is an allocation as --json prints it.
type leak struct {
	Process  uint32  `json:"process"`
	Thread   uint32  `json:"thread"`
	Call     uint64  `json:"call"`
	Function string  `json:"function"`
	Seconds  float64 `json:"seconds"`
	Address  string  `json:"address"`
	Bytes    uint64  `json:"bytes"`
	Caller   string  `json:"caller"`
}

// leakSum is the document of --leaks --json.
type leakSum struct {
	Allocations uint64 `json:"allocations"`
	Freed       uint64 `json:"freed"`
	Bytes       uint64 `json:"bytes"`      // of all
	LiveBytes   uint64 `json:"live_bytes"` // of those that were not freed
	Live        []leak `json:"live"`
}

func (p *leaksPrinter) End() error {
	sum := leakSum{Allocations: p.leaks.Allocations, Freed: p.leaks.Freed, Bytes: p.leaks.Bytes, Live: []leak{}}
	for _, l := range p.leaks.Live() {
		sum.LiveBytes += l.Size
		sum.Live = append(sum.Live, leak{l.Process, l.Thread, l.Call, l.By, l.Seconds, fmt.Sprintf("%#x", l.Address), l.Size, p.names.Name(l.Of, l.Caller)})
	}
	if p.o.JSON {
		return writeJSON(p.w, sum)
	}
	fmt.Fprintf(p.w, "%d allocations of %d bytes, %d freed; never freed: %d, of %d bytes\n", sum.Allocations, sum.Bytes, sum.Freed, len(sum.Live), sum.LiveBytes)
	for _, l := range sum.Live {
		fmt.Fprintf(p.w, "%10d bytes at %s by %s, called from %s (process %d, thread %d, after %.6f s)\n", l.Bytes, l.Address, l.Function, l.Caller, l.Process, l.Thread, l.Seconds)
	}
	return nil
}

// writeJSON prints one document.
func writeJSON(w *bufio.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}
