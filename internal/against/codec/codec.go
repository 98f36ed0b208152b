// Package codec builds the program that tests of configurations against programs look at: theirs, and the command's.
//
// It is built once for a test binary, by testdata/build.sh of package against, into a temporary folder which Remove takes away.
package codec

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Fixture is the program of one test binary.
type Fixture struct {
	script string
	once   sync.Once
	path   string
	err    error
}

// New says where build.sh is; nothing is built yet.
func New(script string) *Fixture { return &Fixture{script: script} }

// build builds it.
func (f *Fixture) build() {
	dir, err := os.MkdirTemp("", "alleria-fixture")
	if err != nil {
		f.err = err
		return
	}
	f.path = filepath.Join(dir, "codec")
	if out, err := exec.Command("sh", f.script, dir).CombinedOutput(); err != nil {
		f.err = fmt.Errorf("build the fixture: %w\n%s", err, out)
	}
}

// Program is the program's path; the test is skipped without a compiler.
func (f *Fixture) Program(t testing.TB) string {
	t.Helper()
	for _, tool := range []string{"gcc", "g++"} { // gcc compiles C++ only where g++ is installed
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s here", tool)
		}
	}
	f.once.Do(f.build)
	if f.err != nil {
		t.Fatal(f.err)
	}
	return f.path
}

// Remove takes away what was built.
func (f *Fixture) Remove() {
	if f.path != "" {
		os.RemoveAll(filepath.Dir(f.path))
	}
}

// Installed skips the test where a program of the system is not installed, and returns its path.
func Installed(t testing.TB, path string) string {
	t.Helper()
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no %s here", path)
	}
	return path
}
