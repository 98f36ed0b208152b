package acceptance

import (
	"path/filepath"
	"strings"
	"testing"

	"alleria/abp"
)

// recordTokens records a program full of branches, whose runs are all the same, into
// dir/name, and returns the profile and all of it as text.
func recordTokens(t *testing.T, dir, name, fields string, flags ...string) (p *abp.Profile, text string) {
	t.Helper()
	prog := build(t, "../../testdata/counts/tokens.c", "-static -nostdlib -fno-stack-protector -fno-tree-vectorize")
	argv := append([]string{alleria(), "-q", "record", "--no-aslr", "--select", "any", "--fields", fields, "-o", name}, flags...)
	if r := run(t, command{argv: append(argv, "--", prog), dir: dir}); r.status != 2 {
		t.Fatalf("%s: status %d instead of 2\n%s", name, r.status, clip(r.stderr))
	}
	p, err := abp.Open(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	r := run(t, command{argv: []string{alleria(), "dump", "--count", "400000", name}, dir: dir})
	_, text, _ = strings.Cut(string(r.stdout), "\n") // the first line has the thread's number
	return p, text
}
