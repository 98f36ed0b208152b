package symbols

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// stripped makes a stripped copy of the shapes fixture and its debug file.
func stripped(t *testing.T, flags ...string) (program, debug string) {
	t.Helper()
	path := build(t, "gcc", append(flags, "-g", "-O2", "testdata/shapes.c", "testdata/shapes_more.c")...)
	program = copyFile(t, path)
	debug = program + ".debug"
	run(t, "objcopy", "--only-keep-debug", program, debug)
	run(t, "strip", program)
	return program, debug
}

// wantDebug expects a static function's name and line to have been found.
func wantDebug(t *testing.T, im *Image, from Source) {
	t.Helper()
	f := im.Find("splits", true)
	if len(f) != 1 || f[0].Source != from {
		t.Fatalf("splits is %v, problem: %v", f, im.Problem())
	}
	if from != DebugFile {
		return
	}
	file, line, err := im.Line(f[0].Addr)
	if err != nil || filepath.Base(file) != "shapes.c" || line == 0 {
		t.Errorf("line of splits: %s:%d, %v", file, line, err)
	}
}

func TestDebugFileByBuildID(t *testing.T) {
	program, debug := stripped(t)
	id := mustOpen(t, program).BuildID
	root := t.TempDir()
	at := filepath.Join(root, ".build-id", id[:2], id[2:]+".debug")
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(debug, at); err != nil {
		t.Fatal(err)
	}
	im, err := OpenWith(program, Options{DebugDirs: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	defer im.Close()
	wantDebug(t, im, DebugFile)
}

// TestDebugFileOfAnotherBuild must not be believed.
func TestDebugFileOfAnotherBuild(t *testing.T) {
	program, _ := stripped(t)
	_, other := stripped(t, "-DOTHER", "-O1")
	id := mustOpen(t, program).BuildID
	root := t.TempDir()
	at := filepath.Join(root, ".build-id", id[:2], id[2:]+".debug")
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(other, at); err != nil {
		t.Fatal(err)
	}
	im, err := OpenWith(program, Options{DebugDirs: []string{root}})
	if err != nil {
		t.Fatal(err)
	}
	defer im.Close()
	if f := im.Find("splits", true); f != nil {
		t.Errorf("another build's debug file gave %v", f)
	}
}

func TestDebugLink(t *testing.T) {
	for name, dir := range map[string]func(program, root string) string{
		"beside":    func(p, _ string) string { return filepath.Dir(p) },
		"dot debug": func(p, _ string) string { return filepath.Join(filepath.Dir(p), ".debug") },
		"global":    func(p, root string) string { return filepath.Join(root, filepath.Dir(p)) },
	} {
		t.Run(name, func(t *testing.T) {
			program, debug := stripped(t, "-Wl,--build-id=none")
			run(t, "objcopy", "--add-gnu-debuglink="+debug, program)
			root := t.TempDir()
			to := dir(program, root)
			if err := os.MkdirAll(to, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Rename(debug, filepath.Join(to, filepath.Base(debug))); err != nil {
				t.Fatal(err)
			}
			im, err := OpenWith(program, Options{DebugDirs: []string{root}})
			if err != nil {
				t.Fatal(err)
			}
			defer im.Close()
			wantDebug(t, im, DebugFile)
		})
	}
	t.Run("wrong checksum", func(t *testing.T) {
		program, debug := stripped(t, "-Wl,--build-id=none")
		run(t, "objcopy", "--add-gnu-debuglink="+debug, program)
		b, err := os.ReadFile(debug)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(debug, append(b, 0), 0o644); err != nil {
			t.Fatal(err)
		}
		if f := mustOpen(t, program).Find("splits", true); f != nil {
			t.Errorf("a changed debug file gave %v", f)
		}
	})
}

// TestMiniDebugInfo follows the recipe of GDB's manual for .gnu_debugdata.
func TestMiniDebugInfo(t *testing.T) {
	program, debug := stripped(t)
	mini := debug + ".mini"
	run(t, "objcopy", "-S", "--remove-section", ".gdb_index", "--remove-section", ".comment", "--keep-symbol=splits", "--keep-symbol=twin", debug, mini)
	run(t, "xz", mini)
	run(t, "objcopy", "--add-section", ".gnu_debugdata="+mini+".xz", program)
	wantDebug(t, mustOpen(t, program), MiniDebug)
	t.Run("damaged", func(t *testing.T) {
		b, err := os.ReadFile(program)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(b, []byte("\xfd7zXZ\x00"))
		b[at+14] ^= 0xff
		b[at+200] ^= 0xff
		im, err := OpenReader(bytes.NewReader(b), program)
		if err != nil {
			t.Fatal(err)
		}
		if im.Find("splits", true) != nil || im.Problem() == nil {
			t.Errorf("damage went unnoticed")
		}
	})
}

func TestXZDictionary(t *testing.T) {
	header := append(make([]byte, 12), 2, 0, 0x21, 1, 0)
	for bits, want := range map[byte]uint64{0: 4096, 1: 6144, 22: 8 << 20, 28: 64 << 20, 40: 1<<32 - 1, 255: 1<<32 - 1} {
		header[16] = bits
		if got := xzDictionary(header); got != want {
			t.Errorf("%d: %d, want %d", bits, got, want)
		}
	}
}
