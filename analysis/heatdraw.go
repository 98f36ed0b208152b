package analysis

import (
	"fmt"
	"image/color"
	"math"
	"strings"
)

// Measures of a drawn heat map, in pixels.
//
// A cell is narrow and high: 256 of them in a row, twice, have to fit on a screen,
// while the number of rows is small, and three pixels are the least that a pointer
// finds. What is drawn to the right of the maps has a fixed width because text
// cannot be measured on an SVG's canvas.
const (
	cellWidth    = 3
	cellHeight   = 18
	rowGap       = 2
	foldHeight   = 24
	margin       = 24
	addrWidth    = 150 // the column of row addresses
	labelWidth   = 420 // the column of region names
	mapGap       = 28  // between reads and writes
	headHeight   = 118
	legendSteps  = 256
	maxRows      = 4000
	labelLetters = 58  // where a label is cut
	legendText   = 120 // the width of the words before the legend
	titleLetter  = 11  // the width of a letter of the title
	endNumber    = 32  // what the last number of the legend has behind its mark
)

// canvas is what a heat map is drawn on. There are two, pixels and SVG; drawing
// once for both keeps them the same picture.
type canvas interface {
	// Rect fills a rectangle. The tip is shown on hovering, where there is such
	// a thing.
	Rect(x, y, w, h int, c color.RGBA, tip string)
	// Text writes from x rightwards, or leftwards up to it, on the baseline y.
	Text(x, y int, style textStyle, s string)
}

// textStyle is how a text looks. There are no sizes in points: two are
// enough, and each canvas knows how to make them.
type textStyle struct {
	Big, Bold, Right bool
	Color            color.RGBA
}

// Colours of everything but the counts. They are variables because Go has no
// constants of struct types; nothing changes them.
var (
	inkColor   = color.RGBA{0x22, 0x26, 0x2e, 0xff}
	faintColor = color.RGBA{0x7a, 0x82, 0x8f, 0xff}
	paper      = color.RGBA{0xff, 0xff, 0xff, 0xff}
	emptyColor = color.RGBA{0xea, 0xed, 0xf1, 0xff}
	foldColor  = color.RGBA{0xf7, 0xf8, 0xfa, 0xff}
)

// heatColors are the stops of the colour scale from one access to the hottest
// block: lightness falls all the way, so that the order survives grey printing
// and colour blindness.
var heatColors = [...]color.RGBA{
	{0xff, 0xe2, 0x6a, 0xff}, {0xfd, 0xbb, 0x4c, 0xff}, {0xf8, 0x8d, 0x3b, 0xff}, {0xe0, 0x4a, 0x4f, 0xff},
	{0xa9, 0x27, 0x71, 0xff}, {0x66, 0x15, 0x7c, 0xff}, {0x2b, 0x0f, 0x54, 0xff}, {0x0b, 0x05, 0x24, 0xff},
}

// heatColor gives a count its colour. The scale is logarithmic: counts of
// neighbouring blocks differ by powers of ten, and a linear scale shows one dark
// block and nothing else.
// A count of nothing has a colour of its own, outside of the scale: that memory was
// not touched is another fact than that it was touched once.
func heatColor(n, most uint64) color.RGBA {
	if n == 0 {
		return emptyColor
	}
	return scaleColor(heatPosition(n, most))
}

// heatPosition is where a count lies on the scale, 0 to 1.
// A map whose hottest block has a single access is all at the top: the logarithm of
// one is no divisor.
func heatPosition(n, most uint64) float64 {
	if most <= 1 || n >= most {
		return 1
	}
	return math.Log(float64(n)) / math.Log(float64(most))
}

// scaleColor mixes the two stops around a place on the scale, in plain RGB. A
// perceptual colour space would make the steps a little more even and nobody
// would see it.
func scaleColor(t float64) color.RGBA {
	f := t * float64(len(heatColors)-1)
	i := min(int(f), len(heatColors)-2)
	a, b, w := heatColors[i], heatColors[i+1], f-float64(i)
	mix := func(x, y uint8) uint8 { return uint8(math.Round(float64(x)*(1-w) + float64(y)*w)) }
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}

// size returns the picture's measures.
// It must agree with draw, line by line: both go by rowHeight.
func (m *HeatMap) size() (w, h int) {
	w = margin*2 + addrWidth + 2*m.mapWidth() + mapGap + labelWidth
	h = headHeight + margin
	for _, r := range m.Rows {
		h += rowHeight(r)
	}
	if len(m.Rows) == 0 {
		h += foldHeight
	}
	return w, h
}

// mapWidth is the width of one of the two maps. Few columns still leave room
// for the title and the legend above them.
func (m *HeatMap) mapWidth() int { return max(m.Columns*cellWidth, 256) }

// rowHeight is a line's height with the gap below it.
func rowHeight(r HeatRow) int {
	if r.Cells == nil {
		return foldHeight
	}
	return cellHeight + rowGap
}

// drawable refuses maps that no picture can hold.
// The bound is one of PNG viewers and of memory: 4,000 lines are 80,000 pixels of
// height and two thirds of a gigabyte of pixels. HTML and CSV have no such bound.
func (m *HeatMap) drawable() error {
	if len(m.Rows) > maxRows {
		return fmt.Errorf("heat map: %d lines are too many for a picture; take larger blocks than %s", len(m.Rows), FormatBytes(m.Block))
	}
	return nil
}

// draw draws the whole map.
// The order matters on both canvases: what comes later lies on top.
func (m *HeatMap) draw(c canvas) {
	w, h := m.size()
	c.Rect(0, 0, w, h, paper, "")
	left := margin + addrWidth
	right := left + m.mapWidth() + mapGap
	m.drawHead(c, left, right, w)
	y := headHeight
	if len(m.Rows) == 0 {
		c.Text(left, y+foldHeight-8, textStyle{Color: faintColor}, "no memory access was recorded")
	}
	for _, r := range m.Rows {
		if r.Cells == nil {
			c.Rect(left, y+rowGap, right+m.mapWidth()-left, foldHeight-2*rowGap, foldColor, "")
			c.Text(left+8, y+foldHeight-8, textStyle{Color: faintColor}, "… "+r.Label)
		} else {
			m.drawRow(c, r, left, right, y)
		}
		y += rowHeight(r)
	}
}

// drawRow draws one line of both maps. The empty blocks are one rectangle
// each side, so that an SVG holds only what was accessed.
func (m *HeatMap) drawRow(c canvas, r HeatRow, left, right, y int) {
	c.Text(left-8, y+cellHeight-4, textStyle{Right: true, Color: inkColor}, fmt.Sprintf("%#x", r.Addr))
	c.Text(right+m.mapWidth()+10, y+cellHeight-4, textStyle{Color: inkColor}, cut(r.Label, labelLetters))
	c.Rect(left, y, m.Columns*cellWidth, cellHeight, emptyColor, "")
	c.Rect(right, y, m.Columns*cellWidth, cellHeight, emptyColor, "")
	for i, t := range r.Cells {
		addr := r.Addr + uint64(i)*m.Block
		if t.Reads > 0 {
			c.Rect(left+i*cellWidth, y, cellWidth, cellHeight, heatColor(t.Reads, m.Max), fmt.Sprintf("%#x: %d reads", addr, t.Reads))
		}
		if t.Writes > 0 {
			c.Rect(right+i*cellWidth, y, cellWidth, cellHeight, heatColor(t.Writes, m.Max), fmt.Sprintf("%#x: %d writes", addr, t.Writes))
		}
	}
}

// drawHead draws the title, the legend and the columns' heads in a picture of a
// width. The legend ends at the right margin, not at the maps' end: with few
// columns that would lie under the title, which is cut to what is left of it.
func (m *HeatMap) drawHead(c canvas, left, right, width int) {
	legend := width - margin - 2*legendSteps - endNumber
	letters := min(90, (legend-legendText-2*margin)/titleLetter)
	c.Text(margin, 34, textStyle{Big: true, Bold: true, Color: inkColor}, cut(m.Title, letters))
	c.Text(margin, 58, textStyle{Color: faintColor}, fmt.Sprintf("%s reads, %s writes; blocks of %s, %s a line; %d blocks touched",
		FormatCount(m.Total.Reads), FormatCount(m.Total.Writes), FormatBytes(m.Block), FormatBytes(m.Block*uint64(m.Columns)), m.Touched))
	for _, side := range []struct {
		x    int
		name string
	}{{left, "Reads"}, {right, "Writes"}} {
		c.Text(side.x, headHeight-22, textStyle{Bold: true, Color: inkColor}, side.name)
		for q := range 4 { // where in the line one is
			x := side.x + m.Columns*cellWidth*q/4
			c.Rect(x, headHeight-8, 1, 5, faintColor, "")
			if q > 0 {
				c.Text(x+3, headHeight-6, textStyle{Color: faintColor}, "+"+FormatBytes(m.Block*uint64(m.Columns)*uint64(q)/4))
			}
		}
	}
	if m.Max > 0 {
		m.drawLegend(c, legend, 22)
	}
}

// drawLegend draws the colour scale with a mark at each power of ten that has
// room, and at both ends.
func (m *HeatMap) drawLegend(c canvas, x, y int) {
	const width = 2
	for i := range legendSteps {
		c.Rect(x+i*width, y, width, 12, scaleColor(float64(i)/(legendSteps-1)), "")
	}
	c.Text(x-8, y+11, textStyle{Right: true, Color: inkColor}, "accesses a block")
	mark := func(n uint64) int {
		at := x + int(heatPosition(n, m.Max)*(legendSteps-1)*width)
		c.Rect(at, y+12, 1, 4, inkColor, "")
		c.Text(at-4, y+30, textStyle{Color: inkColor}, shortCount(n))
		return at
	}
	last := x - 100
	if m.Max > 1 {
		last = mark(1)
	}
	end := mark(m.Max)
	for n := uint64(10); n < m.Max && n < 1e18; n *= 10 {
		at := x + int(heatPosition(n, m.Max)*(legendSteps-1)*width)
		if at-last > 40 && end-at > 44 {
			last = mark(n)
		}
	}
}

// shortCount writes a legend's number: powers of ten as 1, 10, 100, 1 k …
// At most five letters fit between two marks.
func shortCount(n uint64) string {
	if n >= 1000 && n < 100_000 {
		return fmt.Sprintf("%.3g k", float64(n)/1000)
	}
	s := FormatCount(n)
	number, unit, found := strings.Cut(s, " ")
	if strings.Contains(number, ".") {
		number = strings.TrimSuffix(strings.TrimRight(number, "0"), ".")
	}
	if !found {
		return number
	}
	return number + " " + unit
}

// cut shortens a text to so many letters, the last of which then says that it
// was.
// Letters are runes: a name is cut between characters, never within one.
func cut(s string, letters int) string {
	r := []rune(s)
	if len(r) <= letters {
		return s
	}
	return string(r[:letters-1]) + "…"
}
