package analysis

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// TextTable lines up columns: the first text columns to the left, the others,
// numbers, to the right. It is for one use: made, filled, written.
// text/tabwriter was refused: it aligns a whole table to one side, and numbers that
// are not right-aligned cannot be compared at a glance.
type TextTable struct {
	// Text is how many columns, from the left, are text; 1 unless it is set.
	Text int
	// More is how many rows were left out, which a last line says.
	More int
	rows [][]string // the head first
}

// NewTextTable starts a table with its head.
func NewTextTable(head ...string) *TextTable {
	return &TextTable{rows: [][]string{head}, Text: 1}
}

// Columns is how many there are.
func (t *TextTable) Columns() int { return len(t.rows[0]) }

// Add adds a row of as many cells as the head has.
// What is not printable in them is replaced.
func (t *TextTable) Add(cells ...string) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = Printable(c)
	}
	t.rows = append(t.rows, row)
}

// Write writes the table unless it is empty, each line after the indent; what
// the indent has before its last line end comes once, before the table.
// Widths are in runes, which is wrong for wide scripts and good enough for names of
// functions.
func (t *TextTable) Write(w io.Writer, indent string) {
	if len(t.rows) == 1 {
		return
	}
	if i := strings.LastIndexByte(indent, '\n'); i >= 0 {
		fmt.Fprint(w, indent[:i+1])
		indent = indent[i+1:]
	}
	widths := make([]int, len(t.rows[0]))
	for _, row := range t.rows {
		for i, c := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		for i, c := range row {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c))
			if i > 0 {
				line.WriteString("  ")
			}
			if i < t.Text {
				line.WriteString(c + pad)
			} else {
				line.WriteString(pad + c)
			}
		}
		fmt.Fprintf(w, "%s%s\n", indent, strings.TrimRight(line.String(), " "))
	}
	if t.More > 0 {
		fmt.Fprintf(w, "%s… and %d more\n", indent, t.More)
	}
}

// Printable is text on one line, without what a terminal or a reader of lines takes for something else: names of symbols and
// files may hold any byte.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r // what is no UTF-8 comes as the replacement character
	}, s)
}

// PrintableCommand is a command as tables are headed by it.
func PrintableCommand(args []string) string { return Printable(strings.Join(args, " ")) }

// FormatList joins names for a sentence, "a, b and c": at most n of them, and the number of the others.
// Cut off rather than wrapped: a program may have two hundred libraries.
func FormatList(names []string, n int) string {
	if len(names) > n {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
