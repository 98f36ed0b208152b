package acceptance

import (
	"slices"
	"strings"
	"testing"
)

// TestInterceptForks: children are armed as their creator was, and captured the same, whether each is by itself (--engine capture-alone,
// no-place-ahead, no-shared-scans) or has what was made of its creator's functions.
func TestInterceptForks(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/intercept/forks.c", "-g")
	var first []string
	for i, engine := range []string{"", "no-place-ahead", "no-shared-scans", "no-code-capture", "capture-alone"} {
		dir := workDir(t)
		argv := []string{alleria(), "-q", "record", "-o", profileDir, "--intercept", "twice", "--intercept", "str*@libc.so.6", "--intercept", "*printf@libc.so.6"}
		if engine != "" {
			argv = append(argv, "--engine", engine)
		}
		r := run(t, command{argv: append(argv, "--", prog), dir: dir})
		if string(r.stdout) != "72\n" || len(r.stderr) > 0 {
			t.Fatalf("%s: %s%s", engine, clip(r.stdout), clip(r.stderr))
		}
		var got []string
		for _, line := range intercepts(t, dir) {
			name, _, _ := strings.Cut(line, "(")
			if name == "twice" {
				name = line
			}
			got = append(got, name)
		}
		for n, want := range []string{"twice(n=0) = 0", "twice(n=3) = 6", "twice(n=5) = 10", "snprintf", "strlen", "printf"} {
			if !slices.Contains(got, want) {
				t.Errorf("%s: %d: no %s among %q", engine, n, want, got)
			}
		}
		run(t, command{argv: []string{alleria(), "verify", profileDir}, dir: dir})
		if engine == "capture-alone" {
			// What has no name outside of the library was chosen before the fork, which the creator alone has seen.
			first = slices.DeleteFunc(slices.Clone(first), func(s string) bool { return s == "strchrnul" })
			got = slices.DeleteFunc(got, func(s string) bool { return s == "strchrnul" })
		}
		if i == 0 {
			if n := strings.Count(strings.Join(got, " "), "strchrnul"); n < 14 { // two of the program's, and of each child
				t.Errorf("strchrnul is there %d times in %q", n, got)
			}
			first = got
		} else if !slices.Equal(got, first) {
			t.Errorf("%s: %q, and with everything on %q", engine, got, first)
		}
	}
}
