package analysis

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestHeatPageFits has a browser draw the page in windows of several widths: reads and writes are as wide as each other, so
// that nothing of the writes lies behind the table.
func TestHeatPageFits(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium")
	}
	h, regions := typical()
	var b bytes.Buffer
	if err := h.Map("bzip2", DefaultHeatBlock, DefaultHeatColumns, regions).WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	page, shot := filepath.Join(dir, "heat.html"), filepath.Join(dir, "heat.png")
	if err := os.WriteFile(page, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	const lightScheme, darkScheme = "1", "0"
	for _, size := range []string{"800,600", "1000,600", darkScheme} {
		scheme := lightScheme
		if size == darkScheme {
			scheme, size = darkScheme, "1000,600"
		}
		cmd := exec.Command(browser, "--headless", "--no-sandbox", "--disable-gpu", "--blink-settings=preferredColorScheme="+scheme, "--user-data-dir="+filepath.Join(dir, "user"), "--window-size="+size, "--screenshot="+shot, "file://"+page)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Skipf("chromium does not run here: %v\n%s", err, out)
		}
		f, err := os.Open(shot)
		if err != nil {
			t.Skip("chromium made no picture")
		}
		img, err := png.Decode(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		keepPicture(t, "heat-"+size+"-"+scheme+".png", shot)
		if scheme == darkScheme {
			if bright, black := onDark(img); bright < 10 || black > 0 {
				t.Errorf("on a dark page %d pixels of the map are bright, and %d darker than the page", bright, black)
			}
			continue
		}
		if reads, writes := halves(img); reads < 100 || reads-writes > 2 || writes-reads > 2 {
			t.Errorf("%s: reads are %d pixels wide, writes %d", size, reads, writes)
		}
	}
}

// keepPicture keeps a file as keep does.
func keepPicture(t *testing.T, name, path string) {
	if b, err := os.ReadFile(path); err == nil {
		keep(t, name, b)
	}
}

// onDark is how many pixels of the map, below the scale of colours and left of the table, have the colour at the scale's light end, and how many are darker than the
// dark page.
func onDark(img image.Image) (bright, black int) {
	for y := 150; y < img.Bounds().Max.Y; y++ {
		for x := 150; x < img.Bounds().Max.X*2/3; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			if r>>8 > 240 && g>>8 > 170 && b>>8 < 160 {
				bright++
			}
			if r>>8+g>>8+b>>8 < 60 {
				black++
			}
		}
	}
	return bright, black
}

// halves is how wide the two halves of a line of the map are: stretches without the page's own colour, of the line that has the most
// of the colour of blocks without an access.
func halves(img image.Image) (first, second int) {
	at := func(x, y int) (r, g, b uint32) {
		r, g, b, _ = img.At(x, y).RGBA()
		return r >> 8, g >> 8, b >> 8
	}
	box, best, line := img.Bounds(), 0, 0
	for y := range box.Max.Y {
		n := 0
		for x := range box.Max.X {
			if r, g, b := at(x, y); r == 0xea && g == 0xed && b == 0xf1 {
				n++
			}
		}
		if n > best {
			best, line = n, y
		}
	}
	var runs []int
	run := 0
	for x := 145; x < box.Max.X; x++ { // behind the addresses
		if r, g, b := at(x, line); r == 0xff && g == 0xff && b == 0xff {
			if run > 50 {
				runs = append(runs, run)
			}
			run = 0
		} else {
			run++
		}
	}
	if len(runs) < 2 {
		return 0, 0
	}
	return runs[0], runs[1]
}
