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

// The random programs that TestSequences makes: how many, and of which seeds.
var (
	every     = flag.Bool("every", false, "have programs linked both low and high that are linked in one way by turns")
	programs  = flag.Int("programs", 5, "random programs to test")
	firstSeed = flag.Uint64("seed", 0, "the first of these programs' seeds")
)

// TestSequences runs random programs: always the same ones, but where -seed says otherwise. It is no fuzz
// target: a seed's neighbours have nothing in common with it, so that coverage leads nowhere, and go's fuzzing
// ends an input that takes ten seconds without a word of where it was.
func TestSequences(t *testing.T) {
	cpu := processorFlags(t)
	for i := range uint64(*programs) {
		seed := *firstSeed + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomProgram(t, seed, cpu) })
	}
}

// randomProgram makes the program of a seed and checks it. Its source is kept
// if it fails.
func randomProgram(t *testing.T, seed uint64, cpu map[string]bool) {
	g := randprog.New(seed, cpu, append(append(randprog.Templates(), randprog.Faulting()), randprog.Trapping()...))
	bin, keep := buildRandom(t, fmt.Sprintf("random%d", seed), g.Sequences(sequencesPerProgram, 1), seed%2 == 1)
	o := check(t, bin)
	if o.status != "exit 0" || len(o.output) == 0 {
		t.Errorf("natively it ends with %s", o.status)
	}
	keep(t)
}

// buildRandom builds a program; keep removes it, but for its source if the test has
// failed. The file has the process in its name: two runs of the tests may make one program, and each removes what it built.
func buildRandom(t *testing.T, name, text string, high bool) (bin string, keep func(*testing.T)) {
	dir := t.TempDir()
	name = fmt.Sprintf("%s-%d.S", name, os.Getpid())
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
