package acceptance

import (
	"fmt"
	"testing"
)

// TestThresholdsAcrossRequests opens and closes windows by thresholds in a program that
// the tracer has to do with between any two events: what code has counted by then must
// not be lost, whether the window was opened by code or by the tracer.
func TestThresholdsAcrossRequests(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/rows-faults.S", "-nostdlib -static -no-pie")
	dir := t.TempDir()
	tr := oracleRun(t, dir, prog)
	m := rowMaker{tr}
	for n, c := range []struct {
		on, till *oracleEvent
		openings int
	}{
		{m.call("opens", "", 0), m.call("counts", "", 3), 20},
		{m.call("opens", "", 0), m.ret("counts", "", 2), 20},
		{m.call("opens", "", 2), m.call("counts", "", 2), 10},
		{m.call("counts", "", 2), m.call("opens", "", 0), 20},
		{m.ret("counts", "", 3), m.call("counts", "", 1), 20},
		{m.call("handler", "", 3), m.call("restorer", "", 2), 15},
	} {
		w := &oracleWindow{on: c.on, till: c.till, reopens: true, threads: ofAll()}
		for _, flags := range [][]string{nil, {"--engine", "no-toggle"}, {"--engine", "no-busy,no-toggle"}} {
			if msg := tr.modelled(t, dir, fmt.Sprint("w", n), []*oracleWindow{w}, flags...); msg != "" {
				t.Errorf("%v: %s", flags, msg)
			}
		}
		openings := 0
		for _, change := range runWindows([]*oracleWindow{w}, len(tr.facts)).changes {
			if change.opened {
				openings++
			}
		}
		if openings != c.openings {
			t.Errorf("on %s, till %s: %d openings, by design %d", c.on.xml(), c.till.xml(), openings, c.openings)
		}
	}
}
