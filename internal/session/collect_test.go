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
		live, kept      uint64
		collected, want int
	}{{0, 0, 1, 1000}, {1 << 20, 0, 1, 1000}, {16 << 20, 0, 1, 150}, {32 << 20, 0, 1, 25}, {64 << 20, 0, 1, 8}, {1 << 30, 0, 1, 8}, {32 << 20, 24 << 20, 1, 100}, {64 << 20, 24 << 20, 1, 8},
		{64 << 20, 0, 10, 8}, {64 << 20, 0, 20, 15}, {64 << 20, 0, 1000, 25}, {1 << 30, 0, 1000, 8}} {
		if got := pace(c.live, c.kept, c.collected); got != c.want {
			t.Errorf("%d MiB alive: %d percent, not %d", c.live>>20, got, c.want)
		}
	}
	percent := func() int {
		old := debug.SetGCPercent(100)
		debug.SetGCPercent(old)
		return old
	}
	before := percent()
	c, restore := collectSeldom()
	if got := percent(); got != 1000 {
		t.Errorf("%d percent at the start", got)
	}
	c.read(16 << 20)
	if got := percent(); got != 1400 {
		t.Errorf("%d percent after 16 MiB were read of what is kept", got)
	}
	if c.read(1 << 30); percent() != 2000 {
		t.Errorf("%d percent after a gigabyte was", percent())
	}
	c.kept = 0
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
	// What is known to grow is collected half as large.
	c.grow(func() {
		if got := percent(); got != growPercent {
			t.Errorf("%d percent while it grows", got)
		}
		for range 3 {
			runtime.GC()
			time.Sleep(5 * time.Millisecond)
		}
		if got := percent(); got != growPercent {
			t.Errorf("%d percent after it was collected meanwhile", got)
		}
	})
	if got := percent(); got < gcPercent || got > 25 {
		t.Errorf("%d percent when it has grown", got)
	}
	runtime.KeepAlive(live)
	restore()
	runtime.GC()
	time.Sleep(5 * time.Millisecond)
	if got := percent(); got != before {
		t.Errorf("%d percent afterwards, %d before", got, before)
	}
}

// One goroutine more runs at a time once the start is over, and where there are processors for several.
func TestMoreProcs(t *testing.T) {
	t.Setenv("GOMAXPROCS", "")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, c := range []struct {
		opts Options
		want int
	}{{Options{}, 5}, {Options{Only: OnlyCount}, 4}, {Options{Engine: []string{fewerProcs}}, 4}} {
		r := &run{opts: &c.opts, started: time.Now()}
		if r.moreProcs(r.started.Add(startOver - 1)); runtime.GOMAXPROCS(0) != 4 {
			t.Error("while the run starts")
		}
		r.moreProcs(r.started.Add(startOver))
		if n := runtime.GOMAXPROCS(0); n != c.want {
			t.Errorf("%+v: %d, not %d", c.opts, n, c.want)
		}
		if r.procsAgain(); runtime.GOMAXPROCS(0) != 4 {
			t.Error("not taken back")
		}
	}
	runtime.GOMAXPROCS(1)
	r := &run{opts: &Options{}, started: time.Now()}
	if r.moreProcs(r.started.Add(startOver)); runtime.GOMAXPROCS(0) != 1 {
		t.Error("one processor has more")
	}
}

// What only the start has needed is forgotten once it is over, once.
func TestForgetStart(t *testing.T) {
	r := &run{opts: &Options{}, started: time.Now()}
	if r.forgetStart(r.started.Add(startOver - 1)); r.costs.forgot {
		t.Error("forgotten while the run starts")
	}
	if r.forgetStart(r.started.Add(startOver)); !r.costs.forgot {
		t.Error("not forgotten")
	}
	kept := &run{opts: &Options{Engine: []string{wholeBinary}}}
	if kept.forgetStart(time.Now()); kept.costs.forgot {
		t.Error("forgotten though it is to be kept")
	}
}
