package acceptance

import (
	"encoding/json"
	"strings"
	"testing"

	"alleria/abp"
)

// TestSuperblocks records the same run with and without blocks that go on behind branches:
// every instruction and access must be the same, in fewer executions.
func TestSuperblocks(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	record := func(name string, flags ...string) (text string, executions int) {
		p, text := recordTokens(t, dir, name, "function,address,value", flags...)
		if err := p.EachExec(abp.Query{}, func(*abp.Exec) error { executions++; return nil }); err != nil {
			t.Fatal(err)
		}
		return text, executions
	}
	super, few := record("super")
	basic, many := record("basic", "--engine", "no-super")
	if short, some := record("short", "--engine", "short"); short != super || some < few+few/50 || some > many {
		t.Errorf("short ones: %d bytes of text of %d, %d executions; %d of long ones, %d of basic blocks", len(short), len(super), some, few, many)
	}
	if len(super) < 1e6 || super != basic {
		t.Errorf("%d and %d bytes of text, which differ", len(super), len(basic))
	}
	if few*2 > many {
		t.Errorf("%d executions of blocks, %d of basic blocks", few, many)
	}
}

// TestInterruptedWaysOut interrupts a program where it leaves superblocks for the first time:
// each function must have executed what its twin did that nothing interrupted, also where the ways out
// are written with the superblocks.
func TestInterruptedWaysOut(t *testing.T) {
	t.Parallel()
	prog := build(t, "../../testdata/programs/signals-sides.c", "-O1")
	for _, flags := range [][]string{nil, {"--engine", "no-lazy"}, {"--buffering", "fastforward"}, {"--buffering", "batched"}} {
		dir := workDir(t)
		argv := append([]string{alleria(), "-q", "record", "--select", "any", "--fields", "function,address", "-o", profileDir}, flags...)
		if r := run(t, command{argv: append(argv, "--", prog), dir: dir}); r.status != 0 || string(r.stdout) != "ok\n" || len(r.stderr) > 0 {
			t.Fatalf("%v: status %d\n%s%s", flags, r.status, clip(r.stdout), clip(r.stderr))
		}
		var report struct {
			Processes []struct {
				Functions []struct {
					Name                        string
					Instructions, Loads, Stores uint64
				}
			}
		}
		out := run(t, command{argv: []string{alleria(), "report", "--json", "--top", "0", profileDir}, dir: dir}).stdout
		if err := json.Unmarshal(out, &report); err != nil {
			t.Fatal(err)
		}
		counts := map[string][3]uint64{}
		for _, f := range report.Processes[0].Functions {
			counts[f.Name] = [3]uint64{f.Instructions, f.Loads, f.Stores}
		}
		twins := 0
		for name, c := range counts {
			n, ok := strings.CutPrefix(name, "calm")
			if !ok {
				continue
			}
			if twins++; counts["storm"+n] != c {
				t.Errorf("%v: %s: %d instructions, loads, stores; its twin %d", flags, name, c, counts["storm"+n])
			}
		}
		if twins != 300 {
			t.Errorf("%v: %d functions, want 300", flags, twins)
		}
	}
}
