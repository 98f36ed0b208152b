package debuginfod

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"alleria/internal/symbols"
)

// stripped makes a program without names, and returns its path, the text of its debug file and its build-id.
func stripped(t *testing.T) (program string, debug []byte, id string) {
	t.Helper()
	dir := t.TempDir()
	program = filepath.Join(dir, "p")
	source := filepath.Join(dir, "p.c")
	text := "__attribute__((noinline)) static int hidden(int n) { return n * n; }\nint main(int argc, char **argv) { return hidden(argc) == 4; }\n"
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, argv := range [][]string{{"gcc", "-g", "-O1", "-Wl,--build-id", "-o", program, source}, {"objcopy", "--only-keep-debug", program, program + ".debug"}, {"strip", program}} {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", argv, err, out)
		}
	}
	debug, err := os.ReadFile(program + ".debug")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(program + ".debug"); err != nil {
		t.Fatal(err)
	}
	im, err := symbols.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer im.Close()
	return program, debug, im.BuildID
}

// TestClient serves a debug file, and counts how often it is asked.
func TestClient(t *testing.T) {
	program, b, id := stripped(t)
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
		im, err := symbols.OpenWith(program, symbols.Options{DebugDirs: []string{}, Fetcher: New([]string{server.URL + "/"}, cache)})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(im.Functions(), func(f symbols.Function) bool { return f.Name() == "hidden" }) {
			t.Error("a static function has no name")
		}
		im.Close()
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
	unknown := strings.Repeat("ab", 20)
	d := New([]string{server.URL}, cache)
	for range 2 {
		if _, err := d.DebugInfo(context.Background(), unknown); !errors.Is(err, symbols.ErrNoDebugInfo) {
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

// TestFailures: servers that are down, silent, cut off or malicious
// cost an error and little time, and leave nothing in the cache.
func TestFailures(t *testing.T) {
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
	d := New([]string{"http://127.0.0.1:1", broken.URL, short.URL}, cache)
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

func TestFromEnv(t *testing.T) {
	t.Setenv("DEBUGINFOD_URLS", "")
	if f := FromEnv(); f != nil {
		t.Errorf("without DEBUGINFOD_URLS: %v", f)
	}
	t.Setenv("DEBUGINFOD_URLS", "http://a http://b")
	t.Setenv("DEBUGINFOD_CACHE_PATH", "")
	t.Setenv("XDG_CACHE_HOME", "/cache")
	d, ok := FromEnv().(*Client)
	if !ok || len(d.URLs) != 2 || d.Cache != "/cache/debuginfod_client" {
		t.Errorf("from the environment: %+v", d)
	}
}
