package acceptance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// TestStormSampled samples a program of two threads, one of which gets signals all the
// time, with a short period: threads are taken over by windows of each other in the
// middle of blocks, signals come while they are. Each signal still comes once and from
// who sent it, which is the program's own word, and each burst begins at a multiple of
// the period and is as long as it should be, but for what WINDOWS says is too late.
func TestStormSampled(t *testing.T) {
	const period, burst = 7000, 300
	for _, c := range []struct {
		turns   string // fewer where the thread hardly gets on
		flags   []string
		brought bool
	}{{"20000", nil, true}, {"1000", []string{"--engine", "no-safe-point"}, false}} {
		prog := build(t, "../../testdata/programs/signals-storm.c", "-O1 -pthread -DTURNS="+c.turns)
		// Whether the other thread runs when one is to be taken over is the scheduler's affair: on a busy machine a run may see none.
		brought := 0
		for try := 0; try == 0 || c.brought && brought == 0 && try < 8; try++ {
			dir := workDir(t)
			log := filepath.Join(dir, "log")
			recordWith(t, dir, windowed("", `<On><Sample period="7000" burst="300"/></On>`, ""), true, append(c.flags, "--log", log), prog)
			brought += safePoints(t, log)
			checkBursts(t, dir, period, burst)
		}
		if brought > 0 != c.brought {
			t.Errorf("%v: %d threads were brought to a safe point", c.flags, brought)
		}
	}
}

// safePoints is how many threads a run's log says were brought to a safe point.
func safePoints(t *testing.T, log string) int {
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`SafePoints:(\d+)`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no count of threads that were brought to a safe point: %s", text)
	}
	n, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// checkBursts looks at where the bursts of a sampling window lie in the counts of
// all threads: the other thread runs a block on while one is found to have reached a
// count.
func checkBursts(t *testing.T, dir string, period, burst int) {
	t.Helper()
	const block = 64
	type at struct {
		Instructions, Overshoot int
	}
	var list []struct {
		at
		Closed at
	}
	r := run(t, command{argv: []string{alleria(), "windows", "--json", "--window", "w", profileDir}, dir: dir})
	if err := json.Unmarshal(r.stdout, &list); err != nil {
		t.Fatal(err)
	}
	if len(list) < 4 {
		t.Fatalf("%d bursts", len(list))
	}
	for i, o := range list {
		if from := o.Instructions - o.Overshoot; from%period > block {
			t.Errorf("burst %d begins after %d instructions, of which %d too late", i+1, o.Instructions, o.Overshoot)
		}
		if n := o.Closed.Instructions - o.Closed.Overshoot - o.Instructions; i+1 < len(list) && (n < burst || n > burst+block) {
			t.Errorf("burst %d is %d instructions long", i+1, n)
		}
	}
}
