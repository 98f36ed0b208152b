package acceptance

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"alleria/abp"
)

// near says whether an estimate is off by no more than a part of what it should be.
func near(got, want uint64, part float64) bool {
	return math.Abs(float64(got)-float64(want)) <= part*float64(want)
}

// sampledGraph is what analyze callgraph --json says.
type sampledGraph struct {
	Total     abp.Counts
	Sampling  *struct{ Bursts uint64 }
	Functions []methodSums
	Edges     []struct {
		Caller, Callee *struct{ Name string }
		Calls          uint64
		Inclusive      abp.Counts
		Error          float64
	}
}

// TestCallsOfSamples: calls, inclusive counts and edges that a profile of bursts tells are those of all that was executed; nothing that was
// left between two bursts is a caller; what is called longest, whose callers no burst shows, has an unknown one.
func TestCallsOfSamples(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/phases.c", mixFlags)
	recordBeside(t, dir, "whole", "methods", []string{"--select", "any"}, prog)
	run(t, command{argv: []string{alleria(), "-q", "record", "--select", "any", "--sample-rate", "5%", "--sample-seed", "3", "-o", "part", "--", prog}, dir: dir})
	whole, part := methodsOf(t, dir, "whole")[0], methodsOf(t, dir, "part")[0]
	const walk = "walk.constprop.0"
	wholeRows(t, filepath.Join(dir, "part"))
	for _, name := range []string{"look", walk, "rare", "copy", "turn"} {
		w, p := whole[name], part[name]
		t.Logf("%s: %+v, of all %+v", name, p, w)
		part := 0.03
		if name == "rare" { // comes and goes
			part = 0.2
		}
		if w.Inclusive.Instructions == 0 || !near(p.Exclusive.Instructions, w.Exclusive.Instructions, part) || !near(p.Inclusive.Instructions, w.Inclusive.Instructions, part) {
			t.Errorf("%s: %+v, of all %+v", name, p, w)
		}
	}
	if !near(part["look"].Calls, whole["look"].Calls, 0.05) || !near(part[walk].Calls, whole[walk].Calls, 0.2) {
		t.Errorf("calls of look %d and %d, of walk %d and %d", part["look"].Calls, whole["look"].Calls, part[walk].Calls, whole[walk].Calls)
	}
	var graphs []sampledGraph
	if err := json.Unmarshal(analysisJSON(t, dir, "part", "callgraph"), &graphs); err != nil {
		t.Fatal(err)
	}
	known := 0
	for _, e := range graphs[0].Edges {
		if e.Caller == nil {
			continue
		}
		known++
		if want := map[string]string{"look": walk}[e.Callee.Name]; e.Caller.Name != want && (want != "" || e.Caller.Name != "_start") {
			t.Errorf("%s calls %s (%d times)", e.Caller.Name, e.Callee.Name, e.Calls)
		}
		if e.Callee.Name == "look" && (e.Error <= 0 || e.Error > 0.2) {
			t.Errorf("walk to look: error %g", e.Error)
		}
	}
	if known < 3 || graphs[0].Sampling == nil || graphs[0].Sampling.Bursts < 100 {
		t.Errorf("%d edges with callers, %+v", known, graphs[0].Sampling)
	}
	if r := run(t, command{argv: []string{alleria(), "-q", "analyze", "calltree", "part"}, dir: dir}); !strings.Contains(string(r.stdout), "[unknown caller]\n") || strings.Contains(string(r.stdout), "\n  0") {
		t.Errorf("tree:\n%s", clip(r.stdout))
	}
}

// wholeRows checks of a profile of bursts in which everything was selected that each row of SAMPLING has the records of all that it says was recorded:
// where processing threads take chunks in parts, as they do on a busy machine, frames went to rows that they do not belong to.
func wholeRows(t *testing.T, dir string) {
	t.Helper()
	prof, err := abp.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = prof.Close() }()
	for _, p := range prof.Processes() {
		rows := p.Strata()
		got := make([]uint64, len(rows))
		for _, th := range p.Threads() {
			for _, f := range th.Frames {
				got[p.StratumOf(f)] += f.Counts.Instructions
			}
		}
		for i, row := range rows {
			if row.Recorded != got[i] || row.Lost > 0 {
				t.Errorf("row %d of %d: %+v, but its frames have %d instructions", i, len(rows), row.Sampling, got[i])
			}
		}
	}
}

// TestViewsOfSamplesAgree: all that estimates from one profile of bursts comes to the same sums.
func TestViewsOfSamplesAgree(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/phases.c", mixFlags+" -DROUNDS=4")
	run(t, command{argv: []string{alleria(), "-q", "record", "--select", "any", "--fields", "address,value", "--sample-rate", "5%", "-o", profileDir, "--", prog}, dir: dir})
	read := func(to any, args ...string) {
		t.Helper()
		r := run(t, command{argv: append([]string{alleria(), "-q"}, args...), dir: dir})
		if err := json.Unmarshal(r.stdout, to); err != nil {
			t.Fatalf("%v: %v\n%s%s", args, err, clip(r.stdout), clip(r.stderr))
		}
	}
	var report struct {
		Processes []struct {
			abp.Counts
			Sampling *struct{}
		}
	}
	read(&report, "report", "--json", profileDir)
	all := report.Processes[0].Counts
	if report.Processes[0].Sampling == nil || all.Instructions < 10_000_000 {
		t.Fatalf("report: %+v", report)
	}
	sums := map[string]abp.Counts{}
	var graphs []sampledGraph
	read(&graphs, "analyze", "callgraph", "--json", profileDir)
	sums["callgraph"] = graphs[0].Total
	var lines []struct {
		Sampling *struct{}
		Rows     []struct{ Reads, Writes uint64 }
	}
	for _, by := range []string{"--by-address", "--by-cacheline"} {
		read(&lines, "report", by, "--json", "--top", "0", profileDir)
		c := abp.Counts{Instructions: all.Instructions}
		for _, l := range lines[0].Rows {
			c.Loads, c.Stores = c.Loads+l.Reads, c.Stores+l.Writes
		}
		sums[by] = c
		if lines[0].Sampling == nil {
			t.Errorf("%s does not say that it estimates", by)
		}
	}
	var bits []struct {
		Sampling *struct{}
		Total    struct {
			Values, Missing uint64
			LoadOnes        uint64 `json:"load_ones"`
			LoadZeros       uint64 `json:"load_zeros"`
		}
	}
	read(&bits, "histobin", "--json", profileDir)
	b := bits[0].Total
	if bits[0].Sampling == nil || !near(b.Values+b.Missing, all.Loads+all.Stores, 0.001) || !near(b.LoadOnes+b.LoadZeros, 8*all.BytesRead, 0.01) {
		t.Errorf("histobin: %+v, report %+v", bits[0], all)
	}
	var paths []struct {
		Sampling  *struct{}
		Functions []struct {
			Runs []struct{ Instructions uint64 }
		}
	}
	read(&paths, "analyze", "paths", "--json", profileDir)
	c := abp.Counts{Loads: all.Loads, Stores: all.Stores}
	for _, f := range paths[0].Functions {
		for _, r := range f.Runs {
			c.Instructions += r.Instructions
		}
	}
	sums["paths"] = c
	if paths[0].Sampling == nil {
		t.Error("paths do not say that they are estimates")
	}
	r := run(t, command{argv: []string{alleria(), "-q", "convert", "--to", "collapsed", profileDir}, dir: dir})
	c = abp.Counts{Loads: all.Loads, Stores: all.Stores}
	for line := range strings.Lines(string(r.stdout)) {
		n, err := strconv.ParseUint(line[strings.LastIndexByte(line, ' ')+1:len(line)-1], 10, 64)
		if err != nil || !strings.Contains(line, ";[unknown caller];") {
			t.Fatalf("%v: %q", err, line)
		}
		c.Instructions += n
	}
	sums["collapsed"] = c
	r = run(t, command{argv: []string{alleria(), "-q", "convert", "--to", "callgrind", profileDir}, dir: dir})
	for line := range strings.Lines(string(r.stdout)) {
		if f := strings.Fields(line); len(f) == 4 && f[0] == "totals:" {
			c.Instructions, _ = strconv.ParseUint(f[1], 10, 64)
			c.Loads, _ = strconv.ParseUint(f[2], 10, 64)
			c.Stores, _ = strconv.ParseUint(f[3], 10, 64)
			sums["callgrind"] = c
		}
	}
	if len(sums) != 6 {
		t.Errorf("%d sums", len(sums))
	}
	for name, c := range sums {
		if !near(c.Instructions, all.Instructions, 0.001) || !near(c.Loads, all.Loads, 0.001) || !near(c.Stores, all.Stores, 0.001) {
			t.Errorf("%s: %d instructions, %d loads, %d stores; report %d, %d, %d", name, c.Instructions, c.Loads, c.Stores, all.Instructions, all.Loads, all.Stores)
		}
	}
}

// TestSampledSelection: where one function alone is recorded, report tells an error of it all the same, though all that is recorded is that function; methods,
// which cannot know it, tell none.
func TestSampledSelection(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/phases.c", mixFlags)
	run(t, command{argv: []string{alleria(), "-q", "record", "--select", "any", "--function", "look", "--sample-rate", "5%", "--sample-seed", "3", "-o", "part", "--", prog}, dir: dir})
	var said struct {
		Processes []struct {
			Functions []struct {
				Name  string
				Error float64
			}
		}
	}
	r := run(t, command{argv: []string{alleria(), "report", "--json", "part"}, dir: dir})
	if err := json.Unmarshal(r.stdout, &said); err != nil || len(said.Processes) != 1 || len(said.Processes[0].Functions) != 1 {
		t.Fatalf("%v: %s%s", err, clip(r.stdout), clip(r.stderr))
	}
	if f := said.Processes[0].Functions[0]; f.Name != "look" || f.Error < 0.001 || f.Error >= 1 {
		t.Errorf("%+v", f)
	}
	if r := run(t, command{argv: []string{alleria(), "-q", "analyze", "methods", "part"}, dir: dir}); strings.Contains(string(r.stdout), "± 0 %") || !strings.Contains(string(r.stdout), "?") {
		t.Errorf("methods: %s", clip(r.stdout))
	}
}
