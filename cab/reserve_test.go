package cab

import (
	"sync/atomic"
	"testing"
	"time"

	"alleria/internal/layout"
)

// counting is a sink that counts the chunks that it got, and takes a time for each.
type counting struct {
	chunks atomic.Int64
	wait   time.Duration
}

func (c *counting) Consume(_ any, _ Chunk) error {
	c.chunks.Add(1)
	time.Sleep(c.wait)
	return nil
}

func (c *counting) Leave(any) error { return nil }
func (c *counting) Flush() error    { return nil }

// TestReserve has a first processing thread that keeps up, whose reserve has nothing to do,
// and one that does not, where the reserve helps.
func TestReserve(t *testing.T) {
	for _, c := range []struct {
		name  string
		wait  time.Duration // of a sink for a chunk
		pause time.Duration // of the producer behind each chunk
		helps bool
	}{
		{"keeps up", 0, 2 * time.Millisecond, false},
		{"is behind", 2 * time.Millisecond, 0, true},
	} {
		p := newProducer(t)
		first, second := &counting{wait: c.wait}, &counting{wait: c.wait}
		pool := NewPool(p.bell, time.Hour, []Sink{first, second}, nil)
		pool.Add(p.Ring, nil)
		for n := uint64(0); n < 20*testChunks; n = p.u64(layout.Head).Load() {
			for p.u64(layout.Head).Load() == n {
				p.put(1, 2, 3, 4)
			}
			pool.wake() // the routine rings, too
			time.Sleep(c.pause)
		}
		most := second.chunks.Load() // before everything left is for both
		pool.Remove(p.Ring)
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
		// A machine that is busy may keep the first thread from its work for a while.
		if total := first.chunks.Load() + second.chunks.Load(); c.helps && most < total/8 || !c.helps && most > total/4 {
			t.Errorf("%s: the reserve took %d of %d chunks", c.name, most, total)
		}
	}
}
