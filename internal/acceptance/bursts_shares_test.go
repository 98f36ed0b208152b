package acceptance

import (
	"math"
	"strconv"
	"testing"

	"alleria/abp"
)

// countedShares is what part of a program's instructions each function has, exactly.
func countedShares(t *testing.T, dir string, argv ...string) map[string]float64 {
	t.Helper()
	run(t, command{argv: append([]string{alleria(), "-q", "record", "--only", "count", "-o", "counted", "--"}, argv...), dir: dir})
	info, err := abp.ReadRun(dir + "/counted")
	if err != nil {
		t.Fatal(err)
	}
	shares, all := map[string]float64{}, 0.0
	for _, p := range info.Processes {
		for _, f := range p.Counted.Functions {
			shares[f.Name] += float64(f.Instructions)
			all += float64(f.Instructions)
		}
	}
	for name := range shares {
		shares[name] /= all
	}
	return shares
}

// TestSharesOfSamples: by bursts of 5 % each function that has a twentieth of the instructions is known to 3 % of itself, and one of 2 %, which comes and goes, to what some thousand bursts can say, though processing
// threads are behind all the time: a buffer of two small chunks is full within each burst of code that records much. Threads wait then. Where they overwrite instead, and bursts are left
// out (--engine overwrite-bursts), functions are off by 30 to 44 %.
func TestSharesOfSamples(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/phases.c", mixFlags)
	want := countedShares(t, dir, prog)
	const runs = 4
	together := map[string]float64{}
	for seed := range runs {
		out := "part" + strconv.Itoa(seed)
		recordBeside(t, dir, out, "methods", []string{"--sample-rate", "5%", "--sample-seed", strconv.Itoa(seed), "--buffer-chunk", "16K", "--buffer-max", "32K"}, prog)
		got, all := map[string]float64{}, 0.0
		for name, f := range methodsOf(t, dir, out)[0] {
			got[name] += float64(f.Exclusive.Instructions)
			all += float64(f.Exclusive.Instructions)
		}
		for name, w := range want {
			if w <= 0.01 {
				continue
			}
			off := got[name]/all/w - 1
			together[name] += off / runs
			t.Logf("run %d: %s has %.2f %% instead of %.2f (%+.1f %% of it)", seed, name, 100*got[name]/all, 100*w, 100*off)
			if math.Abs(off) > 0.03 && w > 0.048 || math.Abs(off) > 0.2 {
				t.Errorf("run %d: %s has %.2f %% instead of %.2f (%+.1f %% of it)", seed, name, 100*got[name]/all, 100*w, 100*off)
			}
		}
	}
	if len(together) < 5 {
		t.Errorf("%d functions", len(together))
	}
	for name, off := range together {
		if math.Abs(off) > 0.03 && want[name] > 0.048 || math.Abs(off) > 0.08 {
			t.Errorf("%s is off by %+.1f %% of its share in %d runs together", name, 100*off, runs)
		}
	}
}
