package spin

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPauseSaysTheProcessor pins the thread to each processor that it may use and
// compares with what the kernel was asked for.
func TestPauseSaysTheProcessor(t *testing.T) {
	runtime.LockOSThread() // not unlocked: the thread ends with the test, and its affinity with it
	var may unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		t.Fatal(err)
	}
	last := uint64(0)
	for cpu := range 1024 {
		if !may.IsSet(cpu) {
			continue
		}
		var one unix.CPUSet
		one.Set(cpu)
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			t.Fatal(err)
		}
		ticks, got := Pause(4)
		if got != uint32(cpu) {
			t.Errorf("on processor %d it says %d", cpu, got)
		}
		if ticks <= last {
			t.Errorf("time stands still: %d after %d", ticks, last)
		}
		last = ticks
	}
}

func BenchmarkPause(b *testing.B) {
	for b.Loop() {
		Pause(4)
	}
}
