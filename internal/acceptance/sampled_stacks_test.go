package acceptance

import (
	"strings"
	"testing"
)

// TestCallersOfBursts: where a burst begins is known who had called whom, so that functions which run for longer than one count for all that
// they call, as where everything is recorded. Without, those that no burst sees returned to have nothing; what they do themselves is the same.
func TestCallersOfBursts(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/stacks.c", "-O2 -g -pthread -Wl,-z,now")
	recordBeside(t, dir, "whole", "methods", []string{"--select", "any"}, prog)
	sampled := func(name string, flags ...string) {
		t.Helper()
		args := append([]string{alleria(), "-q", "record", "--select", "any", "--sample-rate", "5%", "--sample-seed", "3"}, flags...)
		run(t, command{argv: append(args, "-o", name, "--", prog), dir: dir})
	}
	sampled("part")
	sampled("without", "--engine", "no-callers")
	whole, part, without := methodsOf(t, dir, "whole")[0], methodsOf(t, dir, "part")[0], methodsOf(t, dir, "without")[0]
	// How often bursts meet a function is chance; that they know its callers is not.
	for name, off := range map[string]float64{"main": 0.05, "deep": 0.15, "sorted": 0.1, "qsort": 0.1, "qsort@plt": 0.1, "compare": 0.15, "aligned": 0.2, "sized": 0.2,
		"interrupted": 0.2, "raise": 0.2, "handler": 0.2, "spin": 0.1, "start_thread": 0.5, "thread": 0.5} {
		w, p := whole[name].Inclusive.Instructions, part[name].Inclusive.Instructions
		if w == 0 || !near(p, w, off) {
			t.Errorf("%s: %d, of all %d", name, p, w)
		}
	}
	for _, name := range []string{"spin", "compare", "msort_with_tmp.part.0"} {
		if p, o := part[name].Exclusive.Instructions, without[name].Exclusive.Instructions; !near(o, p, 0.15) {
			t.Errorf("%s: %d by itself, %d without callers", name, p, o)
		}
	}
	if part["main"].Inclusive.Instructions == 0 || without["main"].Inclusive.Instructions > part["main"].Inclusive.Instructions/2 {
		t.Errorf("main: %d, without callers %d", part["main"].Inclusive.Instructions, without["main"].Inclusive.Instructions)
	}
	tree := run(t, command{argv: []string{alleria(), "-q", "analyze", "calltree", "part"}, dir: dir})
	if text := string(tree.stdout); !strings.Contains(text, "handler") || strings.Contains(text, "callers in front of a burst are not known") {
		t.Errorf("tree:\n%s", clip(tree.stdout))
	}
	if tree := run(t, command{argv: []string{alleria(), "-q", "analyze", "calltree", "without"}, dir: dir}); !strings.Contains(string(tree.stdout), "callers in front of a burst are not known") {
		t.Errorf("tree without callers:\n%s", clip(tree.stdout))
	}
	recordBeside(t, dir, "live", "calltree", []string{"--select", "any", "--sample-rate", "5%", "--sample-seed", "3"}, prog)
	live := run(t, command{argv: []string{alleria(), "-q", "analyze", "calltree", "live"}, dir: dir})
	if text := string(live.stdout); !strings.Contains(text, "main  from __libc_start_call_main") {
		t.Errorf("beside the program:\n%s", clip(live.stdout))
	}
}

// TestCallersOfBurstsInGo: Go's own table says it where there is no other, also in stripped programs.
func TestCallersOfBurstsInGo(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/stacks.go", "")
	// A goroutine that is interrupted and goes on elsewhere is, recorded whole, below the scheduler from there on: on a busy machine sorted lost a third so.
	// With one processor and none interrupted, nobody changes threads amid a function, and the whole is what is true.
	calm := append([]string{"GODEBUG=asyncpreemptoff=1", "GOMAXPROCS=1"}, bound...)
	if r := run(t, command{argv: []string{alleria(), "record", "--force", "--analysis", "methods", "--select", "any", "-o", "whole", "--", prog}, dir: dir, env: calm}); r.status != 0 {
		t.Fatalf("record: %s", clip(r.stderr))
	}
	run(t, command{argv: []string{alleria(), "-q", "record", "--select", "any", "--sample-rate", "20%", "--sample-seed", "3", "-o", "part", "--", prog}, dir: dir})
	whole, part := methodsOf(t, dir, "whole")[0], methodsOf(t, dir, "part")[0]
	// Without callers next to nothing would be below these. A goroutine's first function, side, has been called by nobody.
	for name, off := range map[string]float64{"main.deep": 0.15, "main.spin": 0.15, "main.sorted": 0.15, "main.closed": 0.2, "main.main.func1": 0.2, "sort.Sort": 0.15, "main.side": 0.25} {
		w, p := whole[name].Inclusive.Instructions, part[name].Inclusive.Instructions
		if w == 0 || !near(p, w, off) {
			t.Errorf("%s: %d, of all %d", name, p, w)
		}
	}
	if text := string(run(t, command{argv: []string{alleria(), "-q", "analyze", "calltree", "part"}, dir: dir}).stdout); !strings.Contains(text, "  runtime.goexit") {
		t.Errorf("tree:\n%s", text)
	}
}
