package acceptance

import (
	"bytes"
	"testing"
)

// TestUnpatched has a program look at the first bytes of a function that windows wait for. They are its own where it was asked that nothing be
// put there, and a breakpoint is among them where it was not: else nothing would have been looked at.
func TestUnpatched(t *testing.T) {
	t.Parallel()
	fx, err := readFixture("../../testdata/programs/code-reads.c")
	if err != nil {
		t.Fatal(err)
	}
	bin := build(t, fx.file, "")
	fx.armed = "work"
	modes := append(fx.armedModes(t)[:2], mode{"once", []string{"--discard", "--on-call", "work", "--till-return", "work"}, false},
		mode{"intercepted", []string{"--discard", "--intercept", "work"}, false})
	for _, m := range modes {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			if r := runIn(t, []string{bin}, &m); r.status != 1 || !bytes.Contains(r.stderr, []byte("by loads: ")) {
				t.Errorf("patched, it ends with %d: %s", r.status, r.stderr)
			}
			m.flags = append([]string{"--unpatched"}, m.flags...)
			fx.check(t, runIn(t, []string{bin}, &m))
		})
	}
}
