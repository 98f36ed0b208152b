package analysis

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"alleria/abp"
)

// WriteJSON writes the report in its documented form.
// One object, indented, with a line end; the fields are those of docs/user-guide.md
// and the order of processes is that of their numbers.
func (r *Report) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// WriteText writes the report for people, with at most top functions and images
// a process (0: all).
// It is meant for reading only: its layout may change, the JSON form may not.
func (r *Report) WriteText(w io.Writer, top int) error {
	out := bufio.NewWriter(w)
	for i, p := range r.Profiles {
		if i > 0 {
			fmt.Fprintln(out)
		}
		p.writeText(out)
		for _, proc := range r.Processes {
			if proc.Profile == p.Path {
				proc.writeText(out, top)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// writeText writes the head of a profile's report. Errors of writing wait in
// the caller's bufio.Writer, here and below.
func (p *ProfileReport) writeText(w io.Writer) {
	fmt.Fprintf(w, "Profile %s", p.Path)
	if len(p.Command) > 0 {
		fmt.Fprintf(w, " of %s", joinCommand(p.Command))
	}
	fmt.Fprintln(w)
	if p.Started != nil {
		fmt.Fprintf(w, "  started %s", p.Started.Format("2006-01-02 15:04:05"))
		if p.Seconds > 0 {
			fmt.Fprintf(w, ", took %.3g s", p.Seconds)
		}
		fmt.Fprintf(w, ", %s\n", p.Outcome)
	}
	for _, m := range p.Missing {
		fmt.Fprintf(w, "  not whole: %s\n", m)
	}
	if !p.Complete && len(p.Missing) == 0 {
		fmt.Fprintln(w, "  was cut off: what follows is what had been written by then")
	}
	fmt.Fprintf(w, "  output  %s", FormatBytes(p.OutputBytes))
	if p.BytesPerInstruction > 0 {
		fmt.Fprintf(w, ", %.3g bytes an instruction", p.BytesPerInstruction)
	}
	fmt.Fprintln(w)
	if c := p.Costs; c != nil {
		fmt.Fprintf(w, "  time    %.3g s natively, %.3g s translated; threads waited %.3g s for room in rings, %.3g s for the tracer\n",
			c.NativeSeconds, c.CacheSeconds, c.RingWaitSeconds, c.RequestSeconds)
		fmt.Fprintf(w, "  memory  %s of the tracer's own, %s of code cache and tables, %s of rings\n",
			FormatBytes(c.TracerMemory), FormatBytes(c.CacheMemory), FormatBytes(c.RingMemory))
	}
	for _, n := range p.Notes {
		fmt.Fprintf(w, "  note    %s\n", n)
	}
}

// signalOf names the signal that a shell's status stands for. A program may exit with such a status
// by itself, which a status does not tell: hence "as by".
func signalOf(status int) string {
	if status <= 128 || status > 128+64 {
		return ""
	}
	return ", as by " + abp.SignalName(uint32(status-128))
}

// writeText writes one process: totals first, then threads, windows, images
// and functions.
// A process that was not followed has nothing to count and gets one line.
func (p *ProcessReport) writeText(w io.Writer, top int) {
	fmt.Fprintf(w, "\nProcess %d (pid %d): %s\n", p.Number, p.PID, joinCommand(p.Command))
	if !p.Followed {
		fmt.Fprintln(w, "  was not followed")
		return
	}
	if p.Exit != nil {
		fmt.Fprintf(w, "  exit status %d%s\n", *p.Exit, signalOf(*p.Exit))
	}
	if p.Sampling != nil {
		p.Sampling.WriteText(w)
	}
	writeCounts(w, p.Counts, p.Counted)
	if len(p.PerThread) > 1 {
		t := p.table("thread", "tid", "instructions")
		for _, th := range p.PerThread {
			t.Add(p.cells(th.Counts, fmt.Sprint(th.Number), fmt.Sprint(th.OSID), FormatExact(th.Instructions))...)
		}
		t.Write(w, "\n  ")
	}
	p.writeWindows(w)
	p.writeOutside(w)
	t := p.errorTable("image", "instructions", "%")
	for i, img := range p.Images {
		if top > 0 && i == top {
			t.More = len(p.Images) - i
			break
		}
		t.Add(p.estimated(img.Error, p.cells(img.Counts, img.Name, FormatExact(img.Instructions), share(img.Instructions, p.Instructions)))...)
	}
	t.Write(w, "\n  ")
	t = p.errorTable("function", "image", "instructions", "%")
	t.Text = 2
	for i, f := range p.Functions {
		if top > 0 && i == top {
			t.More = len(p.Functions) - i
			break
		}
		t.Add(p.estimated(f.Error, p.cells(f.Counts, cut(f.Name, 60), cut(f.Image, 30), FormatExact(f.Instructions), share(f.Instructions, p.Instructions)))...)
	}
	t.Write(w, "\n  ")
}

// table starts a table that ends with the columns for accesses, if the process has
// any: a run that only counted instructions knows none, and zeros would be wrong.
func (p *ProcessReport) table(head ...string) *TextTable {
	if !p.Counted {
		head = append(head, "loads", "stores")
	}
	return NewTextTable(head...)
}

// errorTable is table with a column for errors behind, where counts are estimates.
func (p *ProcessReport) errorTable(head ...string) *TextTable {
	t := p.table(head...)
	if p.Sampling != nil {
		t.rows[0] = append(t.rows[0], "error")
	}
	return t
}

// estimated adds the cell of that column.
func (p *ProcessReport) estimated(e float64, cells []string) []string {
	if p.Sampling == nil {
		return cells
	}
	return append(cells, ErrorText(e))
}

// cells are a row of such a table.
func (p *ProcessReport) cells(c abp.Counts, cells ...string) []string {
	if p.Counted {
		return cells
	}
	return append(cells, FormatExact(c.Loads), FormatExact(c.Stores))
}

// writeCounts writes exact numbers, grouped: people compare them with other
// tools', where a rounded one is no help.
func writeCounts(w io.Writer, c abp.Counts, counted bool) {
	t := NewTextTable("", "count", "bytes")
	t.Add("instructions", FormatExact(c.Instructions), "")
	if counted {
		t.Write(w, "  ")
		return
	}
	t.Add("with memory", FormatExact(c.MemInstructions), "")
	t.Add("loads", FormatExact(c.Loads), FormatExact(c.BytesRead))
	t.Add("stores", FormatExact(c.Stores), FormatExact(c.BytesWritten))
	t.Write(w, "  ")
}

// writeWindows writes the windows, then when and why each first and last
// opened. All openings are another command's: a reopenable window may have
// millions.
func (p *ProcessReport) writeWindows(w io.Writer) {
	if len(p.Windows) == 0 {
		return
	}
	t := NewTextTable("window", "openings", "instructions", "loads", "stores")
	for _, win := range p.Windows {
		t.Add(cut(win.Name, 40), fmt.Sprint(win.Openings), FormatExact(win.Instructions), FormatExact(win.Loads), FormatExact(win.Stores))
	}
	t.Write(w, "\n  ")
	for _, win := range p.Windows {
		if win.First != nil {
			fmt.Fprintf(w, "  %s: first opened %s\n", win.Name, win.First.Words())
		}
		if win.Openings > 1 {
			fmt.Fprintf(w, "  %s: last opened %s\n", win.Name, win.Last.Words())
		}
	}
}

// Words says when and why a window opened and closed.
func (o *WindowOpening) Words() string {
	s := o.moment()
	if o.Closed == nil {
		return s + "; stayed open"
	}
	return s + "; closed " + o.Closed.moment()
}

// moment says when and why one thing happened.
func (o *WindowOpening) moment() string {
	s := fmt.Sprintf("at %.6f s", o.Seconds)
	if o.Instructions > 0 { // else they were not counted, or there were none
		s += fmt.Sprintf(", after %s instructions,", FormatExact(o.Instructions))
	}
	if o.Reason != "" {
		s += " on " + o.Reason
	}
	if o.Place != "" {
		s += " at " + o.Place
	}
	if o.CalledFrom != "" {
		s += ", called from " + o.CalledFrom
	}
	if o.Overshoot > 0 {
		s += fmt.Sprintf(", %d too late", o.Overshoot)
	}
	return s
}

// joinCommand writes a command as it might have been typed.
// It quotes for a POSIX shell, so that the line can be pasted: within single quotes
// nothing is special but the quote itself.
func joinCommand(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		if Printable(a) != a {
			q := strconv.QuoteToASCII(a) // bash's $'…' has the escapes of Go's strings
			quoted[i] = "$'" + strings.NewReplacer(`\"`, `"`, `\\`, `\\`, "'", `\'`).Replace(q[1:len(q)-1]) + "'"
			continue
		}
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$&|;<>()*?#~`!{}[]") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		quoted[i] = a
	}
	return strings.Join(quoted, " ")
}

// FormatExact writes a number in groups of three digits, with nothing rounded: people
// compare such numbers with other tools'.
func FormatExact(n uint64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// share is a part in percent, nothing where there is no whole.
func share(n, of uint64) string {
	if of == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", 100*float64(n)/float64(of))
}
