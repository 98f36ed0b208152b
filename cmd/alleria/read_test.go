package main

import (
	"encoding/json"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"alleria/abp"
	"alleria/analysis"
	"alleria/analysis/openings"
	"alleria/analysis/pstree"
	"alleria/analysis/synthetic"
)

func syntheticRun(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	if err := synthetic.Write(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func decode[T any](t *testing.T, args ...string) (out T) {
	t.Helper()
	status, stdout, stderr := command(t, args...)
	if status != 0 {
		t.Fatalf("%v: status %d: %s", args, status, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &out); err != nil {
		t.Fatalf("%v: %v\n%.200s", args, err, stdout)
	}
	return out
}

func TestReportCommand(t *testing.T) {
	run := syntheticRun(t)
	r := decode[analysis.Report](t, "report", "--json", run)
	if len(r.Processes) != 2 || r.Processes[0].Instructions != 423 {
		t.Errorf("%+v", r.Processes)
	}
	if r := decode[analysis.Report](t, "report", "--json", "--thread", "2", run); r.Processes[0].Instructions != 20 {
		t.Errorf("thread 2: %+v", r.Processes[0].Counts)
	}
	// Half a second after the start, memcpy begins; a tenth later it ends.
	if r := decode[analysis.Report](t, "report", "--json", "--function", "memcpy", "--time", "0.4-0.6", run); r.Processes[0].Loads != 64 {
		t.Errorf("memcpy in its time: %+v", r.Processes[0].Counts)
	}
	status, out, _ := command(t, "report", "--top", "1", run)
	if status != 0 || !strings.Contains(out, "demo::work") || !strings.Contains(out, "… and 3 more") {
		t.Errorf("report: %d\n%s", status, out)
	}
	// Parts of a run are profiles too.
	for _, part := range []string{"p1", "p1/main.abp", "p1/1.abp"} {
		if status, _, errs := command(t, "report", filepath.Join(run, part)); status != 0 {
			t.Errorf("report of %s: %d %s", part, status, errs)
		}
	}
}

func TestDumpCommand(t *testing.T) {
	run := syntheticRun(t)
	status, out, errs := command(t, "dump", "--thread", "1", "--from", "398", "--count", "2", run)
	if status != 0 || !strings.Contains(out, "mov [rdi], eax") || strings.Contains(out, "call") || strings.Count(out, "demo::work") != 2 {
		t.Errorf("dump: %d %s\n%s", status, errs, out)
	}
	_, out, _ = command(t, "dump", "--address", "0x401000+4", "--syntax", "att", run)
	if !strings.Contains(out, "mov -0x8(%rbp), %rax") || strings.Contains(out, "call") {
		t.Errorf("dump of one address:\n%.300s", out)
	}
	status, out, _ = command(t, "dump", "--by-time", "--count", "5", run)
	if status != 0 || !strings.Contains(out, "thread 1") {
		t.Errorf("dump by time: %d %s", status, out)
	}
}

func TestHeatmapCommand(t *testing.T) {
	run, dir := syntheticRun(t), t.TempDir()
	name := func(n string) string { return filepath.Join(dir, n) }
	status, _, errs := command(t, "heatmap", "-o", name("h.png"), "-o", name("h.svg"), "-o", name("h.csv"), "-o", name("h.html"), "--block", "64K", run)
	if status != 0 || strings.Count(errs, "wrote") != 4 {
		t.Fatalf("heatmap: %d %s", status, errs)
	}
	if status, _, errs := command(t, "heatmap", "--data", "1-2", "-o", name("empty.csv"), run); status != 0 || !strings.Contains(errs, "its map is empty") {
		t.Errorf("a map of nothing: %d %s", status, errs)
	}
	f, err := os.Open(name("h.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := png.Decode(f); err != nil {
		t.Error(err)
	}
	table, err := os.ReadFile(name("h.csv"))
	if err != nil || !strings.Contains(string(table), "0x4c0000,65536,64,174,[heap]") {
		t.Errorf("%v\n%s", err, table)
	}
}

func TestWindowsAndTreeCommands(t *testing.T) {
	run := syntheticRun(t)
	list := decode[[]openings.Opening](t, "windows", "--json", run)
	if len(list) != 2 || list[1].Window != "copying" || list[1].Closed == nil || list[1].Closed.Reason != "Return memcpy" {
		t.Errorf("%+v", list)
	}
	if _, out, _ := command(t, "windows", "--window", "copying", run); strings.Count(out, "\n") != 1 || !strings.Contains(out, "Call memcpy") {
		t.Errorf("windows of one name:\n%s", out)
	}
	tree := decode[[]*pstree.Node](t, "tree", "--json", run)
	if len(tree) != 1 || len(tree[0].Children) != 1 {
		t.Fatalf("%+v", tree)
	}
	if child := tree[0].Children[0]; child.Number != 2 || child.Followed || child.Exit == nil || *child.Exit != 137 {
		t.Errorf("child %+v", child)
	}
	if _, out, _ := command(t, "tree", run); !strings.Contains(out, "\n└─ 2 (pid 105, not followed, killed by SIGKILL) child") {
		t.Errorf("tree:\n%s", out)
	}
}

func TestReadingErrors(t *testing.T) {
	run := syntheticRun(t)
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("not a profile"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"report"}, "no profile is named"},
		{[]string{"report", "/no/such"}, "no such file"},
		{[]string{"report", text}, "profile"},
		{[]string{"dump", "--address", "main", run}, "not a range"},
		{[]string{"dump", "--address", "0x20-0x10", run}, "is empty"},
		{[]string{"dump", "--syntax", "masm", run}, "intel or att"},
		{[]string{"dump", "--by-time", "--from", "3", run}, "--from"},
		{[]string{"report", "--time", "2-1", run}, "range of seconds"},
		{[]string{"heatmap", "--block", "1000", run}, "power of two"},
		{[]string{"heatmap", "--columns", "0", run}, "--columns"},
		{[]string{"heatmap", "-o", "x.bmp", run}, ".png"},
		{[]string{"heatmap", "--process", "7", run}, "no such process"},
		{[]string{"verify", "/no/such"}, "no such"},
		{[]string{"dump", run, run}, "one profile"},
		{[]string{"dump", "--count", "0", run}, "--count"},
		{[]string{"dump", "--thread", "99", run}, "no such thread"},
		{[]string{"report", "--thread", "99", run}, "no such thread"},
		{[]string{"report", "--top", "-1", run}, "--top"},
		{[]string{"windows", "--window", "none", run}, "no such window"},
	} {
		status, _, errs := command(t, c.args...)
		if status != 2 || !strings.Contains(errs, c.says) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%v: status %d, %q", c.args, status, errs)
		}
	}
}

func TestVerifyCommand(t *testing.T) {
	run := syntheticRun(t)
	if status, out, errs := command(t, "verify", run); status != 0 || !strings.Contains(out, "is sound") {
		t.Errorf("a sound run: %d %s%s", status, out, errs)
	}
	name := filepath.Join(run, "p1", "1.abp")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	damaged := append([]byte(nil), whole...)
	damaged[len(damaged)/2] ^= 0x40
	for what, data := range map[string][]byte{"damaged": damaged, "cut off": whole[:len(whole)*2/3]} {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
		status, out, errs := command(t, "verify", run)
		if status != statusProblems || !strings.Contains(out, what) || !strings.Contains(out, "1.abp") {
			t.Errorf("%s: status %d\n%s%s", what, status, out, errs)
		}
		var list []problemLine
		_, out, _ = command(t, "verify", "--json", run)
		if err := json.Unmarshal([]byte(out), &list); err != nil || len(list) == 0 {
			t.Errorf("%s: %v %s", what, err, out)
		}
	}
}

// TestVerifyProgress: progress ends at the whole and never exceeds it.
func TestVerifyProgress(t *testing.T) {
	run := syntheticRun(t)
	var mu sync.Mutex
	var most, total uint64
	err := abp.VerifyProgress(run, func(p abp.Problem) { t.Error(p) }, func(done, all uint64) {
		mu.Lock()
		defer mu.Unlock()
		most, total = max(most, done), all
	})
	if err != nil || most == 0 || most > total {
		t.Errorf("%d of %d: %v", most, total, err)
	}
}

// TestCutProfilesAreToldOf cuts a stream in its middle: whatever reads it says so.
func TestCutProfilesAreToldOf(t *testing.T) {
	run := syntheticRun(t)
	heat := filepath.Join(t.TempDir(), "h.csv")
	cut := func() [][]string {
		return [][]string{{"analyze", "methods", run}, {"analyze", "cache", run}, {"annotate", "*", run}, {"histobin", run}, {"diff", run, run}, {"dump", run},
			{"report", "--by-line", run}, {"report", "--inclusive", run}, {"report", "--callers", "*", run}, {"report", "--by-cacheline", run}, {"report", "--tree", run},
			{"convert", "--to", "csv", run}, {"heatmap", "-o", heat, run}, {"windows", run}, {"tree", run}}
	}
	const says = "the profile is not complete: "
	for _, c := range cut() {
		if _, _, errs := command(t, c...); strings.Contains(errs, says) {
			t.Errorf("%v of a whole one: %s", c, errs)
		}
	}
	stream := filepath.Join(run, "p1", "1.abp")
	st, err := os.Stat(stream)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(stream, st.Size()-200); err != nil {
		t.Fatal(err)
	}
	for _, c := range cut() {
		want := 1
		if c[0] == "diff" {
			want = 2
		}
		if _, _, errs := command(t, c...); strings.Count(errs, says) != want || !strings.Contains(errs, "was cut off") {
			t.Errorf("%v: %s", c, errs)
		}
	}
	if _, out, errs := command(t, "report", run); strings.Contains(errs, says) || !strings.Contains(out, "was cut off") {
		t.Errorf("report: %s\n%s", errs, out)
	}
}

// TestSamplesAreToldOf: what shows the records of bursts, or estimates from them by the order in which they came, says so once.
func TestSamplesAreToldOf(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	if err := synthetic.WriteSampled(run); err != nil {
		t.Fatal(err)
	}
	const (
		says      = "process 1 was sampled: 423 of 8,460 instructions are recorded; counts are "
		estimates = "estimates"
		recorded  = "those of what is recorded"
	)
	for _, c := range []struct {
		args, counts, lacks string // lacks "": only counts
	}{
		{"analyze methods", estimates, "inclusive counts"}, {"analyze callgraph", estimates, "callers"}, {"analyze calltree", estimates, "callers"}, {"analyze paths", estimates, "paths end"},
		{"analyze cache", recorded, "misses"}, {"analyze reuse", recorded, "misses"}, {"analyze coherence", recorded, "misses"}, {"analyze strides", recorded, "strides"}, {"histobin", estimates, ""},
		{"report --callers *", estimates, "callers"}, {"report --callees *", estimates, "callers"}, {"report --inclusive", estimates, "callers"}, {"report --by-address", estimates, ""}, {"report --by-cacheline", estimates, ""}, {"report --by-line", estimates, ""},
		{"report --by-instruction", estimates, ""}, {"report --tree", estimates, ""}, {"report --by-program", estimates, ""}, {"annotate *", estimates, ""}, {"heatmap -o " + run + ".html", estimates, ""},
		{"convert --to csv", recorded, "between bursts"}, {"convert --to collapsed", estimates, "callers"}, {"convert --to lcov", estimates, ""}, {"convert --to din --thread 1", recorded, "between bursts"}, {"analyze methods --json", estimates, "callers"},
	} {
		_, _, errs := command(t, append(strings.Fields(c.args), run)...)
		if c.counts == recorded && strings.HasPrefix(c.args, "analyze") {
			if _, out, _ := command(t, append(strings.Fields(c.args), "--json", run)...); !strings.Contains(out, `"unscaled_sampling": {`) {
				t.Errorf("%s --json does not say that it does not scale: %s", c.args, out)
			}
		}
		if want := says + c.counts; strings.Count(errs, want) != 1 || strings.Contains(errs, want+"; ") != (c.lacks != "") || !strings.Contains(errs, c.lacks) {
			t.Errorf("%s: %q", c.args, errs)
		}
	}
	for _, c := range []string{"report --tree", "report --by-program", "report --by-line", "annotate *", "diff " + run, "diff --by-line " + run} {
		if _, out, _ := command(t, append(strings.Fields(c), "--json", run)...); !strings.Contains(out, `"sampling": `) {
			t.Errorf("%s --json does not say that it estimates: %s", c, out)
		}
	}
	if _, _, errs := command(t, "diff", run, run); strings.Count(errs, says+estimates) != 2 {
		t.Errorf("diff: %q", errs)
	}
	// These say it by themselves, or estimate nothing.
	for _, c := range []string{"report", "dump", "windows", "tree"} {
		if _, _, errs := command(t, append(strings.Fields(c), run)...); strings.Contains(errs, "was sampled") {
			t.Errorf("%s: %q", c, errs)
		}
	}
}

// TestDamagedRunFile: where run.json is cut, the profiles are read without it, and that is said.
func TestDamagedRunFile(t *testing.T) {
	run := syntheticRun(t)
	if err := os.Truncate(filepath.Join(run, abp.RunFile), 100); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"report --tree", "windows", "dump"} {
		if status, out, errs := command(t, append(strings.Fields(c), run)...); status != 0 || out == "" || !strings.Contains(errs, "run.json is damaged") {
			t.Errorf("%s: status %d, %q", c, status, errs)
		}
	}
	if status, out, _ := command(t, "verify", run); status != 1 || strings.Count(out, "damaged") != 1 {
		t.Errorf("verify: status %d, %q", status, out)
	}
}

// TestRecordsThatWereNotKept: a run that was analysed while it ran is not taken for one that did nothing.
func TestRecordsThatWereNotKept(t *testing.T) {
	run := syntheticRun(t)
	r, err := abp.ReadRun(run)
	if err != nil {
		t.Fatal(err)
	}
	r.Processes[0].Analyses = []string{"calls"}
	if err := r.Write(run); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"diff " + run, "annotate *", "annotate nothing", "dump", "dump --process 1", "report --by-line", "report --by-instruction", "report --by-address", "report --by-cacheline",
		"report --inclusive", "report --callers *", "report --callees *", "convert --to csv", "convert --to pprof", "histobin", "analyze cache"} {
		status, out, errs := command(t, append(strings.Fields(c), run)...)
		if status != statusUsage || out != "" || !strings.Contains(errs, "process 1 was analysed while it ran, and its records were not kept: there are no ") {
			t.Errorf("%s: status %d, %q, %q", c, status, out, errs)
		}
	}
	for _, c := range []string{"report", "report --tree", "report --by-program", "windows", "tree"} {
		if status, _, errs := command(t, append(strings.Fields(c), run)...); status != 0 {
			t.Errorf("%s: status %d, %q", c, status, errs)
		}
	}
}

// TestDamagedStatus: a damaged frame has every command that comes upon it end with the status of bad input; what we cannot write is our own failure, also in
// commands below another.
func TestDamagedStatus(t *testing.T) {
	run := syntheticRun(t)
	path := filepath.Join(run, "p1", "1.abp")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if status, _, errs := command(t, "analyze", "calltree", "-o", filepath.Join(run, "nowhere", "x.svg"), run); status != statusOwn {
		t.Errorf("no such folder: status %d, %s", status, errs)
	}
	for i := len(data) / 2; i < len(data)/2+8; i++ {
		data[i] ^= 0x5a
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"report --decode", "report --by-line --decode", "report --by-address", "report --inclusive", "report --callers *", "analyze methods", "analyze callgraph", "analyze calltree", "analyze cache",
		"analyze reuse", "analyze paths", "analyze strides", "analyze coherence", "histobin", "dump", "heatmap", "annotate *"} {
		status, _, errs := command(t, append(strings.Fields(c), run)...)
		if status != statusUsage || !strings.Contains(errs, "profile is corrupt") {
			t.Errorf("%s: status %d, %q", c, status, errs)
		}
	}
}

// TestSites: contexts behind the first so many are one for all call sites in their caller, which is said, and functions count for the same.
func TestSites(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	if err := synthetic.Write(run); err != nil {
		t.Fatal(err)
	}
	_, apart, _ := command(t, "analyze", "calltree", "--min", "0", run)
	_, some, _ := command(t, "analyze", "calltree", "--min", "0", "--sites", "1", run)
	if strings.Contains(apart, "anywhere in it") || !strings.Contains(apart, "from ") || !strings.Contains(some, "from anywhere in it") || !strings.Contains(some, "one for all call sites") {
		t.Errorf("%s\n%s", apart, some)
	}
	_, all, _ := command(t, "analyze", "methods", run)
	if _, methods, _ := command(t, "analyze", "methods", "--sites", "1", run); methods != all {
		t.Errorf("%s\n%s", all, methods)
	}
	if status, _, errs := command(t, "analyze", "methods", "--sites", "-1", run); status != statusUsage || !strings.Contains(errs, "--sites") {
		t.Errorf("status %d: %s", status, errs)
	}
}

// TestTimeOfEach: seconds count from the start of each process, in each of several profiles, and 0 is before everything.
func TestTimeOfEach(t *testing.T) {
	run, large := syntheticRun(t), filepath.Join(t.TempDir(), "large") // with starts at 1000 and at 0
	if err := synthetic.WriteLarge(large, 100); err != nil {
		t.Fatal(err)
	}
	for _, order := range [][]string{{run, large}, {large, run}} {
		r := decode[analysis.Report](t, "report", "--json", "--time", "0-0.0000005", order[0], order[1])
		for _, p := range r.Processes {
			want := map[string]uint64{run: 4, large: 0}[p.Profile]
			if p.Number == 1 && p.Instructions != want {
				t.Errorf("%s: %d instructions, want %d", p.Profile, p.Instructions, want)
			}
		}
	}
	if r := timeStamps(1000, 1e9, 0, 1); r != (abp.Range{To: 1000 + 1e9}) {
		t.Errorf("from 0 on: %+v", r)
	}
	for _, s := range []string{"nan-nan", "1-nan", "nan-1", "2-1", "1-1", "1", "-1-2"} {
		if status, _, _ := command(t, "report", "--time", s, run); status != statusUsage {
			t.Errorf("--time %s: status %d", s, status)
		}
	}
	if r := decode[analysis.Report](t, "report", "--json", "--time", "0-inf", run); r.Processes[0].Instructions != 423 {
		t.Errorf("--time 0-inf: %d instructions", r.Processes[0].Instructions)
	}
}

// TestReplaced: code of libraries that were loaded one after the other at the same place, and a JIT's there, are kept apart.
func TestReplaced(t *testing.T) {
	run := filepath.Join(t.TempDir(), "run")
	if err := synthetic.WriteReplaced(run); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want []string // parts of lines, each of a line of its own
	}{
		{[]string{"report", "--by-instruction"}, []string{"first mov 3", "second mov 2", "mov 1"}},
		{[]string{"report", "--by-line"}, []string{"first.so 3", "second.so 2", "[no image] 1"}},
		{[]string{"report", "--by-address"}, []string{"first and others"}},
		{[]string{"analyze", "strides"}, []string{"first 3", "second 2", " 1"}},
		{[]string{"annotate", "*"}, []string{"first (first.so): 3", "second (second.so): 2"}},
		{[]string{"report", "--inclusive"}, []string{"first.so 3", "second.so 2", "[no image] 1"}},
		{[]string{"convert", "--to", "drcov"}, []string{"BB Table: 2 bbs"}},
	} {
		status, out, errs := command(t, append(c.args, run)...)
		if status != 0 {
			t.Errorf("%v: %d %s", c.args, status, errs)
		}
		lines := strings.Split(out, "\n")
		for _, want := range c.want {
			at := slices.IndexFunc(lines, func(l string) bool {
				for _, part := range strings.Fields(want) {
					i := strings.Index(l, part)
					if i < 0 {
						return false
					}
					l = l[i+len(part):]
				}
				return true
			})
			if at < 0 {
				t.Errorf("%v: no line with %q in\n%s", c.args, want, out)
				continue
			}
			lines = slices.Delete(lines, at, at+1)
		}
	}
}
