package adaptive

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"alleria/abp"
)

// Geometry of the picture.
const (
	lane   = 46  // height of a measure
	left   = 230 // of the lines
	plot   = 720 // width of the lines
	right  = 90
	header = 64
	footer = 34
)

// Columns is how many columns an SVG should have.
const Columns = 360

// SVG draws a chart as a picture.
func SVG(w io.Writer, c *Chart, title string) error {
	out := bufio.NewWriter(w)
	height := header + lane*len(c.Measures) + footer
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" font-family="sans-serif" font-size="12">`+"\n", left+plot+right, height)
	fmt.Fprintf(out, `<rect width="100%%" height="100%%" fill="#fff"/><text x="10" y="20" font-size="14" font-weight="bold">%s</text>`+"\n", escape(title))
	fmt.Fprintln(out, `<text x="10" y="46" fill="#555">processing threads: <tspan fill="#1f5fbf">▲ created, resumed</tspan> <tspan fill="#c22">▼ suspended</tspan></text>`)
	phaseBands(out, c, height-footer)
	for _, m := range c.Marks {
		marker(out, c, m)
	}
	for i, m := range c.Measures {
		line(out, m, header+lane*i)
	}
	axis(out, c, height-footer)
	fmt.Fprintln(out, "</svg>")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("picture of adaptation: %w", err)
	}
	return nil
}

// escape makes text safe within an element.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder has no errors
	return b.String()
}

// x is where a column begins.
func (c *Chart) x(column int) float64 { return left + float64(column)/float64(len(c.Phases))*plot }

// colours of phases: ramping up, stable, ramping down.
func colour(phase string) string {
	switch phase {
	case "X":
		return "#e7f0fb"
	case "Z":
		return "#fbe9e7"
	}
	return "#f4f4f4"
}

// phaseBands draws what the phases were behind everything else.
func phaseBands(out io.Writer, c *Chart, bottom int) {
	for from := 0; from < len(c.Phases); {
		to := from
		for to < len(c.Phases) && c.Phases[to] == c.Phases[from] {
			to++
		}
		fmt.Fprintf(out, `<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"><title>phase %s</title></rect>`+"\n",
			c.x(from), header-8, c.x(to)-c.x(from), bottom-header+8, colour(c.Phases[from]), escape(c.Phases[from]))
		from = to
	}
}

// marker draws a change of the number of threads.
func marker(out io.Writer, c *Chart, m Mark) {
	x, fill, shape := c.x(m.Column), "#1f5fbf", "l-5 9h10z"
	y := 38
	if m.Event.Action == abp.ActionSuspend {
		fill, shape, y = "#c22", "l-5 -9h10z", 48
	}
	if m.Event.Event == abp.EventBroken {
		fill = "#000"
	}
	fmt.Fprintf(out, `<path d="M%.1f %d%s" fill="%s"><title>%s</title></path>`+"\n", x, y, shape, fill, escape(row(&m.Event)))
}

// line draws a measure.
func line(out io.Writer, m Measure, top int) {
	const room = lane - 10
	fmt.Fprintf(out, `<text x="10" y="%d">%s</text><text x="%d" y="%d" fill="#555">%.3g %s</text>`, top+lane/2, escape(m.Name), left+plot+6, top+10, m.Most, escape(m.Unit))
	fmt.Fprintf(out, `<path fill="none" stroke="#333" stroke-width="1.2" d="`)
	step := plot / float64(len(m.Values))
	last := -1.0
	for i, v := range m.Values {
		y := float64(top + room)
		if m.Most > 0 {
			y -= v / m.Most * room
		}
		switch x := left + float64(i)*step; {
		case i == 0:
			fmt.Fprintf(out, "M%.1f %.1f", x, y)
		case y != last:
			fmt.Fprintf(out, "H%.1fV%.1f", x, y)
		}
		last = y
	}
	fmt.Fprintf(out, "H%d\"/>\n", left+plot)
}

// axis draws the time.
func axis(out io.Writer, c *Chart, y int) {
	fmt.Fprintf(out, `<path d="M%d %dH%d" stroke="#999"/>`, left, y, left+plot)
	for i := 0; i <= 6; i++ {
		fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="middle" fill="#555">%.3g s</text>`, left+plot*i/6, y+18, c.From+c.Seconds*float64(i)/6)
	}
	fmt.Fprintln(out)
}
