package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Calls of the fixture that stacks are checked by.
const (
	leafCalls = 21
	fibCalls  = 177
)

// TestConvertPprof: go tool pprof shows the report's figures by function, the calls, and the
// inlined function at its line.
func TestConvertPprof(t *testing.T) {
	t.Parallel()
	c := conversions(t)
	file := c.file(t, "pprof", ".pb.gz")
	want := c.report(t)
	own := want.own(filepath.Base(c.program))
	pprof := func(args ...string) string {
		return outside(t, t.TempDir(), append(append([]string{"go", "tool", "pprof"}, args...), file)...)
	}
	top := pprof("-top", "-noinlines", "-nodecount=10000", "-nodefraction=0")
	for _, fn := range []string{"leaf", "fib", "outer", "main"} {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^ +%d .* %s$`, own[fn], fn)).MatchString(top) {
			t.Errorf("%s has %d instructions:\n%s", fn, own[fn], clip([]byte(top)))
		}
	}
	if !strings.Contains(top, fmt.Sprintf("of %d total", want.Instructions)) {
		t.Errorf("the total is %d:\n%s", want.Instructions, clip([]byte(top)))
	}
	calls := pprof("-top", "-noinlines", "-sample_index=calls", "-nodecount=10000", "-nodefraction=0")
	for fn, n := range map[string]int{"leaf": leafCalls, "fib": fibCalls, "outer": 7} {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^ +%d .* %s$`, n, fn)).MatchString(calls) {
			t.Errorf("%s was called %d times:\n%s", fn, n, clip([]byte(calls)))
		}
	}
	// Line 10 is the inlined function's, whose caller is line 17.
	list := pprof("-list=twice|^leaf$")
	if !regexp.MustCompile(`(?m)^ +\d+ +\d+ +10:\s+return x \+ x;`).MatchString(list) ||
		!regexp.MustCompile(`(?m)^ +\d+ +\d+ +17:\s+table`).MatchString(list) {
		t.Errorf("lines:\n%s", list)
	}
	if peek := pprof("-peek=^leaf$"); !regexp.MustCompile(`100% \| +outer\n`).MatchString(peek) {
		t.Errorf("callers:\n%s", peek)
	}
	if tags := pprof("-tags"); !regexp.MustCompile(`window: Total`).MatchString(tags) || !regexp.MustCompile(`thread: Total`).MatchString(tags) {
		t.Errorf("labels:\n%s", tags)
	}
}

// TestConvertPprofMisses: go tool pprof has the misses that analyze cache has, of each function and in total, with their callers.
func TestConvertPprofMisses(t *testing.T) {
	t.Parallel()
	c := conversions(t)
	shapes := []string{"--l1d", "1k,2,64", "--l1i", "1k,2,64", "--ll", "4k,4,64"}
	file := filepath.Join(t.TempDir(), "out.pb.gz")
	c.alleria(t, append([]string{"convert", "--to", "pprof", "--misses", "-o", file, "out"}, shapes...)...)
	type misses struct {
		Name string
		L1I  int `json:"l1i_misses"`
		L1DR int `json:"l1d_read_misses"`
		L1DW int `json:"l1d_write_misses"`
		LLI  int `json:"ll_instruction_misses"`
		LLR  int `json:"ll_read_misses"`
		LLW  int `json:"ll_write_misses"`
	}
	var want []struct {
		Total     misses
		Functions []misses
	}
	if err := json.Unmarshal(c.alleria(t, append([]string{"analyze", "cache", "--json", "out"}, shapes...)...), &want); err != nil || len(want) != 1 {
		t.Fatalf("%v: %d", err, len(want))
	}
	for kind, of := range map[string]func(m *misses) int{"l1i_misses": func(m *misses) int { return m.L1I }, "l1d_misses": func(m *misses) int { return m.L1DR + m.L1DW },
		"ll_misses": func(m *misses) int { return m.LLI + m.LLR + m.LLW }} {
		top := outside(t, t.TempDir(), "go", "tool", "pprof", "-top", "-noinlines", "-sample_index="+kind, "-nodecount=10000", "-nodefraction=0", file)
		if n := of(&want[0].Total); n == 0 || !strings.Contains(top, fmt.Sprintf("of %d total", n)) {
			t.Errorf("%d %s in total:\n%s", n, kind, clip([]byte(top)))
		}
		for i := range want[0].Functions {
			f := &want[0].Functions[i]
			if n := of(f); n > 0 && (f.Name == "leaf" || f.Name == "fib" || f.Name == "outer" || f.Name == "main") && !regexp.MustCompile(fmt.Sprintf(`(?m)^ +%d .* %s$`, n, f.Name)).MatchString(top) {
				t.Errorf("%s has %d %s:\n%s", f.Name, n, kind, clip([]byte(top)))
			}
		}
	}
	if peek := outside(t, t.TempDir(), "go", "tool", "pprof", "-sample_index=l1d_misses", "-nodefraction=0", "-peek=^outer$", file); !regexp.MustCompile(`100% \| +main\n`).MatchString(peek) {
		t.Errorf("callers:\n%s", peek)
	}
	for _, args := range [][]string{{"--to", "csv", "--misses"}, {"--to", "pprof", "--l1d", "1k,2,64"}, {"--to", "pprof", "--misses", "--shared"}} {
		if r := run(t, command{argv: append(append([]string{alleria(), "convert"}, args...), "-o", filepath.Join(t.TempDir(), "bad"), "out"), dir: c.dir}); r.status != 2 {
			t.Errorf("%v: status %d, %s", args, r.status, clip(r.stderr))
		}
	}
}

// TestConvertCallgrind: callgrind_annotate shows what it shows of callgrind's own file of the
// program, function by function, exclusive and inclusive.
func TestConvertCallgrind(t *testing.T) {
	t.Parallel()
	c := conversions(t)
	file := c.file(t, "callgrind", ".out")
	dir := t.TempDir()
	outside(t, dir, "valgrind", "-q", "--tool=callgrind", "--dump-instr=yes", "--callgrind-out-file=cg.out", c.program)
	for _, inclusive := range []string{"no", "yes"} {
		figures := func(file string) map[string]int {
			out := outside(t, dir, "callgrind_annotate", "--auto=no", "--threshold=100", "--show-percs=no", "--inclusive="+inclusive, "--show=Ir", file)
			m := map[string]int{}
			for _, l := range regexp.MustCompile(`(?m)^ *([\d,]+)(?: \([\d. ]+%\))? +\S*work\.c:([\w']+)`).FindAllStringSubmatch(out, -1) {
				n, _ := strconv.Atoi(strings.ReplaceAll(l[1], ",", ""))
				// callgrind tells the levels of a recursion apart: fib and fib'2.
				name, level, _ := strings.Cut(l[2], "'")
				if level == "" || inclusive == "no" {
					m[name] += n
				}
			}
			return m
		}
		ours, theirs := figures(file), figures("cg.out")
		for _, fn := range []string{"leaf", "fib", "outer"} {
			// Of a recursion what is inside of several calls counts for each, and callgrind
			// has its levels to count by. main is left out: callgrind counts each iteration of
			// the repeated instruction that memcpy is made into.
			if ours[fn] == 0 || ours[fn] != theirs[fn] && !(fn == "fib" && inclusive == "yes") {
				t.Errorf("inclusive %s: %s has %d, callgrind %d (%v, %v)", inclusive, fn, ours[fn], theirs[fn], ours, theirs)
			}
		}
	}
	ours, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, calls := range []int{leafCalls, 7} {
		if !strings.Contains(string(ours), fmt.Sprintf("calls=%d 0x", calls)) {
			t.Errorf("no %d calls", calls)
		}
	}
}

// TestConvertStacks: the forms without addresses have all instructions, each at its stack.
func TestConvertStacks(t *testing.T) {
	t.Parallel()
	c := conversions(t)
	want := c.report(t)
	own := want.own(filepath.Base(c.program))
	total, leaf := uint64(0), uint64(0)
	for line := range strings.Lines(string(c.alleria(t, "convert", "--to", "collapsed", "out"))) {
		i := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseUint(strings.TrimSpace(line[i+1:]), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		total += n
		if strings.HasSuffix(line[:i], ";main;outer;leaf") {
			leaf += n
		}
	}
	if total != want.Instructions || leaf != own["leaf"] {
		t.Errorf("collapsed: %d instructions, %d in leaf; want %d, %d", total, leaf, want.Instructions, own["leaf"])
	}
	checkSpeedscope(t, c.alleria(t, "convert", "--to", "speedscope", "out"), want.Instructions, own["leaf"])
	checkFirefox(t, c.alleria(t, "convert", "--to", "firefox", "out"), want.Instructions, own["leaf"])
}

func checkSpeedscope(t *testing.T, text []byte, total, leaf uint64) {
	t.Helper()
	var s struct {
		Schema   string `json:"$schema"`
		Shared   struct{ Frames []struct{ Name string } }
		Profiles []struct {
			Type     string
			EndValue uint64
			Samples  [][]int
			Weights  []uint64
		}
	}
	if err := json.Unmarshal(text, &s); err != nil || len(s.Profiles) != 1 || !strings.Contains(s.Schema, "speedscope") {
		t.Fatal(err, len(s.Profiles))
	}
	p, in, sum := s.Profiles[0], uint64(0), uint64(0)
	for i, stack := range p.Samples {
		sum += p.Weights[i]
		if s.Shared.Frames[stack[len(stack)-1]].Name == "leaf" {
			in += p.Weights[i]
		}
	}
	if len(p.Samples) != len(p.Weights) || sum != total || p.EndValue != total || in != leaf || p.Type != "sampled" {
		t.Errorf("speedscope: %d stacks, %d weights, %d instructions to %d, %d in leaf; want %d, %d", len(p.Samples), len(p.Weights), sum, p.EndValue, in, total, leaf)
	}
}

func checkFirefox(t *testing.T, text []byte, total, leaf uint64) {
	t.Helper()
	type table = map[string]json.RawMessage
	var f struct {
		Threads []struct {
			Samples struct {
				Stack  []int
				Weight []uint64
			}
			StackTable  struct{ Frame []int }
			FrameTable  struct{ Func []int }
			FuncTable   struct{ Name []int }
			StringArray []string
		}
	}
	var tables struct{ Threads []table }
	if err := json.Unmarshal(text, &f); err != nil || len(f.Threads) != 1 {
		t.Fatal(err, len(f.Threads))
	}
	if err := json.Unmarshal(text, &tables); err != nil {
		t.Fatal(err)
	}
	for name, raw := range tables.Threads[0] {
		var columns map[string]any
		if json.Unmarshal(raw, &columns) != nil || columns["length"] == nil {
			continue
		}
		for col, v := range columns {
			if list, ok := v.([]any); ok && float64(len(list)) != columns["length"] {
				t.Errorf("firefox: %s.%s has %d entries of %v", name, col, len(list), columns["length"])
			}
		}
	}
	th, in, sum := f.Threads[0], uint64(0), uint64(0)
	for i, s := range th.Samples.Stack {
		sum += th.Samples.Weight[i]
		if th.StringArray[th.FuncTable.Name[th.FrameTable.Func[th.StackTable.Frame[s]]]] == "leaf" {
			in += th.Samples.Weight[i]
		}
	}
	if sum != total || in != leaf {
		t.Errorf("firefox: %d instructions, %d in leaf; want %d, %d", sum, in, total, leaf)
	}
}

// TestConvertPerfetto: protoc knows every field; each call begins and ends.
func TestConvertPerfetto(t *testing.T) {
	t.Parallel()
	c := conversions(t)
	schema, _ := filepath.Abs("../../testdata/convert")
	text := outside(t, c.dir, "sh", "-c", fmt.Sprintf("protoc -I%s --decode=perfetto.protos.Trace perfetto.proto < %s", schema, c.file(t, "perfetto", ".pftrace")))
	if text == "" {
		t.Skip("no protoc")
	}
	if unknown := regexp.MustCompile(`(?m)^ *\d+[: ].*`).FindString(text); unknown != "" {
		t.Errorf("a field that the schema does not have: %s", unknown)
	}
	if b, e := strings.Count(text, "TYPE_SLICE_BEGIN"), strings.Count(text, "TYPE_SLICE_END"); b != e || b == 0 {
		t.Errorf("%d begin, %d end", b, e)
	}
	for fn, n := range map[string]int{"leaf": leafCalls, "fib": fibCalls} {
		iid := regexp.MustCompile(`iid: (\d+)\s+name: "` + fn + `"`).FindStringSubmatch(text)
		if iid == nil {
			t.Fatalf("no name %s", fn)
		}
		if got := len(regexp.MustCompile(`name_iid: `+iid[1]+`\n`).FindAllString(text, -1)); got != n {
			t.Errorf("%d calls of %s, want %d", got, fn, n)
		}
	}
	last := uint64(0)
	for _, m := range regexp.MustCompile(`timestamp: (\d+)`).FindAllStringSubmatch(text, -1) {
		at, _ := strconv.ParseUint(m[1], 10, 64)
		if at < last {
			t.Fatalf("time goes back from %d to %d", last, at)
		}
		last = at
	}
}

// TestConvertRefuses: what cannot be converted is said in one sentence, with status 2.
func TestConvertRefuses(t *testing.T) {
	t.Parallel()
	c := conversions(t)
	c.alleria(t, "convert", "--to", "help")
	for args, want := range map[string]string{
		"--to cvs out":                     "did you mean csv?",
		"out":                              "--to FORMAT is missing",
		"--to csv --rows lines out":        "accesses or instructions",
		"--to pprof --function leaf out":   "callers",
		"--to csv --window nosuch out":     "no profile has such a window",
		"--to csv -o directory/ out":       "only parquet",
		"--to csv -o /dev/full out":        "no space left",
		"--to csv -o out/run.json/x out":   "not a directory",
		"--to csv":                         "no profile is named",
		"--to callgrind --thread 7 out":    "no such thread",
		"--to champsim --function foo out": "nothing was recorded of such a function",
	} {
		r := run(t, command{argv: append([]string{alleria(), "-q", "convert"}, strings.Fields(args)...), dir: c.dir})
		if status := 2; r.status != status && !(strings.Contains(args, "/dev/full") && r.status == 125) || !strings.Contains(string(r.stderr), want) || strings.Count(string(r.stderr), "\n") != 1 {
			t.Errorf("%s: status %d, %s; want %q", args, r.status, r.stderr, want)
		}
	}
	c.alleria(t, "record", "-o", "plain", "--only", "blocks", "--", c.program)
	for _, format := range []string{"csv", "din", "champsim"} {
		r := run(t, command{argv: []string{alleria(), "-q", "convert", "--to", format, "plain"}, dir: c.dir})
		if r.status != 2 || !strings.Contains(string(r.stderr), "not recorded") {
			t.Errorf("%s of blocks: status %d, %s", format, r.status, r.stderr)
		}
	}
}
