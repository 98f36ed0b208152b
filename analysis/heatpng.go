package analysis

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
)

// WritePNG draws the map as a picture.
// The picture is opaque and needs no font on the machine. A map with too many lines
// is refused with an error that says what to do.
func (m *HeatMap) WritePNG(w io.Writer) error {
	if err := m.drawable(); err != nil {
		return err
	}
	width, height := m.size()
	c, err := newPixels(width, height)
	if err != nil {
		return err
	}
	defer c.close()
	m.draw(c)
	if err := png.Encode(w, c.img); err != nil {
		return fmt.Errorf("heat map picture: %w", err)
	}
	return nil
}

// pixels is the canvas of a PNG.
// Faces are not safe for concurrent use, and so neither is a canvas.
type pixels struct {
	img   *image.RGBA
	faces map[textStyle]font.Face // keyed by Big and Bold only
}

// newPixels makes a canvas, transparent until draw fills it.
//
// The Go fonts come with golang.org/x/image: text looks the same on machines
// without any font, which build servers are.
func newPixels(w, h int) (*pixels, error) {
	p := &pixels{img: image.NewRGBA(image.Rect(0, 0, w, h)), faces: map[textStyle]font.Face{}}
	for _, s := range []textStyle{{}, {Bold: true}, {Big: true}, {Big: true, Bold: true}} {
		ttf, size := goregular.TTF, 13.0
		if s.Bold {
			ttf = gobold.TTF
		}
		if s.Big {
			size = 20
		}
		parsed, err := opentype.Parse(ttf)
		if err != nil {
			return nil, fmt.Errorf("font: %w", err)
		}
		face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: size, DPI: 72, Hinting: font.HintingFull})
		if err != nil {
			return nil, fmt.Errorf("font: %w", err)
		}
		p.faces[s] = face
	}
	return p, nil
}

// close releases the fonts' memory.
func (p *pixels) close() {
	for _, f := range p.faces {
		_ = f.Close() // releases nothing but memory
	}
}

// Rect implements canvas.
// A PNG has no tips.
func (p *pixels) Rect(x, y, w, h int, c color.RGBA, _ string) {
	draw.Draw(p.img, image.Rect(x, y, x+w, y+h), image.NewUniform(c), image.Point{}, draw.Src)
}

// Text implements canvas.
func (p *pixels) Text(x, y int, style textStyle, s string) {
	d := font.Drawer{
		Dst: p.img, Src: image.NewUniform(style.Color),
		Face: p.faces[textStyle{Big: style.Big, Bold: style.Bold}],
		Dot:  fixed.P(x, y),
	}
	if style.Right {
		d.Dot.X -= d.MeasureString(s)
	}
	d.DrawString(s)
}
