package difftest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"alleria/internal/randprog"
)

// sequencesPerProgram is how many random sequences one program holds: starting
// programs costs more than running them.
const sequencesPerProgram = 25

// programs is how many random programs TestSequences makes.
var programs = flag.Int("programs", 6, "random programs to test")

// TestSequences runs random programs, always the same ones.
func TestSequences(t *testing.T) {
	cpu := processorFlags(t)
	for seed := range uint64(*programs) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomProgram(t, seed, cpu) })
	}
}

// FuzzSequences runs a random program for each seed.
func FuzzSequences(f *testing.F) {
	f.Add(uint64(1 << 40))
	cpu := processorFlags(f)
	f.Fuzz(func(t *testing.T, seed uint64) { randomProgram(t, seed, cpu) })
}

// randomProgram makes the program of a seed and checks it. Its source is kept
// if it fails.
func randomProgram(t *testing.T, seed uint64, cpu map[string]bool) {
	// The name has the process in it: two that fuzz may come to one seed, and each removes what it built.
	name := fmt.Sprintf("random%d-%d.S", seed, os.Getpid())
	g := randprog.New(seed, cpu, append(randprog.Templates(), randprog.Faulting(), randprog.Trapping()))
	bin, keep := buildRandom(t, name, g.Sequences(sequencesPerProgram, 1), seed%2 == 1)
	o := check(t, bin)
	if o.status != "exit 0" || len(o.output) == 0 {
		t.Errorf("natively it ends with %s", o.status)
	}
	keep(t)
}

// buildRandom builds a program; keep removes it, but for its source if the test has
// failed.
func buildRandom(t *testing.T, name, text string, high bool) (bin string, keep func(*testing.T)) {
	dir := t.TempDir()
	source := filepath.Join(dir, name)
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	link := lowLink
	if high {
		link = highLink
	}
	bin = build(t, source, link)
	return bin, func(t *testing.T) {
		os.Remove(bin)
		kept := filepath.Join(buildDir(t), name)
		if t.Failed() && os.WriteFile(kept, []byte(text), 0o644) == nil {
			t.Logf("the program is kept as %s", kept)
		}
	}
}
