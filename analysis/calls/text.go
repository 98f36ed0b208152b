package calls

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"alleria/analysis"
)

// UnknownCaller is what tables call the root.
const UnknownCaller = "[unknown caller]"

// TextOptions bound what is printed.
type TextOptions struct {
	Top     int     // functions, or nodes of a tree; 0: all
	Percent float64 // of a tree: nodes with at least this share of the instructions
	Depth   int     // of a tree; 0: all
}

// name is a function's in tables.
func name(f *Function) string {
	if f == nil {
		return UnknownCaller
	}
	return shorten(f.Name, 60)
}

// shorten cuts a name that would make a table too wide.
func shorten(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// percent is a share of the tree's instructions.
func (t *Tree) percent(n uint64) string {
	if t.Root.Total.Instructions == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f", 100*float64(n)/float64(t.Root.Total.Instructions))
}

// head writes which process it is.
func (t *Tree) head(w io.Writer) {
	fmt.Fprintf(w, "Process %d: %s\n", t.Process, analysis.PrintableCommand(t.Command))
	t.sampled(w)
	fmt.Fprintf(w, "  %s instructions, %s loads, %s stores\n\n", analysis.FormatExact(t.Root.Total.Instructions),
		analysis.FormatExact(t.Root.Total.Loads), analysis.FormatExact(t.Root.Total.Stores))
}

// sampled says that the counts are estimates, and of what.
func (t *Tree) sampled(w io.Writer) {
	if t.Sampling == nil {
		return
	}
	t.Sampling.WriteText(w)
	switch part := t.Sampling.CallersUnknown; {
	case part == 1:
		fmt.Fprintf(w, "  sampled: callers in front of a burst are not known, unless it returns to them (%s): inclusive counts are of what bursts show\n", UnknownCaller)
	case part >= 0.0005:
		fmt.Fprintf(w, "  sampled: not all callers of %.1f %% of the instructions are known (%s): they are missing in inclusive counts\n", 100*part, UnknownCaller)
	}
}

// timed tells whether blocks were stamped with their time.
func (t *Tree) timed() bool { return t.Root.TotalSeconds > 0 }

// seconds is a time in tables.
func seconds(s float64) string { return fmt.Sprintf("%.6f", s) }

// WriteMethods writes the counts by function.
func (t *Tree) WriteMethods(w io.Writer, o TextOptions) error {
	out := bufio.NewWriter(w)
	t.head(out)
	head := []string{"function", "image", "calls", "exclusive", "%", "inclusive", "%", "loads", "stores"}
	if t.timed() {
		head = append(head, "seconds", "inclusive")
	}
	if t.Sampling != nil {
		head = append(head, "error", "inclusive")
	}
	table := analysis.NewTextTable(head...)
	table.Text = 2
	all := t.Methods()
	for i, m := range all {
		if o.Top > 0 && i == o.Top {
			table.More = len(all) - i
			break
		}
		row := []string{name(m.Func), shorten(m.Func.Image, 30), analysis.FormatExact(m.Calls), analysis.FormatExact(m.Own.Instructions), t.percent(m.Own.Instructions),
			analysis.FormatExact(m.Total.Instructions), t.percent(m.Total.Instructions), analysis.FormatExact(m.Own.Loads), analysis.FormatExact(m.Own.Stores)}
		if t.timed() {
			row = append(row, seconds(m.OwnSeconds), seconds(m.TotalSeconds))
		}
		if t.Sampling != nil {
			row = append(row, analysis.ErrorText(m.OwnError), analysis.ErrorText(m.TotalError))
		}
		table.Add(row...)
	}
	table.Write(out, "  ")
	return flush(out)
}

// WriteGraph writes each function between those that call it and those that it calls, the
// most inclusive instructions first.
func (t *Tree) WriteGraph(w io.Writer, o TextOptions) error {
	out := bufio.NewWriter(w)
	t.head(out)
	table := t.moreTable([]string{"", "function", "image", "calls", "exclusive", "inclusive", "%"}, "seconds", "inclusive")
	table.Text = 3
	callers, callees := map[*Function][]*Edge{}, map[*Function][]*Edge{}
	for _, e := range t.Edges() {
		callers[e.Callee] = append(callers[e.Callee], e)
		callees[e.Caller] = append(callees[e.Caller], e)
	}
	methods := byInclusive(t.Methods())
	for i, m := range methods {
		if o.Top > 0 && i == o.Top {
			table.More = len(methods) - i
			break
		}
		if i > 0 {
			table.Add(make([]string, table.Columns())...)
		}
		for _, e := range callers[m.Func] {
			table.Add(t.withMore([]string{"  from", name(e.Caller), image(e.Caller), analysis.FormatExact(e.Calls), "", analysis.FormatExact(e.Total.Instructions), t.percent(e.Total.Instructions)},
				e.Error, "", seconds(e.Seconds))...)
		}
		table.Add(t.withMore([]string{"function", name(m.Func), image(m.Func), analysis.FormatExact(m.Calls), analysis.FormatExact(m.Own.Instructions), analysis.FormatExact(m.Total.Instructions), t.percent(m.Total.Instructions)},
			m.TotalError, seconds(m.OwnSeconds), seconds(m.TotalSeconds))...)
		for _, e := range callees[m.Func] {
			table.Add(t.withMore([]string{"  to", name(e.Callee), image(e.Callee), analysis.FormatExact(e.Calls), "", analysis.FormatExact(e.Total.Instructions), t.percent(e.Total.Instructions)},
				e.Error, "", seconds(e.Seconds))...)
		}
	}
	table.Write(out, "  ")
	return flush(out)
}

// image is a function's in tables.
func image(f *Function) string {
	if f == nil {
		return ""
	}
	return shorten(f.Image, 30)
}

// WriteTree writes the tree, indented by depth.
func (t *Tree) WriteTree(w io.Writer, o TextOptions) error {
	out := bufio.NewWriter(w)
	t.head(out)
	shown, more := 0, 0
	least := uint64(o.Percent / 100 * float64(t.Root.Total.Instructions))
	rows := [][]string{{"inclusive", "%", "exclusive", "calls"}}
	if t.timed() {
		rows[0] = append(rows[0], "seconds", "exclusive")
	}
	rows[0] = append(rows[0], "  function")
	row := func(n *Node, text string) {
		r := []string{analysis.FormatExact(n.Total.Instructions), t.percent(n.Total.Instructions), analysis.FormatExact(n.Own.Instructions), analysis.FormatExact(n.Calls)}
		if t.timed() {
			r = append(r, seconds(n.TotalSeconds), seconds(n.OwnSeconds))
		}
		rows = append(rows, append(r, text))
	}
	var visit func(n *Node, depth int)
	visit = func(n *Node, depth int) {
		for _, c := range n.Children {
			if c.Total.Instructions < least || o.Depth > 0 && depth >= o.Depth || o.Top > 0 && shown >= o.Top {
				more++
				continue
			}
			shown++
			text := "  " + strings.Repeat("  ", min(depth, 50)) + name(c.Func)
			if p := t.Place(c.Site); p != "" {
				text += "  from " + shorten(p, 60)
			}
			if c.Merged {
				text += "  from anywhere in it"
			}
			row(c, text)
			visit(c, depth+1)
		}
	}
	if t.above() > 0 {
		row(t.Root, "  "+UnknownCaller)
	}
	visit(t.Root, t.above())
	writeTree(out, rows)
	if t.Merged > 0 {
		fmt.Fprintf(out, "  %s contexts are one for all call sites in their caller: there are too many to tell all apart (sites)\n", analysis.FormatExact(uint64(t.Merged)))
	}
	if more > 0 {
		fmt.Fprintf(out, "  … and %s of smaller ones, each with what it calls\n", analysis.FormatExact(uint64(more)))
	}
	return flush(out)
}

// above is how many levels are drawn above the root's children: who called them is said where it is not known of nearly all.
func (t *Tree) above() int {
	if t.callersLack() {
		return 1
	}
	return 0
}

// writeTree lines up the numbers, with the text behind them.
func writeTree(w io.Writer, rows [][]string) {
	last := len(rows[0]) - 1
	widths := make([]int, last)
	for _, r := range rows {
		for i := range widths {
			widths[i] = max(widths[i], len(r[i]))
		}
	}
	for _, r := range rows {
		for i := range widths {
			fmt.Fprintf(w, "  %*s", widths[i], r[i])
		}
		fmt.Fprintln(w, r[last])
	}
}

// flush ends a text.
func flush(out *bufio.Writer) error {
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write calls: %w", err)
	}
	return nil
}

// WriteInclusive writes functions with what they call, without a head.
func (t *Tree) WriteInclusive(w io.Writer, top int) error {
	out := bufio.NewWriter(w)
	t.sampled(out)
	table := t.moreTable([]string{"function", "image", "calls", "inclusive", "%", "exclusive", "%"}, "seconds", "exclusive")
	table.Text = 2
	all := byInclusive(t.Methods())
	for i, m := range all {
		if top > 0 && i == top {
			table.More = len(all) - i
			break
		}
		table.Add(t.withMore([]string{name(m.Func), image(m.Func), analysis.FormatExact(m.Calls), analysis.FormatExact(m.Total.Instructions), t.percent(m.Total.Instructions),
			analysis.FormatExact(m.Own.Instructions), t.percent(m.Own.Instructions)}, m.TotalError, seconds(m.TotalSeconds), seconds(m.OwnSeconds))...)
	}
	table.Write(out, "  ")
	return flush(out)
}

// WriteEdges writes some edges of the graph, with the place that most of their calls are from.
func (t *Tree) WriteEdges(w io.Writer, edges []*Edge, top int) error {
	out := bufio.NewWriter(w)
	t.sampled(out)
	table := t.moreTable([]string{"caller", "callee", "mostly from", "calls", "inclusive", "%"}, "seconds")
	table.Text = 3
	for i, e := range edges {
		if top > 0 && i == top {
			table.More = len(edges) - i
			break
		}
		from := ""
		if len(e.Sites) > 0 {
			from = t.Place(e.Sites[0].Addr)
		}
		table.Add(t.withMore([]string{name(e.Caller), name(e.Callee), shorten(from, 50), analysis.FormatExact(e.Calls), analysis.FormatExact(e.Total.Instructions), t.percent(e.Total.Instructions)},
			e.Error, seconds(e.Seconds))...)
	}
	table.Write(out, "  ")
	return flush(out)
}

// moreTable has columns of times behind its others where there are times, and one for the errors of inclusive counts where counts are
// estimates.
func (t *Tree) moreTable(head []string, times ...string) *analysis.TextTable {
	if t.timed() {
		head = append(head, times...)
	}
	if t.Sampling != nil {
		head = append(head, "error")
	}
	return analysis.NewTextTable(head...)
}

// withMore adds the cells of those columns.
func (t *Tree) withMore(cells []string, e float64, times ...string) []string {
	if t.timed() {
		cells = append(cells, times...)
	}
	if t.Sampling != nil {
		cells = append(cells, analysis.ErrorText(e))
	}
	return cells
}
