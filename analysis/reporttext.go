package analysis

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
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
	if !p.Complete {
		fmt.Fprintln(w, "  was cut off: what follows is what had been written by then")
	}
	fmt.Fprintf(w, "  output  %s", FormatBytes(p.OutputBytes))
	if p.BytesPerInstruction > 0 {
		fmt.Fprintf(w, ", %.3g bytes an instruction", p.BytesPerInstruction)
	}
	fmt.Fprintln(w)
	for _, n := range p.Notes {
		fmt.Fprintf(w, "  note    %s\n", n)
	}
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
		fmt.Fprintf(w, "  exit status %d\n", *p.Exit)
	}
	writeCounts(w, p.Counts, p.Counted)
	if len(p.PerThread) > 1 {
		t := p.table("thread", "tid", "instructions")
		for _, th := range p.PerThread {
			t.add(p.cells(th.Counts, fmt.Sprint(th.Number), fmt.Sprint(th.OSID), group(th.Instructions))...)
		}
		t.write(w, "\n  ")
	}
	p.writeWindows(w)
	t := p.table("image", "instructions", "%")
	for i, img := range p.Images {
		if top > 0 && i == top {
			t.more = len(p.Images) - i
			break
		}
		t.add(p.cells(img.Counts, img.Name, group(img.Instructions), share(img.Instructions, p.Instructions))...)
	}
	t.write(w, "\n  ")
	t = p.table("function", "image", "instructions", "%")
	t.text = 2
	for i, f := range p.Functions {
		if top > 0 && i == top {
			t.more = len(p.Functions) - i
			break
		}
		t.add(p.cells(f.Counts, cut(f.Name, 60), cut(f.Image, 30), group(f.Instructions), share(f.Instructions, p.Instructions))...)
	}
	t.write(w, "\n  ")
}

// table starts a table that ends with the columns for accesses, if the process has
// any: a run that only counted instructions knows none, and zeros would be wrong.
func (p *ProcessReport) table(head ...string) *textTable {
	if !p.Counted {
		head = append(head, "loads", "stores")
	}
	return newTextTable(head...)
}

// cells are a row of such a table.
func (p *ProcessReport) cells(c abp.Counts, cells ...string) []string {
	if p.Counted {
		return cells
	}
	return append(cells, group(c.Loads), group(c.Stores))
}

// writeCounts writes exact numbers, grouped: people compare them with other
// tools', where a rounded one is no help.
func writeCounts(w io.Writer, c abp.Counts, counted bool) {
	t := newTextTable("", "count", "bytes")
	t.add("instructions", group(c.Instructions), "")
	if counted {
		t.write(w, "  ")
		return
	}
	t.add("with memory", group(c.MemInstructions), "")
	t.add("loads", group(c.Loads), group(c.BytesRead))
	t.add("stores", group(c.Stores), group(c.BytesWritten))
	t.write(w, "  ")
}

// writeWindows writes the windows, then when and why each first and last
// opened. All openings are another command's: a reopenable window may have
// millions.
func (p *ProcessReport) writeWindows(w io.Writer) {
	if len(p.Windows) == 0 {
		return
	}
	t := newTextTable("window", "openings", "instructions", "loads", "stores")
	for _, win := range p.Windows {
		t.add(cut(win.Name, 40), fmt.Sprint(win.Openings), group(win.Instructions), group(win.Loads), group(win.Stores))
	}
	t.write(w, "\n  ")
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
	s := fmt.Sprintf("after %s instructions", group(o.Instructions))
	if o.Seconds > 0 {
		s = fmt.Sprintf("at %.6f s, ", o.Seconds) + s
	}
	if o.Reason != "" {
		s += " on " + o.Reason
	}
	if o.Place != "" {
		s += " at " + o.Place
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
		if a == "" || strings.ContainsAny(a, " \t\n'\"\\$&|;<>()*?#~`!{}[]") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		quoted[i] = a
	}
	return strings.Join(quoted, " ")
}

// group writes a number in groups of three digits.
func group(n uint64) string {
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
