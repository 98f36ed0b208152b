package acceptance

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// behindCase is a way to run testdata/windows/behind.c.
type behindCase struct {
	arg     string
	calls   int // of opener
	engine  string
	windows string // besides the one on opener
	runs    int
}

// behindCases: natively the breakpoints are int3s of probes, the one of a jump whose count has run out,
// the program's own, or those that jumps are about to replace while threads run into them.
func behindCases() []behindCase {
	never := func(events string) string {
		return strings.Replace(nothing, `name="nothing">`, `name="never"><On><One>`+events+`</One></On>`, 1)
	}
	counted := strings.Replace(nothing, `name="nothing">`, `name="counted" reopenable="true"><On><Call name="probed" threshold="20"/></On><Till><Return name="opener"/></Till>`, 1)
	var numbered strings.Builder
	for n := range 200 {
		fmt.Fprintf(&numbered, `<Call name="numbered%d" threshold="1000000"/>`, n)
	}
	return []behindCase{
		{"probed", 500, "no-busy,no-jumps", never(`<Call name="probed" threshold="1000000000"/>`), short(1, 3)},
		{"probed", 500, "no-busy", counted, short(1, 2)},
		{"own", 200, "no-busy", "", short(1, 2)},
		{"segment", 100, "no-busy", "", 1}, // they are stopped anywhere: what they have set natively holds in the cache
		{"many", 0, "no-busy", never(numbered.String()), short(2, 10)},
	}
}

// TestStoppedBehindBreakpoint has windows open, or jumps placed, while other threads run into breakpoints
// natively all the time. Some have executed one and not taken its signal yet when they are
// stopped: their registers are in the middle of an instruction. How often that was so is counted and told;
// stops from another processor make it likely.
func TestStoppedBehindBreakpoint(t *testing.T) {
	prog := build(t, "../../testdata/windows/behind.c", "-O1")
	for i, c := range behindCases() {
		t.Run(fmt.Sprint(c.arg, i), func(t *testing.T) {
			native, seen := run(t, command{argv: c.argv(prog), dir: workDir(t)}), 0
			for n := 0; n < c.runs || i == 0 && n < short(3, 10) && seen == 0 && runtime.NumCPU() > 1; n++ {
				seen += c.test(t, prog, native)
			}
			t.Logf("%d threads were stopped behind a breakpoint", seen)
			if i == 0 && seen == 0 && runtime.NumCPU() > 1 {
				// Not a failure: on a busy machine the two sides hardly run at one time.
				t.Log("no thread was stopped behind a breakpoint: this run has not tried what it is for")
			}
		})
	}
}

// argv is the command that the case runs.
func (c *behindCase) argv(prog string) []string { return []string{prog, c.arg, fmt.Sprint(c.calls)} }

// test runs a case once and returns how many threads were stopped behind a breakpoint.
func (c *behindCase) test(t *testing.T, prog string, native result) int {
	dir := workDir(t)
	log := filepath.Join(dir, "log")
	config := windowed(`reopenable="true"`, `<On><Call name="opener"/></On><Till><Return name="opener"/></Till>`, c.windows)
	writeConfig(t, dir, strings.Replace(config, "<Function>", `<Function name="opener">`, 1))
	same(t, native, run(t, command{argv: slices.Insert(recordNatively(c.engine, c.argv(prog)), 3, "--log", log), dir: dir}))
	if c.calls > 0 {
		if n := len(openings(t, dir)); n != c.calls {
			t.Errorf("%d openings in %d calls", n, c.calls)
		}
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`Behind:(\d+)`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no count of threads stopped behind a breakpoint: %s", text)
	}
	n, _ := strconv.Atoi(string(m[1]))
	return n
}
