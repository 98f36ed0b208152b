package pstree

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// Sizes of the picture, in its units.
const (
	rowHeight  = 18
	headHeight = 34
	indent     = 14
	charWidth  = 6.2 // of the font that is asked for; labels may be a little narrower
	labelMost  = 60  // characters
	timeWidth  = 760
	margin     = 10
)

// row is one process of the picture, one line.
type row struct {
	node  *Node
	depth int
	y     float64
}

// picture is what all parts of an SVG are drawn by.
type picture struct {
	rows   []row
	places map[int]row // by number
	begin  time.Time
	span   time.Duration // 0: no process has times
	labels float64       // the width of the column with commands
}

// SVG draws the trees along time: a line a process, on the left the numbered tree, on the
// right a bar from its creation to its end, hung on its parent's where that created it.
// What is to be seen of a process and does not fit is in its tooltip.
//
// Refused: boxes and arrows, which DOT's programs lay out better, and which do not show
// what ran beside what.
func SVG(w io.Writer, roots []*Node) error {
	p := lay(roots)
	out := bufio.NewWriter(w)
	width, height := 2*margin+p.labels+timeWidth+90, headHeight+float64(len(p.rows))*rowHeight+margin
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" font-family="monospace" font-size="10">`+"\n",
		width, height, width, height)
	fmt.Fprintln(out, `<rect width="100%" height="100%" fill="#ffffff"/>`)
	p.axis(out, height-margin)
	for _, r := range p.rows {
		p.row(out, r)
	}
	fmt.Fprintln(out, "</svg>")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("process tree: %w", err)
	}
	return nil
}

// lay finds every process's line, and the times between the first creation and the last end.
func lay(roots []*Node) *picture {
	p := &picture{places: map[int]row{}}
	var end time.Time
	Walk(roots, func(n *Node, depth int) {
		r := row{n, depth, headHeight + float64(len(p.rows))*rowHeight}
		p.rows = append(p.rows, r)
		p.places[n.Number] = r
		p.labels = max(p.labels, float64(depth)*indent+charWidth*float64(len([]rune(n.label()))))
		if n.Started == nil {
			return
		}
		if p.begin.IsZero() || n.Started.Before(p.begin) {
			p.begin = *n.Started
		}
		if last := n.Started.Add(n.duration()); last.After(end) {
			end = last
		}
	})
	if !p.begin.IsZero() {
		p.span = max(end.Sub(p.begin), time.Microsecond)
	}
	p.labels += 2 * margin
	return p
}

// label is what stands in the left column.
func (n *Node) label() string {
	l := fmt.Sprintf("%d %s", n.Number, n.short())
	if r := []rune(l); len(r) > labelMost {
		return string(r[:labelMost-1]) + "…"
	}
	return l
}

func (n *Node) duration() time.Duration { return time.Duration(n.Seconds * float64(time.Second)) }

// x is where a time is.
func (p *picture) x(t time.Time) float64 {
	return margin + p.labels + timeWidth*float64(t.Sub(p.begin))/float64(p.span)
}

// axis draws a line for each round time, at most ten.
func (p *picture) axis(w io.Writer, bottom float64) {
	if p.span == 0 {
		return
	}
	step := time.Microsecond
	for i := 0; step*10 < p.span; i++ {
		step = step * time.Duration([]int{2, 5, 2}[i%3]) / time.Duration([]int{1, 2, 1}[i%3])
	}
	for t := time.Duration(0); t <= p.span; t += step {
		x := p.x(p.begin.Add(t))
		fmt.Fprintf(w, `<path d="M%.1f %d V%.1f" stroke="#e0e0e0"/><text x="%.1f" y="%d" fill="#606060">%s</text>`+"\n",
			x, headHeight-6, bottom, x+2, headHeight-10, seconds(t))
	}
}

// seconds is a time of the axis.
func seconds(t time.Duration) string { return fmt.Sprintf("%.4g s", t.Seconds()) }

// row draws one process.
func (p *picture) row(w io.Writer, r row) {
	n := r.node
	tip := fmt.Sprintf("process %d (%s)\n%s", n.Number, strings.Join(n.facts(), ", "), n.Line())
	if len(n.Executed) > 1 {
		tip += "\nexecuted " + strings.Join(n.Executed, ", ")
	}
	fmt.Fprintf(w, `<g id="p%d"><title>%s</title>`, n.Number, escape(tip))
	fmt.Fprintf(w, `<text x="%.1f" y="%.1f">%s</text>`, margin+float64(r.depth)*indent, r.y+12, escape(n.label()))
	if n.Started != nil {
		p.bar(w, r)
	}
	fmt.Fprintln(w, "</g>")
}

// bar draws when the process lived.
func (p *picture) bar(w io.Writer, r row) {
	n := r.node
	x := p.x(*n.Started)
	if parent, ok := p.places[n.Parent]; ok && n.Parent < n.Number && parent.node.Started != nil {
		fmt.Fprintf(w, `<path d="M%.1f %.1f V%.1f" stroke="#a0a0a0"/>`, x, parent.y+rowHeight-4, r.y+4)
	}
	fill, more := "#4878a8", ""
	switch {
	case n.failed():
		fill = "#b2182b"
	case n.Exit == nil: // nobody saw its end
		fill, more = "#d0d0d0", ` stroke="#808080" stroke-dasharray="3 2"`
	}
	width := max(timeWidth*float64(n.duration())/float64(p.span), 1)
	fmt.Fprintf(w, `<rect x="%.1f" y="%.1f" width="%.1f" height="%d" fill="%s"%s/>`, x, r.y+4, width, rowHeight-8, fill, more)
	// Colour alone does not tell everybody.
	if n.failed() {
		fmt.Fprintf(w, `<text x="%.1f" y="%.1f" fill="%s">%s</text>`, x+width+3, r.y+12, fill, escape(n.End()))
	}
}

// escape is a text in XML.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // into memory; what XML cannot hold becomes U+FFFD
	return b.String()
}
