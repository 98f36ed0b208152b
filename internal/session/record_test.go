package session

import (
	"os"
	"path/filepath"
	"testing"
)

// TestFreshOutput: runs that begin in the same second have directories of their own.
func TestFreshOutput(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run")
	for _, want := range []string{name, name + "-2", name + "-3"} {
		if got := freshOutput(name); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if _, err := os.Stat(want); err != nil {
			t.Error(err)
		}
	}
	missing := filepath.Join(name, "nosuch", "run")
	if got := freshOutput(missing); got != missing {
		t.Errorf("a directory that cannot be made is called %s", got)
	}
}
