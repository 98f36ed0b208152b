package acceptance

import (
	"math"
	"strings"
	"testing"
)

// TestSampledInstructions keeps one in N of some instructions and compares how often
// each was kept with how often it ran: within five standard deviations of what
// chance gives. The others must all be there.
func TestSampledInstructions(t *testing.T) {
	t.Parallel()
	dir := workDir(t)
	prog := build(t, "../../testdata/counts/sort.c", "-static -nostdlib -fno-stack-protector -fno-tree-vectorize")
	whole := record(t, dir, windowed("", "", ""), prog)["1/1"]
	ran := countEach(whole.addrs)
	branches := countEach(record(t, dir, strings.Replace(windowed("", "", ""), `cat="any"`, `cat="COND_BR"`, 1), prog)["1/1"].addrs)
	if len(branches) < 5 {
		t.Fatalf("%d branches", len(branches))
	}
	for _, c := range []struct {
		instructions string
		rate         func(addr uint64) float64
	}{
		{`<Instruction cat="any" sample="1/10"/>`, func(uint64) float64 { return 10 }},
		{`<Instruction cat="any" sample="1/500" accessValue="1" timeStamp="1" branch="1" routineId="1"/>`, func(uint64) float64 { return 500 }},
		{`<Instruction cat="COND_BR" sample="1/8" branch="1"/><Instruction cat="any" accessAddressAndSize="1"/>`, func(at uint64) float64 {
			if branches[at] > 0 {
				return 8
			}
			return 1
		}},
		{`<Instruction cat="COND_BR" sample="1/3"/><Instruction cat="anyMem" sample="1/7"/>`, func(at uint64) float64 {
			if branches[at] > 0 {
				return 3
			}
			return 0 // one in seven, or not selected
		}},
	} {
		got := record(t, dir, strings.Replace(windowed("", "", ""), `<Instruction cat="any"/>`, c.instructions, 1), prog)["1/1"]
		kept := countEach(got.addrs)
		for at, n := range ran {
			rate := c.rate(at)
			if rate == 0 {
				continue
			}
			p := 1 / rate
			mean := float64(n) * p
			if off := math.Abs(float64(kept[at]) - mean); off > 5*math.Sqrt(mean*(1-p))+1 {
				t.Errorf("%s: of %d executions at %#x %d were kept, chance gives %.0f", c.instructions, n, at, kept[at], mean)
			}
		}
		if !strings.Contains(c.instructions, `sample="1/10"`) {
			continue
		}
		again := record(t, dir, strings.Replace(windowed("", "", ""), `<Instruction cat="any"/>`, c.instructions, 1), prog)["1/1"]
		if n := len(again.addrs); n == len(got.addrs) && countsEqual(kept, countEach(again.addrs)) {
			t.Errorf("two runs kept the same %d instructions", n)
		}
	}
}

// countEach counts how often each address is there.
func countEach(addrs []uint64) map[uint64]int {
	out := make(map[uint64]int)
	for _, a := range addrs {
		out[a]++
	}
	return out
}

// countsEqual compares two such counts.
func countsEqual(a, b map[uint64]int) bool {
	for k, n := range a {
		if b[k] != n {
			return false
		}
	}
	return len(a) == len(b)
}
