package acceptance

import (
	"strings"
	"testing"
)

// TestInterceptStart: nobody has called a program's first function, whatever lies where others find a return address.
func TestInterceptStart(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/intercept/cli-tree.c", "")
	r := run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "--intercept", "_start", "--intercept", "main", "--", prog, "a", "b"}, dir: dir})
	if len(r.stderr) > 0 {
		t.Errorf("recording says %s", clip(r.stderr))
	}
	for _, args := range [][]string{{"--callers"}, {"--stats"}, {"--csv"}, {"--json"}, {"--table", "--callers"}, {"--nested", "--callers"}} {
		text := strings.Join(intercepts(t, dir, args...), "\n")
		if !strings.Contains(text, "_start") || !strings.Contains(text, "main") || strings.Contains(text, "0x3\n") || strings.Contains(text, "from 0x") || strings.Contains(text, `"0x3"`) || strings.Contains(text, ",0x3,") {
			t.Errorf("%v:\n%s", args, text)
		}
	}
}
