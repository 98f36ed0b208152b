package acceptance

import (
	"fmt"
	"testing"
)

// TestThresholdsOverFunctionsOfOneName opens and closes windows at the nth call of a name that
// two functions have: each counts a share of what is left, which is dealt out anew. A second window, which
// samples with a short period, has threads ask about their budgets everywhere, also right
// behind the count of an arrival at one of the functions, which is not to count twice.
func TestThresholdsOverFunctionsOfOneName(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/rows-shares.S", "-nostdlib -static -no-pie")
	dir := t.TempDir()
	tr := oracleRun(t, dir, prog)
	same := func(element string, phase, times int, of func(f *oracleFact) bool) *oracleEvent {
		return &oracleEvent{element: fmt.Sprintf(`%s name="same"%s`, element, threshold(times)), times: times, phase: phase,
			happens: func(i int) bool { return of(&tr.facts[i]) }}
	}
	named := func(s *oracleSymbol) bool { return s != nil && s.plain == "same" }
	calls := func(times int) *oracleEvent {
		return same("Call", phaseEntry, times, func(f *oracleFact) bool { return named(f.entered) })
	}
	returns := func(times int) *oracleEvent {
		return same("Return", phaseReturn, times, func(f *oracleFact) bool {
			for s := range f.returned {
				if named(s) {
					return true
				}
			}
			return false
		})
	}
	m := rowMaker{tr}
	for n, c := range []struct {
		on, till *oracleEvent
		openings int
	}{
		{calls(7), m.call("between", "", 0), 22},
		{calls(50), calls(9), 3},
		{returns(13), m.call("between", "", 2), 9},
		{m.call("between", "", 3), calls(5), 11},
		{calls(2), returns(4), 36},
		{calls(1), returns(1), 180},
	} {
		w := &oracleWindow{on: c.on, till: c.till, reopens: true, threads: ofAll()}
		asks := &oracleWindow{reopens: true, threads: ofAll()}
		tr.sampling(asks, 3+n, 1+n%2)
		for _, windows := range [][]*oracleWindow{{w}, {w, asks}} {
			for _, flags := range [][]string{nil, {"--engine", "no-toggle"}, {"--engine", "no-spread"}} {
				if msg := tr.modelled(t, dir, fmt.Sprint("w", n), windows, flags...); msg != "" {
					t.Errorf("%v, %d windows: %s", flags, len(windows), msg)
				}
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
