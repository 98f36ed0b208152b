package acceptance

import (
	"strings"
	"testing"
)

// TestInterceptFiltered: a program that installs a filter of system calls while it runs natively, before a function is called that is captured or behind its first calls, is not killed
// for calls of ours, and each of its calls is captured.
func TestInterceptFiltered(t *testing.T) {
	t.Parallel()
	for flags, want := range map[string]string{"": "fib: 2692537 calls, 2692537 returned", "-DBEFORE": "fib: 2701387 calls, 2701387 returned"} {
		dir := workDir(t)
		prog := build(t, programs+"/rights-seccomp.c", flags)
		native := run(t, command{argv: []string{prog}, dir: dir})
		same(t, native, run(t, command{argv: []string{alleria(), "-q", "record", "-o", "out", "--intercept", "fib", "--", prog}, dir: dir}))
		if r := run(t, command{argv: []string{alleria(), "intercepts", "--stats", "out"}, dir: dir}); !strings.HasPrefix(string(r.stdout), want) {
			t.Errorf("%s: %s%s", flags, clip(r.stdout), clip(r.stderr))
		}
	}
}
