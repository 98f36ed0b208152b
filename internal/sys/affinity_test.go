package sys

import (
	"os"
	"runtime"
	"slices"
	"testing"
)

// TestRunOn: this thread runs, on a processor that it may use; and a name with spaces and parentheses is passed over.
func TestRunOn(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	on := RunOn(os.Getpid(), 1000)
	if len(on) == 0 {
		t.Error("nobody runs")
	}
	for _, cpu := range on {
		if !slices.Contains(Allowed(), cpu) {
			t.Errorf("a thread runs on processor %d of %v", cpu, Allowed())
		}
	}
	fields := " R 1 1 1 0 -1 4 1 2 3 4 5 6 7 8 20 0 1 0 9 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 17 63 0 0 0"
	if cpu, running, err := parseRunsOn("12 (a) R 5 (b)" + fields); cpu != 63 || !running || err != nil {
		t.Errorf("processor %d, %v, %v", cpu, running, err)
	}
	for _, bad := range []string{"", ")", "12 (a) R 1 2"} {
		if _, _, err := parseRunsOn(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if RunOn(1<<30, 10) != nil {
		t.Error("a process that there is not runs")
	}
}
