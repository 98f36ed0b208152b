package cab

import (
	"sync"
	"testing"
	"time"

	"alleria/internal/layout"
)

// TestCloseWhileLooking: who is just looking whether the pool is closed is not left asleep. Nobody rings a second time, so that the
// processing thread would sleep to the end of its interval.
func TestCloseWhileLooking(t *testing.T) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				for k := range 1000 {
					p := NewPool(NewBell(make([]byte, layout.ControlSize)), time.Hour, []Sink{idleSink{}}, nil)
					for begun := time.Now(); time.Since(begun) < time.Duration(k%64+i)*time.Microsecond; {
					}
					if err := p.Close(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("a pool that is closed waits for a processing thread that sleeps")
	}
}
