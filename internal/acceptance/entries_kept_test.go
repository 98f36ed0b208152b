package acceptance

import (
	"maps"
	"strings"
	"testing"
)

// TestKeptEntries: a second run of which entries of functions are counted, and where they are from, begins with the first one's code, at other addresses, and counts what a run counts that has
// translated all of it.
func TestKeptEntries(t *testing.T) {
	t.Parallel()
	edges := build(t, "../../testdata/calls/edges.c", "-O2 -fno-ipa-icf -pthread")
	for _, c := range []struct {
		argv     []string
		own      string // only what is called in this image: with several threads the C library does more or less
		analysis string
	}{
		{[]string{edges}, "edges-", "callgraph,methods"},
		{[]string{edges, "again"}, "", "methods"}, // jumps to a function's own beginning
		{[]string{build(t, "../../testdata/calls/calls.cc", "-foptimize-sibling-calls")}, "", "methods"},
		{[]string{find("sqlite3"), ":memory:", "select 1+2;"}, "", "callgraph"},
		{[]string{find("sqlite3"), ":memory:", "select 1+2;"}, "", "methods"},
	} {
		if c.argv[0] == "" {
			continue
		}
		dir := workDir(t)
		kept, _ := keptIn(dir)
		counted := func(out string, more ...string) (edges map[enteredFrom]uint64, calls map[string]uint64, of func(string) int) {
			flags := append([]string{"--analysis", c.analysis, "--sequential", "-o", out, "--engine", "keep-few"}, more...)
			got, of := statsOf(t, dir, append([]string{"--cache", kept}, flags...), c.argv...)
			same(t, run(t, command{argv: c.argv, dir: dir, env: bound}), result{stdout: got.stdout, status: got.status})
			edges, calls = map[enteredFrom]uint64{}, map[string]uint64{}
			if strings.Contains(c.analysis, "callgraph") {
				edges = edgesOf(t, dir, out)
				maps.DeleteFunc(edges, func(k enteredFrom, _ uint64) bool { return !strings.HasPrefix(k.callee, c.own) })
			}
			if strings.Contains(c.analysis, "methods") && c.own == "" {
				for name, m := range methodsOf(t, dir, out)[0] {
					calls[name] = m.Calls
				}
			}
			return edges, calls, of
		}
		wantEdges, wantCalls, _ := counted("anew", "--no-aslr", "--engine", "no-kept-entries")
		_, _, none := counted("first")
		_, _, some := counted("second")
		edges, calls, many := counted("there", "--no-aslr")
		_, _, zero := counted("off", "--engine", "no-kept-entries")
		if none("Reused") != 0 || some("Reused") < 500 || many("Reused") < 500 || zero("Reused") != 0 || 2*many("Dispatches") > zero("Dispatches") {
			t.Errorf("%s %s: runs began with %d blocks, %d, %d, and %d where that is off; %d requests and %d", c.argv[0], c.analysis, none("Reused"), some("Reused"), many("Reused"), zero("Reused"), many("Dispatches"), zero("Dispatches"))
		}
		if len(wantEdges) < 6 && len(wantCalls) < 100 || !maps.Equal(edges, wantEdges) || !maps.Equal(calls, wantCalls) {
			t.Errorf("%s %s: %d edges, %d functions, else %d and %d", c.argv[0], c.analysis, len(edges), len(calls), len(wantEdges), len(wantCalls))
			for k := range union(edges, wantEdges) {
				if edges[k] != wantEdges[k] {
					t.Errorf("%d times %+v, else %d", edges[k], k, wantEdges[k])
				}
			}
		}
	}
}
