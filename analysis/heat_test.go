package analysis

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"image/png"
	"io"
	"os"
	"strings"
	"testing"
)

// typical is a small program's address space: executable, heap, libraries,
// stack, and the kernel's call page at the very top.
func typical() (*Heat, []Region) {
	h := NewHeat(DefaultHeatBlock)
	h.Add(0x5555_5555_4000, false, 1200)
	h.Add(0x5555_5555_8000, true, 7)
	for i := uint64(0); i < 120<<20; i += 4096 {
		n := 1 + (i>>12)%97*(i>>20)
		h.Add(0x5555_5557_0000+i, false, n)
		if i>>20 > 40 {
			h.Add(0x5555_5557_0000+i, true, n/3+1)
		}
	}
	for i := uint64(0); i < 2<<20; i += 4096 {
		h.Add(0x7fff_f7c0_0000+i, false, 50)
	}
	h.Add(0x7fff_ffff_e000, true, 5_000_000)
	h.Add(0x7fff_ffff_e008, false, 9_000_000)
	h.Add(0xffff_ffff_ff60_0000, false, 1)
	return h, []Region{
		{0x7fff_f7c0_0000, 0x7fff_f7e0_0000, "libc.so.6"},
		{0x5555_5555_4000, 0x5555_5556_0000, "bzip2"},
		{0x5555_5557_0000, 0x5555_6000_0000, "[heap]"},
		{0x7fff_fffd_e000, 0x7fff_ffff_f000, "[stack]"},
		{0x7fff_f700_0000, 0x7fff_f700_1000, "libm.so.6"}, // never accessed
	}
}

func TestHeatCounts(t *testing.T) {
	h := NewHeat(DefaultHeatBlock)
	other := NewHeat(DefaultHeatBlock)
	// Pages that collide in the look-aside table must not mix.
	for i := range uint64(8) {
		h.Add(i*heatPage*heatCache, false, 1)
		h.Add(i*heatPage*heatCache+17, true, 2)
		other.Add(i*heatPage*heatCache, false, 10)
	}
	h.Add(0, false, 5)
	h.Merge(other)
	cells := h.Cells(heatPage)
	if len(cells) != 8 {
		t.Fatalf("%d pages, want 8", len(cells))
	}
	if cells[0].Traffic != (Traffic{16, 2}) || cells[7].Traffic != (Traffic{11, 2}) {
		t.Errorf("first %+v, last %+v", cells[0], cells[7])
	}
	if big := h.Cells(1 << 40); len(big) != 1 || big[0].Traffic != (Traffic{93, 16}) {
		t.Errorf("in one block: %+v", big)
	}
}

func TestHeatMapFolds(t *testing.T) {
	h, regions := typical()
	m := h.Map("t", DefaultHeatBlock, DefaultHeatColumns, regions)
	type line struct {
		addr, fold uint64
		label      string
	}
	want := []line{
		{0, 0x5555_5000_0000, "85.3 TiB without access"},
		{0x5555_5000_0000, 0, "bzip2, [heap]"},
		{0x5555_6000_0000, 0x7fff_f000_0000 - 0x5555_6000_0000, "42.7 TiB without access"},
		{0x7fff_f000_0000, 0, "libc.so.6, [stack]"},
		{0x8000_0000_0000, 0xffff_ffff_f000_0000 - 0x8000_0000_0000, "16.0 EiB without access"},
		{0xffff_ffff_f000_0000, 0, ""},
	}
	if len(m.Rows) != len(want) {
		t.Fatalf("%d lines, want %d: %+v", len(m.Rows), len(want), m.Rows)
	}
	for i, r := range m.Rows {
		w := want[i]
		if r.Addr != w.addr || r.Fold != w.fold || r.Label != w.label || (r.Cells == nil) != (w.fold != 0) {
			t.Errorf("line %d: %#x fold %#x %q, want %#x fold %#x %q", i, r.Addr, r.Fold, r.Label, w.addr, w.fold, w.label)
		}
	}
	if m.Rows[3].Cells[255] != (Traffic{9_000_000, 5_000_000}) || m.Max != 9_000_000 {
		t.Errorf("stack %+v, hottest %d", m.Rows[3].Cells[255], m.Max)
	}
	var sum Traffic
	for _, r := range m.Rows {
		for _, c := range r.Cells {
			sum.Reads += c.Reads
			sum.Writes += c.Writes
		}
	}
	if sum != m.Total {
		t.Errorf("the lines add up to %+v, the total is %+v", sum, m.Total)
	}
}

// TestHeatMapPaper is the paper's layout: eight lines of 256 MiB, a single empty
// line drawn and not folded.
func TestHeatMapPaper(t *testing.T) {
	h := NewHeat(DefaultHeatBlock)
	for _, row := range []uint64{0, 1, 3, 7} {
		h.Add(row<<28, true, 1)
	}
	m := h.Map("t", DefaultHeatBlock, DefaultHeatColumns, nil)
	var folds []bool
	for _, r := range m.Rows {
		folds = append(folds, r.Cells == nil)
	}
	want := []bool{false, false, false, false, true, false}
	if len(folds) != len(want) {
		t.Fatalf("lines %v, want %v", folds, want)
	}
	for i := range want {
		if folds[i] != want[i] {
			t.Fatalf("lines %v, want %v", folds, want)
		}
	}
}

func TestHeatColorsAreOrdered(t *testing.T) {
	last := 1e9
	for n := uint64(1); n < 1e12; n *= 3 {
		c := heatColor(n, 1e12)
		light := 0.299*float64(c.R) + 0.587*float64(c.G) + 0.114*float64(c.B)
		if light >= last {
			t.Errorf("%d is no darker than what is a third of it", n)
		}
		last = light
	}
	if heatColor(0, 10) != emptyColor || heatColor(1, 1) != heatColors[len(heatColors)-1] {
		t.Error("the ends of the scale are wrong")
	}
}

func TestHeatPictures(t *testing.T) {
	h, regions := typical()
	m := h.Map("bzip2 -9 input & <more>", DefaultHeatBlock, DefaultHeatColumns, regions)
	var b bytes.Buffer
	if err := m.WritePNG(&b); err != nil {
		t.Fatal(err)
	}
	keep(t, "heat.png", b.Bytes())
	img, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	w, height := m.size()
	if img.Bounds().Dx() != w || img.Bounds().Dy() != height {
		t.Errorf("picture is %v, want %d by %d", img.Bounds(), w, height)
	}
	// The hottest block is the last of the stack's line, in the left map.
	y := headHeight
	for _, r := range m.Rows[:3] {
		y += rowHeight(r)
	}
	r, g, bl, _ := img.At(margin+addrWidth+255*cellWidth+1, y+3).RGBA()
	hot := heatColors[len(heatColors)-1]
	if uint8(r>>8) != hot.R || uint8(g>>8) != hot.G || uint8(bl>>8) != hot.B {
		t.Errorf("the hottest block is drawn as %x %x %x", r>>8, g>>8, bl>>8)
	}

	b.Reset()
	if err := m.WriteSVG(&b); err != nil {
		t.Fatal(err)
	}
	keep(t, "heat.svg", b.Bytes())
	if !strings.Contains(b.String(), "<title>0x7ffffff00000: 9000000 reads</title>") {
		t.Error("the SVG does not tell the hottest block's numbers")
	}
	for d := xml.NewDecoder(&b); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("SVG: %v", err)
		}
	}
}

// TestHeatHTML reads the page's data back as its script does.
func TestHeatHTML(t *testing.T) {
	h, regions := typical()
	m := h.Map("</script><b>bzip2", DefaultHeatBlock, DefaultHeatColumns, regions)
	var b bytes.Buffer
	if err := m.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	keep(t, "heat.html", b.Bytes())
	page := b.String()
	if strings.Contains(page, "</script><b>") {
		t.Error("a title can break out of the script")
	}
	if strings.Contains(page, "http") {
		t.Error("the page refers to something outside of itself")
	}
	_, rest, _ := strings.Cut(page, `type="application/json">`)
	text, _, _ := strings.Cut(rest, "</script>")
	var d heatData
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page, "prefers-color-scheme: dark") {
		t.Error("light only")
	}
	for _, r := range d.Regions {
		if r.Name == "" {
			t.Errorf("a region without a name: %+v", r)
		}
	}
	if h.Map("", DefaultHeatBlock, DefaultHeatColumns, []Region{{0x10000, 0x20000, ""}}).WriteHTML(&b); !strings.Contains(b.String(), `"name":"anonymous 1"`) {
		t.Error("anonymous memory is in no table")
	}
	b.Reset()
	if h.Map("", 4096, DefaultHeatColumns, []Region{{0x10000, 0x11000, anonymous}, {0x11000, 0x12000, anonymous}, {0x20000, 0x21000, anonymous}}).WriteHTML(&b); strings.Count(b.String(), `"name":"[anonymous] 1"`) != 2 || !strings.Contains(b.String(), `"name":"[anonymous] 2"`) || !strings.Contains(b.String(), `"fit":false`) {
		t.Error("anonymous memory at two places is one region, or a size that was asked for is changed")
	}
	b.Reset()
	if h.Map("", 4096, DefaultHeatColumns, []Region{{0x10000, 0x11000, anonymous + " of f"}, {0x11000, 0x12000, anonymous + " of g"}}).WriteHTML(&b); !strings.Contains(b.String(), `"name":"[anonymous] 1 of f"`) || !strings.Contains(b.String(), `"name":"[anonymous] 2 of g"`) {
		t.Error("who has asked for anonymous memory is not said")
	}
	var at uint64
	var sum Traffic
	for i := 0; i < len(d.Cells); i += 3 {
		at += d.Cells[i]
		sum.Reads += d.Cells[i+1]
		sum.Writes += d.Cells[i+2]
	}
	if sum != m.Total || at*d.Grain != 0xffff_ffff_ff60_0000 || d.Block*d.Grain != m.Block {
		t.Errorf("the page holds %+v up to %#x in blocks of %d, want %+v", sum, at*d.Grain, d.Block*d.Grain, m.Total)
	}
	if len(d.Regions) != len(regions) || d.Regions[0].Name != "bzip2" {
		t.Errorf("regions %+v", d.Regions)
	}
}

func TestHeatCSV(t *testing.T) {
	h, regions := typical()
	m := h.Map("t", DefaultHeatBlock, DefaultHeatColumns, regions)
	var b bytes.Buffer
	if err := m.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != m.Touched+1 {
		t.Errorf("%d rows for %d blocks", len(rows), m.Touched)
	}
	if got := strings.Join(rows[1], "|"); got != "0x555555500000|1048576|"+rows[1][2]+"|"+rows[1][3]+"|bzip2 [heap]" {
		t.Errorf("first row %s", got)
	}
}

func TestHeatMapEmptyAndHuge(t *testing.T) {
	m := NewHeat(1<<20).Map("nothing", 1<<20, 256, nil)
	if err := m.WritePNG(io.Discard); err != nil {
		t.Errorf("an empty map cannot be drawn: %v", err)
	}
	h := NewHeat(64)
	for i := range uint64(maxRows + 1) {
		h.Add(i*64*256, false, 1)
	}
	if err := h.Map("many", 64, 256, nil).WritePNG(io.Discard); err == nil {
		t.Error("a picture of thousands of lines was drawn")
	}
}

// keep leaves a picture where a person can look at it, if asked to.
func keep(t *testing.T, name string, data []byte) {
	t.Helper()
	if dir := os.Getenv("KEEP_PICTURES"); dir != "" {
		if err := os.WriteFile(dir+"/"+name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
