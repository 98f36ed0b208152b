package acceptance

import (
	"testing"

	"alleria/abp"
)

// TestSuperblocks records the same run with and without blocks that go on behind branches:
// every instruction and access must be the same, in fewer executions.
func TestSuperblocks(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	record := func(name string, flags ...string) (text string, executions int) {
		p, text := recordTokens(t, dir, name, "function,address,value", flags...)
		if err := p.EachExec(abp.Query{}, func(*abp.Exec) error { executions++; return nil }); err != nil {
			t.Fatal(err)
		}
		return text, executions
	}
	super, few := record("super")
	basic, many := record("basic", "--engine", "no-super")
	if len(super) < 1e6 || super != basic {
		t.Errorf("%d and %d bytes of text, which differ", len(super), len(basic))
	}
	if few*2 > many {
		t.Errorf("%d executions of blocks, %d of basic blocks", few, many)
	}
}
