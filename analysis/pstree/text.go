package pstree

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Text draws the trees with lines between parents and children, one process a line:
//
//	1 (pid 200, exit status 0, 2.1 s, 12 MiB) make -j4
//	├─ 2 (pid 201, exit status 0, 0.9 s) cc -c a.c
//	└─ 3 (pid 202, killed by SIGSEGV, 0.1 s) ./a
func Text(w io.Writer, roots []*Node) error {
	out := bufio.NewWriter(w)
	for _, n := range roots {
		text(out, n, "", "")
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("process tree: %w", err)
	}
	return nil
}

// text draws a node behind first, and what is below it behind rest.
func text(w io.Writer, n *Node, first, rest string) {
	fmt.Fprintf(w, "%s%d (%s) %s\n", first, n.Number, strings.Join(n.facts(), ", "), n.Line())
	for i, c := range n.Children {
		if i < len(n.Children)-1 {
			text(w, c, rest+"├─ ", rest+"│  ")
		} else {
			text(w, c, rest+"└─ ", rest+"   ")
		}
	}
}
