package acceptance

import (
	"fmt"
	"testing"
)

// TestCallsOfVforkChildren counts the calls and returns of a program whose children, in
// its own memory, call the same function: theirs are not its. The window opens at the
// last of the 20, and does not at one further.
func TestCallsOfVforkChildren(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/vfork.c", "-O1")
	for way, kind := range []string{"native", "cached"} {
		others := []string{"", nothing}[way]
		for n, flags := range [][]string{nil, {"--engine", "no-jumps"}, {"--engine", "no-busy"}} {
			for k, event := range []string{"Call", "Return"} {
				if !inTurn(n+k, way, 2) {
					continue
				}
				t.Run(fmt.Sprint(event, " ", kind, flags), func(t *testing.T) {
					t.Parallel()
					for n, want := range map[int]int{1: 1, 20: 1, 21: 0} {
						dir := workDir(t)
						on := fmt.Sprintf(`<On><%s name="target" threshold="%d"/></On>`, event, n)
						recordWith(t, dir, windowed("", on, others), true, flags, prog)
						if o := openings(t, dir); len(o) != want {
							t.Errorf("threshold %d: %d openings", n, len(o))
						}
					}
				})
			}
		}
	}
}
