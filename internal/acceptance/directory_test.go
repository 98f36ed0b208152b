package acceptance

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestForeignFiles: what else lies in an output directory is neither counted towards
// --max-size, nor read, nor removed, nor overwritten.
func TestForeignFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name string, size int) {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, make([]byte, size), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	record := func(output string) result {
		return run(t, command{argv: []string{alleria(), "record", "--max-size", "1M", "--force", "-o", output, "--", find("true")}, dir: dir})
	}
	put("large/other/file", 4<<20)
	if r := record("large"); r.status != 0 || strings.Contains(string(r.stderr), "ended early") {
		t.Errorf("beside a large file: status %d, %s", r.status, r.stderr)
	}
	for _, name := range []string{"mine/window.xml", "disks/p1/notes.txt", "nested/p2/1.abp/x"} {
		put(name, 1)
		out := strings.SplitN(name, "/", 2)[0]
		r := record(out)
		if r.status != 2 || !strings.Contains(string(r.stderr), "not the output of a run") {
			t.Errorf("%s: status %d, %s", name, r.status, r.stderr)
		}
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, out, "run.json")); err == nil {
			t.Errorf("%s: something was written", name)
		}
	}
	put("file", 1)
	if r := record("file"); r.status != 2 || !strings.Contains(string(r.stderr), "file is no directory") {
		t.Errorf("a file: status %d, %s", r.status, r.stderr)
	}
}
