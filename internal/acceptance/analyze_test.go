package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"alleria/abp"
)

// callEdge is who calls whom, by linked names.
type callEdge struct{ caller, callee string }

// callSums are what a tool says of calls: instructions of functions, and calls with all that
// they cost by edge.
type callSums struct {
	own   map[string]uint64
	calls map[callEdge]uint64
	costs map[callEdge]uint64
}

func newCallSums() callSums {
	return callSums{map[string]uint64{}, map[callEdge]uint64{}, map[callEdge]uint64{}}
}

// symbolVersion is what callgrind adds to a name, and recursion its level.
var symbolVersion = regexp.MustCompile(`('\d+|@@?[A-Z].*)$`)

// strippedName is a function without a name, as alleria has it.
var strippedName = regexp.MustCompile(`^.+\+0x([0-9a-f]+)$`)

// callgrindCalls runs a program under callgrind.
func callgrindCalls(t *testing.T, dir string, env []string, argv ...string) callSums {
	t.Helper()
	run(t, command{argv: append([]string{"valgrind", "--tool=callgrind", "--callgrind-out-file=cg.out", "--compress-strings=no",
		"--compress-pos=no", "--demangle=no", "--skip-plt=no", "--separate-recs=1"}, argv...), dir: dir, env: env})
	b, err := os.ReadFile(filepath.Join(dir, "cg.out"))
	if err != nil {
		t.Fatal(err)
	}
	out, fn, called, calls := newCallSums(), "", "", uint64(0)
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "fn="); ok {
			fn = callgrindName(name)
			continue
		}
		if name, ok := strings.CutPrefix(line, "cfn="); ok {
			called = callgrindName(name)
			continue
		}
		if text, ok := strings.CutPrefix(line, "calls="); ok {
			calls, _ = strconv.ParseUint(strings.Fields(text)[0], 10, 64)
			continue
		}
		f := strings.Fields(line)
		if fn == "" || len(f) != 2 || !strings.ContainsAny(f[0][:1], "0123456789+-*") {
			continue
		}
		n, err := strconv.ParseUint(f[1], 10, 64)
		switch {
		case err != nil:
		case called == "":
			out.own[fn] += n
		default:
			out.calls[callEdge{fn, called}] += calls
			out.costs[callEdge{fn, called}] += n
			called = ""
		}
	}
	return out
}

// callgrindName takes off what callgrind adds, and writes addresses alike.
func callgrindName(name string) string {
	name = symbolVersion.ReplaceAllString(name, "")
	if hex, ok := strings.CutPrefix(name, "0x"); ok {
		return "0x" + strings.TrimLeft(hex, "0")
	}
	return name
}

// recordedCalls records a program and reads its call graph.
func recordedCalls(t *testing.T, dir string, env []string, argv ...string) callSums {
	t.Helper()
	r := run(t, command{argv: append([]string{alleria(), "-q", "record", "--force", "--no-aslr", "--select", "any", "--fields", "address", "-o", profileDir, "--"}, argv...), dir: dir, env: env})
	if len(r.stderr) > 0 && r.status >= 125 {
		t.Fatalf("record: %s", clip(r.stderr))
	}
	type function struct {
		Name      string
		Linked    string `json:"linked_name"`
		Image     string
		Exclusive struct{ Instructions uint64 }
	}
	var graph []struct {
		Functions []function
		Edges     []struct {
			Caller, Callee *function
			Calls          uint64
			Each           struct{ Instructions uint64 } `json:"inclusive_each_call"`
		}
	}
	r = run(t, command{argv: []string{alleria(), "analyze", "callgraph", "--json", profileDir}, dir: dir})
	if err := json.Unmarshal(r.stdout, &graph); err != nil || len(graph) != 1 {
		t.Fatalf("callgraph: %v\n%s%s", err, clip(r.stdout), clip(r.stderr))
	}
	name := func(f *function) string {
		if f == nil {
			return ""
		}
		if m := strippedName.FindStringSubmatch(f.Name); m != nil {
			return "0x" + m[1]
		}
		if f.Linked != "" {
			return f.Linked
		}
		return f.Name
	}
	out := newCallSums()
	for i := range graph[0].Functions {
		if f := &graph[0].Functions[i]; !strings.HasPrefix(f.Image, "ld-linux") {
			out.own[name(f)] += f.Exclusive.Instructions
		}
	}
	for _, e := range graph[0].Edges {
		k := callEdge{name(e.Caller), name(e.Callee)}
		out.calls[k] += e.Calls
		out.costs[k] += e.Each.Instructions
	}
	return out
}

// bound has names bound at the start, so that both tools run the same loader's code, and the library's functions without
// AVX-512, which Valgrind does not know: it would run others.
var bound = []string{"LD_BIND_NOW=1", "PERL_HASH_SEED=0",
	"GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512DQ,-AVX512CD"}

// TestCallsEqualCallgrinds compares a fixture's calls with those that its source makes, and
// what they cost with callgrind.
func TestCallsEqualCallgrinds(t *testing.T) {
	t.Parallel()
	if find("valgrind") == "" {
		t.Skip("no valgrind: the Makefile's tests install it")
	}
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/calls.cc", "-foptimize-sibling-calls")
	got, want := recordedCalls(t, dir, bound, prog), callgrindCalls(t, dir, bound, prog)
	// The numbers by hand.
	for e, n := range map[callEdge]uint64{
		{"main", "tail"}: 10, {"main", "fib"}: 10, {"fib", "fib"}: 330, {"main", "catcher"}: 10, {"main", "lander"}: 10,
		{"catcher", "thrower"}: 10, {"thrower", "thrower"}: 45, {"lander", "jumper"}: 10, {"jumper", "jumper"}: 45,
		{"main", "through"}: 20, {"through", "leaf"}: 10, {"through", "tail"}: 10, {"tail", "leaf"}: 20, {"handler", "leaf"}: 10,
		{"catcher", "leaf"}: 10, {"lander", "leaf"}: 10, {"main", "even"}: 10, {"even", "odd"}: 25, {"odd", "even"}: 20,
	} {
		if got.calls[e] != n {
			t.Errorf("%v: %d calls, the source makes %d", e, got.calls[e], n)
		}
	}
	for _, fn := range []string{"tail", "leaf", "fib", "even", "odd", "thrower", "catcher", "jumper", "lander", "handler", "through", "compare"} {
		if n := want.own[fn]; n == 0 || got.own[fn] != n {
			t.Errorf("%s: %d instructions, callgrind %d", fn, got.own[fn], n)
		}
	}
	for _, e := range []callEdge{{"main", "fib"}, {"fib", "fib"}, {"main", "tail"}, {"tail", "leaf"}, {"main", "through"}, {"through", "leaf"}, {"main", "even"}} {
		if got.calls[e] != want.calls[e] || got.costs[e] != want.costs[e] {
			t.Errorf("%v: %d calls of %d, callgrind %d of %d", e, got.calls[e], got.costs[e], want.calls[e], want.costs[e])
		}
	}
}

// cacheMisses are cachegrind's misses, in the order of its summary.
type cacheMisses struct {
	executed, l1i, lli, reads, l1dr, llr, l1dw, llw uint64
}

// cachegrind runs a program under cachegrind.
func cachegrind(t *testing.T, dir string, i1, d1, ll string, argv ...string) (m cacheMisses) {
	t.Helper()
	run(t, command{argv: append([]string{"valgrind", "--tool=cachegrind", "--cache-sim=yes", "--I1=" + i1, "--D1=" + d1, "--LL=" + ll,
		"--cachegrind-out-file=cgc.out"}, argv...), dir: dir, env: bound})
	b, err := os.ReadFile(filepath.Join(dir, "cgc.out"))
	if err != nil {
		t.Fatal(err)
	}
	events, summary := []string{}, []string{}
	for line := range strings.Lines(string(b)) {
		if text, ok := strings.CutPrefix(line, "events: "); ok {
			events = strings.Fields(text)
		}
		if text, ok := strings.CutPrefix(line, "summary: "); ok {
			summary = strings.Fields(text)
		}
	}
	if len(summary) < len(events) || len(events) != 9 {
		t.Fatalf("events %v, summary %v", events, summary)
	}
	to := map[string]*uint64{"Ir": &m.executed, "I1mr": &m.l1i, "ILmr": &m.lli, "Dr": &m.reads, "D1mr": &m.l1dr, "DLmr": &m.llr, "D1mw": &m.l1dw, "DLmw": &m.llw}
	for i, e := range events {
		if p := to[e]; p != nil {
			*p, _ = strconv.ParseUint(summary[i], 10, 64)
		}
	}
	return m
}

// simulated simulates the caches over a recorded profile.
func simulated(t *testing.T, dir string, i1, d1, ll string, more ...string) (m cacheMisses) {
	t.Helper()
	var out []struct {
		Total struct {
			Executed, Reads uint64
			L1I             uint64 `json:"l1i_misses"`
			L1DR            uint64 `json:"l1d_read_misses"`
			L1DW            uint64 `json:"l1d_write_misses"`
			LLI             uint64 `json:"ll_instruction_misses"`
			LLR             uint64 `json:"ll_read_misses"`
			LLW             uint64 `json:"ll_write_misses"`
		}
	}
	r := run(t, command{argv: append([]string{alleria(), "analyze", "cache", "--json", "--l1i", i1, "--l1d", d1, "--ll", ll, profileDir}, more...), dir: dir})
	if err := json.Unmarshal(r.stdout, &out); err != nil || len(out) != 1 {
		t.Fatalf("analyze cache: %v\n%s%s", err, clip(r.stdout), clip(r.stderr))
	}
	c := out[0].Total
	return cacheMisses{c.Executed, c.L1I, c.LLI, c.Reads, c.L1DR, c.LLR, c.L1DW, c.LLW}
}

// TestMissesEqualCachegrinds compares misses: exactly where addresses are the same in both
// runs, within a few percent where stack, heap and libraries lie elsewhere.
func TestMissesEqualCachegrinds(t *testing.T) {
	t.Parallel()
	if find("valgrind") == "" {
		t.Skip("no valgrind: the Makefile's tests install it")
	}
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/caches.c", "-static -nostdlib -fno-stack-protector -no-pie")
	record := []string{alleria(), "-q", "record", "--force", "--no-aslr", "--select", "any", "--fields", "address", "-o", profileDir, "--"}
	run(t, command{argv: append(record, prog), dir: dir})
	for _, c := range [][3]string{
		{"32768,8,64", "32768,8,64", "262144,16,64"},
		{"4096,2,32", "8192,4,64", "65536,4,64"},
		{"16384,1,64", "4096,64,64", "131072,8,128"},
	} {
		got, want := simulated(t, dir, c[0], c[1], c[2]), cachegrind(t, dir, c[0], c[1], c[2], prog)
		if got != want {
			t.Errorf("%v: %+v, cachegrind %+v", c, got, want)
		}
		if got := simulated(t, dir, c[0], c[1], c[2], "--processors", "4"); got != want {
			t.Errorf("%v, by set: %+v, cachegrind %+v", c, got, want)
		}
	}
	gzip := find("gzip")
	run(t, command{argv: append(record, gzip, "-c", "/etc/services"), dir: dir})
	got, want := simulated(t, dir, "32768,8,64", "32768,8,64", "262144,16,64"), cachegrind(t, dir, "32768,8,64", "32768,8,64", "262144,16,64", gzip, "-c", "/etc/services")
	t.Logf("gzip: %+v, cachegrind %+v", got, want)
	for _, n := range [][2]uint64{{got.l1i, want.l1i}, {got.l1dr, want.l1dr}, {got.l1dw, want.l1dw}, {got.llr, want.llr}, {got.llw, want.llw}} {
		if d := int64(n[0]) - int64(n[1]); max(d, -d)*100 > int64(n[1])*20 {
			t.Errorf("gzip: %d misses, cachegrind %d", n[0], n[1])
		}
	}
}

// TestPartsAreOneInstruction: repeated string instructions that are recorded in parts, with their values, are one instruction each to analyses that count
// instructions.
func TestPartsAreOneInstruction(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/strings.S", "-static -nostdlib")
	read := func(to any, args ...string) {
		t.Helper()
		r := run(t, command{argv: append(append([]string{alleria(), "-q"}, args...), "--json", profileDir), dir: dir})
		if err := json.Unmarshal(r.stdout, to); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, clip(r.stderr))
		}
	}
	run(t, command{argv: []string{alleria(), "-q", "record", "--select", "any", "--fields", "address,value", "-o", profileDir, "--", prog}, dir: dir})
	var report struct{ Processes []abp.Counts }
	read(&report, "report")
	// Nine of start and end, six of each round.
	const want = 9 + 6*100
	if got := report.Processes[0]; got.Instructions != want || got.Loads != 100*1000 {
		t.Fatalf("report: %+v", got)
	}
	var caches []struct {
		Total struct{ Executed, Reads uint64 }
	}
	read(&caches, "analyze", "cache")
	if got := caches[0].Total; got.Executed != want || got.Reads != 100*1000 {
		t.Errorf("cache: %+v", got)
	}
	var paths []struct {
		Functions []struct {
			Runs []struct{ Instructions uint64 }
		}
	}
	read(&paths, "analyze", "paths")
	got := uint64(0)
	for _, f := range paths[0].Functions {
		for _, r := range f.Runs {
			got += r.Instructions
		}
	}
	if got != want {
		t.Errorf("paths have %d instructions, not %d", got, want)
	}
	// Of the last 7 instructions one has 16 parts, of the last 13 two have.
	for count, parts := range map[string]int{"5": 0, "7": 15, "12": 15, "13": 30, "10000": 1500} {
		numbers, lines := map[string]bool{}, 0
		r := run(t, command{argv: []string{alleria(), "-q", "dump", "--json", "--backwards", "--count", count, profileDir}, dir: dir})
		for line := range strings.Lines(string(r.stdout)) {
			var ins struct {
				Kind   string
				Number json.Number
			}
			if err := json.Unmarshal([]byte(line), &ins); err != nil {
				t.Fatal(err)
			}
			if ins.Kind == "instruction" {
				numbers[ins.Number.String()] = true
				lines++
			}
		}
		n, _ := strconv.Atoi(count)
		if n = min(n, want); len(numbers) != n || lines != n+parts {
			t.Errorf("--backwards --count %s: %d instructions in %d lines, want %d in %d", count, len(numbers), lines, n, n+parts)
		}
	}
}
