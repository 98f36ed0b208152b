package analysis

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"alleria/abp"
	"alleria/analysis/synthetic"
)

// update rewrites the goldens: go test ./analysis -update.
var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a text with testdata/name.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got\n%s", name, got)
	}
}

// openDemo opens the synthetic run.
func openDemo(t *testing.T) *abp.Profile {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := synthetic.Write(dir); err != nil {
		t.Fatal(err)
	}
	p, err := abp.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}
