package cab

import (
	"slices"
	"testing"
	"time"

	"alleria/internal/layout"
	"alleria/internal/sys"
)

// idleSink has nothing to do.
type idleSink struct{}

func (idleSink) Consume(any, Chunk) error { return nil }
func (idleSink) Leave(any) error          { return nil }
func (idleSink) Flush() error             { return nil }

// TestPlace: processing threads that run, and those that are started later, go where they are placed, and back; the others of the process stay.
func TestPlace(t *testing.T) {
	all := sys.Allowed()
	p := StartPool(NewBell(make([]byte, layout.ControlSize)), PoolOptions{Interval: time.Second, Threads: 2, Most: 3, Sink: func(int) Sink { return idleSink{} }})
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	on := func(n int) (cpus []int) {
		t.Helper()
		w := p.threads[n]
		for range 1000 { // until it has begun
			if tid := int(w.tid.Load()); tid != 0 {
				if got, err := sys.PlacedOn(tid); err == nil {
					cpus = got
				}
				if len(cpus) == 1 || len(all) == 1 || p.cpus.Load() == nil || len(*p.cpus.Load()) > 1 {
					return cpus
				}
			}
			time.Sleep(time.Millisecond)
		}
		return cpus
	}
	on(0)
	on(1)
	one := all[:1]
	if n, err := p.Place(one); n != 2 || err != nil {
		t.Errorf("%d threads bound: %v", n, err)
	}
	p.Resume()
	for n := range 3 {
		if got := on(n); !slices.Equal(got, one) {
			t.Errorf("processing thread %d may use %v, want %v", n, got, one)
		}
	}
	if got := sys.Allowed(); !slices.Equal(got, all) {
		t.Errorf("the test's own thread may use %v, want %v", got, all)
	}
	if _, err := p.Place([]int{1000}); err == nil {
		t.Error("a processor that there is not is taken")
	}
	if _, err := p.Place(all); err != nil {
		t.Error(err)
	}
	if got := on(2); !slices.Equal(got, all) {
		t.Errorf("back on %v, want %v", got, all)
	}
}
