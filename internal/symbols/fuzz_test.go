package symbols

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"
)

// exercise asks an image for everything.
func exercise(t *testing.T, b []byte) {
	im, err := OpenReader(bytes.NewReader(b), "fuzzed")
	if err != nil {
		if im != nil {
			t.Fatal("an image and an error")
		}
		return
	}
	defer im.Close()
	im.opts.DebugDirs = []string{}
	fns := im.Functions()
	for i := range fns {
		if i > 0 && fns[i].Addr <= fns[i-1].Addr {
			t.Fatal("the table is not sorted")
		}
		if f := im.Lookup(fns[i].Addr); fns[i].Size > 0 && f == nil {
			t.Fatalf("%s is not found by its address", fns[i].Linked())
		}
		if i < 100 {
			fns[i].Name()
		}
	}
	im.Find("main", false)
	im.Find("m*", false)
	im.MainCall()
	im.Line(im.Entry)
	im.MinVaddr()
	view, err := openMemory(bytes.NewReader(b), 0, "fuzzed")
	if err == nil {
		view.Functions()
	}
	im.placements(&Mapping{Start: 0x1000, End: 0x2000})
}

// FuzzImage must never panic or allocate beyond the input's size.
func FuzzImage(f *testing.F) {
	for _, args := range [][]string{{"-O2"}, {"-O2", "-static-pie"}, {"-g", "-Wl,--strip-all"}, {"-g", "-gz"}} {
		b, err := os.ReadFile(build(f, "gcc", append(args, "testdata/shapes.c", "testdata/shapes_more.c")...))
		if err != nil {
			f.Fatal(err)
		}
		if len(b) < 1<<16 {
			f.Add(b)
		}
	}
	f.Fuzz(exercise)
}

// TestMutations is a fuzzer's first second, repeatable: truncations, and
// headers and tables with extreme numbers in them.
func TestMutations(t *testing.T) {
	b, err := os.ReadFile(build(t, "gcc", "-g", "-O2", "testdata/shapes.c", "testdata/shapes_more.c"))
	if err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(b); n += 97 {
		exercise(t, b[:n])
	}
	shoff := binary.LittleEndian.Uint64(b[40:])
	var places []uint64
	for at := uint64(16); at < 64+13*56; at += 2 {
		places = append(places, at)
	}
	for at := shoff; at+4 <= uint64(len(b)); at += 4 {
		places = append(places, at)
	}
	im := mustOpen(t, build(t, "gcc", "-g", "-O2", "testdata/shapes.c", "testdata/shapes_more.c"))
	for _, name := range []string{".eh_frame", ".eh_frame_hdr", ".dynsym", ".dynamic", ".gnu.version", ".gnu.version_d", ".gnu.hash", ".rela.plt", ".debug_line"} {
		if s, ok := im.section(name); ok {
			for at := s.off; at < s.off+min(s.size, 400); at += 3 {
				places = append(places, at)
			}
		}
	}
	for i, at := range places {
		for _, v := range [][]byte{{0xff, 0xff, 0xff, 0xff}, {0, 0, 0, 0}, {0, 0, 0, 0x80}, {1, 0, 0, 0x7f}}[i%2*2 : i%2*2+2] {
			c := bytes.Clone(b)
			copy(c[at:], v)
			exercise(t, c)
		}
	}
}

// TestWithoutSections takes the section table away, as sstrip does, and expects
// what the dynamic section and the unwind table still say.
func TestWithoutSections(t *testing.T) {
	for _, hash := range []string{"-Wl,--hash-style=gnu", "-Wl,--hash-style=sysv"} {
		path := build(t, "gcc", "-O2", "-rdynamic", hash, "testdata/shapes.c", "testdata/shapes_more.c")
		whole := mustOpen(t, path)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		clear(b[40:48])
		clear(b[60:64])
		im, err := OpenReader(bytes.NewReader(b), "sectionless")
		if err != nil {
			t.Fatal(err)
		}
		if im.BuildID != whole.BuildID || im.Interp != whole.Interp || !im.PIE {
			t.Errorf("%s: %+v", hash, im)
		}
		for _, name := range []string{"main", "global_one", "splits", "more"} {
			w, g := whole.Find(name, true)[0], im.Find(name, true)
			if len(g) != 1 || g[0].Addr != w.Addr || g[0].Size != w.Size || g[0].Source != DynamicTable {
				t.Errorf("%s: %s is %v, want %+v", hash, name, g, w)
			}
		}
		cold := whole.Find("splits.cold", true)[0]
		if f := im.Lookup(cold.Addr); f == nil || f.Source != Unwind || f.Size != cold.Size {
			t.Errorf("%s: splits.cold is %+v", hash, f)
		}
		call, err := im.MainCall()
		if want, _ := whole.MainCall(); err != nil || call != want {
			t.Errorf("%s: MainCall %#x, %v; want %#x", hash, call, err, want)
		}
	}
}
