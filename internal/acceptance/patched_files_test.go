package acceptance

import "testing"

// TestPatchedFiles: code of files that a program patches natively between its windows, and files that it writes under the code that is mapped of them, is executed as it is then,
// whether pages are looked at behind every stretch of native code or only where there was a page fault.
func TestPatchedFiles(t *testing.T) {
	t.Parallel()
	fx, err := readFixture("../../testdata/programs/code-infile.c")
	if err != nil {
		t.Fatal(err)
	}
	bin := build(t, fx.file, "")
	window := []string{"--discard", "--reopenable", "--on-call", fx.armed, "--till-return", fx.armed, "--engine"}
	for _, switches := range []string{"no-busy", "no-busy,no-fault-count", "no-busy,no-jumps", "no-busy,no-toggle"} {
		t.Run(switches, func(t *testing.T) {
			t.Parallel()
			fx.check(t, runIn(t, []string{bin, "write"}, &mode{"", append(window[:len(window):len(window)], switches), false}))
		})
	}
}
