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
	Process  uint32          `json:"process"`
	Function string          `json:"function"`
	Image    string          `json:"image"`
	Total    abp.Counts      `json:"total"`
	Rows     []AnnotatedLine `json:"lines"` // in the order of addresses; a line comes again where code goes back to it
}

// AnnotatedLine is a run of instructions of one line of source.
type AnnotatedLine struct {
	File string         `json:"file,omitempty"` // empty: not known
	Line int            `json:"line,omitempty"`
	Text string         `json:"text,omitempty"` // of the source, where the file is there
	Code []AnnotatedIns `json:"code"`
}

// AnnotatedIns is an instruction that was executed.
type AnnotatedIns struct {
	Address uint64      `json:"address"`
	Offset  uint64      `json:"offset"` // in its function
	Text    string      `json:"text"`
	Loaded  *ValueRange `json:"loaded,omitempty"` // where values of up to 8 bytes were recorded
	Stored  *ValueRange `json:"stored,omitempty"`
	abp.Counts
}

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
	by := map[*abp.Function]*Annotated{}
	out := []*Annotated{}
	for i := range all {
		c := &all[i]
		if c.Function == nil {
			continue
		}
		f := by[c.Function]
		if f == nil {
			f = &Annotated{Process: proc.Number(), Function: c.Function.Display(), Image: imageName(c.Image)}
			by[c.Function], out = f, append(out, f)
		}
		f.Total.Add(c.Counts, 1)
		ins := AnnotatedIns{c.Addr, c.Addr - c.Function.Addr, a.Text(c), loaded[c.Addr], stored[c.Addr], c.Counts}
		file, line := "", 0
		if c.Image != nil {
			file, line, _ = a.Line(c.Image, c.Addr)
		}
		if n := len(f.Rows); n == 0 || f.Rows[n-1].File != file || f.Rows[n-1].Line != line {
			f.Rows = append(f.Rows, AnnotatedLine{File: file, Line: line, Text: a.Source(file, line)})
		}
		last := &f.Rows[len(f.Rows)-1]
		last.Code = append(last.Code, ins)
	}
	slices.SortStableFunc(out, func(a, b *Annotated) int { return cmp.Compare(b.Total.Instructions, a.Total.Instructions) })
	return out, nil
}

// valueRanges looks at the recorded values, if there are any.
func valueRanges(p *abp.Profile, proc *abp.Process, q abp.Query) (loaded, stored map[uint64]*ValueRange, err error) {
	loaded, stored = map[uint64]*ValueRange{}, map[uint64]*ValueRange{}
	if proc.Header().Flags&abp.FlagValues == 0 {
		return loaded, stored, nil
	}
	q.Processes = []uint32{proc.Number()}
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
		to[e.Ins.Addr] = to[e.Ins.Addr].add(binary.LittleEndian.Uint64(b[:]))
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
	fmt.Fprintf(out, "%s (%s): %s instructions, %s loads, %s stores\n", f.Function, f.Image, FormatExact(f.Total.Instructions), FormatExact(f.Total.Loads), FormatExact(f.Total.Stores))
	for i := range f.Rows {
		l := &f.Rows[i]
		var n uint64
		for k := range l.Code {
			n += l.Code[k].Instructions
		}
		if l.File != "" {
			fmt.Fprintf(out, "%14s %5s  %s  %s\n", FormatExact(n), share(n, f.Total.Instructions), (&LineCount{File: l.File, Line: l.Line}).Name(), l.Text)
		}
		for k := range l.Code {
			c := &l.Code[k]
			text := c.Text
			if v := c.values(); v != "" {
				text = fmt.Sprintf("%-44s ; %s", text, v)
			}
			fmt.Fprintf(out, "%14s %5s    %#x  +%#-6x %s\n", FormatExact(c.Instructions), share(c.Instructions, f.Total.Instructions), c.Address, c.Offset, text)
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
td { padding: 0 8px; white-space: pre; }
td.n { text-align: right; }
tr.line td { background: #eef2f7; padding-top: 3px; }
td.v { color: #666; }
</style></head><body>
`

// WriteAnnotatedHTML writes functions as one page, each cell as warm as its share.
func WriteAnnotatedHTML(w io.Writer, all []*Annotated) error {
	out := bufio.NewWriter(w)
	fmt.Fprint(out, annotateHead)
	for _, f := range all {
		fmt.Fprintf(out, "<h2>%s</h2><p>%s: %s instructions, %s loads, %s stores</p>\n<table>\n", html.EscapeString(f.Function), html.EscapeString(f.Image),
			FormatExact(f.Total.Instructions), FormatExact(f.Total.Loads), FormatExact(f.Total.Stores))
		for i := range f.Rows {
			f.Rows[i].html(out, f.Total.Instructions)
		}
		fmt.Fprint(out, "</table>\n")
	}
	fmt.Fprint(out, "</body></html>\n")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("annotate: %w", err)
	}
	return nil
}

// html writes the rows of a line.
func (l *AnnotatedLine) html(w io.Writer, total uint64) {
	var n uint64
	for k := range l.Code {
		n += l.Code[k].Instructions
	}
	if l.File != "" {
		fmt.Fprintf(w, `<tr class="line"><td class="n">%s</td><td class="n"></td><td class="n"></td><td>%s</td><td colspan="2">%s</td></tr>`+"\n",
			FormatExact(n), html.EscapeString((&LineCount{File: l.File, Line: l.Line}).Name()), html.EscapeString(l.Text))
	}
	for k := range l.Code {
		c := &l.Code[k]
		warm := 100.0
		if total > 0 {
			warm -= 45 * min(1, 10*float64(c.Instructions)/float64(total))
		}
		fmt.Fprintf(w, `<tr><td class="n" style="background:hsl(20,90%%,%.0f%%)">%s</td><td class="n">%s</td><td class="n">%s</td><td>%#x</td><td>%s</td><td class="v">%s</td></tr>`+"\n",
			warm, FormatExact(c.Instructions), FormatExact(c.Loads), FormatExact(c.Stores), c.Address, html.EscapeString(c.Text), html.EscapeString(c.values()))
	}
}
