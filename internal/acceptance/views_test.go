package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// view runs report with a flag for another table, and decodes its rows.
func view[T any](t *testing.T, dir string, args ...string) []T {
	t.Helper()
	var out []struct{ Rows []T }
	r := run(t, command{argv: append(append([]string{alleria(), "report", "--json"}, args...), profileDir), dir: dir})
	if err := json.Unmarshal(r.stdout, &out); err != nil || len(out) != 1 {
		t.Fatalf("report %v: %v\n%s%s", args, err, clip(r.stdout), clip(r.stderr))
	}
	return out[0].Rows
}

// TestSharingOfLines has a program whose lines are shared in every way, with known counts.
func TestSharingOfLines(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/sharing.c", "-no-pie")
	run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "--", prog}, dir: dir})
	type line struct {
		Address       uint64
		Reads, Writes uint64
		Sharing       string
		Threads       []struct{ Thread uint32 }
		Code          []struct{ Place string }
	}
	base := symbolAddress(t, prog, "s")
	found := map[uint64]line{}
	for _, l := range view[line](t, dir, "--by-cacheline", "--top", "0") {
		found[l.Address] = l
	}
	for i, want := range []struct {
		reads, writes uint64
		sharing       string
		threads       int
	}{{40000, 40000, "false", 2}, {40001, 40000, "true", 2}, {40000, 0, "reads", 2}, {20000, 20000, "", 1}} {
		got := found[base+uint64(64*i)]
		if got.Reads != want.reads || got.Writes != want.writes || got.Sharing != want.sharing || len(got.Threads) != want.threads {
			t.Errorf("line %d: %+v, want %+v", i, got, want)
		}
		if len(got.Code) == 0 || !strings.HasPrefix(got.Code[0].Place, "work") {
			t.Errorf("line %d is touched by %+v", i, got.Code)
		}
	}
}

// TestCoherence has two threads take turns: a line of which each writes its half goes back and forth by false sharing, one with a counter of both by true
// sharing, and both sides' code is named.
func TestCoherence(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/turns.c", "-no-pie")
	run(t, command{argv: []string{alleria(), "-q", "record", "--fields", "address,time", "-o", profileDir, "--", prog}, dir: dir})
	r := run(t, command{argv: []string{alleria(), "-q", "analyze", "coherence", "--json", profileDir}, dir: dir})
	type pair struct {
		Store       string `json:"store_place"`
		Instruction string `json:"instruction_place"`
		Stored      uint64 `json:"stored_bytes"`
	}
	var got []struct {
		Timed bool
		Lines []struct {
			Address uint64
			True    uint64 `json:"true_sharing_misses"`
			False   uint64 `json:"false_sharing_misses"`
			Pairs   []pair
		}
	}
	if err := json.Unmarshal(r.stdout, &got); err != nil || len(got) != 1 || !got[0].Timed {
		t.Fatalf("%v in %s %s", err, clip(r.stdout), clip(r.stderr))
	}
	base, found := symbolAddress(t, prog, "s"), 0
	// Blocks of both threads that begin at one instant may stand in either order, so that some turns are not seen.
	const turns, seen = 600, 500
	for _, l := range got[0].Lines {
		switch l.Address {
		case base:
			found++
			if l.False < seen || l.False > turns || l.True > turns-seen || !strings.HasPrefix(l.Pairs[0].Store, "own") || !strings.HasPrefix(l.Pairs[0].Instruction, "own") || l.Pairs[0].Stored != 0xff {
				t.Errorf("the line of both halves: %+v", l)
			}
		case base + 64:
			found++
			if l.True < seen || l.True > turns || l.False > turns-seen || !strings.HasPrefix(l.Pairs[0].Store, "both") || l.Pairs[0].Stored != 0xf {
				t.Errorf("the line of the counter: %+v", l)
			}
		}
	}
	if found != 2 {
		t.Errorf("%d of both lines found: %s", found, clip(r.stdout))
	}
	if r := run(t, command{argv: []string{alleria(), "analyze", "coherence", "--shared", "8M,16,32", profileDir}, dir: dir}); r.status != 2 || !strings.Contains(string(r.stderr), "32 bytes") {
		t.Errorf("lines of two sizes: status %d, %s", r.status, r.stderr)
	}
}

// TestCoherenceBeside: beside the program and of a profile it is found how often lines go back and forth between threads that take turns in the kernel, exactly.
func TestCoherenceBeside(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/turns.c", "-no-pie -pthread")
	r := recordBeside(t, dir, "beside", "coherence,heatmap", []string{"--readers", "2"}, prog, "pipes")
	same(t, run(t, command{argv: []string{prog, "pipes"}, dir: dir}), result{stdout: r.stdout, status: r.status})
	recordBeside(t, dir, "inside", "coherence", []string{"--sequential", "--bs", "16"}, prog, "pipes")
	run(t, command{argv: []string{alleria(), "-q", "record", "--force", "--no-aslr", "--fields", "address,time", "-o", profileDir, "--", prog, "pipes"}, dir: dir, env: bound})
	type line struct {
		Address uint64
		Place   string
		True    uint64 `json:"true_sharing_misses"`
		False   uint64 `json:"false_sharing_misses"`
		Takes   uint64 `json:"invalidating_stores"`
	}
	base := symbolAddress(t, prog, "s")
	const turns = 600
	// The first access of each thread is no miss by sharing; main looks at the counter in the end.
	want := map[uint64]line{base: {base, filepath.Base(prog), 0, turns - 2, turns - 1}, base + 64: {base + 64, filepath.Base(prog), turns - 1, 0, turns - 1}}
	recordBeside(t, dir, "levels", "coherence(private=1k,2,64;private-l2=32k,8,64;inclusion=exclusive)", nil, prog, "pipes")
	levels := []string{"--private", "1k,2,64", "--private-l2", "32k,8,64", "--inclusion", "inclusive"}
	for _, c := range [][]string{{"beside"}, {"inside"}, {profileDir}, {"levels"}, append([]string{profileDir}, levels...)} {
		out := c[0]
		var got []struct {
			Timed bool
			Late  uint64 `json:"late_executions"`
			Total struct {
				Second uint64 `json:"private_l2_hits"`
			}
			Lines []line
		}
		r := run(t, command{argv: append([]string{alleria(), "-q", "analyze", "coherence", "--json"}, c...), dir: dir})
		text := r.stdout
		if err := json.Unmarshal(text, &got); err != nil || len(got) != 1 || !got[0].Timed || got[0].Late != 0 {
			t.Fatalf("%s: %v in %s", out, err, clip(text))
		}
		if second := got[0].Total.Second; (second > 0) != (out == "levels" || len(c) > 1) {
			t.Errorf("%v: %d references found in a second private level", c, second)
		}
		found := 0
		for _, l := range got[0].Lines {
			if w, there := want[l.Address]; there {
				found++
				if l.Place = filepath.Base(l.Place); l != w {
					t.Errorf("%s: %+v, want %+v", out, l, w)
				}
			}
		}
		if found != 2 {
			t.Errorf("%s: %d of both lines found: %s", out, found, clip(text))
		}
	}
	for _, argv := range [][]string{
		{"analyze", "coherence", "--private", "64k,8,64", "beside"},
		{"analyze", "coherence", "--private-l2", "1M,16,64", "beside"},
		{"analyze", "coherence", "--inclusion", "inclusive", "--private-l2", "32k,8,64", "levels"},
		{"record", "--analysis", "coherence", "--sample-rate", "5%", "--", prog},
		{"record", "--analysis", "coherence(private=32k)", "--", prog},
	} {
		if r := run(t, command{argv: append([]string{alleria()}, argv...), dir: dir}); r.status != 2 {
			t.Errorf("%v: %d %s", argv, r.status, clip(r.stderr))
		}
	}
}

// symbolAddress asks nm where something lies.
func symbolAddress(t *testing.T, prog, name string) uint64 {
	t.Helper()
	r := run(t, command{argv: []string{"nm", prog}, dir: filepath.Dir(prog)})
	for line := range strings.Lines(string(r.stdout)) {
		if f := strings.Fields(line); len(f) == 3 && f[2] == name {
			n, err := strconv.ParseUint(f[0], 16, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("%s has no %s", prog, name)
	return 0
}

// TestLinesEqualCallgrinds compares instructions by line of source with callgrind's.
func TestLinesEqualCallgrinds(t *testing.T) {
	t.Parallel()
	if find("valgrind") == "" {
		t.Skip("no valgrind: the Makefile's tests install it")
	}
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/calls.cc", "-foptimize-sibling-calls")
	recordedCalls(t, dir, bound, prog)
	callgrindCalls(t, dir, bound, prog)
	b, err := os.ReadFile(filepath.Join(dir, "cg.out"))
	if err != nil {
		t.Fatal(err)
	}
	want, file, skip := map[int]uint64{}, "", false
	for text := range strings.Lines(string(b)) {
		text = strings.TrimSpace(text)
		if key, name, ok := strings.Cut(text, "="); ok && (key == "fl" || key == "fi" || key == "fe") {
			file = name
		}
		if strings.HasPrefix(text, "calls=") {
			skip = true
			continue
		}
		f := strings.Fields(text)
		if len(f) == 2 && strings.HasSuffix(file, "calls.cc") {
			n, err1 := strconv.Atoi(f[0])
			c, err2 := strconv.ParseUint(f[1], 10, 64)
			if err1 == nil && err2 == nil && !skip {
				want[n] += c
			}
		}
		skip = false
	}
	type line struct {
		File         string
		Line         int
		Instructions uint64
	}
	got := map[int]uint64{}
	for _, l := range view[line](t, dir, "--by-line", "--top", "0") {
		if strings.HasSuffix(l.File, "calls.cc") {
			got[l.Line] += l.Instructions
		}
	}
	if len(want) < 30 {
		t.Fatalf("callgrind knows %d lines", len(want))
	}
	differ := 0
	for n, c := range want {
		if got[n] != c {
			differ++
			t.Logf("line %d: %d instructions, callgrind %d", n, got[n], c)
		}
	}
	// One line zeroes a structure by a repeated instruction, of which callgrind counts each
	// iteration.
	if differ > 1 {
		t.Errorf("%d of %d lines differ", differ, len(want))
	}
}

// TestHistoBinEqualsDump counts the bits of all values that dump prints.
func TestHistoBinEqualsDump(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/calls.cc", "-foptimize-sibling-calls")
	run(t, command{argv: []string{alleria(), "-q", "record", "--fields", "address,value", "--image", "main", "-o", profileDir, "--", prog}, dir: dir})
	var want [4]uint64 // ones and zeros of loads, then of stores
	missing := uint64(0)
	r := run(t, command{argv: []string{alleria(), "dump", "--json", profileDir}, dir: dir})
	for line := range strings.Lines(string(r.stdout)) {
		var ins struct {
			Accesses []struct {
				Store bool
				Size  uint64
				Value string
			}
		}
		if err := json.Unmarshal([]byte(line), &ins); err != nil {
			t.Fatal(err)
		}
		for _, a := range ins.Accesses {
			if a.Value == "" {
				missing++
				continue
			}
			ones := uint64(0)
			for _, c := range strings.TrimPrefix(a.Value, "0x") {
				n, err := strconv.ParseUint(string(c), 16, 8)
				if err != nil {
					continue // between bytes
				}
				ones += n&1 + n>>1&1 + n>>2&1 + n>>3
			}
			k := 0
			if a.Store {
				k = 2
			}
			want[k] += ones
			want[k+1] += 8*a.Size - ones
		}
	}
	var out []struct {
		Total struct {
			Missing    uint64
			LoadOnes   uint64 `json:"load_ones"`
			LoadZeros  uint64 `json:"load_zeros"`
			StoreOnes  uint64 `json:"store_ones"`
			StoreZeros uint64 `json:"store_zeros"`
		}
		Functions, Regions []struct {
			LoadOnes uint64 `json:"load_ones"`
		}
	}
	r = run(t, command{argv: []string{alleria(), "histobin", "--json", profileDir}, dir: dir})
	if err := json.Unmarshal(r.stdout, &out); err != nil || len(out) != 1 {
		t.Fatalf("histobin: %v\n%s", err, clip(r.stderr))
	}
	got := [4]uint64{out[0].Total.LoadOnes, out[0].Total.LoadZeros, out[0].Total.StoreOnes, out[0].Total.StoreZeros}
	if got != want || out[0].Total.Missing != missing || want[0] == 0 {
		t.Errorf("bits %v, dump has %v; without a value %d, dump has %d", got, want, out[0].Total.Missing, missing)
	}
	for _, rows := range [][]struct {
		LoadOnes uint64 `json:"load_ones"`
	}{out[0].Functions, out[0].Regions} {
		sum := uint64(0)
		for _, row := range rows {
			sum += row.LoadOnes
		}
		if sum != got[0] {
			t.Errorf("rows add up to %d, not %d", sum, got[0])
		}
	}
	// Without values there is nothing to count.
	run(t, command{argv: []string{alleria(), "-q", "record", "--force", "--fields", "address", "-o", profileDir, "--", prog}, dir: dir})
	if r := run(t, command{argv: []string{alleria(), "histobin", profileDir}, dir: dir}); r.status != 2 || !strings.Contains(string(r.stderr), "--fields address,value") {
		t.Errorf("histobin without values: %d %s", r.status, r.stderr)
	}
}

// TestDiff compares runs whose difference is known: a loop that runs more often.
func TestDiff(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	source := filepath.Join(dir, "loop.c")
	text := "static volatile int n;\n__attribute__((noinline)) static void hot(void) { n++; }\n__attribute__((noinline)) static void same(void) { n += 2; }\n" +
		"int main(int argc, char **argv) {\n\t(void)argv;\n\tfor (int i = 0; i < 100 * argc; i++)\n\t\thot();\n\tsame();\n\treturn 0;\n}\n"
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	prog := build(t, source, "-O1")
	record := func(out string, args ...string) {
		run(t, command{argv: append([]string{alleria(), "-q", "record", "--no-aslr", "--image", "main", "-o", out, "--", prog}, args...), dir: dir})
	}
	record("a")
	record("b")
	record("c", "x")
	type row struct {
		Kind, Name    string
		Before, After struct{ Instructions, Loads, Stores uint64 }
	}
	diff := func(args ...string) (d struct {
		Rows  []row
		Equal int
	}) {
		r := run(t, command{argv: append([]string{alleria(), "diff", "--json"}, args...), dir: dir})
		if err := json.Unmarshal(r.stdout, &d); err != nil {
			t.Fatalf("diff %v: %v %s", args, err, clip(r.stderr))
		}
		return d
	}
	if d := diff("a", "b"); len(d.Rows) != 0 || d.Equal < 3 {
		t.Errorf("equal runs differ: %+v", d)
	}
	find := func(rows []row, name string) *row {
		for i := range rows {
			if strings.HasSuffix(rows[i].Name, name) {
				return &rows[i]
			}
		}
		return &row{}
	}
	d := diff("a", "c")
	if r := find(d.Rows, "hot"); r.After.Stores-r.Before.Stores != 100 || r.After.Loads-r.Before.Loads != 200 { // its variable and its return address
		t.Errorf("hot: %+v", r)
	}
	if r := find(d.Rows, "same"); r.Name != "" {
		t.Errorf("same differs: %+v", r)
	}
	if d := diff("--by-page", "a", "b"); len(d.Rows) != 0 || d.Equal < 2 {
		t.Errorf("pages of equal runs differ: %+v", d)
	}
	pages := diff("--by-page", "a", "c")
	var data, stack bool // n is read and written 100 times more, and so is where return addresses lie
	for _, r := range pages.Rows {
		data = data || r.Kind == "page" && strings.Contains(r.Name, "+0x") && r.After.Stores-r.Before.Stores == 100 && r.After.Loads-r.Before.Loads == 100
		stack = stack || strings.HasPrefix(r.Name, "[stack]-0x") && r.After.Stores > r.Before.Stores
	}
	if !data || !stack {
		t.Errorf("pages: %+v", pages.Rows)
	}
	lines := diff("--by-line", "a", "c")
	if r := find(lines.Rows, "loop.c:2"); r.After.Stores-r.Before.Stores != 100 {
		t.Errorf("line 2: %+v", r)
	}
}

// TestAnnotate has a function whose source, counts and values are known.
func TestAnnotate(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/calls.cc", "-foptimize-sibling-calls")
	run(t, command{argv: []string{alleria(), "-q", "record", "--select", "any", "--fields", "address,value", "--image", "main", "-o", profileDir, "--", prog}, dir: dir})
	type valueRange struct{ Least, Greatest uint64 }
	var out []struct {
		Function string
		Total    struct{ Instructions uint64 }
		Lines    []struct {
			File, Text string
			Code       []struct {
				Instructions   uint64
				Text           string
				Loaded, Stored *valueRange
			}
		}
	}
	r := run(t, command{argv: []string{alleria(), "annotate", "--json", "tail", profileDir}, dir: dir})
	if err := json.Unmarshal(r.stdout, &out); err != nil || len(out) != 1 {
		t.Fatalf("annotate: %v\n%s", err, clip(r.stderr))
	}
	var sum uint64
	var loaded, stored *valueRange
	for _, l := range out[0].Lines {
		if !strings.Contains(l.Text, "int tail(int x) { n++; return leaf(x); }") {
			t.Errorf("source %q of %s", l.Text, l.File)
		}
		for _, c := range l.Code {
			sum += c.Instructions
			if c.Instructions != 20 {
				t.Errorf("%s: %d times", c.Text, c.Instructions)
			}
			if c.Loaded != nil {
				loaded = c.Loaded
			}
			if c.Stored != nil {
				stored = c.Stored
			}
		}
	}
	if sum != out[0].Total.Instructions || sum == 0 {
		t.Errorf("%d instructions of %d", sum, out[0].Total.Instructions)
	}
	if loaded == nil || stored == nil || loaded.Least != 0 || *stored != (valueRange{loaded.Least + 1, loaded.Greatest + 1}) {
		t.Errorf("n++ read %+v and wrote %+v", loaded, stored)
	}
	r = run(t, command{argv: []string{alleria(), "annotate", "-o", "a.html", "*", profileDir}, dir: dir})
	if b, err := os.ReadFile(filepath.Join(dir, "a.html")); err != nil || !strings.Contains(string(b), "<h2>tail</h2>") {
		t.Errorf("page: %v %s", err, r.stderr)
	}
}

// TestAnnotateInlined: code of inlined functions is shown with where they are called, and lines that were never executed with a count of 0.
func TestAnnotateInlined(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/lines.c", "-O1 -g")
	run(t, command{argv: []string{alleria(), "-q", "record", "--select", "any", "--fields", "address", "--image", "main", "-o", profileDir, "--", prog}, dir: dir})
	var out []struct {
		Lines []struct {
			Line    int
			Inlined []struct {
				Function string
				Line     int
			}
			Code []struct{ Instructions uint64 }
		}
	}
	r := run(t, command{argv: []string{alleria(), "annotate", "--json", "work", profileDir}, dir: dir})
	if err := json.Unmarshal(r.stdout, &out); err != nil || len(out) != 1 {
		t.Fatalf("annotate: %v\n%s", err, clip(r.stderr))
	}
	executed, inlined := map[int]uint64{}, map[int]string{}
	for _, l := range out[0].Lines {
		executed[l.Line] += 0
		for _, c := range l.Code {
			executed[l.Line] = max(executed[l.Line], c.Instructions)
		}
		inlined[l.Line] = ""
		for _, in := range l.Inlined {
			inlined[l.Line] += fmt.Sprintf("%s:%d ", in.Function, in.Line)
		}
	}
	for line, want := range map[int]struct {
		executed uint64
		inlined  string
	}{13: {0, "clamp:21 scale:28 "}, 15: {5, "clamp:21 scale:28 "}, 21: {5, "scale:28 "}, 26: {5, ""}, 27: {0, ""}} {
		if n, ok := executed[line]; !ok || n != want.executed || inlined[line] != want.inlined {
			t.Errorf("line %d: executed %d times (there: %v), inlined as %q; want %+v", line, n, ok, inlined[line], want)
		}
	}
	r = run(t, command{argv: []string{alleria(), "annotate", "work", profileDir}, dir: dir})
	if !strings.Contains(string(r.stdout), "lines.c:15 in clamp, inlined at lines.c:21 in scale, inlined at lines.c:28 ") {
		t.Errorf("%s", clip(r.stdout))
	}
	// On a page the columns have headings, as many as cells, and places have theirs to themselves.
	r = run(t, command{argv: []string{alleria(), "annotate", "-o", "a.html", "work", profileDir}, dir: dir})
	b, err := os.ReadFile(filepath.Join(dir, "a.html"))
	if err != nil {
		t.Fatal(err, clip(r.stderr))
	}
	page := string(b)
	for _, want := range []string{"<th>executed</th><th>loads</th><th>stores</th><th class=\"t\">place</th>", "<td>lines.c:15</td>", ">in clamp, inlined at lines.c:21 in scale, inlined at lines.c:28\n</span>"} {
		if !strings.Contains(page, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	for row := range strings.SplitSeq(page, "<tr") {
		if heads, cells := strings.Count(row, "<th"), strings.Count(row, "<td")+strings.Count(row, "colspan"); heads > 1 && heads != 6 || heads == 0 && cells != 6 && cells > 0 {
			t.Errorf("%d headings, %d cells: %s", heads, cells, row)
		}
	}
}

// TestAnnotatedMisses: what annotate says that instructions miss is what analyze cache has of all.
func TestAnnotatedMisses(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/caches.c", "-static -nostdlib -fno-stack-protector -no-pie")
	run(t, command{argv: []string{alleria(), "-q", "record", "--select", "any", "--fields", "address", "-o", profileDir, "--", prog}, dir: dir})
	shape := []string{"--l1d", "8k,2,64", "--l1i", "1k,1,64"}
	read := func(to any, args ...string) {
		t.Helper()
		r := run(t, command{argv: append(append(append([]string{alleria(), "-q"}, args...), shape...), "--json", profileDir), dir: dir})
		if err := json.Unmarshal(r.stdout, to); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, clip(r.stderr))
		}
	}
	var caches []struct{ Total map[string]uint64 }
	read(&caches, "analyze", "cache")
	type misses struct{ L1I, L1D, LL uint64 }
	var all []struct {
		Function string
		Misses   *misses
		Lines    []struct{ Code []struct{ Misses *misses } }
	}
	read(&all, "annotate", "--misses", "*")
	var sum, ins misses
	for _, f := range all {
		sum = misses{sum.L1I + f.Misses.L1I, sum.L1D + f.Misses.L1D, sum.LL + f.Misses.LL}
		for _, l := range f.Lines {
			for _, c := range l.Code {
				ins = misses{ins.L1I + c.Misses.L1I, ins.L1D + c.Misses.L1D, ins.LL + c.Misses.LL}
			}
		}
	}
	m := caches[0].Total
	want := misses{m["l1i_misses"], m["l1d_read_misses"] + m["l1d_write_misses"], m["ll_instruction_misses"] + m["ll_read_misses"] + m["ll_write_misses"]}
	if sum != want || ins != want || want.L1I < 1000 || want.L1D < 10_000 || want.LL == 0 {
		t.Errorf("functions %+v, instructions %+v, analyze cache %+v", sum, ins, want)
	}
	r := run(t, command{argv: append([]string{alleria(), "annotate", "work", profileDir}, shape...), dir: dir})
	if r.status != 2 || !strings.Contains(string(r.stderr), "--l1i is for --misses") {
		t.Errorf("caches without --misses: status %d, %s", r.status, clip(r.stderr))
	}
	r = run(t, command{argv: []string{alleria(), "annotate", "--misses", "work", profileDir}, dir: dir})
	if !strings.Contains(string(r.stdout), "l1d misses") {
		t.Errorf("%s", clip(r.stdout))
	}
}

// TestCallTreePictures: the flame graph is XML that xmllint takes, and the page has the tree.
func TestCallTreePictures(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/calls/calls.cc", "-foptimize-sibling-calls")
	run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "--", prog}, dir: dir})
	if r := run(t, command{argv: []string{alleria(), "analyze", "calltree", "-o", "t.svg", "-o", "t.html", profileDir}, dir: dir}); r.status != 0 {
		t.Fatalf("calltree: %s", r.stderr)
	}
	if find("xmllint") != "" {
		if r := run(t, command{argv: []string{"xmllint", "--noout", "t.svg"}, dir: dir}); r.status != 0 {
			t.Errorf("xmllint: %s", r.stderr)
		}
	}
	for name, want := range map[string]string{"t.svg": "<title>main (calls", "t.html": `"n":"main"`} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v, without %s", name, err, want)
		}
	}
}
