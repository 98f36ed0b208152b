package acceptance

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"alleria/abp"
)

// timedTree is what analyze calltree says of a process.
type timedTree struct {
	Functions []struct{ Name string }
	Nodes     []struct {
		Parent, Function int
		Exclusive        float64 `json:"exclusive_seconds"`
		Inclusive        float64 `json:"inclusive_seconds"`
	}
}

// timedTreeOf reads what a command prints of a profile with one process.
func timedTreeOf(t *testing.T, dir string, args ...string) timedTree {
	t.Helper()
	r := run(t, command{argv: append(append([]string{alleria(), "-q", "analyze", "calltree", "--json"}, args...), profileDir), dir: dir})
	var trees []timedTree
	if err := json.Unmarshal(r.stdout, &trees); err != nil || len(trees) != 1 {
		t.Fatalf("%v %s", err, clip(r.stderr))
	}
	return trees[0]
}

// TestTimeOfCalls: call trees have the time of each function, by itself and with what it calls, what it rests in the kernel included; all
// times together are those from the first stamp to the last; the form beside the program has them too; without stamps there are none.
func TestTimeOfCalls(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/calls/rest.c", "-static -nostdlib -fno-stack-protector -no-pie")
	for _, beside := range [][]string{nil, {"--analysis", "calltree"}} {
		dir := workDir(t)
		argv := append([]string{alleria(), "-q", "record", "--select", "any", "--fields", "address,time", "-o", profileDir}, beside...)
		run(t, command{argv: append(argv, "--", prog), dir: dir})
		tree := timedTreeOf(t, dir)
		own, all := map[string]float64{}, map[string]float64{}
		sum := 0.0
		for _, n := range tree.Nodes {
			name := tree.Functions[n.Function].Name
			if n.Parent >= 0 && name == "rest" {
				name += " of " + tree.Functions[tree.Nodes[n.Parent].Function].Name
			}
			own[name] += n.Exclusive
			all[name] += n.Inclusive
			sum += n.Exclusive
		}
		for name, least := range map[string]float64{"rest of often": 0.12, "rest of once": 0.04} {
			if own[name] < least || all[name] != own[name] {
				t.Errorf("%v: %s takes %g s by itself, %g in all, at least %g", beside, name, own[name], all[name], least)
			}
		}
		if all["often"] < own["rest of often"] || own["often"] > all["often"]-0.12+1e-9 || math.Abs(all["_start"]-sum) > 1e-9 {
			t.Errorf("%v: own %v, all %v, sum %g", beside, own, all, sum)
		}
		if beside == nil {
			r := run(t, command{argv: []string{alleria(), "-q", "dump", "--json", profileDir}, dir: dir})
			p, err := abp.Open(filepath.Join(dir, profileDir))
			if err != nil {
				t.Fatal(err)
			}
			perSecond := float64(p.Process(1).Header().TSCFrequency)
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			var first, last uint64
			for line := range strings.Lines(string(r.stdout)) {
				var ins struct{ TSC uint64 }
				if err := json.Unmarshal([]byte(line), &ins); err != nil {
					t.Fatal(err)
				}
				if last = max(last, ins.TSC); first == 0 {
					first = ins.TSC
				}
			}
			if want := float64(last-first) / perSecond; first == 0 || math.Abs(want-sum) > 1e-6 {
				t.Errorf("from first to last stamp there are %g s, the tree has %g", want, sum)
			}
		}
		for _, view := range []string{"calltree", "methods"} {
			if r := run(t, command{argv: []string{alleria(), "-q", "analyze", view, profileDir}, dir: dir}); !strings.Contains(string(r.stdout), "seconds") {
				t.Errorf("%v: %s", beside, clip(r.stdout))
			}
		}
	}
	dir := workDir(t)
	run(t, command{argv: []string{alleria(), "-q", "record", "--select", "any", "--fields", "address", "-o", profileDir, "--", prog}, dir: dir})
	if r := run(t, command{argv: []string{alleria(), "-q", "analyze", "calltree", "--json", profileDir}, dir: dir}); strings.Contains(string(r.stdout), "seconds") {
		t.Errorf("times without stamps: %s", clip(r.stdout))
	}
}
