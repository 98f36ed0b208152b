package analysis

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// textTable lines up columns: the first text columns to the left, the others,
// numbers, to the right.
// text/tabwriter was refused: it aligns a whole table to one side, and numbers that
// are not right-aligned cannot be compared at a glance.
type textTable struct {
	rows [][]string
	text int // columns of text
	more int // rows that were left out
}

// newTextTable starts a table with its head.
func newTextTable(head ...string) *textTable {
	return &textTable{rows: [][]string{head}, text: 1}
}

// add adds a row of as many cells as the head has.
func (t *textTable) add(cells ...string) { t.rows = append(t.rows, cells) }

// write writes the table unless it is empty, each line after the indent; what
// the indent has before its last line end comes once, before the table.
// Widths are in runes, which is wrong for wide scripts and good enough for names of
// functions.
func (t *textTable) write(w io.Writer, indent string) {
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
			if i < t.text {
				line.WriteString(c + pad)
			} else {
				line.WriteString(pad + c)
			}
		}
		fmt.Fprintf(w, "%s%s\n", indent, strings.TrimRight(line.String(), " "))
	}
	if t.more > 0 {
		fmt.Fprintf(w, "%s… and %d more\n", indent, t.more)
	}
}
