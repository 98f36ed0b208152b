package symbols

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"alleria/internal/programfile"
)

// fixtures are programs compiled on demand, once for each command.
type fixtures struct {
	mu   sync.Mutex
	dir  string
	made map[string]string
}

var built = fixtures{made: make(map[string]string)}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// build compiles sources of testdata with a compiler and flags and gives the
// program's path. The test is skipped where the compiler is missing, since the
// other fixtures test the same code.
func build(t testing.TB, compiler string, args ...string) string {
	t.Helper()
	built.mu.Lock()
	defer built.mu.Unlock()
	key := compiler + " " + strings.Join(args, " ")
	if path, ok := built.made[key]; ok {
		return path
	}
	if _, err := exec.LookPath(compiler); err != nil {
		t.Skipf("no %s here", compiler)
	}
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "symbols")
		if err != nil {
			t.Fatal(err)
		}
		built.dir = dir
	}
	path := filepath.Join(built.dir, fmt.Sprintf("f%d", len(built.made)))
	run(t, compiler, append(args, "-o", path)...)
	built.made[key] = path
	return path
}

// run runs a command of the tool chain and gives its output.
func run(t testing.TB, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=")
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, errs.String())
	}
	return string(out)
}

// oracle is run for tools that may be missing or complain with a status.
func oracle(t testing.TB, name string, args ...string) []string {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		t.Skipf("no %s here", name)
	}
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBUGINFOD_URLS=")
	out, _ := cmd.Output()
	var lines []string
	for s := bufio.NewScanner(strings.NewReader(string(out))); s.Scan(); {
		lines = append(lines, s.Text())
	}
	return lines
}

// mustOpen opens an image for one test.
func mustOpen(t testing.TB, path string) *Image {
	t.Helper()
	im, err := OpenWith(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { im.Close() })
	return im
}

// system gives a program of the system, or skips.
func system(t testing.TB, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no %s here", path)
	}
	return path
}

// unhex parses a hexadecimal number of a tool's output.
func unhex(t testing.TB, s string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(strings.TrimPrefix(s, "0x"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// copyFile copies a program for mistreatment.
func copyFile(t testing.TB, from string) string {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), filepath.Base(from))
	if err := programfile.Write(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

// shapes are the builds of shapes.c that most tests go through.
func shapes(t *testing.T, f func(t *testing.T, path string)) {
	src := []string{"-O2", "testdata/shapes.c", "testdata/shapes_more.c"}
	for name, flags := range map[string][]string{
		"pie":        {"gcc"},
		"no-pie":     {"gcc", "-fno-pie", "-no-pie"},
		"static":     {"gcc", "-static"},
		"static-pie": {"gcc", "-static-pie"},
		"cet":        {"gcc", "-fcf-protection=full", "-Wl,-z,ibtplt", "-Wl,-z,lazy"},
		"gold":       {"gcc", "-fuse-ld=gold"},
		"debug":      {"gcc", "-g"},
	} {
		t.Run(name, func(t *testing.T) {
			f(t, build(t, flags[0], append(append([]string{}, flags[1:]...), src...)...))
		})
	}
}

var readelfSymbol = regexp.MustCompile(`^\s*\d+: ([0-9a-f]{16})\s+(\w+) (FUNC|IFUNC)\s+\w+\s+\w+\s+(?:\[.*\]\s+)?(\w+) (\S+)`)
