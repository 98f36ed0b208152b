package acceptance

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOverload: whatever becomes of a consumer, the program does as natively. From one that is slow nothing is kept back, one that panics or
// hangs is told with name and place.
func TestOverload(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	overload := filepath.Join(dir, "overload")
	c := exec.Command("go", "build", "-o", overload, "./testdata/tools/overload")
	c.Dir = "../.."
	if text, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, clip(text))
	}
	prog := build(t, "../../testdata/counts/mix.c", mixFlags+" -DROUNDS=30")
	native := run(t, command{argv: []string{prog}, dir: dir})
	tool := func(flags ...string) result {
		t.Helper()
		r := run(t, command{argv: append(append([]string{overload}, flags...), "--", prog), dir: dir})
		same(t, native, result{stdout: r.stdout, status: r.status})
		return r
	}
	want := tool()
	if n := numbersOf(t, want.stderr, "accesses"); n[0] != 30*17_010 {
		t.Fatalf("%s", clip(want.stderr))
	}
	for _, flags := range [][]string{{"-slow", "2ms", "-bs", "16", "-ptc", "1"}, {"-slow", "1ms", "-sequential"}, {"-slow", "1ms", "-buffering", "fastforward"}} {
		if got := tool(flags...); string(got.stderr) != string(want.stderr) {
			t.Errorf("%v: %swhere there are %s", flags, clip(got.stderr), clip(want.stderr))
		}
	}
	for flag, says := range map[string]string{
		"-panic": "analysis overload of process 1 ended: the callback of ref panicked: as it was asked to, at main.go:",
		"-hang":  "the callback of ref has been at one buffer for more than 300ms, at main.go:",
	} {
		if got := tool(flag, "3"); !strings.Contains(string(got.stderr), says) || strings.Contains(string(got.stderr), "goroutine") {
			t.Errorf("%s: %s", flag, clip(got.stderr))
		}
	}
	if r := run(t, command{argv: []string{overload, "-panic", "1", "--", find("true")}, dir: dir}); r.status != 125 {
		t.Errorf("a program that has not failed: status %d, %s", r.status, clip(r.stderr))
	}
}
