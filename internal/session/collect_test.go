package session

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// The share of garbage follows the heap, and is what it was afterwards.
func TestCollectSeldom(t *testing.T) {
	for _, c := range []struct {
		live uint64
		want int
	}{{0, 1000}, {1 << 20, 1000}, {16 << 20, 150}, {32 << 20, 25}, {64 << 20, 8}, {1 << 30, 8}} {
		if got := pace(c.live); got != c.want {
			t.Errorf("%d MiB alive: %d percent, not %d", c.live>>20, got, c.want)
		}
	}
	percent := func() int {
		old := debug.SetGCPercent(100)
		debug.SetGCPercent(old)
		return old
	}
	before := percent()
	restore := collectSeldom()
	if got := percent(); got != 1000 {
		t.Errorf("%d percent at the start", got)
	}
	live := make([]byte, 64<<20)
	for range 100 {
		runtime.GC()
		time.Sleep(time.Millisecond)
		if percent() < 30 {
			break
		}
	}
	if got := percent(); got < gcPercent || got > 25 {
		t.Errorf("%d percent with 64 MiB alive", got)
	}
	runtime.KeepAlive(live)
	restore()
	runtime.GC()
	time.Sleep(5 * time.Millisecond)
	if got := percent(); got != before {
		t.Errorf("%d percent afterwards, %d before", got, before)
	}
}
