package acceptance

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// jumpCase is a way to run testdata/windows/jumps.c: how often the function is
// called, and how it begins at the end of a run in which its calls were counted.
type jumpCase struct {
	arg      string
	function string // "": arg
	calls    int
	begins   string
	image    string
}

// jumpCases: an int3 is what is left where a branch leads into the first bytes, where
// they are too few, or where the flags may matter. A function that was hit by a fault
// has its own first bytes but for the int3.
func jumpCases() []jumpCase {
	return []jumpCase{
		{arg: "plain", calls: 20000, begins: "jump"},
		{arg: "choice", calls: 20000, begins: "jump"},
		{arg: "one", calls: 60, begins: "int3"},
		{arg: "two", calls: 60, begins: "int3"},
		{arg: "four", calls: 60, begins: "int3"},
		{arg: "looping", calls: 60, begins: "int3"},
		{arg: "body", calls: 60, begins: "int3"},
		{arg: "table", calls: 60, begins: "int3"},
		{arg: "carry", calls: 60, begins: "int3"},
		{arg: "relative", calls: 20000, begins: "jump"},
		{arg: "locked", calls: 20000, begins: "jump"},
		{arg: "redzone", calls: 20000, begins: "jump"},
		{arg: "around", calls: 20000, begins: "jump"},
		{arg: "frames", calls: 300000, begins: "jump"},
		{arg: "first", calls: 60, begins: "int3"},
		{arg: "second", calls: 60, begins: "int3"},
		{arg: "children", function: "plain", calls: 2000, begins: "jump"},
		{arg: "tail", function: "plain", calls: 20000, begins: "jump"},
		{arg: "threads", function: "plain", calls: 200000, begins: "jump"},
		{arg: "stepped", function: "relative", calls: 200, begins: "int3"},
		{arg: "library", function: "in_library", calls: 300, begins: "jump", image: "LIBRARY"},
	}
}

// TestJumps counts calls natively up to the last one, at which the window opens, and
// one further, at which it does not; how many there are is the program's own word.
// Whatever the program sees of itself is as without us. Programs at a fixed address
// have their counting code elsewhere, and endbr64 moves the jump.
func TestJumps(t *testing.T) {
	t.Parallel()
	const src, flags = "../../testdata/windows/jumps.c", "-Wno-clobbered"
	lib := build(t, src, flags+" -shared -fPIC -DLIBRARY")
	for k, kind := range []string{"", " -no-pie", " -fcf-protection"} {
		prog := build(t, src, flags+kind)
		for i, c := range jumpCases() {
			if k > 0 && i%4 != k && !*every {
				continue
			}
			t.Run(c.arg+kind, func(t *testing.T) {
				t.Parallel()
				c.test(t, prog, lib, kind == "")
			})
		}
	}
}

// test runs a case; all: in every way.
func (c *jumpCase) test(t *testing.T, prog, lib string, all bool) {
	argv := []string{prog, c.arg, fmt.Sprint(c.calls)}
	image := ""
	if c.image != "" {
		argv = append(argv, lib)
		image = ` imagePath="` + lib + `"`
	}
	name := c.function
	if name == "" {
		name = c.arg
	}
	ways := []string{"no-busy"}
	if all {
		ways = append(ways, "no-jumps")
	}
	if all && c.arg == "stepped" { // what a program steps through in the cache is not counted
		ways[1] += ",no-busy"
	}
	native := run(t, command{argv: argv, dir: workDir(t)})
	for _, w := range ways {
		dir := workDir(t)
		writeConfig(t, dir, windowed("", fmt.Sprintf(`<On><Call name="%s"%s threshold="%d"/></On>`, name, image, c.calls), ""))
		same(t, native, run(t, command{argv: recordNatively(w, argv), dir: dir}))
		verify(t, dir)
		// Several threads can pass an int3 while one is stepped over it.
		if n := len(openings(t, dir)); n != 1 && (w == "no-busy" || c.arg != "threads") {
			t.Errorf("%s: %d openings with threshold %d of %d calls", w, n, c.calls, c.calls)
		}
	}
	// Armed to the end: with one call more than there are. It says how the function begins then.
	dir := workDir(t)
	writeConfig(t, dir, windowed("", fmt.Sprintf(`<On><Call name="%s"%s threshold="%d"/></On>`, name, image, c.calls+1), ""))
	r := run(t, command{argv: append(recordNatively("no-busy", argv), "say"), dir: dir})
	if n := len(openings(t, dir)); n != 0 || r.status != native.status || !bytes.Equal(r.stdout, native.stdout) {
		t.Errorf("%d openings with threshold %d of %d calls, status %d\n%s", n, c.calls+1, c.calls, r.status, clip(r.stdout))
	}
	if got := strings.TrimSpace(string(r.stderr)); got != c.begins {
		t.Errorf("%s begins with %q, want %q", name, got, c.begins)
	}
}

// TestJumpsThrownThrough counts the calls of functions that exceptions pass through and
// that catch some, to the last one; of the first by jumps, which is looked at. The other
// calls too early for one in some compilers' code.
func TestJumpsThrownThrough(t *testing.T) {
	t.Parallel()
	const calls = 3000
	for _, kind := range []string{"-O1", "-O2 -fcf-protection -no-pie"} {
		prog := build(t, "../../testdata/windows/jumps-throw.cc", kind)
		argv := []string{prog, fmt.Sprint(calls)}
		native := run(t, command{argv: argv, dir: workDir(t)})
		for _, name := range []string{"through", "catching"} {
			for more := range 2 {
				dir := workDir(t)
				writeConfig(t, dir, windowed("", fmt.Sprintf(`<On><Call name="%s" threshold="%d"/></On>`, name, calls+more), ""))
				same(t, native, run(t, command{argv: recordNatively("no-busy", argv), dir: dir}))
				if n := len(openings(t, dir)); n != 1-more {
					t.Errorf("%s %s: %d openings with threshold %d of %d calls", kind, name, n, calls+more, calls)
				}
			}
			dir := workDir(t)
			writeConfig(t, dir, windowed("", fmt.Sprintf(`<On><Call name="%s" threshold="1000000"/></On>`, name), ""))
			r := run(t, command{argv: append(recordNatively("no-busy", argv), "say"), dir: dir})
			if got := strings.TrimSpace(string(r.stderr)); got != name+": jump" && name == "through" {
				t.Errorf("%s %s: %q", kind, name, got)
			}
		}
	}
}

// recordNatively is a command that records, with a switch of the engine.
func recordNatively(engine string, argv []string) []string {
	return append([]string{alleria(), "-q", "record", "--force", "-c", "w.xml", "-o", profileDir, "--engine", engine, "--"}, argv...)
}
