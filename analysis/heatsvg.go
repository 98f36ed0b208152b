package analysis

import (
	"bufio"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"image/color"
	"io"
	"strconv"
	"strings"
)

// WriteSVG draws the map as a scalable picture whose blocks tell their numbers
// on hovering.
// Texts name only a generic font: the width of a label differs between viewers, and
// nothing is placed by it. A map with too many lines is refused, as for PNG.
func (m *HeatMap) WriteSVG(w io.Writer) error {
	if err := m.drawable(); err != nil {
		return err
	}
	width, height := m.size()
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="13" shape-rendering="crispEdges">`+"\n", width, height)
	m.draw(&vectors{out})
	fmt.Fprintln(out, "</svg>")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("heat map picture: %w", err)
	}
	return nil
}

// vectors is the canvas of an SVG. Errors of writing stay in the bufio.Writer
// until its Flush.
type vectors struct{ out *bufio.Writer }

// Rect implements canvas.
func (v *vectors) Rect(x, y, w, h int, c color.RGBA, tip string) {
	fmt.Fprintf(v.out, `<rect x="%d" y="%d" width="%d" height="%d" fill="#%02x%02x%02x"`, x, y, w, h, c.R, c.G, c.B)
	if tip == "" {
		fmt.Fprintln(v.out, "/>")
		return
	}
	fmt.Fprintf(v.out, "><title>%s</title></rect>\n", escape(tip))
}

// Text implements canvas.
func (v *vectors) Text(x, y int, style textStyle, s string) {
	attrs := ""
	if style.Right {
		attrs += ` text-anchor="end"`
	}
	if style.Bold {
		attrs += ` font-weight="bold"`
	}
	if style.Big {
		attrs += ` font-size="20"`
	}
	fmt.Fprintf(v.out, `<text x="%d" y="%d" fill="#%02x%02x%02x"%s>%s</text>`+"\n", x, y, style.Color.R, style.Color.G, style.Color.B, attrs, escape(s))
}

// escape makes a text safe inside of an element.
// XML 1.0 has no way to write most control characters; EscapeText replaces them, as
// file names may have any.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
	return b.String()
}

// WriteCSV writes a line for each block that was accessed.
//
// Addresses are hexadecimal with 0x, everything else decimal; regions are separated
// by spaces. Blocks without an access have no line: the file's size goes with what
// was touched and not with the address space.
func (m *HeatMap) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{"address", "bytes", "reads", "writes", "regions"}) // errors wait for Flush
	for _, c := range m.heat.Cells(m.Block) {
		_ = out.Write([]string{
			fmt.Sprintf("%#x", c.Addr), strconv.FormatUint(m.Block, 10),
			strconv.FormatUint(c.Reads, 10), strconv.FormatUint(c.Writes, 10),
			strings.Join(m.namesIn(c.Addr), " "),
		})
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return fmt.Errorf("heat map table: %w", err)
	}
	return nil
}

// namesIn returns the regions that a block reaches into.
// Unlike a row's label, which goes by what was accessed, these are all that the
// block covers: a table is filtered afterwards, a picture is not.
func (m *HeatMap) namesIn(block uint64) []string {
	var names []string
	seen := map[string]bool{}
	for _, r := range m.regions {
		if r.Lo <= block+m.Block-1 && r.Hi > block && r.Name != "" && !seen[r.Name] {
			seen[r.Name] = true
			names = append(names, r.Name)
		}
	}
	return names
}
