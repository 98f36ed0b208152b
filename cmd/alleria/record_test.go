package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"alleria/analysis"
	"alleria/analysis/pstree"
)

func TestRecordStatuses(t *testing.T) {
	for _, c := range []struct {
		script string
		status int
	}{{"exit 0", 0}, {"exit 7", 7}, {"kill -9 $$", 137}, {"kill -TERM $$", 143}} {
		status, _, errs := command(t, "record", "-q", "--only", "translate", "--", "/bin/sh", "-c", c.script)
		if status != c.status {
			t.Errorf("%s: status %d, want %d; %s", c.script, status, c.status, errs)
		}
		if strings.Contains(errs, "alleria:") {
			t.Errorf("%s: the target's own status came with a message: %s", c.script, errs)
		}
	}
}

// TestRecordThenRead is the whole path: record a real program, then read it with
// the commands that users have.
func TestRecordThenRead(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	status, _, errs := command(t, "record", "--select", "any", "--fields", "function,address", "-o", out, "--", "/bin/sh", "-c", "exit 3")
	if status != 3 || !strings.Contains(errs, out) {
		t.Fatalf("record: status %d: %s", status, errs)
	}
	r := decode[analysis.Report](t, "report", "--json", out)
	p := r.Processes[0]
	if p.Exit == nil || *p.Exit != 3 || p.Instructions < 10_000 || p.Loads == 0 || p.Stores == 0 || len(p.Functions) < 10 {
		t.Errorf("report: exit %v, %+v, %d functions", p.Exit, p.Counts, len(p.Functions))
	}
	var sum uint64
	for _, f := range p.Functions {
		sum += f.Instructions
	}
	if sum != p.Instructions {
		t.Errorf("functions add up to %d of %d instructions", sum, p.Instructions)
	}
	if len(p.Windows) != 1 || p.Windows[0].Openings != 1 || p.Windows[0].Instructions != p.Instructions {
		t.Errorf("windows %+v", p.Windows)
	}
	if status, _, errs := command(t, "record", "-o", out, "/bin/true"); status != 2 || !strings.Contains(errs, "--force") {
		t.Errorf("an existing output: status %d: %s", status, errs)
	}
	if status, _, errs := command(t, "record", "-q", "--force", "-o", out, "/bin/true"); status != 0 {
		t.Errorf("with --force: status %d: %s", status, errs)
	}
}

// TestRecordFollow records the first child alone, and then nobody but the shell.
func TestRecordFollow(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	script := []string{"-o", out, "--", "/bin/sh", "-c", "/bin/true; /bin/false; exit 3"}
	family := func() (followed, recorded []int) {
		for _, root := range decode[[]*pstree.Node](t, "tree", "--json", out) {
			for _, n := range append([]*pstree.Node{root}, root.Children...) {
				if n.Followed {
					followed = append(followed, n.Number)
				}
				if n.Instructions > 0 {
					recorded = append(recorded, n.Number)
				}
			}
		}
		return followed, recorded
	}
	for _, c := range []struct {
		flags              string
		followed, recorded []int
	}{
		{"--process 2", []int{1, 2, 3}, []int{2}},
		{"--process 3,1", []int{1, 2, 3}, []int{1, 3}},
		{"--process true", []int{1, 2, 3}, []int{2}},
		{"--process /bin/false", []int{1, 2, 3}, []int{3}},
		{"--follow none", []int{1}, []int{1}},
		{"--follow threads", []int{1}, []int{1}},
		{"--follow all", []int{1, 2, 3}, []int{1, 2, 3}},
	} {
		args := append(append([]string{"record", "-q", "--force", "--select", "any", "--fields", "none"}, strings.Fields(c.flags)...), script...)
		if status, _, errs := command(t, args...); status != 3 {
			t.Errorf("%s: status %d, %s", c.flags, status, errs)
		}
		if followed, recorded := family(); !slices.Equal(followed, c.followed) || !slices.Equal(recorded, c.recorded) {
			t.Errorf("%s: followed %v, recorded %v; want %v and %v", c.flags, followed, recorded, c.followed, c.recorded)
		}
	}
}

func TestRecordDiscardsAndLogs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	log := filepath.Join(dir, "log")
	if status, _, errs := command(t, "record", "-q", "--discard", "--log", log, "/bin/true"); status != 0 || errs != "" {
		t.Errorf("status %d: %s", status, errs)
	}
	if text, err := os.ReadFile(log); err != nil || len(text) == 0 {
		t.Errorf("the log holds %q, %v", text, err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("--discard left %v, %v", left, err)
	}
}

// TestRecordRefusesWhatItCannotDo: a correct configuration that asks for more
// than record does is refused with its places, before anything runs.
func TestRecordRefusesWhatItCannotDo(t *testing.T) {
	dir := t.TempDir()
	witness := filepath.Join(dir, "ran")
	status, _, errs := command(t, "record", "-c", "../../examples/intercept.xml", "--discard", "/usr/bin/touch", witness)
	if status == 0 {
		t.Skip("record does everything that the example asks for")
	}
	if status != 2 || !strings.Contains("\n"+errs, "\n../../examples/intercept.xml:") {
		t.Errorf("status %d: %s", status, errs)
	}
	if _, err := os.Stat(witness); err == nil {
		t.Error("the program ran all the same")
	}
}
