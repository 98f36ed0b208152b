package acceptance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// besideAll is every analysis that there is, all at once.
const besideAll = "methods,paths,cache,reuse,strides,heatmap"

// recordBeside has a program analysed while it runs, into a directory.
func recordBeside(t *testing.T, dir, out, analyses string, flags []string, argv ...string) result {
	t.Helper()
	args := append([]string{alleria(), "record", "--force", "--no-aslr", "--analysis", analyses, "-o", out}, flags...)
	r := run(t, command{argv: append(append(args, "--"), argv...), dir: dir, env: bound})
	if r.status >= 125 {
		t.Fatalf("record: %s", clip(r.stderr))
	}
	return r
}

// analysisJSON is what a command says of a profile.
func analysisJSON(t *testing.T, dir, out, name string) []byte {
	t.Helper()
	r := run(t, command{argv: []string{alleria(), "analyze", name, "--json", out}, dir: dir})
	if r.status != 0 {
		t.Fatalf("analyze %s: %s", name, clip(r.stderr))
	}
	return r.stdout
}

// TestAnalysesBesideEqualProfiles: what is found while programs run is what is found in their profiles.
func TestAnalysesBesideEqualProfiles(t *testing.T) {
	t.Parallel()
	all := [][]string{
		{build(t, "../../testdata/calls/calls.cc", "-foptimize-sibling-calls")},
		{build(t, "../../testdata/calls/caches.c", "-static -nostdlib -fno-stack-protector -no-pie")},
		{find("sqlite3"), ":memory:", "create table t(a,b); insert into t values(1,2),(3,4); select sum(a*b) from t group by b order by 1 desc;"},
	}
	if *every {
		all = append(all, []string{find("gzip"), "-c", "/etc/services"})
		for _, p := range agreeingPrograms(t, inputDir(t), false) {
			all = append(all, append([]string{find(p.name)}, p.argv...))
		}
	}
	for i, argv := range all {
		if argv[0] == "" {
			continue
		}
		dir := workDir(t)
		// Rings are read at one place, at two, or by each analysis at its own, with too little room for all to be far apart.
		ways := [][]string{{"--readers", "1"}, {"--readers", "2"}, {"--readers", "6", "--ptc", "3", "--bs", "16", "--bc", "4"}, {"--readers", "3", "--buffering", "fastforward"}}
		r := recordBeside(t, dir, "beside", besideAll, ways[i%len(ways)], argv...)
		same(t, run(t, command{argv: argv, dir: dir, env: bound}), result{stdout: r.stdout, status: r.status})
		for _, name := range strings.Split(besideAll, ",") {
			if !bytes.Contains(r.stderr, []byte(name+" of process 1")) {
				t.Errorf("%s is not in the summary: %s", name, clip(r.stderr))
			}
		}
		run(t, command{argv: append([]string{alleria(), "-q", "record", "--force", "--no-aslr", "--select", "any", "--fields", "address", "-o", profileDir, "--"}, argv...), dir: dir, env: bound})
		for _, name := range []string{"methods", "callgraph", "calltree", "paths", "cache", "reuse", "strides"} {
			got, want := analysisJSON(t, dir, "beside", name), analysisJSON(t, dir, profileDir, name)
			if !bytes.Equal(got, want) || len(got) < 200 {
				t.Errorf("%s %s: %d bytes, of the profile %d", argv[0], name, len(got), len(want))
			}
		}
		for _, out := range []string{"beside", profileDir} {
			run(t, command{argv: []string{alleria(), "heatmap", "--title", "t", "-o", out + ".csv", out}, dir: dir})
		}
		a, _ := os.ReadFile(filepath.Join(dir, "beside.csv"))
		b, _ := os.ReadFile(filepath.Join(dir, profileDir+".csv"))
		if !bytes.Equal(a, b) || len(a) < 50 {
			t.Errorf("%s: maps differ", argv[0])
		}
		if v := run(t, command{argv: []string{alleria(), "verify", "beside"}, dir: dir}); v.status != 0 {
			t.Errorf("verify: %s%s", v.stdout, v.stderr)
		}
		callsBeside(t, dir, i, argv)
	}
}

// callsBeside holds calls alone, and paths with them, to the profile: no other addresses are recorded for them than those of return addresses, and a loop goes over the
// records by itself where there is nothing else. The first program goes most ways.
func callsBeside(t *testing.T, dir string, number int, argv []string) {
	t.Helper()
	ways := [][]string{{"calltree"}, {"methods,paths"}, {"callgraph", "--engine", "all-addresses"}, {"methods,paths", "--engine", "no-call-loop"},
		{"calltree", "--keep-records"}, {"calltree", "--buffering", "fastforward"}, {"calltree", "--engine", "no-super,no-lazy"}}
	switch {
	case *every:
	case number > 0:
		ways = [][]string{ways[0], ways[1+number%(len(ways)-1)]}
	default:
		ways = ways[1:5]
	}
	for _, one := range ways {
		recordBeside(t, dir, "calls", one[0], one[1:], argv...)
		for _, name := range []string{"methods", "callgraph", "calltree", "paths"} {
			if name == "paths" && one[0] != "methods,paths" {
				continue
			}
			got, want := analysisJSON(t, dir, "calls", name), analysisJSON(t, dir, profileDir, name)
			if !bytes.Equal(got, want) || len(got) < 200 {
				t.Errorf("%s %s by %v: %d bytes, of the profile %d", argv[0], name, one, len(got), len(want))
			}
		}
		if got, want := countsOf(t, dir, "calls"), countsOf(t, dir, profileDir); got != want || got.Loads == 0 {
			t.Errorf("%s by %v: the report has %+v, of the profile %+v", argv[0], one, got, want)
		}
	}
}

// totals is what a report says of the first process.
type totals struct{ Instructions, Loads, Stores uint64 }

// countsOf reads a report.
func countsOf(t *testing.T, dir, out string) totals {
	t.Helper()
	r := run(t, command{argv: []string{alleria(), "report", "--json", out}, dir: dir})
	var all struct{ Processes []totals }
	if err := json.Unmarshal(r.stdout, &all); err != nil || len(all.Processes) == 0 {
		t.Fatalf("report: %v %s", err, clip(r.stderr))
	}
	return all.Processes[0]
}

// methodSums is a function's line of analyze methods.
type methodSums struct {
	Name      string
	Calls     uint64
	Exclusive struct{ Instructions uint64 }
	Inclusive struct{ Instructions uint64 }
}

// methodsOf reads analyze methods by process and function.
func methodsOf(t *testing.T, dir, out string) (all []map[string]methodSums) {
	t.Helper()
	var procs []struct{ Functions []methodSums }
	if err := json.Unmarshal(analysisJSON(t, dir, out, "methods"), &procs); err != nil {
		t.Fatal(err)
	}
	for _, p := range procs {
		by := map[string]methodSums{}
		for _, f := range p.Functions {
			sum := by[f.Name] // of the same name in several images
			sum.Name = f.Name
			sum.Calls += f.Calls
			sum.Exclusive.Instructions += f.Exclusive.Instructions
			sum.Inclusive.Instructions += f.Inclusive.Instructions
			by[f.Name] = sum
		}
		all = append(all, by)
	}
	return all
}

// TestAnalysesBesideThreadsAndChildren: threads are followed each by itself, and every process has results of its own.
func TestAnalysesBesideThreadsAndChildren(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/beside.c", "-pthread")
	r := recordBeside(t, dir, "beside", besideAll, nil, prog, "child")
	same(t, run(t, command{argv: []string{prog, "child"}, dir: dir}), result{stdout: r.stdout, status: r.status})
	run(t, command{argv: []string{alleria(), "-q", "record", "--force", "--no-aslr", "--select", "any", "--fields", "address", "-o", profileDir, "--", prog, "child"}, dir: dir, env: bound})
	got, want := methodsOf(t, dir, "beside"), methodsOf(t, dir, profileDir)
	if len(got) != 2 || len(want) != 2 {
		t.Fatalf("%d processes, %d in the profile: %s", len(got), len(want), clip(r.stderr))
	}
	for p := range got {
		for _, f := range []string{"ways", "deep", "fib", "work"} {
			if g, w := got[p][f], want[p][f]; g != w || g.Calls == 0 {
				t.Errorf("process %d, %s: %+v, of the profile %+v", p+1, f, g, w)
			}
		}
	}
	if n := got[0]["fib"].Calls; n != 3*465 {
		t.Errorf("fib is called %d times, the source calls it %d times", n, 3*465)
	}
}

// pathsFound is what analyze paths says.
type pathsFound struct {
	Functions []struct {
		Name  string
		Paths uint64
		Runs  []struct{ Address, Jump, Executed, Instructions uint64 }
	}
	Paths []struct {
		Function      int
		Number, Count uint64
		Runs          []int
	}
}

// TestPathsAddUp: paths through each jump are as many as the jump's executions, runs hold all instructions, and each path of a
// function has a number of its own.
func TestPathsAddUp(t *testing.T) {
	t.Parallel()
	t.Run("beside.c", func(t *testing.T) {
		for _, f := range pathsAddUp(t, build(t, "../../testdata/calls/beside.c", "-pthread")).Functions {
			// From the entry to a loop's end or past the loop, and from the loop's beginning, each with four ways through but one that
			// no i takes: the compiler may have them in another form.
			if f.Name == "ways" && (f.Paths < 4 || f.Paths > 12) {
				t.Errorf("ways has %d paths", f.Paths)
			}
		}
	})
	for _, p := range agreeingPrograms(t, inputDir(t), false) {
		t.Run(p.name, func(t *testing.T) {
			prog := find(p.name)
			if prog == "" || !*every {
				t.Skipf("no %s, or not in the short form", p.name)
			}
			pathsAddUp(t, append([]string{prog}, p.argv...)...)
		})
	}
}

// pathsAddUp records a program and compares what its paths add up to with what was executed.
func pathsAddUp(t *testing.T, argv ...string) pathsFound {
	t.Helper()
	dir := workDir(t)
	run(t, command{argv: append([]string{alleria(), "-q", "record", "--force", "--no-aslr", "--select", "any", "--fields", "address", "-o", profileDir, "--"}, argv...), dir: dir, env: bound})
	var all []pathsFound
	if err := json.Unmarshal(analysisJSON(t, dir, profileDir, "paths"), &all); err != nil || len(all) != 1 {
		t.Fatal(err)
	}
	p := all[0]
	var views []struct {
		Rows []struct{ Address, Instructions uint64 }
	}
	r := run(t, command{argv: []string{alleria(), "report", "--by-instruction", "--json", profileDir}, dir: dir})
	if err := json.Unmarshal(r.stdout, &views); err != nil || len(views) != 1 || len(views[0].Rows) < 1000 {
		t.Fatalf("%v: %s%s", err, clip(r.stdout), clip(r.stderr))
	}
	executed, total := map[uint64]uint64{}, uint64(0)
	for _, c := range views[0].Rows {
		executed[c.Address] += c.Instructions
		total += c.Instructions
	}
	jumps, runs := map[uint64]uint64{}, uint64(0)
	numbers := map[[2]uint64]bool{}
	for _, path := range p.Paths {
		f := &p.Functions[path.Function]
		for _, k := range path.Runs {
			if j := f.Runs[k].Jump; j != 0 {
				jumps[j] += path.Count
			}
		}
		key := [2]uint64{uint64(path.Function), path.Number}
		if f.Paths > 0 && (path.Number >= f.Paths || numbers[key]) {
			t.Errorf("%s: path %d of %d comes twice or is none", f.Name, path.Number, f.Paths)
		}
		numbers[key] = true
	}
	wrong := 0
	for j, n := range jumps {
		if executed[j] != n {
			if wrong++; wrong < 10 {
				t.Errorf("the jump at %#x: executed %d times, paths through it %d", j, executed[j], n)
			}
		}
	}
	for _, f := range p.Functions {
		for _, r := range f.Runs {
			runs += r.Instructions
		}
	}
	if runs != total || len(jumps) < 100 {
		t.Errorf("%d instructions in runs, %d executed; %d jumps", runs, total, len(jumps))
	}
	return p
}

// TestAnalysesBesideSampled: of a program that does the same all the time, estimates from bursts are near what it does.
func TestAnalysesBesideSampled(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/sort.c", "-static -nostdlib -fno-stack-protector -fno-tree-vectorize")
	recordBeside(t, dir, "whole", "methods,cache", nil, prog)
	part := recordBeside(t, dir, "part", "methods,cache", []string{"--sample-rate", "5%", "--readers", "2"}, prog)
	if !bytes.Contains(part.stderr, []byte("counts are estimates")) {
		t.Errorf("nothing is said of estimates: %s", clip(part.stderr))
	}
	got, want := methodsOf(t, dir, "part")[0], methodsOf(t, dir, "whole")[0]
	sum := func(m map[string]methodSums) (n uint64) {
		for _, f := range m {
			n += f.Exclusive.Instructions
		}
		return n
	}
	if g, w := sum(got), sum(want); g*100 < w*97 || g*100 > w*103 {
		t.Errorf("%d instructions, there are %d", g, w)
	}
}

// TestAnalysesRefused: what has no effect or is not there is refused.
func TestAnalysesRefused(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	recordBeside(t, dir, "out", "cache", nil, "/bin/true")
	for _, argv := range [][]string{
		{"record", "--analysis", "nothing", "--", "/bin/true"},
		{"record", "--analysis", "cache", "--max-size", "1M", "--", "/bin/true"},
		{"record", "--analysis", "cache", "--only", "count", "--", "/bin/true"},
		{"record", "--keep-records", "--", "/bin/true"},
		{"record", "--analysis", "cache", "--keep-records", "--discard", "--", "/bin/true"},
		{"record", "--analysis", "cache", "--keep-records", "--max-instructions", "5M", "--", "/bin/true"},
		{"record", "--analysis", "cache", "--keep-records", "--buffering", "batched", "--", "/bin/true"},
		{"record", "--analysis", "methods", "--keep-records", "--sequential", "--", "/bin/true"},
		{"analyze", "cache", "--l1d", "16k,4,64", "out"},
		{"analyze", "cache", "--time", "0-1", "out"},
	} {
		if r := run(t, command{argv: append([]string{alleria()}, argv...), dir: dir}); r.status != 2 {
			t.Errorf("%v: %d %s", argv, r.status, clip(r.stderr))
		}
	}
	if r := run(t, command{argv: []string{alleria(), "analyze", "cache", "--l1d", "32k,8,64", "out"}, dir: dir}); r.status != 0 {
		t.Errorf("the same caches: %d %s", r.status, clip(r.stderr))
	}
}

// TestMethodsSequential: calls and instructions that the program's own threads count are those that analyses beside it find,
// of all functions that have names.
func TestMethodsSequential(t *testing.T) {
	t.Parallel()
	within := build(t, "../../testdata/windows/within.c", "-O2 -pthread")
	for _, argv := range [][]string{
		{build(t, "../../testdata/calls/calls.cc", "-foptimize-sibling-calls")},
		{within, "follow", "8"}, // functions with a loop to their first instruction
		{within, "take", "8"},
		{build(t, "../../testdata/calls/edges.c", "-O2 -fno-ipa-icf -pthread"), "again"}, // and an indirect jump there
		{find("gzip"), "-c", "/etc/services"},
		{find("sqlite3"), ":memory:", "select 1+2;"},
	} {
		if argv[0] == "" {
			continue
		}
		dir := workDir(t)
		recordBeside(t, dir, "beside", "methods", nil, argv...)
		r := recordBeside(t, dir, "inside", "methods", []string{"--sequential"}, argv...)
		same(t, run(t, command{argv: argv, dir: dir, env: bound}), result{stdout: r.stdout, status: r.status})
		recordBeside(t, dir, "plain", "methods", []string{"--sequential", "--engine", "plain-counts"}, argv...)
		got, want, plain := methodsOf(t, dir, "inside")[0], methodsOf(t, dir, "beside")[0], methodsOf(t, dir, "plain")[0]
		named := 0
		for name, w := range want {
			if strings.Contains(name, "+0x") || strings.HasPrefix(name, "[") {
				continue
			}
			named++
			if g := got[name]; g.Calls != w.Calls || g.Exclusive != w.Exclusive {
				t.Errorf("%s: %s is called %d times and has %d instructions, beside the program %d and %d", argv[0], name, g.Calls, g.Exclusive.Instructions, w.Calls, w.Exclusive.Instructions)
			}
			if p := plain[name]; p.Calls != w.Calls || p.Exclusive != w.Exclusive {
				t.Errorf("%s: with plain-counts %s is called %d times and has %d instructions, beside the program %d and %d", argv[0], name, p.Calls, p.Exclusive.Instructions, w.Calls, w.Exclusive.Instructions)
			}
		}
		if named < 30 {
			t.Errorf("%s: %d functions", argv[0], named)
		}
	}
}

// TestAnalysesSequential: what is found while the program's threads wait for it is what is found beside them.
func TestAnalysesSequential(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{
		{build(t, "../../testdata/calls/calls.cc", "-foptimize-sibling-calls")},
		{find("gzip"), "-c", "/etc/services"},
	} {
		if argv[0] == "" {
			continue
		}
		dir := workDir(t)
		recordBeside(t, dir, "beside", besideAll, nil, argv...)
		r := recordBeside(t, dir, "inside", besideAll, []string{"--sequential", "--bs", "16"}, argv...)
		same(t, run(t, command{argv: argv, dir: dir, env: bound}), result{stdout: r.stdout, status: r.status})
		for _, name := range []string{"methods", "callgraph", "calltree", "paths", "cache", "reuse", "strides"} {
			got, want := analysisJSON(t, dir, "inside", name), analysisJSON(t, dir, "beside", name)
			if !bytes.Equal(got, want) || len(got) < 200 {
				t.Errorf("%s %s: %d bytes, beside the program %d", argv[0], name, len(got), len(want))
			}
		}
		for _, out := range []string{"beside", "inside"} {
			run(t, command{argv: []string{alleria(), "heatmap", "--title", "t", "-o", out + ".csv", out}, dir: dir})
		}
		a, _ := os.ReadFile(filepath.Join(dir, "beside.csv"))
		b, _ := os.ReadFile(filepath.Join(dir, "inside.csv"))
		if !bytes.Equal(a, b) || len(a) < 50 {
			t.Errorf("%s: maps differ", argv[0])
		}
	}
	dir, threads := workDir(t), build(t, "../../testdata/calls/beside.c", "-pthread")
	recordBeside(t, dir, "beside", "calltree", nil, threads)
	recordBeside(t, dir, "inside", "calltree", []string{"--sequential"}, threads)
	got, want := methodsOf(t, dir, "inside")[0], methodsOf(t, dir, "beside")[0]
	for _, f := range []string{"ways", "deep", "fib", "work"} { // the C library does more or less by when threads meet
		if got[f] != want[f] || got[f].Calls == 0 {
			t.Errorf("%s: %+v, beside the program %+v", f, got[f], want[f])
		}
	}
	for _, flags := range [][]string{{"--sequential"}, {"--analysis", "cache", "--sequential", "--ptc", "2"}, {"--analysis", "cache", "--sequential", "--only", "count"}} {
		if r := run(t, command{argv: append(append([]string{alleria(), "record"}, flags...), "--", "/bin/true"), dir: workDir(t)}); r.status != 2 {
			t.Errorf("%v: %d %s", flags, r.status, clip(r.stderr))
		}
	}
}

// TestStridesEqualLackeys: the strides of each instruction are those of lackey's trace.
func TestStridesEqualLackeys(t *testing.T) {
	t.Parallel()
	if find("valgrind") == "" {
		t.Skip("no valgrind: the Makefile's tests install it")
	}
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/sort.c", "-static -nostdlib -fno-stack-protector -fno-tree-vectorize")
	type operand struct {
		code  uint64
		store bool
	}
	want, last := map[operand]map[int64]uint64{}, map[operand]uint64{}
	lackey(t, dir, prog)
	text, err := os.ReadFile(filepath.Join(dir, "trace.out"))
	if err != nil {
		t.Fatal(err)
	}
	var code uint64
	for line := range strings.Lines(string(text)) {
		var kind string
		var addr uint64
		var size int
		if n, _ := fmt.Sscanf(line, "%s %x,%d", &kind, &addr, &size); n != 3 {
			continue
		}
		if kind == "I" {
			code = addr
			continue
		}
		for _, store := range map[string][]bool{"L": {false}, "S": {true}, "M": {false, true}}[kind] {
			o := operand{code, store}
			if before, ok := last[o]; ok {
				want[o][int64(addr-before)]++
			} else {
				want[o] = map[int64]uint64{}
			}
			last[o] = addr
		}
	}
	recordBeside(t, dir, "beside", "strides", nil, prog)
	var got []struct {
		Operands []struct {
			Address uint64
			Store   bool
			Strides []struct {
				Bytes int64
				Count uint64
			}
			Others uint64 `json:"other_strides"`
		}
	}
	if err := json.Unmarshal(analysisJSON(t, dir, "beside", "strides"), &got); err != nil || len(got[0].Operands) != len(want) || len(want) < 20 {
		t.Fatalf("%v; %d operands, %d of lackey's", err, len(got[0].Operands), len(want))
	}
	for _, o := range got[0].Operands {
		w := want[operand{o.Address, o.Store}]
		var all, there uint64
		for _, n := range w {
			all += n
		}
		for _, s := range o.Strides {
			there += s.Count
			if o.Others == 0 && w[s.Bytes] != s.Count {
				t.Errorf("%#x, store %v: %d times %d bytes, lackey %d", o.Address, o.Store, s.Count, s.Bytes, w[s.Bytes])
			}
		}
		if there+o.Others != all {
			t.Errorf("%#x, store %v: %d strides, lackey %d", o.Address, o.Store, there+o.Others, all)
		}
	}
}

// TestCachesInOrderBeside: caches of which threads share the last one come to the same beside a program of one thread and of its profile, whatever levels have to do with each other; threads
// that take turns are taken in the order of time, and what leaves records out is refused.
func TestCachesInOrderBeside(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/caches.c", "-static -nostdlib -fno-stack-protector -no-pie")
	run(t, command{argv: []string{alleria(), "-q", "record", "--force", "--no-aslr", "--select", "any", "--fields", "address,time", "-o", profileDir, "--", prog}, dir: dir})
	total := func(out string, flags ...string) (text string, all []struct {
		Total   map[string]uint64
		Untimed bool
		Late    uint64 `json:"late_executions"`
	}) {
		r := run(t, command{argv: append([]string{alleria(), "-q", "analyze", "cache", "--json", out}, flags...), dir: dir})
		if err := json.Unmarshal(r.stdout, &all); err != nil || len(all) != 1 || all[0].Untimed || all[0].Late > 0 {
			t.Fatalf("%s %v: %v in %s%s", out, flags, err, clip(r.stdout), clip(r.stderr))
		}
		return fmt.Sprint(all[0].Total), all
	}
	seen := map[string]bool{}
	for _, inclusion := range []string{"neither", "inclusive", "exclusive"} {
		shapes := []string{"--l1d", "8k,4,64", "--l1i", "8k,4,64", "--ll", "16k,4,64", "--inclusion", inclusion}
		recordBeside(t, dir, inclusion, "cache(shared-ll=yes;l1d=8k,4,64;l1i=8k,4,64;ll=16k,4,64;inclusion="+inclusion+")", []string{"--no-aslr"}, prog)
		beside, _ := total(inclusion)
		inOrder, _ := total(profileDir, append(shapes, "--shared-ll")...)
		alone, _ := total(profileDir, shapes...)
		if beside != inOrder || inOrder != alone {
			t.Errorf("%s: beside the program %s\nin order %s\nby thread %s", inclusion, beside, inOrder, alone)
		}
		recordBeside(t, dir, "several", "cache(processors=4;shared-ll=yes;l1d=8k,4,64;l1i=8k,4,64;ll=16k,4,64;inclusion="+inclusion+")", []string{"--no-aslr"}, prog)
		recordBeside(t, dir, "each", "cache(processors=2;l1d=8k,4,64;l1i=8k,4,64;ll=16k,4,64;inclusion="+inclusion+")", []string{"--no-aslr"}, prog)
		for _, out := range []string{"several", "each"} {
			if got, _ := total(out); got != alone {
				t.Errorf("%s: %s on several processors beside the program %s\none %s", inclusion, out, got, alone)
			}
		}
		for _, more := range []string{"--shared-ll", "--shared", "--shared-ll=false"} {
			if got, _ := total(profileDir, append(shapes, more, "--processors", "4")...); got != alone {
				t.Errorf("%s: %s on several processors %s\none %s", inclusion, more, got, alone)
			}
		}
		seen[alone] = true
	}
	random := []string{"--l1d", "8k,4,64,random", "--l1i", "8k,4,64,random", "--ll", "16k,4,64,random"}
	recordBeside(t, dir, "several", "cache(processors=4;l1d=8k,4,64,random;l1i=8k,4,64,random;ll=16k,4,64,random)", []string{"--no-aslr"}, prog)
	if one, _ := total(profileDir, random...); seen[one] {
		t.Errorf("chance makes no difference: %s", one)
	} else {
		several, _ := total(profileDir, append(random, "--processors", "4")...)
		if beside, _ := total("several"); several != one || beside != one {
			t.Errorf("by chance: one %s\nseveral %s\nbeside %s", one, several, beside)
		}
	}
	if len(seen) != 3 {
		t.Errorf("inclusion makes no difference: %v", seen)
	}
	turns := build(t, "../../testdata/calls/turns.c", "-no-pie -pthread")
	recordBeside(t, dir, "turns", "cache(shared-ll=yes)", nil, turns, "pipes")
	if _, all := total("turns"); all[0].Total["ll_read_misses"]+all[0].Total["ll_write_misses"] >= all[0].Total["l1d_read_misses"]+all[0].Total["l1d_write_misses"] {
		t.Errorf("no thread finds in the last level what another has brought there: %v", all[0].Total)
	}
	for _, argv := range [][]string{
		{"record", "--analysis", "cache(shared-ll=yes)", "--sample-rate", "5%", "--", prog},
		{"analyze", "cache", "--shared", "--shared-ll", profileDir},
		{"analyze", "cache", "--processors", "0", profileDir},
		{"convert", "--to", "pprof", "--processors", "2", profileDir},
		{"record", "--analysis", "cache(processors=65)", "--", prog},
		{"analyze", "cache", "--inclusion", "exclusive", "inclusive"},
		{"analyze", "cache", "--shared-ll=false", "inclusive"},
	} {
		if r := run(t, command{argv: append([]string{alleria()}, argv...), dir: dir}); r.status != 2 {
			t.Errorf("%v: status %d, %s", argv, r.status, clip(r.stderr))
		}
	}
}
