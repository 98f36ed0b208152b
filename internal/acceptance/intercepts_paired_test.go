package acceptance

import (
	"encoding/json"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pairedCalls is how many calls TestInterceptPaired makes.
var pairedCalls = flag.Int("paired-calls", 200_000, "calls that are intercepted, recorded and read back")

// TestInterceptPaired has two threads call one function all the time. Each call is read back with its return, and with arguments that
// go from 0 up to the last.
func TestInterceptPaired(t *testing.T) {
	t.Parallel()
	const first = 1000 // calls that the program makes before
	each := *pairedCalls / 2
	dir := workDir(t)
	limit := time.Minute + time.Duration(*pairedCalls)*20*time.Microsecond
	prog := build(t, "../../testdata/intercept/cost.c", "-O2 -pthread")
	began := time.Now()
	r := run(t, command{argv: []string{alleria(), "-q", "record", "-o", profileDir, "--intercept", "two@main", prog}, dir: dir,
		env: []string{"WHAT=i2", fmt.Sprint("TIMES=", each)}, timeout: limit})
	if r.status != 0 || len(r.stderr) > 0 {
		t.Fatalf("status %d: %s", r.status, clip(r.stderr))
	}
	recorded := time.Since(began)
	out := run(t, command{argv: []string{alleria(), "intercepts", filepath.Join(dir, profileDir), "--stats", "--json"}, dir: dir, timeout: limit})
	var stats []struct {
		Calls, Returned int
		Values          []struct {
			Name     string
			Min, Max *float64
		}
	}
	if err := json.Unmarshal(out.stdout, &stats); err != nil || len(stats) != 1 {
		t.Fatalf("%v: %s%s", err, clip(out.stdout), clip(out.stderr))
	}
	if s := stats[0]; s.Calls != first+2*each || s.Returned != s.Calls {
		t.Errorf("%d calls, %d returned; the program made %d", s.Calls, s.Returned, first+2*each)
	}
	for _, v := range stats[0].Values {
		if v.Name == "a" && (v.Min == nil || v.Max == nil || *v.Min != 0 || *v.Max != float64(each-1)) {
			t.Errorf("a is from %v to %v, want 0 to %d", v.Min, v.Max, each-1)
		}
	}
	if s := strings.TrimSpace(string(r.stdout)); s != "" {
		t.Logf("%d calls recorded in %v (%s ps a call by the program's clock), read back in %v", stats[0].Calls, recorded, s, time.Since(began)-recorded)
	}
	verify(t, dir)
}
