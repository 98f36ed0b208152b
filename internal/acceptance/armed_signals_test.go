package acceptance

import "testing"

// TestSignalsOfItsOwnNatively: a program that runs natively, with a window armed, and sends itself a signal that its handler blocks gets that at the
// handler's end, however many it has had shortly before.
func TestSignalsOfItsOwnNatively(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/programs/signals-nested.c", "")
	dir := workDir(t)
	native := run(t, command{argv: []string{prog}, dir: dir})
	for range 4 {
		same(t, native, run(t, command{argv: []string{alleria(), "-q", "record", "--discard", "--on-call", "nosuch", "--", prog}, dir: dir}))
	}
}
