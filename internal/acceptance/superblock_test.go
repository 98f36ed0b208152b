package acceptance

import (
	"path/filepath"
	"strings"
	"testing"

	"alleria/abp"
)

// TestSuperblocks records the same run with and without blocks that go on behind branches:
// every instruction and access must be the same, in fewer executions.
func TestSuperblocks(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/tokens.c", "-static -nostdlib -fno-stack-protector -fno-tree-vectorize")
	dump := func(name string, flags ...string) (text string, executions int) {
		argv := append([]string{alleria(), "-q", "record", "--no-aslr", "--select", "any", "--fields", "function,address,value", "-o", name}, flags...)
		if r := run(t, command{argv: append(argv, "--", prog), dir: dir}); r.status != 2 {
			t.Fatalf("%v: status %d instead of 2\n%s", flags, r.status, clip(r.stderr))
		}
		p, err := abp.Open(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if err := p.EachExec(abp.Query{}, func(*abp.Exec) error { executions++; return nil }); err != nil {
			t.Fatal(err)
		}
		r := run(t, command{argv: []string{alleria(), "dump", "--count", "400000", name}, dir: dir})
		_, text, _ = strings.Cut(string(r.stdout), "\n") // the first line has the thread's number
		return text, executions
	}
	super, few := dump("super")
	basic, many := dump("basic", "--engine", "no-super")
	if len(super) < 1e6 || super != basic {
		t.Errorf("%d and %d bytes of text, which differ", len(super), len(basic))
	}
	if few*2 > many {
		t.Errorf("%d executions of blocks, %d of basic blocks", few, many)
	}
}
