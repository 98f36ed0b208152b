package pstree

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Text draws the trees with lines between parents and children, one process a line:
//
//	1 (pid 200, exit status 0, 2.1 s, 12 MiB) make -j4
//	├─ 2 (pid 201, exit status 0, 0.9 s) cc -c a.c
//	└─ 3 (pid 202, killed by SIGSEGV, 0.1 s) ./a
//
// Lines are cut to so many characters, as ps cuts them on a terminal: a linker's command alone fills a screen. Of a program's path the name
// alone is left then, and a good end is not said. 0: they are whole.
func Text(w io.Writer, roots []*Node, columns int) error {
	out := bufio.NewWriter(w)
	for _, n := range roots {
		text(out, n, "", "", columns)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("process tree: %w", err)
	}
	return nil
}

// text draws a node behind first, and what is below it behind rest.
func text(w io.Writer, n *Node, first, rest string, columns int) {
	facts, command := n.facts(), n.Line()
	if columns > 0 {
		facts = slices.DeleteFunc(facts, func(s string) bool { return s == goodEnd })
		if len(n.Command) > 0 {
			short := *n
			short.Command = append([]string{path.Base(n.Command[0])}, n.Command[1:]...)
			command = short.Line()
		}
	}
	fmt.Fprintln(w, cut(fmt.Sprintf("%s%d (%s) %s", first, n.Number, strings.Join(facts, ", "), command), columns))
	for i, c := range n.Children {
		if i < len(n.Children)-1 {
			text(w, c, rest+"├─ ", rest+"│  ", columns)
		} else {
			text(w, c, rest+"└─ ", rest+"   ", columns)
		}
	}
}

// cut shortens a line to so many characters; 0: as long as it is.
func cut(line string, columns int) string {
	if columns <= 0 || utf8.RuneCountInString(line) <= columns {
		return line
	}
	return string([]rune(line)[:columns-1]) + "…"
}
