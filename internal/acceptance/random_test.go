package acceptance

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"alleria/internal/randprog"
)

var (
	pairs     = flag.Int("pairs", 48, "random configurations over random programs")
	firstPair = flag.Uint64("first-pair", 0, "seed of the first of them")
)

// configurations is how many of them run over one program: a run under the
// single-step engine takes longer than one of the translator.
const configurations = 4

// TestRandomConfigurations runs random windows over random programs and compares all
// that was recorded with the model over the single-step engine.
func TestRandomConfigurations(t *testing.T) { newPairs(t, false) }

// newPairs runs the pairs that the flags ask for; beside is for programs with another thread.
func newPairs(t *testing.T, beside bool) {
	most := *pairs
	if testing.Short() {
		most = 3 * configurations
	}
	for seed := *firstPair; seed < *firstPair+uint64(most/configurations); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			randomPairs(t, seed, true, beside)
		})
	}
}

// TestRandomConfigurationsAgain runs some that once disagreed: an arrival where a count was
// reached, a loop by a register, flags behind lock inc, flags where a native count ran out, a
// function whose first byte is zero, a branch at a function's entry that was linked too late.
func TestRandomConfigurationsAgain(t *testing.T) {
	for _, seed := range []uint64{100966, 100664, 100264, 201743, 201917, 310139} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			randomPairs(t, seed, false, false)
		})
	}
}

// TestRandomConfigurationsOnce runs one whose program was taken out of a block while it waited for
// the tracer to make a system call for it, and made it again with all that the block does: in about every second run.
func TestRandomConfigurationsOnce(t *testing.T) {
	for n := range 6 {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			randomPairs(t, 401058, true, false)
		})
	}
}

// randomPairs runs the configurations of one program. What fails is kept. wider: with
// what was added to them after the first seeds had been noted.
func randomPairs(t *testing.T, seed uint64, wider, beside bool) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(seed, 5))
	prog := randomProgram(t, dir, seed, beside)
	var tr *oracleTrace
	if beside {
		tr = oracleBeside(t, dir, prog)
	} else {
		tr = oracleRun(t, dir, prog)
	}
	c := newConfigurer(rng, tr)
	if wider {
		c.wider = rand.New(rand.NewPCG(seed, 6))
	}
	newer, again, latest := rand.New(rand.NewPCG(seed, 7)), rand.New(rand.NewPCG(seed, 8)), rand.New(rand.NewPCG(seed, 9))
	for k := range configurations {
		windows := make([]*oracleWindow, []int{1, 1, 2, 3}[rng.IntN(4)])
		c.returned = one(rng, c.called...)
		for i := range windows {
			windows[i] = c.window(len(windows) == 1)
		}
		flags := [][]string{nil, nil, {"--engine", "no-toggle"}, {"--engine", "no-busy,no-toggle"}, {"--engine", "no-follow"}, {"--engine", "no-fast-return"}}[rng.IntN(6)]
		flags = slices.Concat(flags, c.switches(), c.newer(newer), c.latest(latest))
		if wider && again.IntN(3) == 0 {
			flags = append(flags, "--cache", filepath.Join(dir, "kept"), "--engine", "keep-few")
		}
		if !slices.ContainsFunc(windows, (*oracleWindow).records) {
			continue // nobody is traced for that
		}
		if msg := tr.modelled(t, dir, "w", windows, flags...); msg != "" {
			t.Errorf("configuration %d, %v, %d instructions: %s", k, flags, len(tr.facts), msg)
		}
	}
	if t.Failed() {
		kept := filepath.Join(os.TempDir(), fmt.Sprintf("alleria-random%d", seed))
		if b, err := os.ReadFile(prog); err == nil && os.WriteFile(kept, b, 0o755) == nil {
			t.Logf("the program is kept as %s", kept)
		}
	}
}

// records tells whether there is anything that the window can record.
func (w *oracleWindow) records() bool {
	for _, t := range w.threads {
		for _, im := range t.images {
			for _, f := range im.functions {
				if len(f.instructions) > 0 {
					return true
				}
			}
		}
		if t.calls || t.signals {
			return true
		}
	}
	return false
}

// randomProgram makes and builds the program of a seed.
func randomProgram(t *testing.T, dir string, seed uint64, beside bool) string {
	cpu := make(map[string]bool)
	for _, flag := range []string{"avx2", "bmi2", "adx", "movbe", "avx512vbmi"} {
		cpu[flag] = cpuHas(flag)
	}
	g := randprog.New(seed, cpu, append(randprog.Templates(), randprog.Faulting()))
	g.Beside = beside
	source := filepath.Join(dir, fmt.Sprintf("random%d.S", seed))
	if err := os.WriteFile(source, []byte(g.Calls()), 0o644); err != nil {
		t.Fatal(err)
	}
	flags := "-nostdlib -static -no-pie -Wa,--noexecstack,--no-warn"
	if seed%2 == 1 {
		flags = strings.Replace(flags, "-static -no-pie", "-static-pie", 1)
	}
	return build(t, source, flags)
}
