package acceptance

import (
	"fmt"
	"testing"
)

// TestEndsWhileLeft has a process end itself while it is being detached: a window that cannot
// open again has closed. How it ended is told as ever; the last of its threads to be detached used to be gone by
// then, and with it the exit status: in a third of these runs.
func TestEndsWhileLeft(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/endswhileleft.c", "-O1 -pthread")
	dir := workDir(t)
	for how, want := range map[string]int{"exit": 3, "abort": 134, "kill": 143} {
		for n := range short(5, 12) {
			// It is detached within some milliseconds.
			argv := []string{alleria(), "-q", "record", "--discard", "--on-call", "work", "--till-return", "work", "--", prog, fmt.Sprint(2000 * n), how}
			if r := run(t, command{argv: argv, dir: dir}); r.status != want {
				t.Errorf("%s after %d ms: status %d, want %d\n%s", how, 2*n, r.status, want, clip(r.stderr))
			}
		}
	}
}
