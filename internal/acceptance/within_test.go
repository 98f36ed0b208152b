package acceptance

import (
	"fmt"
	"testing"
)

// withinCase is a way to run testdata/windows/within.c: how often the function is entered.
type withinCase struct {
	function, how  string
	calls, entries int
}

func withinCases() []withinCase {
	var cases []withinCase
	for _, f := range []string{"follow", "take", "counted", "table", "level", "last", "colder", "calling", "changing"} {
		cases = append(cases, withinCase{f, "", 100, 100})
		if f != "changing" { // two threads that change it change it for each other
			cases = append(cases, withinCase{f, "threads", 2000, 2000})
		}
	}
	return append(cases, withinCase{"entered", "", 100, 500}, withinCase{"counted", "signals", 200000, 200000},
		withinCase{"take", "pause", 20, 20},
		withinCase{"calling", "signals", 200000, 200000}, withinCase{"calling", "asleep", 5, 5})
}

// TestJumpsFromWithin counts calls of functions that jump to their own first instruction: the
// window opens at the last one, and not where one more is awaited; a window on each opens as
// often as the function is entered.
func TestJumpsFromWithin(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/windows/within.c", "-O2 -Wl,--no-warn-rwx-segments")
	for _, c := range withinCases() {
		t.Run(c.function+c.how, func(t *testing.T) {
			t.Parallel()
			c.test(t, prog)
		})
	}
}

func (c *withinCase) test(t *testing.T, prog string) {
	argv := []string{prog, c.function, fmt.Sprint(c.calls), c.how}
	native := run(t, command{argv: argv, dir: workDir(t)})
	call := func(n int) string { return fmt.Sprintf(`<Call name="%s" threshold="%d"/>`, c.function, n) }
	ways := []string{"no-busy", "no-toggle", "no-follow,no-super", "no-jumps"}
	if c.how != "" {
		ways = ways[:2]
	}
	for i, way := range ways {
		for more := range 2 {
			if more > 0 && i > 0 && !*every { // that it does not open too early is what the first is for
				continue
			}
			on := "<On>" + call(c.entries+more) + "</On>"
			dir := workDir(t)
			writeConfig(t, dir, windowed("", on, ""))
			same(t, native, run(t, command{argv: recordNatively(way, argv), dir: dir}))
			verify(t, dir)
			if n := len(openings(t, dir)); n != 1-more {
				t.Errorf("%q: %d openings with threshold %d of %d entries", way, n, c.entries+more, c.entries)
			}
		}
		if c.how != "" || i > 1 {
			continue
		}
		// Open while it loops, so that recorded blocks jump back.
		dir := workDir(t)
		writeConfig(t, dir, windowed(`reopenable="true"`, `<On><Call name="`+c.function+`"/></On><Till><Return name="`+c.function+`"/></Till>`, ""))
		same(t, native, run(t, command{argv: recordNatively(way, argv), dir: dir}))
		verify(t, dir)
		if n := len(openings(t, dir)); n != c.calls {
			t.Errorf("%q: %d openings of %d calls", way, n, c.calls)
		}
	}
}
