package acceptance

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// twelve is the paper's program whose load changes over time, in a shorter form.
func twelve(t *testing.T) []string {
	return []string{build(t, "../../testdata/adaptive/twelve.c", "-pthread"), "20", "60000"}
}

// ran is what run.json says of a run.
type ran struct {
	Outcome struct {
		State  string `json:"state"`
		Reason string `json:"reason"`
	} `json:"outcome"`
	Notes     []string `json:"notes"`
	Processes []struct {
		Instructions uint64 `json:"instructions"`
		Loads        uint64 `json:"loads"`
		Lost         uint64 `json:"lost_instructions"`
	} `json:"processes"`
}

func runFile(t *testing.T, dir string) (r ran) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestPoolsAgree records one program with every way to have its records processed: the same is recorded.
func TestPoolsAgree(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	program := twelve(t)
	native := run(t, command{argv: program, dir: dir})
	var want ran
	for i, flags := range []string{"--tuner off", "", "--tf 5ms", "--ptc 1", "--ptc 4", "--ptc 0", "--bc 2 --bs 16", "--threads 3 --tp 0 --taz 0 --tay1 0 --tay2 0 --tf 2ms", "--ptc 0 --bs 32"} {
		out := fmt.Sprint("out", i)
		argv := append([]string{alleria(), "-q", "record", "-o", out, "--image", "main", "--function", "touch"}, strings.Fields(flags)...)
		r := run(t, command{argv: append(append(argv, "--"), program...), dir: dir})
		if r.status != 0 || string(r.stdout) != string(native.stdout) {
			t.Errorf("%s: status %d, %s, %s", flags, r.status, clip(r.stdout), clip(r.stderr))
		}
		if v := run(t, command{argv: []string{alleria(), "verify", out}, dir: dir}); v.status != 0 {
			t.Errorf("%s: %s", flags, clip(v.stdout))
		}
		got := runFile(t, filepath.Join(dir, out))
		if i == 0 {
			want = got
		}
		if len(got.Processes) != 1 || got.Processes[0] != want.Processes[0] || got.Processes[0].Loads < 8*60000 {
			t.Errorf("%s: %+v, want %+v", flags, got.Processes, want.Processes)
		}
		_, err := os.Stat(filepath.Join(dir, out, "adaptive.jsonl"))
		if adapts := !strings.Contains(flags, "--ptc") && !strings.Contains(flags, "off"); adapts != (err == nil) {
			t.Errorf("%s: log of what was adapted: %v", flags, err)
		}
	}
}

// TestReportAdaptive shows the log of a run in every form.
func TestReportAdaptive(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	if r := run(t, command{argv: append([]string{alleria(), "-q", "record", "-o", "out", "--tf", "10ms", "--"}, twelve(t)...), dir: dir}); r.status != 0 {
		t.Fatalf("record: %s", clip(r.stderr))
	}
	report := func(flags ...string) result {
		return run(t, command{argv: append([]string{alleria(), "report", "--adaptive"}, flags...), dir: dir})
	}
	if r := report("out"); r.status != 0 || !strings.Contains(string(r.stdout), "(atwt)") || !strings.Contains(string(r.stdout), "the first processing threads begin") {
		t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	var all []struct {
		Rows []struct {
			Event   string  `json:"event"`
			Time    float64 `json:"t"`
			Threads int     `json:"threads"`
			Began   int     `json:"began"`
			Rings   int     `json:"rings"`
			Period  float64 `json:"period"`
			ATWT    float64 `json:"atwt"`
			Chunks  int     `json:"chunks"`
		} `json:"rows"`
	}
	r := report("--json", "out")
	if err := json.Unmarshal(r.stdout, &all); err != nil || len(all) != 1 || len(all[0].Rows) < 3 {
		t.Fatalf("%v: %s", err, clip(r.stdout))
	}
	began, chunks, last := 0, 0, 0.0
	for _, row := range all[0].Rows {
		if row.Time < last || row.Threads < 1 {
			t.Errorf("after %g s: %+v", last, row)
		}
		last = row.Time
		// No thread waits for longer than it is there.
		if most := float64(row.Rings+row.Began+1) * row.Period * 1.1; row.ATWT > most+0.01 {
			t.Errorf("waiting for more than %g s: %+v", most, row)
		}
		began += row.Began
		chunks += row.Chunks
	}
	if e := all[0].Rows[len(all[0].Rows)-1].Event; e != "end" || began != 13 || chunks == 0 {
		t.Errorf("the last line is %q; %d threads, %d buffers", e, began, chunks)
	}
	if r := report("--svg", "picture.svg", "out"); r.status != 0 {
		t.Errorf("svg: %s", r.stderr)
	}
	text, err := os.ReadFile(filepath.Join(dir, "picture.svg"))
	if err != nil || xml.Unmarshal(text, new(any)) != nil || !strings.Contains(string(text), "twelve") {
		t.Errorf("picture: %v, %s", err, clip(text))
	}
	if r := run(t, command{argv: append([]string{alleria(), "-q", "record", "--tuner", "off", "-o", "fixed", "--"}, find("true")), dir: dir}); r.status != 0 {
		t.Fatalf("record: %s", clip(r.stderr))
	}
	if r := report("fixed"); r.status == 0 || !strings.Contains(string(r.stderr), "nothing was adapted") {
		t.Errorf("without a log: status %d, %s", r.status, r.stderr)
	}
	// Another run in its place.
	if r := run(t, command{argv: append([]string{alleria(), "-q", "record", "--force", "-o", "out", "--tuner", "off", "--"}, find("true")), dir: dir}); r.status != 0 {
		t.Errorf("replaced: %s", clip(r.stderr))
	}
	if r := report("out"); r.status == 0 {
		t.Error("the log of the run before is still there")
	}
}

// TestTreeOfOnePool records processes that begin and end while others run: each has its own files, and all is there.
func TestTreeOfOnePool(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	program := build(t, "../../testdata/adaptive/twelve.c", "-pthread")
	script := fmt.Sprintf(`for i in 1 2 3; do mkdir d$i; (cd d$i; exec %[1]s 1 3000) & (cd d$i; exec %[1]s 7 9000); wait; done`, program)
	var want string
	for i, flags := range []string{"--ptc 1", "", "--ptc 3", "--ptc 0 --bs 64", "--tf 3ms --bs 16"} {
		out := fmt.Sprint("out", i)
		for n := range 3 {
			os.RemoveAll(filepath.Join(dir, fmt.Sprint("d", n+1)))
		}
		argv := append([]string{alleria(), "-q", "record", "-o", out, "--image", "main", "--function", "touch"}, strings.Fields(flags)...)
		if r := run(t, command{argv: append(argv, "--", find("sh"), "-c", script), dir: dir}); r.status != 0 {
			t.Errorf("%s: status %d, %s", flags, r.status, clip(r.stderr))
		}
		if v := run(t, command{argv: []string{alleria(), "verify", out}, dir: dir}); v.status != 0 {
			t.Errorf("%s: %s", flags, clip(v.stdout))
		}
		var sums []uint64
		for _, p := range runFile(t, filepath.Join(dir, out)).Processes {
			if p.Loads > 0 {
				sums = append(sums, p.Loads)
			}
		}
		slices.Sort(sums)
		got := fmt.Sprint(sums)
		if i == 0 {
			want = got
		}
		if len(sums) != 6 || sums[0] < 8*3000 || sums[5] < 8*9000 || got != want {
			t.Errorf("%s: loads %v, want %s", flags, sums, want)
		}
	}
}

// TestOneDiskOfTwo has the second of two disks fill up: the program's output is right, what is on the first goes on, and what is lost is
// said to the instruction.
func TestOneDiskOfTwo(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	program := twelve(t)
	full := filepath.Join(dir, "full")
	if err := os.Mkdir(full, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", full, "tmpfs", 0, "size=96k"); err != nil {
		t.Skipf("no file system to fill: %v", err)
	}
	defer syscall.Unmount(full, syscall.MNT_DETACH)
	native := run(t, command{argv: program, dir: dir})
	record := func(flags ...string) result {
		argv := append([]string{alleria(), "record", "--image", "main", "--function", "touch", "--bs", "16"}, flags...)
		return run(t, command{argv: append(append(argv, "--"), program...), dir: dir})
	}
	if r := record("-o", "whole"); r.status != 0 {
		t.Fatal(clip(r.stderr))
	}
	want := runFile(t, filepath.Join(dir, "whole")).Processes[0].Instructions
	r := record("-o", "main", "-o", "full/second", "--ptc", "2", "--fields", "address,value,time")
	if string(r.stdout) != string(native.stdout) {
		t.Error("the program's output differs")
	}
	got := runFile(t, filepath.Join(dir, "main"))
	if p := got.Processes[0]; p.Instructions+p.Lost != want {
		t.Errorf("%d instructions written and %d lost of %d: %s", p.Instructions, p.Lost, want, r.stderr)
	} else if p.Lost == 0 {
		t.Skip("the second processing thread has not filled its disk")
	}
	if r.status != 125 || !strings.Contains(string(r.stderr), "no space left") || !strings.Contains(string(r.stderr), fmt.Sprint(got.Processes[0].Lost, " recorded instructions could not be written")) {
		t.Errorf("status %d: %s", r.status, r.stderr)
	}
	if len(got.Notes) == 0 || !strings.Contains(got.Notes[len(got.Notes)-1], "gave up") {
		t.Errorf("notes %q", got.Notes)
	}
	v := run(t, command{argv: []string{alleria(), "verify", "main"}, dir: dir})
	if v.status != 1 || strings.Contains(string(v.stdout), "corrupt") {
		t.Errorf("verify: status %d, %s", v.status, clip(v.stdout))
	}
	if r := run(t, command{argv: []string{alleria(), "report", "main"}, dir: dir}); r.status != 0 {
		t.Errorf("report: %s", clip(r.stderr))
	}
}
