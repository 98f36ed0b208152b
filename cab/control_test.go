package cab

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"alleria/internal/layout"
)

// feed has a producer write so many words, one after the other.
func feed(p *producer, total uint64, each func(n uint64)) {
	for n := uint64(0); n < total; n += 4 {
		p.put(n, n+1, n+2, n+3)
		if each != nil && n%1024 == 0 {
			each(n)
		}
	}
}

// inOrder puts together what sinks got of a ring by its place, and returns the first word that is not where it belongs.
func inOrder(got map[[2]uint64][]uint64) (next uint64, err error) {
	for at := [2]uint64{}; len(got) > 0; {
		words, ok := got[at]
		if !ok {
			at = [2]uint64{at[0] + 1, 0}
			if words, ok = got[at]; !ok {
				return next, fmt.Errorf("nothing at chunk %d after word %d", at[0], next)
			}
		}
		delete(got, at)
		for _, w := range words {
			if w != next {
				return next, fmt.Errorf("word %d where %d belongs", w, next)
			}
			next++
		}
		at[1] += uint64(len(words))
	}
	return next, nil
}

// TestSuspendResume suspends and resumes processing threads all the time, of a pool with several rings: every word comes once, in order.
func TestSuspendResume(t *testing.T) {
	const rings, total = 3, 40000
	var mu sync.Mutex
	got := make([]map[[2]uint64][]uint64, rings)
	producers := make([]*producer, rings)
	for i := range rings {
		producers[i], got[i] = newGrowing(t, 4, 32), make(map[[2]uint64][]uint64)
	}
	bell := producers[0].bell
	pool := StartPool(bell, PoolOptions{Interval: 2 * time.Millisecond, Threads: 2, Most: 4, OnError: func(err error) { t.Error(err) },
		Sink: func(int) Sink { return &byRing{&mu, got} }})
	var all sync.WaitGroup
	for i, p := range producers {
		p.bell = bell
		pool.Add(p.Ring, i)
		all.Go(func() { feed(p, total, nil) })
	}
	var stop atomic.Bool
	var changes sync.WaitGroup
	changes.Go(func() {
		for n := 0; !stop.Load(); n++ {
			if n%5 < 3 {
				pool.Suspend()
			} else {
				pool.Resume()
			}
			if m := pool.Measure(1 << 62); m.Working < 1 || m.Working > 4 || m.Working+m.Suspended > 4 {
				t.Errorf("%+v", m)
			}
			time.Sleep(200 * time.Microsecond)
		}
	})
	all.Wait()
	stop.Store(true)
	changes.Wait()
	for _, p := range producers {
		pool.Remove(p.Ring)
	}
	if m := pool.Measure(1 << 62); m.Rings != 0 || m.Chunks == 0 {
		t.Errorf("%+v", m)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	for i := range got {
		if n, err := inOrder(got[i]); err != nil || n < total {
			t.Errorf("ring %d: %d words: %v", i, n, err)
		}
	}
}

// byRing is a sink that keeps what it got, by ring and place.
type byRing struct {
	mu  *sync.Mutex
	got []map[[2]uint64][]uint64
}

func (c *byRing) Consume(tag any, ch Chunk) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got[tag.(int)][[2]uint64{ch.Number, ch.First}] = append([]uint64(nil), ch.Words...)
	return nil
}
func (c *byRing) Leave(any) error { return nil }
func (c *byRing) Flush() error    { return nil }

// failing is a sink that breaks at its chunk number at.
type failing struct {
	counting
	at     int64
	panics bool
	lost   atomic.Int64
}

func (f *failing) Consume(tag any, c Chunk) error {
	if err := f.counting.Consume(tag, c); err != nil || f.chunks.Load() != f.at {
		return err
	}
	if f.panics {
		panic("as the test has it")
	}
	return fmt.Errorf("%w: as the test has it", ErrBroken)
}

func (f *failing) Lose(_ any, c *Chunk, _ error) error {
	if c != nil {
		f.lost.Add(1)
	}
	return nil
}

// TestBroken has sinks break, by errors and panics, alone, one after the other, and all of them: the producer never waits for ever.
func TestBroken(t *testing.T) {
	for _, c := range []struct {
		name                 string
		threads, most, spare int
		breaks               int // sinks that break
		panics, over         bool
	}{
		{"one of two", 2, 2, 0, 1, false, false},
		{"one of two, suspended", 1, 2, 1, 1, true, false},
		{"one, with a spare", 1, 1, 1, 1, true, false},
		{"three in a row", 1, 1, 4, 3, false, false},
		{"all", 2, 2, 1, 9, true, true},
		{"all at once", 1, 1, 0, 9, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newProducer(t)
			var mu sync.Mutex
			var sinks []*failing
			var over error
			broken := 0
			pool := StartPool(p.bell, PoolOptions{Interval: time.Millisecond, Threads: c.threads, Most: c.most, Spare: c.spare,
				Sink: func(n int) Sink {
					mu.Lock()
					defer mu.Unlock()
					s := &failing{panics: c.panics}
					if n < c.breaks {
						s.at = 3
					}
					sinks = append(sinks, s)
					return s
				},
				OnError: func(err error) { mu.Lock(); over = err; mu.Unlock() }, OnBroken: func(int, error) { mu.Lock(); broken++; mu.Unlock() }})
			pool.Add(p.Ring, 0)
			feed(p, 40*testChunk/8, func(uint64) { pool.wake() })
			// Which processing thread gets a chunk is the scheduler's choice: one that is to break at its third
			// chunk may have had none of those 40.
			for from := time.Now(); !c.over && time.Since(from) < 20*time.Second && !breaks(&mu, &broken, c.breaks); {
				feed(p, testChunk/8, nil)
				pool.wake()
				time.Sleep(100 * time.Microsecond)
			}
			pool.Remove(p.Ring)
			err := pool.Close()
			mu.Lock()
			defer mu.Unlock()
			if c.over != (over != nil) || c.over != (err != nil) || over != nil && !errors.Is(over, ErrBroken) {
				t.Errorf("ended by %v, %v", over, err)
			}
			total, lost := int64(0), int64(0)
			for _, s := range sinks {
				total += s.chunks.Load()
				lost += s.lost.Load()
			}
			if c.panics && lost == 0 || !c.panics && lost != 0 {
				t.Errorf("%d chunks were accounted for as lost by panics", lost)
			}
			if !c.over && (broken != c.breaks || total < int64(p.u64(layout.Head).Load())) {
				t.Errorf("%d gave up, and %d chunks were consumed of %d", broken, total, p.u64(layout.Head).Load())
			}
		})
	}
}

// breaks says whether as many sinks have broken as are to.
func breaks(mu *sync.Mutex, broken *int, want int) bool {
	mu.Lock()
	defer mu.Unlock()
	return *broken >= want
}

// TestMeasure has a producer that waits, a processing thread that does not come to it, and one that has nothing to do.
func TestMeasure(t *testing.T) {
	p := newProducer(t)
	pool := StartPool(p.bell, PoolOptions{Interval: time.Hour, Threads: 1, Most: 1, Sink: func(int) Sink { return &counting{} }})
	time.Sleep(20 * time.Millisecond)
	before := pool.Measure(100)
	time.Sleep(20 * time.Millisecond)
	if m := pool.Measure(100); m.Idle <= before.Idle || m.Idle != 0 && pool.Idle() < m.Idle {
		t.Errorf("idle for %v, then %v", before.Idle, m.Idle)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
	// Full: the chunk before was completed at 1000.
	p.u64(layout.Head).Store(testChunks)
	p.u64(chunkCtl(testChunks-1) + layout.ChunkComplete).Store(1000)
	p.u64(layout.WaitTSC).Store(50)
	pool.Add(p.Ring, 0)
	if m := pool.Measure(1400); m.Ticks != 450 || m.Waiting != 1 || m.Full != testChunks || m.Buffers != testChunks || m.Rings != 1 {
		t.Errorf("%+v", m)
	}
	if n := pool.Widen(4); n != 0 { // it has as many as it may have
		t.Errorf("%d more", n)
	}
}

// TestWiden gives a ring that waits more chunks, and none that is fixed.
func TestWiden(t *testing.T) {
	for _, fixed := range []bool{false, true} {
		calm, waits := newGrowing(t, 4, 16), newGrowing(t, 4, 16)
		pool := StartPool(calm.bell, PoolOptions{Interval: time.Millisecond, Threads: 1, Most: 1, Fixed: fixed, Sink: func(int) Sink { return &counting{} }})
		pool.Add(calm.Ring, 0)
		pool.Add(waits.Ring, 1)
		if n := pool.Widen(3); n != 0 {
			t.Errorf("%d chunks more where nobody waited", n)
		}
		waits.u64(layout.WaitTSC).Store(7)
		want := uint64(4)
		if n := pool.Widen(3); n != 3 && !fixed || n != 0 && fixed {
			t.Errorf("%d chunks more", n)
		}
		if !fixed {
			want += 3
		}
		if n := pool.Widen(3); n != 0 {
			t.Errorf("%d chunks more where nobody waited since", n)
		}
		if a, b := calm.u64(layout.Chunks).Load(), waits.u64(layout.Chunks).Load(); a != 4 || b != want {
			t.Errorf("%d and %d chunks", a, b)
		}
		feed(waits, 64*testChunk/8, nil) // what was added can be used
		pool.Remove(waits.Ring)
		pool.Remove(calm.Ring)
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	}
}
