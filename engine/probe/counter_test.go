package probe

import (
	"sync"
	"sync/atomic"
	"testing"

	"alleria/engine/shm"
	"alleria/internal/layout"
)

func testCounter() *Counter {
	return NewCounter(&shm.Control{Mem: make([]byte, layout.ControlSize)}, 0, 0, false)
}

// TestArriveWhileArmed has threads arrive between Take and Arm, where windows of other threads open
// and close: whoever uses the count up asks, and each entry is taken once.
func TestArriveWhileArmed(t *testing.T) {
	for _, c := range []struct {
		name               string
		before, after      uint64 // armed with
		arrive, atZero     int    // between the two; how many of them are to ask
		left, taken, later int64  // after Arm, by the next Take, and by that behind one more entry
	}{
		{"the only one that is awaited", 1, 1, 1, 1, 0, 1, 1},
		{"one of several", 3, 3, 1, 0, 2, 1, 1},
		{"all of several, and one more", 2, 2, 3, 1, -1, 3, 1},
		{"more are awaited now", 2, 5, 1, 0, 4, 1, 1},
		{"fewer are awaited now", 5, 2, 1, 0, 1, 1, 1},
		{"fewer, and they have come unnoticed", 5, 2, 3, 0, 1, 3, 1},
		{"none was awaited", Never, 1, 2, 0, 1, 2, 1},
		{"none is awaited", 1, Never, 0, 0, Never, 0, 1},
	} {
		pl, asks := testCounter(), 0
		pl.Arm(c.before)
		pl.Take()
		for range c.arrive {
			if pl.Count() {
				asks++
			}
		}
		pl.Arm(c.after)
		if got := int64(pl.left().Load()); got != c.left || asks != c.atZero {
			t.Errorf("%s: %d asked, %d are left", c.name, asks, got)
		}
		if got := pl.Take(); got != uint64(c.taken) {
			t.Errorf("%s: %d were taken, want %d", c.name, got, c.taken)
		}
		pl.Count()
		if got := pl.Take(); got != uint64(c.later) {
			t.Errorf("%s: then %d were taken, want %d", c.name, got, c.later)
		}
	}
}

// TestEachArrivalIsTaken arms a place over and over while threads arrive.
func TestEachArrivalIsTaken(t *testing.T) {
	const threads, each = 4, 200_000
	pl := testCounter()
	var asked atomic.Int64
	var wg sync.WaitGroup
	for range threads {
		wg.Go(func() {
			for range each {
				if pl.Count() {
					asked.Add(1)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	taken := uint64(0)
	for n := uint64(0); ; n++ {
		taken += pl.Take()
		pl.Arm(1 + n%5)
		select {
		case <-done:
			if taken += pl.Take(); taken != threads*each {
				t.Errorf("%d entries were taken of %d", taken, threads*each)
			}
			if asked.Load() == 0 {
				t.Error("nobody asked")
			}
			return
		default:
		}
	}
}
