package acceptance

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// annotated has the figures that callgrind_annotate shows of functions of a source file, by event.
func annotated(t *testing.T, dir, file, source, inclusive string) map[string]map[string]int {
	t.Helper()
	out := outside(t, dir, "callgrind_annotate", "--auto=no", "--threshold=100", "--show-percs=no", "--inclusive="+inclusive, file)
	head := regexp.MustCompile(`(?m)^Events shown: +(.*)$`).FindStringSubmatch(out)
	if head == nil {
		t.Fatalf("no events:\n%s", clip([]byte(out)))
	}
	events := strings.Fields(head[1])
	all := map[string]map[string]int{}
	for _, l := range regexp.MustCompile(`(?m)^([ \d,.]+) \S*`+regexp.QuoteMeta(source)+`:(\S+)`).FindAllStringSubmatch(out, -1) {
		figures := strings.Fields(l[1])
		if len(figures) != len(events) {
			t.Fatalf("%d events, %q", len(events), l[0])
		}
		f := map[string]int{}
		for i, e := range events {
			f[e], _ = strconv.Atoi(strings.NewReplacer(",", "", ".", "").Replace(figures[i])) // a dot is none
		}
		all[l[2]] = f
	}
	return all
}

// TestConvertCallgrindMisses: callgrind_annotate shows the misses that callgrind finds of the same addresses, function by function, without and with
// what these call; all together are those of analyze cache. An instruction that reads and writes has a read miss here, as in cachegrind, and a write miss
// in callgrind.
func TestConvertCallgrindMisses(t *testing.T) {
	t.Parallel()
	if find("valgrind") == "" {
		t.Skip("no valgrind: the Makefile's tests install it")
	}
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/caches.c", "-g -static -nostdlib -fno-stack-protector -no-pie")
	run(t, command{argv: []string{alleria(), "-q", "record", "--no-aslr", "--select", "any", "--fields", "address", "-o", profileDir, "--", prog}, dir: dir})
	const i1, d1, ll = "4096,2,32", "8192,4,64", "65536,4,64"
	if r := run(t, command{argv: []string{alleria(), "-q", "convert", "--to", "callgrind", "--misses", "--l1i", i1, "--l1d", d1, "--ll", ll, "-o", "ours.out", profileDir}, dir: dir}); r.status != 0 {
		t.Fatalf("status %d, %s", r.status, clip(r.stderr))
	}
	outside(t, dir, "valgrind", "-q", "--tool=callgrind", "--cache-sim=yes", "--I1="+i1, "--D1="+d1, "--LL="+ll, "--callgrind-out-file=theirs.out", prog)
	for _, inclusive := range []string{"no", "yes"} {
		ours, theirs := annotated(t, dir, "ours.out", "caches.c", inclusive), annotated(t, dir, "theirs.out", "caches.c", inclusive)
		names := 0
		for fn, want := range theirs {
			got := ours[fn]
			if fn == "(below" || fn == "run" { // _start, and the block in which the process ends
				continue
			}
			names++
			for _, sum := range [][]string{{"Ir"}, {"I1mr"}, {"ILmr"}, {"D1mr", "D1mw"}, {"DLmr", "DLmw"}} {
				a, b := 0, 0
				for _, e := range sum {
					a, b = a+got[e], b+want[e]
				}
				if got == nil || a != b {
					t.Errorf("inclusive %s: %s has %d %v, callgrind %d", inclusive, fn, a, sum, b)
				}
			}
		}
		if work := ours["work"]; names < 80 || inclusive == "yes" && work["I1mr"] < 300 {
			t.Errorf("%d functions, %v", names, work)
		}
		if inclusive == "yes" {
			want := simulated(t, dir, i1, d1, ll)
			all := ours["_start"]
			if got := (cacheMisses{uint64(all["Ir"]), uint64(all["I1mr"]), uint64(all["ILmr"]), uint64(all["Dr"]), uint64(all["D1mr"]), uint64(all["DLmr"]), uint64(all["D1mw"]), uint64(all["DLmw"])}); got != want {
				t.Errorf("%+v, analyze cache %+v", got, want)
			}
		}
	}
}

// stackCosts are costs by function of collapsed stacks.
func (c *converted) stackCosts(t *testing.T, args ...string) (own map[string]float64, sum float64) {
	t.Helper()
	own = map[string]float64{}
	for line := range strings.Lines(string(c.alleria(t, append([]string{"convert", "--to", "collapsed", "out"}, args...)...))) {
		i, j := strings.LastIndexByte(line, ' '), strings.LastIndexByte(line, ';')
		n, err := strconv.ParseFloat(strings.TrimSpace(line[i+1:]), 64)
		if err != nil {
			t.Fatal(err)
		}
		own[line[j+1:i]] += n
		sum += n
	}
	return own, sum
}

// TestConvertOneCost: forms with one cost a stack have the cost that is chosen, which is that of pprof's file and of analyze methods.
func TestConvertOneCost(t *testing.T) {
	t.Parallel()
	c := conversions(t)
	shapes := []string{"--l1d", "1k,2,64", "--l1i", "1k,2,64", "--ll", "4k,4,64"}
	file := filepath.Join(t.TempDir(), "out.pb.gz")
	c.alleria(t, append([]string{"convert", "--to", "pprof", "--misses", "-o", file, "out"}, shapes...)...)
	for _, cost := range []string{"instructions", "loads", "stores", "read", "written", "calls", "l1i_misses", "l1d_misses", "ll_misses"} {
		args := []string{"--cost", cost}
		if strings.HasSuffix(cost, "_misses") {
			args = append(args, shapes...)
		}
		own, sum := c.stackCosts(t, args...)
		top := outside(t, t.TempDir(), "go", "tool", "pprof", "-top", "-noinlines", "-unit=B", "-sample_index="+cost, "-nodecount=10000", "-nodefraction=0", file)
		if !strings.Contains(top, fmt.Sprintf("of %.0f", sum)) || sum == 0 {
			t.Errorf("%s: %.0f in all, pprof %s", cost, sum, clip([]byte(top)))
		}
		for _, fn := range []string{"leaf", "fib", "outer", "main"} {
			if n := own[fn]; n > 0 && !regexp.MustCompile(fmt.Sprintf(`(?m)^ +%.0fB? .* %s$`, n, fn)).MatchString(top) {
				t.Errorf("%s: %s has %.0f:\n%s", cost, fn, n, clip([]byte(top)))
			}
		}
	}
	for args, want := range map[string]string{
		"--to collapsed --misses":             "pprof, callgrind",
		"--to pprof --cost loads":             "collapsed, speedscope, firefox",
		"--to collapsed --cost cycles":        "not \"cycles\"",
		"--to collapsed --l1d 1k,2,64":        "--cost l1d_misses",
		"--to csv --cost time":                "collapsed, speedscope, firefox",
		"--to collapsed --cost time --misses": "pprof, callgrind",
	} {
		r := run(t, command{argv: append(append([]string{alleria(), "-q", "convert"}, strings.Fields(args)...), "out"), dir: c.dir})
		if r.status != 2 || !strings.Contains(string(r.stderr), want) {
			t.Errorf("%s: status %d, %s; want %q", args, r.status, r.stderr, want)
		}
	}
	c.alleria(t, "record", "-o", "untimed", "--only", "blocks", "--", c.program)
	for _, cost := range []string{"time", "loads", "l1d_misses"} {
		if r := run(t, command{argv: []string{alleria(), "-q", "convert", "--to", "collapsed", "--cost", cost, "untimed"}, dir: c.dir}); r.status != 2 || !strings.Contains(string(r.stderr), "not recorded") {
			t.Errorf("%s of blocks: status %d, %s %s", cost, r.status, clip(r.stdout), r.stderr)
		}
	}
}

// TestConvertTime: files that have time have that of analyze methods, by function and in all; report --inclusive, --callers and --callees have that of
// analyze callgraph.
func TestConvertTime(t *testing.T) {
	t.Parallel()
	c := conversions(t)
	type method struct {
		Name string
		Own  float64 `json:"exclusive_seconds"`
		All  float64 `json:"inclusive_seconds"`
	}
	type edge struct {
		Caller, Callee struct{ Name string }
		All            float64 `json:"inclusive_seconds"`
	}
	var want []struct {
		Functions []method
		Edges     []edge
	}
	if err := json.Unmarshal(c.alleria(t, "analyze", "callgraph", "--json", "out"), &want); err != nil || len(want) != 1 {
		t.Fatal(err)
	}
	own, sum := c.stackCosts(t, "--cost", "time")
	dir := t.TempDir()
	callgrind := annotated(t, dir, c.file(t, "callgrind", ".out"), "work.c", "no")
	inclusive := annotated(t, dir, c.file(t, "callgrind", ".out"), "work.c", "yes")
	top := outside(t, dir, "go", "tool", "pprof", "-top", "-noinlines", "-sample_index=time", "-unit=ns", "-nodecount=10000", "-nodefraction=0", c.file(t, "pprof", ".pb.gz"))
	pprof := map[string]float64{}
	for _, l := range regexp.MustCompile(`(?m)^ +([\d.e+]+)ns .* (\S+)$`).FindAllStringSubmatch(top, -1) {
		pprof[l[2]], _ = strconv.ParseFloat(l[1], 64)
	}
	total, seen := 0.0, 0
	for _, m := range want[0].Functions {
		total += m.Own
		if m.Name != "leaf" && m.Name != "fib" && m.Name != "outer" && m.Name != "main" {
			continue
		}
		seen++
		// Whole nanoseconds: of each stack, and of each instruction of one in pprof's.
		near := func(what string, got, seconds float64) {
			t.Helper()
			if d := math.Abs(got - seconds*1e9); seconds == 0 || d > 2000 || d > 0.02*seconds*1e9+20 {
				t.Errorf("%s: %s takes %g ns, %g s by analyze", what, m.Name, got, seconds)
			}
		}
		near("collapsed", own[m.Name], m.Own)
		near("callgrind", float64(callgrind[m.Name]["Time"]), m.Own)
		near("pprof", pprof[m.Name], m.Own)
		if m.Name != "fib" { // of a recursion what is inside of several calls counts for each there
			near("callgrind, inclusive", float64(inclusive[m.Name]["Time"]), m.All)
		}
	}
	if math.Abs(sum-total*1e9) > 0.01*sum || seen != 4 {
		t.Errorf("%g ns in all, %g s by analyze; %d functions", sum, total, seen)
	}
	var views []struct{ Rows json.RawMessage }
	rows := func(to any, args ...string) {
		t.Helper()
		if err := json.Unmarshal(c.alleria(t, append([]string{"report", "--json", "out"}, args...)...), &views); err != nil || len(views) != 1 {
			t.Fatal(err)
		}
		if err := json.Unmarshal(views[0].Rows, to); err != nil {
			t.Fatal(err)
		}
	}
	var methods []method
	rows(&methods, "--inclusive")
	if len(methods) != len(want[0].Functions) || methods[0].All == 0 || methods[0] != want[0].Functions[0] {
		t.Errorf("--inclusive: %+v", methods[0])
	}
	leaf := slices.IndexFunc(want[0].Functions, func(m method) bool { return m.Name == "leaf" })
	for _, e := range want[0].Edges {
		if e.Caller.Name != "outer" || e.Callee.Name != "leaf" {
			continue
		}
		var callers, callees []edge
		rows(&callers, "--callers", "leaf")
		rows(&callees, "--callees", "outer")
		if all := want[0].Functions[leaf].All; math.Abs(e.All-all) > 1e-9 { // nobody else calls it
			t.Errorf("calls of leaf take %g s, leaf %g", e.All, all)
		}
		if len(callers) != 1 || callers[0] != e || len(callees) == 0 || callees[0] != e || e.All == 0 {
			t.Errorf("%+v: callers %+v, callees %+v", e, callers, callees)
		}
	}
	for _, view := range []string{"--inclusive", "--callers=leaf", "--callees=outer"} {
		if text := string(c.alleria(t, "report", view, "out")); !strings.Contains(text, "seconds") {
			t.Errorf("%s:\n%s", view, clip([]byte(text)))
		}
	}
}
