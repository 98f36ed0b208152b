package acceptance

import (
	"encoding/json"
	"strings"
	"testing"

	"alleria/analysis"
)

// TestCosts: the report says where the time and the memory went. A window that
// opens at main has native time before it, one on all code has none.
func TestCosts(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags []string
		only  string // the time that there is: "cache" or both
	}{
		{"all", nil, "cache"},
		{"late", []string{"--on-call", "main"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := inputDir(t)
			argv := append(append([]string{alleria(), "-q", "record", "-o", "out"}, c.flags...), "--", find("gzip"), "-c", "-9", "-n", "text")
			if r := run(t, command{argv: argv, dir: dir}); r.status != 0 {
				t.Fatalf("status %d: %s", r.status, clip(r.stderr))
			}
			r := run(t, command{argv: []string{alleria(), "report", "--json", "out"}, dir: dir})
			var report analysis.Report
			if err := json.Unmarshal(r.stdout, &report); err != nil {
				t.Fatal(err)
			}
			costs := report.Profiles[0].Costs
			if costs == nil {
				t.Fatal("no costs")
			}
			if costs.CacheSeconds <= 0 || costs.Requests == 0 || costs.RequestSeconds <= 0 || c.only == "cache" && costs.NativeSeconds > costs.CacheSeconds/10 ||
				c.only == "" && costs.NativeSeconds <= 0 {
				t.Errorf("time: %+v", *costs)
			}
			if at := costs.ProcessingPlaced; !strings.HasPrefix(at, "anywhere: ") && !strings.HasPrefix(at, "on processors ") {
				t.Errorf("processing threads run %q", at)
			}
			// What a Go program needs at least, and what would be a leak.
			if costs.TracerMemory < 4<<20 || costs.TracerMemory > 128<<20 || costs.CacheMemory < 256<<10 || costs.CacheMemory > 64<<20 || costs.RingMemory == 0 {
				t.Errorf("memory: %+v", *costs)
			}
		})
	}
}
