package acceptance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestCountRun counts without recording into a directory: report must read the same
// totals from it, by thread, image and function, and verify call it sound.
func TestCountRun(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/sort.c", "-static -nostdlib -fno-stack-protector -fno-tree-vectorize")
	r := run(t, command{argv: []string{alleria(), "-q", "record", "--only", "count", "-o", profileDir, "--", prog}, dir: dir})
	if len(r.stderr) > 0 {
		t.Fatalf("record: %s", clip(r.stderr))
	}
	type counts struct{ Instructions uint64 }
	var report struct {
		Processes []struct {
			counts
			Counted   bool
			PerThread []counts `json:"per_thread"`
			Images    []counts
			Functions []struct {
				counts
				Name string
			}
		}
	}
	if err := json.Unmarshal(run(t, command{argv: []string{alleria(), "report", "--json", profileDir}, dir: dir}).stdout, &report); err != nil {
		t.Fatal(err)
	}
	ins, _, _ := lackey(t, dir, prog)
	p := report.Processes[0]
	if !p.Counted || p.Instructions != ins || p.PerThread[0].Instructions != ins || p.Images[0].Instructions != ins {
		t.Errorf("%+v, want %d instructions", p, ins)
	}
	for _, f := range p.Functions {
		ins -= f.Instructions
	}
	if ins != 0 {
		t.Errorf("the functions' counts are %d short of the total", ins)
	}
	if v := run(t, command{argv: []string{alleria(), "verify", profileDir}, dir: dir}); v.status != 0 {
		t.Errorf("verify: %s", clip(v.stdout))
	}
}

// TestCountedPrograms: what a process counts of several programs is told apart, by the names that a recording has.
func TestCountedPrograms(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	programsOf := func(out string, flags ...string) (names []string, most string) {
		argv := append(append([]string{alleria(), "-q", "record", "-o", out}, flags...), "--", "sh", "-c", `i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done; (i=0; exec true); exec env true`)
		if r := run(t, command{argv: argv, dir: dir}); r.status != 0 {
			t.Fatalf("%v: status %d, %s", flags, r.status, clip(r.stderr))
		}
		var views []struct {
			Rows []struct {
				Program      string
				Runs         int
				Instructions uint64
			}
		}
		if err := json.Unmarshal(run(t, command{argv: []string{alleria(), "report", "--by-program", "--json", out}, dir: dir}).stdout, &views); err != nil {
			t.Fatal(err)
		}
		for _, row := range views[0].Rows {
			names = append(names, fmt.Sprint(row.Program, " ", row.Runs))
		}
		return names, views[0].Rows[0].Program
	}
	recorded, most := programsOf("recorded")
	if counted, mostCounted := programsOf("counted", "--only", "count"); !slices.Equal(slices.Sorted(slices.Values(counted)), slices.Sorted(slices.Values(recorded))) || most != mostCounted || len(recorded) != 3 {
		t.Errorf("counted %v, recorded %v", counted, recorded)
	}
}

// TestCountWithSwitches counts with optimisations of translation turned off, one at a time: they must
// not show.
func TestCountWithSwitches(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/counts/sort.c", "-static -nostdlib -fno-stack-protector -fno-tree-vectorize")
	tid := regexp.MustCompile(`\(\d+\)`)
	var want string
	for _, flags := range [][]string{nil, {"--engine", "no-memo"}, {"--engine", "no-follow"}, {"--engine", "no-huge"}, {"--engine", "predict"}, {"--engine", "no-handover"}, {"--engine", "no-batch"}, {"--engine", "stop-signals"}, {"--engine", "no-prefetch"}} {
		dir := workDir(t)
		argv := append([]string{alleria(), "record", "--only", "count", "-o", profileDir}, flags...)
		r := run(t, command{argv: append(argv, "--", prog), dir: dir})
		got := fmt.Sprintf("status %d, %s", r.status, tid.ReplaceAll(r.stderr, nil))
		switch {
		case want == "" && !strings.Contains(got, " instructions"):
			t.Fatalf("no counts: %s", got)
		case want == "":
			want = got
		case got != want:
			t.Errorf("%v: %s\nwithout %s", flags, got, want)
		}
	}
}
