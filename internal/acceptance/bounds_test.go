package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBoundsAreExact ends recordings of a real program at a number of instructions, and at a size.
func TestBoundsAreExact(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	input := filepath.Join(dir, "input")
	if err := os.WriteFile(input, []byte(strings.Repeat("to be or not to be, that is the question\n", 50_000)), 0o644); err != nil {
		t.Fatal(err)
	}
	want := run(t, command{argv: []string{find("gzip"), "-c", input}, dir: dir})
	record := func(out string, flags ...string) result {
		argv := append([]string{alleria(), "record", "-o", out}, flags...)
		r := run(t, command{argv: append(argv, "--", find("gzip"), "-c", input), dir: dir})
		if r.status != 0 || string(r.stdout) != string(want.stdout) {
			t.Errorf("%v: status %d, other output than natively", flags, r.status)
		}
		if v := run(t, command{argv: []string{alleria(), "verify", out}, dir: dir}); v.status != 0 {
			t.Errorf("%v: %s", flags, v.stdout)
		}
		return r
	}
	for _, n := range []string{"100000", "1234567"} {
		r := record("out"+n, "--max-instructions", n)
		if said := fmt.Sprintf("alleria: recording ended early: --max-instructions %[1]s\nalleria: %[1]s instructions, ", n); !strings.Contains(string(r.stderr), said) {
			t.Errorf("%s: %s", n, r.stderr)
		}
	}
	const most = 1 << 20
	record("sized", "--max-size", "1M", "--threads", "2")
	var size int64
	err := filepath.Walk(filepath.Join(dir, "sized", "p1"), func(_ string, st os.FileInfo, err error) error {
		if err == nil && !st.IsDir() {
			size += st.Size()
		}
		return err
	})
	if err != nil || size < most*3/4 || size > most+256<<10 {
		t.Errorf("1M: %d bytes: %v", size, err)
	}
}
