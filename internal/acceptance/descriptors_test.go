package acceptance

import (
	"strings"
	"testing"
)

// TestFewDescriptors: a program runs to its end where the tracer may open few files. What cannot be traced for want of descriptors runs untraced, and that is the reason which is told.
func TestFewDescriptors(t *testing.T) {
	t.Parallel()
	const many = "for i in $(seq 40); do sleep 0.5 & done; wait; echo hi"
	for _, c := range []struct {
		limit string
		argv  []string
		told  bool // it is too few for certain
	}{
		{"11", []string{"record", "-q", "-o", "od", "--", find("echo"), "hi"}, true},
		{"12", []string{"record", "-q", "-o", "od", "--", find("echo"), "hi"}, true},
		{"14", []string{"record", "-q", "-o", "od", "--", find("echo"), "hi"}, false},
		{"40", []string{"record", "-q", "--only", "count", "--", find("sh"), "-c", many}, true},
	} {
		argv := append([]string{find("sh"), "-c", `ulimit -n "$0"; exec "$@"`, c.limit, alleria()}, c.argv...)
		r := run(t, command{argv: argv, dir: workDir(t)})
		says := string(r.stderr)
		if string(r.stdout) != "hi\n" && (r.status != 125 || !strings.Contains(says, "too many open files")) || c.told && !strings.Contains(says, "too many open files") || strings.Contains(says, "no executable memory") {
			t.Errorf("%s descriptors: status %d, %q, %q", c.limit, r.status, r.stdout, clip(r.stderr))
		}
	}
}
