package analysis

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"fmt"
	"html"
	"io"
	"slices"

	"alleria/abp"
)

// Annotated is a function's code with counts. It is the documented JSON.
type Annotated struct {
	Process  uint32     `json:"process"`
	Function string     `json:"function"`
	Image    string     `json:"image"`
	Total    abp.Counts `json:"total"`
	Misses   *Misses    `json:"misses,omitempty"` // where caches were simulated
	// Sampling is there where only bursts were recorded: counts are estimates.
	Sampling *SamplingReport `json:"sampling,omitempty"`
	Rows     []AnnotatedLine `json:"lines"` // in the order of addresses; a line comes again where code goes back to it
}

// AnnotatedLine is a run of instructions of one line of source.
// One without instructions has code that was never executed, at Address.
type AnnotatedLine struct {
	File string `json:"file,omitempty"` // empty: not known
	Line int    `json:"line,omitempty"`
	Text string `json:"text,omitempty"` // of the source, where the file is there
	// Inlined are the functions that the line belongs to, if it was inlined, the innermost first.
	Inlined []InlinedCall  `json:"inlined,omitempty"`
	Address uint64         `json:"address"` // of its first instruction here
	Code    []AnnotatedIns `json:"code"`
}

// InlinedCall is a function that was inlined, and where it is called.
type InlinedCall struct {
	Function string `json:"function"`
	File     string `json:"file,omitempty"`
	Line     int    `json:"line,omitempty"`
}

// CodeLine is a line of source that has code from an address on.
type CodeLine struct {
	Addr uint64
	File string
	Line int
}

// AnnotatedIns is an instruction that was executed.
type AnnotatedIns struct {
	Address uint64      `json:"address"`
	Offset  uint64      `json:"offset"` // in its function
	Text    string      `json:"text"`
	Loaded  *ValueRange `json:"loaded,omitempty"` // where values of up to 8 bytes were recorded
	Stored  *ValueRange `json:"stored,omitempty"`
	Misses  *Misses     `json:"misses,omitempty"` // where caches were simulated
	abp.Counts
}

// Misses are those of simulated caches: of the first levels, and of what lies behind all.
type Misses struct {
	L1I uint64 `json:"l1i"`
	L1D uint64 `json:"l1d"`
	LL  uint64 `json:"ll"`
}

// add adds o; nil: nothing is known of it.
func (m *Misses) add(o *Misses) {
	if o != nil {
		m.L1I, m.L1D, m.LL = m.L1I+o.L1I, m.L1D+o.L1D, m.LL+o.LL
	}
}

// cells are a row's columns.
func (m *Misses) cells() []string {
	if m == nil {
		return []string{"", "", ""}
	}
	return []string{FormatExact(m.L1I), FormatExact(m.L1D), FormatExact(m.LL)}
}

// missHeads are their headings.
func missHeads() []string { return []string{"l1i misses", "l1d misses", "ll misses"} }

// ValueRange is the least and the greatest of some values, as unsigned numbers.
type ValueRange struct {
	Least    uint64 `json:"least"`
	Greatest uint64 `json:"greatest"`
}

// add widens a range.
func (r *ValueRange) add(v uint64) *ValueRange {
	if r == nil {
		return &ValueRange{v, v}
	}
	r.Least, r.Greatest = min(r.Least, v), max(r.Greatest, v)
	return r
}

// String writes a range.
func (r *ValueRange) String() string {
	switch {
	case r == nil:
		return ""
	case r.Least == r.Greatest:
		return fmt.Sprintf("%#x", r.Least)
	}
	return fmt.Sprintf("%#x … %#x", r.Least, r.Greatest)
}

// Annotator knows what a profile does not: lines, their text, and how instructions are
// written.
type Annotator struct {
	Line   Liner
	Source func(file string, line int) string // empty: not there
	Text   func(c *InsCount) string
	// Inlined lists what was inlined at an address, Lines the lines that have code from one address up to another, by
	// address. Both may be nil.
	Inlined func(img *abp.Image, addr uint64) []InlinedCall
	Lines   func(img *abp.Image, from, to uint64) []CodeLine
	// Misses finds those of an instruction; nil: no caches were simulated.
	Misses func(c Code) *Misses
}

// Annotate shows the functions that q picks, in the order of their instructions, the busiest
// first. progress may be nil.
func Annotate(p *abp.Profile, proc *abp.Process, q abp.Query, a Annotator, progress *Progress) ([]*Annotated, error) {
	all, err := Instructions(p, proc, q, progress)
	if err != nil {
		return nil, err
	}
	loaded, stored, err := valueRanges(p, proc, q)
	if err != nil {
		return nil, err
	}
	type function struct { // the rows of one that was loaded again at the same place are of one
		name string
		Code
	}
	by := map[function]*Annotated{}
	sampling := SamplingOf(proc)
	images := map[*Annotated]*InsCount{} // some instruction of it
	out := []*Annotated{}
	for i := range all {
		c := &all[i]
		if c.Function == nil {
			continue
		}
		k := function{c.Function.Name, Code{c.Function.Addr, c.Image}}
		f := by[k]
		if f == nil {
			f = &Annotated{Process: proc.Number(), Function: c.Function.Display(), Image: imageName(c.Image), Sampling: sampling}
			by[k], images[f], out = f, c, append(out, f)
		}
		f.Total.Add(c.Counts, 1)
		ins := AnnotatedIns{Address: c.Addr, Offset: c.Addr - c.Function.Addr, Text: a.Text(c), Loaded: loaded[c.Place()], Stored: stored[c.Place()], Counts: c.Counts}
		if a.Misses != nil {
			if f.Misses == nil {
				f.Misses = new(Misses)
			}
			ins.Misses = a.Misses(c.Place())
			f.Misses.add(ins.Misses)
		}
		f.append(ins, c, &a)
	}
	for f, c := range images {
		f.unexecuted(c, &a)
	}
	slices.SortStableFunc(out, func(a, b *Annotated) int { return cmp.Compare(b.Total.Instructions, a.Total.Instructions) })
	return out, nil
}

// append adds an instruction, to the last line if it is of that.
func (f *Annotated) append(ins AnnotatedIns, c *InsCount, a *Annotator) {
	l := AnnotatedLine{Address: c.Addr}
	if c.Image != nil {
		l.File, l.Line, _ = a.Line(c.Image, c.Addr)
		if a.Inlined != nil {
			l.Inlined = a.Inlined(c.Image, c.Addr)
		}
	}
	if n := len(f.Rows); n == 0 || f.Rows[n-1].File != l.File || f.Rows[n-1].Line != l.Line || !slices.Equal(f.Rows[n-1].Inlined, l.Inlined) {
		l.Text = a.Source(l.File, l.Line)
		f.Rows = append(f.Rows, l)
	}
	last := &f.Rows[len(f.Rows)-1]
	last.Code = append(last.Code, ins)
}

// unexecuted adds the lines that have code in the function, none of which was executed: each once, where its code begins.
func (f *Annotated) unexecuted(some *InsCount, a *Annotator) {
	fn := some.Function
	if a.Lines == nil || some.Image == nil || fn.Size == 0 {
		return
	}
	type line struct {
		file string
		line int
	}
	known := map[line]bool{{"", 0}: true}
	for i := range f.Rows {
		r := &f.Rows[i]
		known[line{r.File, r.Line}] = true
		for _, in := range r.Inlined {
			known[line{in.File, in.Line}] = true
		}
	}
	for _, l := range a.Lines(some.Image, fn.Addr, fn.Addr+fn.Size) {
		if at := (line{l.File, l.Line}); l.Line > 0 && !known[at] {
			known[at] = true
			f.Rows = append(f.Rows, AnnotatedLine{File: l.File, Line: l.Line, Text: a.Source(l.File, l.Line), Address: l.Addr, Inlined: a.Inlined(some.Image, l.Addr), Code: []AnnotatedIns{}})
		}
	}
	slices.SortStableFunc(f.Rows, func(a, b AnnotatedLine) int { return cmp.Compare(a.Address, b.Address) })
}

// sum is what its instructions count for.
func (l *AnnotatedLine) sum() (n uint64, m Misses) {
	for k := range l.Code {
		n += l.Code[k].Instructions
		m.add(l.Code[k].Misses)
	}
	return n, m
}

// place is the line's.
func (l *AnnotatedLine) place() string { return (&LineCount{File: l.File, Line: l.Line}).Name() }

// inlinings says what it was inlined into.
func (l *AnnotatedLine) inlinings() (s string) {
	for _, in := range l.Inlined {
		s += fmt.Sprintf(" in %s, inlined at %s", in.Function, (&LineCount{File: in.File, Line: in.Line}).Name())
	}
	return s
}

// valueRanges looks at the recorded values, if there are any.
func valueRanges(p *abp.Profile, proc *abp.Process, q abp.Query) (loaded, stored map[Code]*ValueRange, err error) {
	loaded, stored = map[Code]*ValueRange{}, map[Code]*ValueRange{}
	if proc.Header().Flags&abp.FlagValues == 0 {
		return loaded, stored, nil
	}
	q.Processes, q.Programs = []uint32{proc.Number()}, []uint32{proc.Generation()}
	places := newPlaces(proc)
	r := p.Reader(q)
	for r.Next() {
		e := r.Entry()
		if e.Kind != abp.EntryMem || len(e.Mem.Value) == 0 || len(e.Mem.Value) > 8 {
			continue
		}
		var b [8]byte
		copy(b[:], e.Mem.Value)
		to := loaded
		if e.Mem.Store {
			to = stored
		}
		at := places.code(e.Ins.Block, e.Ins.Index)
		to[at] = to[at].add(binary.LittleEndian.Uint64(b[:]))
	}
	return loaded, stored, r.Err()
}

// values writes the ranges of an instruction.
func (i *AnnotatedIns) values() string {
	s := ""
	if i.Loaded != nil {
		s = "reads " + i.Loaded.String()
	}
	if i.Stored != nil {
		if s != "" {
			s += ", "
		}
		s += "writes " + i.Stored.String()
	}
	return s
}

// WriteText writes a function for a terminal.
func (f *Annotated) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s (%s): %s instructions, %s loads, %s stores\n", Printable(f.Function), Printable(f.Image), FormatExact(f.Total.Instructions), FormatExact(f.Total.Loads), FormatExact(f.Total.Stores))
	missed := func(cells []string) (s string) {
		if f.Misses != nil {
			for _, c := range cells {
				s += fmt.Sprintf(" %10s", c)
			}
		}
		return s
	}
	fmt.Fprintf(out, "%14s %5s%s    place and code\n", "executed", "%", missed(missHeads()))
	for i := range f.Rows {
		l := &f.Rows[i]
		n, m := l.sum()
		if l.File != "" {
			fmt.Fprintf(out, "%14s %5s%s  %s%s  %s\n", FormatExact(n), share(n, f.Total.Instructions), missed(m.cells()), Printable(l.place()), Printable(l.inlinings()), Printable(l.Text))
		}
		for k := range l.Code {
			c := &l.Code[k]
			text := c.Text
			if v := c.values(); v != "" {
				text = fmt.Sprintf("%-44s ; %s", text, v)
			}
			fmt.Fprintf(out, "%14s %5s%s    %#x  +%#-6x %s\n", FormatExact(c.Instructions), share(c.Instructions, f.Total.Instructions), missed(c.Misses.cells()), c.Address, c.Offset, text)
		}
	}
	fmt.Fprintln(out)
	if err := out.Flush(); err != nil {
		return fmt.Errorf("annotate: %w", err)
	}
	return nil
}

// annotateHead is the beginning of the page.
const annotateHead = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Annotated code</title><style>
body { font: 13px sans-serif; margin: 12px; color: #222; background: #fff; }
table { border-collapse: collapse; font: 12px monospace; }
th { padding: 2px 8px; text-align: right; font-weight: normal; color: #666; background: #fff; position: sticky; top: 0; white-space: nowrap; }
th.t { text-align: left; }
td { padding: 0 8px; white-space: pre; vertical-align: top; }
td.n { text-align: right; }
tr.line td { background: #eef2f7; padding-top: 3px; }
td.v, span.in { color: #666; }
tr.never td { color: #999; background: #faf5f5; }
</style></head><body>
`

// WriteAnnotatedHTML writes functions as one page, each cell as warm as its share.
func WriteAnnotatedHTML(w io.Writer, all []*Annotated) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, annotateHead)
	for _, f := range all {
		fmt.Fprintf(out, "<h2>%s</h2><p>%s: %s instructions, %s loads, %s stores</p>\n<table>\n<thead><tr>", escaped(f.Function), escaped(f.Image),
			FormatExact(f.Total.Instructions), FormatExact(f.Total.Loads), FormatExact(f.Total.Stores))
		heads := []string{"executed", "loads", "stores"}
		if f.Misses != nil {
			heads = append(heads, missHeads()...)
		}
		for _, h := range heads {
			fmt.Fprintf(out, "<th>%s</th>", h)
		}
		fmt.Fprint(out, "<th class=\"t\">place</th><th class=\"t\">source and instructions</th><th class=\"t\">values</th></tr></thead>\n")
		for i := range f.Rows {
			f.Rows[i].html(out, f)
		}
		fmt.Fprint(out, "</table>\n")
	}
	fmt.Fprint(out, "</body></html>\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("annotate: %w", err)
	}
	return nil
}

// html writes the rows of a line of a function. What it was inlined into stands with the source: the column of places is no
// wider than these are.
func (l *AnnotatedLine) html(w io.Writer, f *Annotated) {
	missed := func(m *Misses) (s string) {
		if f.Misses != nil {
			for _, c := range m.cells() {
				s += `<td class="n">` + c + `</td>`
			}
		}
		return s
	}
	if l.File != "" {
		class := "line"
		if len(l.Code) == 0 {
			class = "line never"
		}
		n, m := l.sum()
		in := ""
		if s := l.inlinings(); s != "" {
			in = `<span class="in">` + escaped(s[1:]) + "\n</span>"
		}
		fmt.Fprintf(w, `<tr class="%s"><td class="n">%s</td><td class="n"></td><td class="n"></td>%s<td>%s</td><td colspan="2">%s%s</td></tr>`+"\n",
			class, FormatExact(n), missed(&m), escaped(l.place()), in, escaped(l.Text))
	}
	for k := range l.Code {
		c := &l.Code[k]
		warm := 100.0
		if f.Total.Instructions > 0 {
			warm -= 45 * min(1, 10*float64(c.Instructions)/float64(f.Total.Instructions))
		}
		fmt.Fprintf(w, `<tr><td class="n" style="background:hsl(20,90%%,%.0f%%)">%s</td><td class="n">%s</td><td class="n">%s</td>%s<td>%#x</td><td>%s</td><td class="v">%s</td></tr>`+"\n",
			warm, FormatExact(c.Instructions), FormatExact(c.Loads), FormatExact(c.Stores), missed(c.Misses), c.Address, escaped(c.Text), escaped(c.values()))
	}
}

// escaped is text for HTML, printable as it is UTF-8.
func escaped(s string) string { return html.EscapeString(Printable(s)) }
