package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// model is what bench --model --json prints.
type model struct {
	Threads    int                `json:"threads"`
	Sequential float64            `json:"sequential"`
	Terms      map[string]float64 `json:"terms"`
	Es         struct{ Predicted, Measured float64 }
	Ec         struct{ Predicted, Measured float64 }
	Advice     struct {
		Where   string
		Threads int
		Gain    float64
	} `json:"advice"`
}

// TestCostModel measures a small program. What can be held to on any machine is what the model says of its terms, and which
// parts there must be; not how large they are.
func TestCostModel(t *testing.T) {
	prog := build(t, "../../testdata/calls/calls.cc", "-foptimize-sibling-calls")
	r := run(t, command{argv: []string{alleria(), "bench", "--model", "callgraph", "-n", "1", "--json", "--", prog}, dir: workDir(t)})
	if r.status != 0 {
		t.Fatalf("bench: %s", clip(r.stderr))
	}
	text := strings.NewReplacer(`"E_s"`, `"Es"`, `"E_c"`, `"Ec"`).Replace(string(r.stdout))
	var m model
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%v: %s", err, clip(r.stdout))
	}
	for _, name := range []string{"A", "A_i", "P_c"} {
		if m.Terms[name] <= 0 {
			t.Errorf("%s is %g", name, m.Terms[name])
		}
	}
	near := func(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }
	s := m.Terms
	if want := s["A"] + s["A_i"] + s["P"] + s["I_ap"]; len(s) != 6 || !near(m.Es.Predicted, want) {
		t.Errorf("E_s is predicted as %g, its terms are %v", m.Es.Predicted, s)
	}
	if want := max(s["A"]+s["A_i"]+s["A_q"], s["P"]+s["P_c"]); !near(m.Ec.Predicted, want) {
		t.Errorf("E_c is predicted as %g, its terms are %v", m.Ec.Predicted, s)
	}
	if m.Threads != 1 || m.Sequential <= s["A"] || m.Es.Measured <= s["A"] || m.Ec.Measured <= s["A"] || m.Advice.Where == "" || m.Advice.Gain < 0.95 {
		t.Errorf("%+v", m)
	}
}

// TestStages: events that are only produced are overwritten and not consumed, and those that are queued are consumed and not analysed.
// The program does as always.
func TestStages(t *testing.T) {
	prog := build(t, "../../testdata/calls/calls.cc", "-foptimize-sibling-calls")
	native := run(t, command{argv: []string{prog}, dir: workDir(t)})
	for _, stage := range []string{"produce", "queue"} {
		dir := workDir(t)
		r := recordBeside(t, dir, "out", "callgraph", []string{"--stage", stage, "--ptc", "1", "--bs", "32", "--bc", "2"}, prog)
		same(t, native, result{stdout: r.stdout, status: r.status})
		text, err := os.ReadFile(filepath.Join(dir, "out", "run.json"))
		if err != nil {
			t.Fatal(err)
		}
		var info struct {
			Costs struct {
				Waits      uint64  `json:"ring_waits"`
				Processing float64 `json:"processing_seconds"`
			}
			Processes []struct{ Instructions uint64 }
		}
		if err := json.Unmarshal(text, &info); err != nil || len(info.Processes) != 1 {
			t.Fatalf("%v: %s", err, text)
		}
		if info.Processes[0].Instructions != 0 {
			t.Errorf("%s: %d instructions were analysed", stage, info.Processes[0].Instructions)
		}
		if c := info.Costs; c.Processing <= 0 || stage == "produce" && c.Waits > 0 {
			t.Errorf("%s: %+v", stage, c)
		}
	}
	for _, bad := range [][]string{{"--stage", "queue"}, {"--analysis", "methods", "--stage", "eat"}, {"--analysis", "methods", "--sequential", "--stage", "queue"}} {
		r := run(t, command{argv: append(append([]string{alleria(), "record"}, bad...), "--", prog), dir: workDir(t)})
		if r.status != 2 {
			t.Errorf("%v: status %d, %s", bad, r.status, clip(r.stderr))
		}
	}
}
