package acceptance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// counted is what a run recorded, as report --json says it.
type counted struct {
	Processes []struct {
		Instructions, Loads, Stores uint64
		Functions                   []struct {
			Name         string
			Instructions uint64
		}
	}
}

// TestCountsEqualValgrinds compares instructions, loads and stores with lackey's
// trace, and instructions of each function with callgrind's, on a program where
// both define them as alleria does: the first time, and in a later run, which begins with the first one's code.
func TestCountsEqualValgrinds(t *testing.T) {
	t.Parallel()
	if find("valgrind") == "" {
		t.Skip("no valgrind: the Makefile's tests install it")
	}
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/sort.c", "-static -nostdlib -fno-stack-protector -fno-tree-vectorize")
	ins, loads, stores := lackey(t, dir, prog)

	writeConfig(t, dir, everything(""))
	native := run(t, command{argv: []string{prog}, dir: dir})
	cg := callgrind(t, dir, prog)
	kept := []string{"--cache", filepath.Join(dir, "kept"), "--engine", "keep-few"}
	for round := range 2 {
		r, reused := keptRun(t, dir, filepath.Join(dir, "kept"), append(kept, "-c", "w.xml", "--force", "-o", profileDir), prog)
		if r.status != native.status || (reused > 0) != (round > 0) {
			t.Fatalf("run %d began with %d blocks; status %d, natively %d\n%s", round, reused, r.status, native.status, clip(r.stderr))
		}
		countsAre(t, dir, [3]uint64{ins, loads, stores}, cg)
		c := run(t, command{argv: append(append([]string{alleria(), "record", "--only", "count"}, kept...), "--", prog), dir: dir})
		if want := fmt.Sprintf("process 1: %d instructions", ins); !bytes.Contains(c.stderr, []byte(want)) {
			t.Errorf("run %d: --only count says not %q:\n%s", round, want, clip(c.stderr))
		}
	}
}

// countsAre compares the profile's counts of instructions, loads and stores with lackey's, and those of functions with callgrind's.
func countsAre(t *testing.T, dir string, want [3]uint64, cg map[string]uint64) {
	t.Helper()
	var got counted
	rep := run(t, command{argv: []string{alleria(), "report", "--json", profileDir}, dir: dir})
	if err := json.Unmarshal(rep.stdout, &got); err != nil || len(got.Processes) != 1 {
		t.Fatalf("report: %v\n%s", err, clip(rep.stdout))
	}
	p := got.Processes[0]
	if [3]uint64{p.Instructions, p.Loads, p.Stores} != want {
		t.Errorf("recorded %d instructions, %d loads, %d stores; lackey %d", p.Instructions, p.Loads, p.Stores, want)
	}
	byName := make(map[string]uint64)
	for _, f := range p.Functions {
		byName[f.Name] += f.Instructions
	}
	for _, name := range []string{"next", "sort", "sum"} {
		if n := cg[name]; byName[name] != n || n == 0 {
			t.Errorf("%s: recorded %d instructions, callgrind %d", name, byName[name], n)
		}
	}
}

// TestWindowAtExactInstructions checks that a window from instruction N to M
// records the instructions between, for many places.
func TestWindowAtExactInstructions(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/sort.c", "-static -nostdlib -fno-stack-protector -fno-tree-vectorize")
	whole := dump(t, dir, prog, everything(""))
	for k := range 12 {
		from := 1 + k*k*k*1237%(len(whole)-200)
		to := from + 1 + k*13
		got := dump(t, dir, prog, everything(fmt.Sprintf(`<On><Instructions threshold="%d"/></On><Till><Instructions threshold="%d"/></Till>`, from, to)))
		want := whole[from:to]
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Fatalf("instructions %d to %d: recorded %d instructions %v, want %d %v", from, to, len(got), clip([]byte(strings.Join(got, " "))), len(want), clip([]byte(strings.Join(want, " "))))
		}
	}
}

// everything is a configuration that records all instructions and addresses
// while the window with these events is open.
func everything(events string) string {
	return `<AlleriaConfig version="1.0"><Window>` + events + `<Profile><Process><Thread><Image><Function>` +
		`<Instruction cat="any" accessAddressAndSize="true"/></Function></Image></Thread></Process></Profile></Window></AlleriaConfig>`
}

func writeConfig(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "w.xml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// dump records prog under a configuration and returns the addresses of the
// instructions in order.
func dump(t *testing.T, dir, prog, window string) []string {
	t.Helper()
	writeConfig(t, dir, window)
	argv := []string{alleria(), "-q", "record", "--force", "-c", "w.xml", "-o", profileDir, "--", prog}
	if r := run(t, command{argv: argv, dir: dir}); len(r.stderr) > 0 {
		t.Fatalf("record: %s", clip(r.stderr))
	}
	r := run(t, command{argv: []string{alleria(), "dump", profileDir}, dir: dir})
	var out []string
	for line := range strings.Lines(string(r.stdout)) {
		if f := strings.Fields(line); len(f) > 3 && f[0][0] >= '0' && f[0][0] <= '9' {
			out = append(out, f[1])
		}
	}
	return out
}

// lackey counts what lackey's trace lists: a modify is a load and a store.
func lackey(t *testing.T, dir, prog string) (ins, loads, stores uint64) {
	t.Helper()
	r := run(t, command{argv: []string{"valgrind", "--tool=lackey", "--trace-mem=yes", "--basic-counts=no", "--log-file=trace.out", prog}, dir: dir})
	f, err := os.Open(filepath.Join(dir, "trace.out"))
	if err != nil {
		t.Fatalf("%v\n%s", err, clip(r.stderr))
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	for sc.Scan() {
		line := sc.Text()
		switch {
		case strings.HasPrefix(line, "I "):
			ins++
		case strings.HasPrefix(line, " L "):
			loads++
		case strings.HasPrefix(line, " S "):
			stores++
		case strings.HasPrefix(line, " M "):
			loads++
			stores++
		}
	}
	return ins, loads, stores
}

// callgrind counts the instructions of each function.
func callgrind(t *testing.T, dir, prog string) map[string]uint64 {
	t.Helper()
	run(t, command{argv: []string{"valgrind", "--tool=callgrind", "--callgrind-out-file=cg.out", "--compress-strings=no", "--compress-pos=no", prog}, dir: dir})
	b, err := os.ReadFile(filepath.Join(dir, "cg.out"))
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[string]uint64)
	fn, called := "", false
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "fn="); ok {
			fn, _, _ = strings.Cut(name, "'") // levels of a recursion
			continue
		}
		if strings.HasPrefix(line, "calls=") { // the next line is inclusive
			called = true
			continue
		}
		f := strings.Fields(line)
		// Positions begin with a digit or are relative; "totals:" at the end, which
		// has a number too, belongs to no function.
		if fn == "" || len(f) != 2 || !strings.ContainsAny(f[0][:1], "0123456789+-*") {
			continue
		}
		n, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			continue
		}
		if !called {
			out[fn] += n
		}
		called = false
	}
	if len(out) < 3 {
		t.Fatalf("callgrind named %d functions", len(out))
	}
	return out
}
