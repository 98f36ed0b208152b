package acceptance

import (
	"strings"
	"testing"
)

// TestMoreThreadsThanSlots: threads that run untraced beside others run into nothing of ours where functions are watched or captured.
func TestMoreThreadsThanSlots(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/events/crowded.c", "-O1 -pthread")
	for name, flags := range map[string][]string{
		"captured": {"--intercept", "work@main"},
		"stops":    {"--intercept", "work@main", "--engine", "no-jumps"},
		"windows":  {"--on-call", "work", "--till-return", "work", "--reopenable", "--discard"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := workDir(t)
			argv := append([]string{alleria(), "-q", "record", "-o", profileDir}, flags...)
			if name == "windows" {
				argv = append([]string{alleria(), "-q", "record"}, flags...)
			}
			r := run(t, command{argv: append(argv, "--", prog), dir: dir})
			if string(r.stdout) != "done\n" || r.status != 0 {
				t.Errorf("status %d, it prints %s%s", r.status, clip(r.stdout), clip(r.stderr))
			}
			if !strings.Contains(string(r.stderr), "untraced") {
				t.Errorf("nothing is said of threads that ran untraced: %s", clip(r.stderr))
			}
		})
	}
}

// TestLetGoWhileCreating: a process that creates threads all the time goes on natively when the run is over, with the thread that is just being created.
func TestLetGoWhileCreating(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/trees/creates.c", "-O1 -pthread")
	for name, flags := range map[string][]string{
		"followed": {"--process", "nobody"},
		"window":   {"--on-call", "nothing", "--till-return", "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 2 {
				dir := workDir(t)
				argv := append([]string{alleria(), "-q", "record", "-o", profileDir, "--max-time", "300ms"}, flags...)
				r := run(t, command{argv: append(argv, "--", prog), dir: dir})
				if string(r.stdout) != "done\n" || r.status != 0 {
					t.Errorf("status %d, it prints %s%s", r.status, clip(r.stdout), clip(r.stderr))
				}
			}
		})
	}
}
