package calls

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"html"
	"io"
	"strings"
	"unicode/utf8"

	"alleria/analysis"
)

// flame is a function below its callers, whatever the places that they called it from.
type flame struct {
	Name     string   `json:"n"`
	Image    string   `json:"i"`
	Total    uint64   `json:"t"`
	Own      uint64   `json:"o"`
	Calls    uint64   `json:"c"`
	Loads    uint64   `json:"l"`
	Stores   uint64   `json:"s"`
	Seconds  float64  `json:"m,omitempty"` // with what it calls, where blocks were stamped with their time
	Children []*flame `json:"k,omitempty"`
}

// flames merges call sites, and leaves out what is below a ten thousandth of all: it would be
// narrower than a hair.
func (t *Tree) flames() *flame {
	root := &flame{Name: strings.Join(t.Command, " "), Image: fmt.Sprintf("process %d", t.Process),
		Total: t.Root.Total.Instructions, Loads: t.Root.Total.Loads, Stores: t.Root.Total.Stores, Seconds: t.Root.TotalSeconds}
	gather(root, []*Node{t.Stacks()}, t.Root.Total.Instructions/10_000)
	return root
}

// gather makes the children of f, which is the sum of nodes.
func gather(f *flame, nodes []*Node, least uint64) {
	by := map[*Function][]*Node{}
	var order []*Function
	for _, n := range nodes {
		for _, c := range n.Children {
			if by[c.Func] == nil {
				order = append(order, c.Func)
			}
			by[c.Func] = append(by[c.Func], c)
		}
	}
	for _, fn := range order {
		c := &flame{Name: fn.Name, Image: fn.Image}
		for _, n := range by[fn] {
			c.Total += n.Total.Instructions
			c.Own += n.Own.Instructions
			c.Calls += n.Calls
			c.Loads += n.Total.Loads
			c.Stores += n.Total.Stores
			c.Seconds += n.TotalSeconds
		}
		if c.Total > least || c.Total > 0 && least == 0 {
			f.Children = append(f.Children, c)
			gather(c, by[fn], least)
		}
	}
}

// The size of a flame graph, in pixels.
const (
	flameWidth = 1200
	flameRow   = 17
	flameTop   = 40
	flameSlim  = 0.3 // what is narrower is not drawn
)

// depth is how many rows a flame needs, itself included.
func (f *flame) depth(width, scale float64) int {
	d := 0
	for _, c := range f.Children {
		if float64(c.Total)*scale >= flameSlim {
			d = max(d, c.depth(width, scale))
		}
	}
	return d + 1
}

// WriteSVG draws the tree as a flame graph: callers below, as wide as their share of the
// instructions. Each function tells its numbers when the pointer is on it.
func (t *Tree) WriteSVG(w io.Writer) error {
	out := bufio.NewWriter(w)
	root := t.flames()
	scale := float64(flameWidth) / float64(max(root.Total, 1))
	rows := root.depth(flameWidth, scale)
	height := flameTop + rows*flameRow + 10
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="sans-serif" font-size="11">`+"\n",
		flameWidth, height, flameWidth, height)
	fmt.Fprintf(out, `<rect width="100%%" height="100%%" fill="#fff"/><text x="6" y="22" font-size="14">%s</text>`+"\n", escape(root.Name))
	root.draw(out, 0, scale, height-10-flameRow, root.Total)
	fmt.Fprintln(out, "</svg>")
	return flush(out)
}

// draw draws a function and those that it called above it.
func (f *flame) draw(w io.Writer, x, scale float64, y int, all uint64) {
	width := float64(f.Total) * scale
	time := ""
	if f.Seconds > 0 {
		time = "; " + seconds(f.Seconds) + " s"
	}
	fmt.Fprintf(w, `<g><title>%s (%s): %s instructions, %.2f %%; its own %s; %s calls%s</title>`, escape(f.Name), escape(f.Image),
		analysis.FormatExact(f.Total), 100*float64(f.Total)/float64(max(all, 1)), analysis.FormatExact(f.Own), analysis.FormatExact(f.Calls), time)
	fmt.Fprintf(w, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"/>`, x, y, max(width-0.4, 0.1), flameRow-1, color(f.Name))
	if chars := int(width / 6.3); chars >= 3 {
		fmt.Fprintf(w, `<text x="%.2f" y="%d">%s</text>`, x+3, y+12, escape(clip(f.Name, chars)))
	}
	fmt.Fprintln(w, "</g>")
	for _, c := range f.Children {
		if cw := float64(c.Total) * scale; cw >= flameSlim {
			c.draw(w, x, scale, y-flameRow, all)
			x += cw
		}
	}
}

// clip cuts a name to what a box has room for.
func clip(s string, chars int) string {
	if utf8.RuneCountInString(s) <= chars {
		return s
	}
	return string([]rune(s)[:chars-1]) + "…"
}

// color is a warm colour that depends on the name alone, so that a function looks the same
// in two pictures.
func color(name string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	n := h.Sum32()
	return fmt.Sprintf("hsl(%d,%d%%,%d%%)", n%55, 70+(n>>8)%20, 62+(n>>16)%12)
}

// escape makes text fit for XML, also control characters, which XML has no way to write.
func escape(s string) string {
	return html.EscapeString(strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0xfffe || r == 0xffff {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?")))
}

//go:embed flame.html
var flamePage string

// WriteHTML writes one page with the tree as a flame graph that zooms and finds names, and
// as a table that unfolds. It needs nothing from elsewhere.
func (t *Tree) WriteHTML(w io.Writer) error {
	data, err := json.Marshal(t.flames()) // < and > come out as \u003c: safe within a script
	if err != nil {
		return fmt.Errorf("write calls: %w", err)
	}
	page := strings.Replace(flamePage, "/*DATA*/null", string(data), 1)
	if _, err := io.WriteString(w, page); err != nil {
		return fmt.Errorf("write calls: %w", err)
	}
	return nil
}
