package pstree

import (
	"bufio"
	"fmt"
	"io"
	"path"
	"strings"
)

// mostCommand is how many characters of a command stand in a picture's label; the whole
// is in its tooltip.
const mostCommand = 60

// DOT draws the trees in Graphviz's language: dot -Tsvg and the like make pictures of it.
// A process that failed is red, one that was not followed is dashed.
func DOT(w io.Writer, roots []*Node) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, "digraph processes {")
	fmt.Fprintln(out, "  ordering=out; rankdir=LR;")
	fmt.Fprintln(out, `  node [shape=box, fontname="sans-serif", fontsize=10];`)
	Walk(roots, func(n *Node, _ int) {
		attrs := fmt.Sprintf(`label=%s, tooltip=%s`,
			dotText(fmt.Sprintf("%d  %s\n%s", n.Number, n.short(), strings.Join(n.facts()[1:], ", "))), dotText(n.Line()))
		if n.failed() {
			attrs += `, color="#b2182b"`
		}
		if !n.Followed {
			attrs += `, style=dashed`
		}
		fmt.Fprintf(out, "  p%d [%s];\n", n.Number, attrs)
		for _, c := range n.Children {
			fmt.Fprintf(out, "  p%d -> p%d;\n", n.Number, c.Number)
		}
	})
	fmt.Fprintln(out, "}")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("process tree: %w", err)
	}
	return nil
}

// dotText is a quoted string: DOT knows two escapes in it that matter here, and \n for a
// line's end.
func dotText(s string) string {
	s = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(s, "\ufffd"))
	return `"` + s + `"`
}

// short is the command without the program's folder, cut to a label's length.
func (n *Node) short() string {
	m := Node{Command: n.Command}
	if len(n.Command) > 0 {
		m.Command = append([]string{path.Base(n.Command[0])}, n.Command[1:]...)
	}
	if r := []rune(m.Line()); len(r) > mostCommand {
		return string(r[:mostCommand-1]) + "…"
	}
	return m.Line()
}
