package acceptance

import (
	"testing"
	"time"
)

// TestInterceptExec: a thread executes the program anew while the first one stands at a function that is to be captured, and the tracer waits for the other. The new program got the
// registers of the old one: it ended by SIGSEGV in half of the runs.
func TestInterceptExec(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/exec.c", "-pthread")
	for i := range short(6, 40) {
		argv := []string{alleria(), "-q", "record", "-o", profileDir}
		for _, f := range []string{"access", "getpid", "rand", "free"} {
			argv = append(argv, "--intercept", f)
		}
		r := run(t, command{argv: append(argv, "--", prog), dir: workDir(t), timeout: 30 * time.Second})
		if r.status != 0 || string(r.stdout) != "ok\n" {
			t.Fatalf("run %d: status %d, %q\n%s", i, r.status, r.stdout, clip(r.stderr))
		}
	}
}
