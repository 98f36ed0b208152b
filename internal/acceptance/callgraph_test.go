package acceptance

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

// enteredFrom is a place that a function was entered from.
type enteredFrom struct {
	process        uint32
	caller, callee string
	site           uint64
}

// edgesOf reads analyze callgraph by process, but for functions that have no names. images that a process has executed one after the other are one.
func edgesOf(t *testing.T, dir, out string) map[enteredFrom]uint64 {
	t.Helper()
	type function struct{ Name, Image string }
	var procs []struct {
		Process uint32
		Edges   []struct {
			Caller *function
			Callee function
			Sites  []struct{ Address, Calls uint64 }
		}
	}
	if err := json.Unmarshal(analysisJSON(t, dir, out, "callgraph"), &procs); err != nil {
		t.Fatal(err)
	}
	all := map[enteredFrom]uint64{}
	named := func(f function) bool {
		return !strings.Contains(f.Name, "+0x") && !strings.HasPrefix(f.Name, "[") && !strings.HasPrefix(f.Name, "0x")
	}
	for _, p := range procs {
		for _, e := range p.Edges {
			if !named(e.Callee) || e.Caller != nil && !named(*e.Caller) {
				continue
			}
			k := enteredFrom{process: p.Process, callee: e.Callee.Image + ":" + e.Callee.Name}
			if e.Caller != nil {
				k.caller = e.Caller.Image + ":" + e.Caller.Name
			}
			for _, s := range e.Sites {
				k.site = s.Address
				all[k] += s.Calls
			}
		}
	}
	return all
}

// TestCallGraphSequential: who has called whom from where, counted by the program's own threads, is what the analysis beside it finds: of calls and jumps of all
// kinds, signals, threads, children and programs that they execute.
func TestCallGraphSequential(t *testing.T) {
	t.Parallel()
	edges := build(t, "../../testdata/calls/edges.c", "-O2 -fno-ipa-icf -pthread")
	within := build(t, "../../testdata/windows/within.c", "-O2 -pthread")
	for _, c := range []struct {
		argv []string
		own  string // only what is called in this image: with several threads the C library does more or less
		also string // what is asked for besides
		flag string
	}{
		{argv: []string{edges}, own: "edges-", flag: "--engine=no-inherit"}, // the child translates anew
		{argv: []string{edges}, own: "edges-", also: ",methods"},
		{argv: []string{build(t, "../../testdata/calls/calls.cc", "-foptimize-sibling-calls")}},
		{argv: []string{build(t, "../../testdata/calls/beside.c", "-pthread"), "child"}, own: "beside-"},
		{argv: []string{within, "follow", "8"}},
		{argv: []string{find("gzip"), "-c", "/etc/services"}},
		{argv: []string{find("sqlite3"), ":memory:", "select 1+2;"}},
	} {
		argv := c.argv
		if argv[0] == "" {
			continue
		}
		dir := workDir(t)
		recordBeside(t, dir, "beside", "callgraph", nil, argv...)
		flags := []string{"--sequential"}
		if c.flag != "" {
			flags = append(flags, c.flag)
		}
		r := recordBeside(t, dir, "inside", "callgraph"+c.also, flags, argv...)
		same(t, run(t, command{argv: argv, dir: dir, env: bound}), result{stdout: r.stdout, status: r.status})
		got, want := edgesOf(t, dir, "inside"), edgesOf(t, dir, "beside")
		held := 0
		for k := range union(got, want) {
			if !strings.HasPrefix(k.callee, c.own) {
				continue
			}
			held++
			if got[k] != want[k] {
				t.Errorf("%s: %d times %+v, beside the program %d", argv[0], got[k], k, want[k])
			}
		}
		if held < 6 || c.own == "" && held < 300 {
			t.Errorf("%s: %d edges", argv[0], held)
		}
	}
}

// union is the keys of two maps.
func union(a, b map[enteredFrom]uint64) map[enteredFrom]bool {
	out := map[enteredFrom]bool{}
	for _, m := range []map[enteredFrom]uint64{a, b} {
		for k := range m {
			out[k] = true
		}
	}
	return out
}

// TestCallGraphSequentialShown: the command shows callers and callees, and what the form cannot count is refused.
func TestCallGraphSequentialShown(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/beside.c", "-pthread")
	recordBeside(t, dir, "inside", "callgraph", []string{"--sequential"}, prog)
	r := run(t, command{argv: []string{alleria(), "analyze", "callgraph", "--top", "0", "inside"}, dir: dir})
	var rows []string
	for line := range strings.Lines(string(r.stdout)) {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	text := strings.Join(rows, "\n")
	for _, row := range []string{"from fib beside-pthread 1,392", "from work beside-pthread 3", "function fib beside-pthread 1,395", "to fib beside-pthread 1,392"} { // 465 calls in each of three threads
		if !strings.Contains(text, row) {
			t.Errorf("no row %q in %s", row, clip(r.stdout))
		}
	}
	if m := methodsOf(t, dir, "inside")[0]; m["fib"].Calls != 3*465 {
		t.Errorf("fib is called %d times", m["fib"].Calls)
	}
	if r := run(t, command{argv: []string{alleria(), "analyze", "callgraph", "--thread", "1", "inside"}, dir: dir}); r.status != 2 {
		t.Errorf("of one thread: %d %s", r.status, clip(r.stderr))
	}
	if r := run(t, command{argv: []string{alleria(), "record", "--analysis", "callgraph", "--sequential", "--threads", "2", "--", "/bin/true"}, dir: dir}); r.status != 2 || !bytes.Contains(r.stderr, []byte("--threads")) {
		t.Errorf("processing threads: %d %s", r.status, clip(r.stderr))
	}
}
