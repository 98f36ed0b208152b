package analysis

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"alleria/abp"
	"alleria/analysis/synthetic"
)

func summarise(t *testing.T, q abp.Query) *Report {
	t.Helper()
	r, err := Summarise([]*abp.Profile{openDemo(t)}, q, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestReport(t *testing.T) {
	r := summarise(t, abp.Query{})
	if len(r.Processes) != 2 {
		t.Fatalf("%d processes", len(r.Processes))
	}
	p := r.Processes[0]
	// 100 times main and work, 64 bytes copied, one main cut after its load, a
	// nop; and ten times work in the other thread.
	want := abp.Counts{Instructions: 423, MemInstructions: 422, Loads: 275, Stores: 274, BytesRead: 1752, BytesWritten: 1304}
	if p.Counts != want {
		t.Errorf("counts %+v, want %+v", p.Counts, want)
	}
	if p.Exit == nil || *p.Exit != 3 || p.PID != 100 || p.Threads != 2 {
		t.Errorf("process %+v", p)
	}
	for _, th := range r.Processes[0].PerThread {
		frames := openDemo(t).Process(1).Threads()[th.Number-1].Counts
		if th.Counts != frames {
			t.Errorf("thread %d: %+v, the frames say %+v", th.Number, th.Counts, frames)
		}
	}
	var sum, images abp.Counts
	for _, f := range p.Functions {
		sum.Add(f.Counts, 1)
	}
	for _, i := range p.Images {
		images.Add(i.Counts, 1)
	}
	if sum != want || images != want {
		t.Errorf("functions add up to %+v, images to %+v", sum, images)
	}
	names := []string{}
	for _, f := range p.Functions {
		names = append(names, f.Name+"@"+f.Image)
	}
	if got := strings.Join(names, " "); got != "demo::work@demo main@demo [no function]@[no image] memcpy@libc.so.6" {
		t.Errorf("functions %s", got)
	}
	if c := p.Functions[3]; c.Loads != 64 || c.Stores != 64 || c.Instructions != 1 {
		t.Errorf("memcpy %+v", c)
	}
	if second := r.Processes[1]; second.Followed || second.PID != 105 {
		t.Errorf("the process that was not followed: %+v", second)
	}
}

func TestReportWindows(t *testing.T) {
	w := summarise(t, abp.Query{}).Processes[0].Windows
	if len(w) != 3 {
		t.Fatalf("%d windows", len(w))
	}
	if w[0].Name != "all" || w[0].Openings != 1 || w[0].Instructions != 423 || w[0].First.Closed != nil {
		t.Errorf("all: %+v", w[0])
	}
	if w[1].Openings != 1 || w[1].Instructions != 1 || w[1].Loads != 64 || w[1].First.Place != "memcpy" ||
		w[1].First.Closed == nil || w[1].First.Closed.Overshoot != 2 || w[1].First.Seconds != 0.5 {
		t.Errorf("copying: %+v %+v", w[1], w[1].First)
	}
	if w[2].Openings != 0 || w[2].First != nil || w[2].Last != nil || w[2].Instructions != 0 {
		t.Errorf("never: %+v", w[2])
	}
}

func TestReportFilters(t *testing.T) {
	for _, c := range []struct {
		name  string
		query abp.Query
		want  abp.Counts
	}{
		{"thread", abp.Query{Threads: []uint32{2}}, abp.Counts{Instructions: 20, MemInstructions: 20, Loads: 10, Stores: 10, BytesRead: 80, BytesWritten: 40}},
		{"function", abp.Query{Functions: []string{"memcpy"}}, abp.Counts{Instructions: 1, MemInstructions: 1, Loads: 64, Stores: 64, BytesRead: 64, BytesWritten: 64}},
		{"one instruction", abp.Query{Code: abp.Range{From: synthetic.Main, To: synthetic.Main + 1}}, abp.Counts{Instructions: 101, MemInstructions: 101, Loads: 101, BytesRead: 808}},
		{"data", abp.Query{Data: abp.Range{From: synthetic.Heap + 0x1000, To: synthetic.Heap + 0x1008}}, abp.Counts{Instructions: 1, MemInstructions: 1, Stores: 8, BytesWritten: 8}},
		{"process", abp.Query{Processes: []uint32{2}}, abp.Counts{}},
	} {
		r := summarise(t, c.query)
		if got := r.Processes[0].Counts; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestReportText(t *testing.T) {
	r := summarise(t, abp.Query{})
	// Where the profile lies and how well it was compressed are not the report's.
	r.Profiles[0].Path, r.Profiles[0].OutputBytes, r.Profiles[0].BytesPerInstruction = "run", 4096, 9.68
	for i := range r.Processes {
		r.Processes[i].Profile = "run"
	}
	var text bytes.Buffer
	if err := r.WriteText(&text, 3); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.txt", text.Bytes())
	var js bytes.Buffer
	if err := r.WriteJSON(&js); err != nil {
		t.Fatal(err)
	}
	golden(t, "report.json", js.Bytes())
}

// TestReportJSONNames pins the names that are promised to users.
func TestReportJSONNames(t *testing.T) {
	var b bytes.Buffer
	if err := summarise(t, abp.Query{}).WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	var r struct{ Processes []map[string]any }
	if err := json.Unmarshal(b.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	p := r.Processes[0]
	for _, name := range []string{"number", "pid", "command", "exit", "instructions", "loads", "stores", "bytes_read",
		"bytes_written", "threads", "windows", "images", "functions"} {
		if _, ok := p[name]; !ok {
			t.Errorf("a process has no %q", name)
		}
	}
	for list, names := range map[string][]string{
		"windows":   {"name", "openings", "instructions", "first", "last"},
		"images":    {"name", "instructions", "loads", "stores"},
		"functions": {"name", "image", "instructions", "loads", "stores"},
	} {
		for _, name := range names {
			if _, ok := p[list].([]any)[0].(map[string]any)[name]; !ok {
				t.Errorf("%s have no %q", list, name)
			}
		}
	}
}

func TestProgressReachesTheWhole(t *testing.T) {
	for _, q := range []abp.Query{{}, {Functions: []string{"memcpy"}}, {Threads: []uint32{2}}} {
		var p Progress
		if _, err := Summarise([]*abp.Profile{openDemo(t)}, q, &p); err != nil {
			t.Fatal(err)
		}
		if p.Share() != 1 || p.total.Load() == 0 {
			t.Errorf("%+v: ended at %v of %d", q, p.Share(), p.total.Load())
		}
	}
}

// TestReportOfCutMain: where the main file lacks code, frames are still counted by their headers.
func TestReportOfCutMain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	if err := synthetic.Write(dir); err != nil {
		t.Fatal(err)
	}
	counts := func() (total uint64, r *Report) {
		p, err := abp.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		r, err = Summarise([]*abp.Profile{p}, abp.Query{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r.Processes[0].Instructions, r
	}
	want, _ := counts()
	main := filepath.Join(dir, "p1", abp.MainFile)
	f, err := abp.OpenFile(main)
	if err != nil {
		t.Fatal(err)
	}
	cuts := []uint64{abp.HeaderSize}
	for _, s := range f.Sections() {
		cuts = append(cuts, s.End())
	}
	f.Close()
	for i := len(cuts) - 1; i >= 0; i-- {
		if err := os.Truncate(main, int64(cuts[i])); err != nil {
			t.Fatal(err)
		}
		got, r := counts()
		if got != want || r.Profiles[0].Complete {
			t.Errorf("cut at %d: %d instructions of %d", cuts[i], got, want)
		}
		if i == 0 && (len(r.Profiles[0].Missing) == 0 || r.Processes[0].Images[0].Name != "(code that main.abp lacks)") {
			t.Errorf("nothing is said of what is missing: %+v", r.Profiles[0].Missing)
		}
	}
}
