package acceptance

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write docs/transparency.md anew")

// testRoot is a directory for everything that is made once; set by TestMain
// before any test runs.
var testRoot string

// TestMain builds the command that all tests run. A binary from elsewhere can
// be named by ALLERIA, to test what is about to be shipped.
func TestMain(m *testing.M) {
	flag.Parse()
	// Most tests wait for two processes that wait for each other: on two processors four at a time take less than two.
	if p := flag.Lookup("test.parallel"); p.Value.String() == fmt.Sprint(runtime.GOMAXPROCS(0)) && runtime.GOMAXPROCS(0) < 4 {
		_ = p.Value.Set("4")
	}
	if signal.Ignored(os.Interrupt) { // as in a shell's background: what is started here would not be ended by it
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "alleria-acceptance-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		// Some tests run as another user, who has to reach the fixtures.
		if err := os.Chmod(dir, 0o755); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		testRoot = dir
		// The user's cache of builds is kept, which lies in that of everything else by itself.
		if cache, err := exec.Command("go", "env", "GOCACHE").Output(); err == nil {
			if err := os.Setenv("GOCACHE", strings.TrimSpace(string(cache))); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		// What a test's programs are translated to, the next one's begin with; nothing is the user's.
		if err := os.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		if bin := os.Getenv("ALLERIA"); bin != "" { // the other form is found beside the file itself
			if err := os.Symlink(bin, builtCommand()); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
			return m.Run()
		}
		for _, build := range []*exec.Cmd{ // as "make build" does
			exec.Command("go", "build", "-tags", "recorder", "-o", builtCommand(), "alleria/cmd/alleria"),
			exec.Command("go", "build", "-o", builtCommand()+"-whole", "alleria/cmd/alleria"),
		} {
			build.Stderr = os.Stderr
			if err := build.Run(); err != nil {
				fmt.Fprintln(os.Stderr, "building alleria:", err)
				return 1
			}
		}
		return m.Run()
	}())
}

// alleria is the path of the command under test.
func alleria() string {
	sources()
	return builtCommand()
}

func builtCommand() string { return filepath.Join(testRoot, "alleria") }

// sources has Go's cache of test results know what the command is built of, which this package does not import: results would be taken for
// good after a change of it. What a running test looks at is noted, and TestMain runs before that.
var sources = sync.OnceFunc(func() {
	_ = filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{"testdata", ".git", "bin", "bench-out"}, d.Name()) {
			return filepath.SkipDir
		}
		switch filepath.Ext(path) {
		case ".go", ".c", ".h", ".S", ".html", ".prototypes", ".txt", ".mod":
			_, _ = os.Stat(path)
		}
		return nil
	})
})

// programs is the folder of fixture sources, relative to this package.
const programs = "../../testdata/programs"
