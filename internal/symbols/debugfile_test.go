package symbols

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
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

// TestDebuginfod serves a debug file, and counts how often it is asked.
func TestDebuginfod(t *testing.T) {
	program, debug := stripped(t)
	b, err := os.ReadFile(debug)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(debug); err != nil {
		t.Fatal(err)
	}
	id := mustOpen(t, program).BuildID
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.URL.Path != "/buildid/"+id+"/debuginfo" {
			http.NotFound(w, r)
			return
		}
		w.Write(b)
	}))
	defer server.Close()
	cache := t.TempDir()
	for range 2 { // the second time from the cache
		im, err := OpenWith(program, Options{DebugDirs: []string{}, Fetcher: NewDebuginfod([]string{server.URL + "/"}, cache)})
		if err != nil {
			t.Fatal(err)
		}
		wantDebug(t, im, DebugFile)
		im.Close()
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
	unknown := strings.Repeat("ab", 20)
	d := NewDebuginfod([]string{server.URL}, cache)
	for range 2 {
		if _, err := d.DebugInfo(context.Background(), unknown); !errors.Is(err, ErrNoDebugInfo) {
			t.Errorf("unknown build-id: %v", err)
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("a miss was asked for again: %d", n)
	}
	miss := filepath.Join(cache, unknown, "debuginfo")
	old := time.Now().Add(-2 * missTime)
	if err := os.Chtimes(miss, old, old); err != nil {
		t.Fatal(err)
	}
	d.DebugInfo(context.Background(), unknown)
	if n := asked.Load(); n != 3 {
		t.Errorf("an old miss was not asked for again: %d", n)
	}
}

// TestDebuginfodFailures: servers that are down, silent, cut off or malicious
// cost an error and little time, and leave nothing in the cache.
func TestDebuginfodFailures(t *testing.T) {
	id := strings.Repeat("cd", 20)
	var asked atomic.Int32
	short := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("Content-Length", "1000")
		w.Write([]byte("short"))
	}))
	defer short.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500) }))
	defer broken.Close()
	cache := t.TempDir()
	d := NewDebuginfod([]string{"http://127.0.0.1:1", broken.URL, short.URL}, cache)
	for range 2 {
		path, err := d.DebugInfo(context.Background(), id)
		if path != "" || err == nil {
			t.Errorf("got %q, %v", path, err)
		}
	}
	if asked.Load() != 1 {
		t.Errorf("a failing server was asked %d times", asked.Load())
	}
	left, _ := filepath.Glob(filepath.Join(cache, id, "*"))
	if len(left) != 0 {
		t.Errorf("left in the cache: %v", left)
	}
	if _, err := d.DebugInfo(context.Background(), "../../etc"); err == nil {
		t.Error("a build-id that is a path was accepted")
	}
}

func TestFetcherFromEnv(t *testing.T) {
	t.Setenv("DEBUGINFOD_URLS", "")
	if f := FetcherFromEnv(); f != nil {
		t.Errorf("without DEBUGINFOD_URLS: %v", f)
	}
	t.Setenv("DEBUGINFOD_URLS", "http://a http://b")
	t.Setenv("DEBUGINFOD_CACHE_PATH", "")
	t.Setenv("XDG_CACHE_HOME", "/cache")
	d, ok := FetcherFromEnv().(*Debuginfod)
	if !ok || len(d.URLs) != 2 || d.Cache != "/cache/debuginfod_client" {
		t.Errorf("from the environment: %+v", d)
	}
}
