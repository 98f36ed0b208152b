package cab

import (
	"flag"
	"fmt"
	"sync/atomic"
	"testing"
	"unsafe"

	"alleria/internal/layout"
)

// bellWord is a word of the control area without a step.
func (p *producer) bellWord(off int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&p.bell.control[off]))
}

// starved is the word that a producer sleeps on.
func (w *world) starved() *uint32 { return (*uint32)(unsafe.Pointer(&w.p.slot[layout.Starved])) }

// modelRing is an empty ring of tiny chunks.
func modelRing(slot, control []byte, m *model) *producer {
	p := &producer{&Ring{slot: slot}, NewBell(control)}
	p.bellWord(layout.ConsumerAsleep).Store(0)
	p.bellWord(layout.ConsumerBell).Store(0)
	for _, off := range []int{layout.Head, layout.Tail, layout.Waits, layout.Lost, layout.LostWords, layout.Starved} {
		p.u64(off).Store(0)
	}
	p.u64(layout.RingBase).Store(layout.RingOff)
	p.u64(layout.ChunkBytes).Store(m.chunkSize())
	p.u64(layout.Chunks).Store(uint64(m.start))
	p.u64(layout.Buf).Store(layout.RingOff)
	p.u64(layout.Floor).Store(layout.RingOff)
	for n := range 2 * m.chunks {
		p.u64(chunkCtl(uint64(n)) + layout.ChunkBase).Store(1) // good only where somebody has said so
		p.u64(chunkCtl(uint64(n)) + layout.ChunkUsed).Store(0)
	}
	for n := range uint64(m.start) {
		p.u64(chunkCtl(n) + layout.ChunkBase).Store(layout.RingOff + n*modelChunk)
	}
	p.u64(layout.Buffering).Store(layout.BufferCAB)
	if m.nway {
		p.u64(layout.Buffering).Store(layout.BufferNWay)
		for n := m.start; n < 2*m.chunks; n++ { // the producer's from when its flag says so
			p.u64(chunkCtl(uint64(n)) + layout.ChunkUsed).Store(1)
		}
	}
	if m.slots != 0 {
		m.initSlots(p)
	}
	p.Ring = NewRing(slot, m.most, func(words []uint64) int { return len(words) })
	if m.slots != 0 {
		m.findSlots(p)
	}
	p.hurry()
	return p
}

// TestProtocol checks the protocol, and that the check finds mistakes.
func TestProtocol(t *testing.T) {
	for _, c := range []modelCase{
		{"one chunk", model{chunks: 4, start: 1, most: 1, workers: 1, bound: 2}, false},
		{"two chunks", model{chunks: 4, start: 2, most: 2, workers: 1, bound: 2}, false},
		{"three chunks", model{chunks: 4, start: 3, most: 3, workers: 1, bound: 2}, false},
		{"memory is taken back", model{chunks: 4, start: 3, most: 3, workers: 1, settles: 1, bound: 2, quick: 1}, false},
		{"memory is taken back and given again", model{chunks: 6, start: 4, most: 4, workers: 1, settles: 2, bound: 1}, false},
		{"memory is taken back, words are carried", model{chunks: 4, start: 3, most: 3, workers: 1, settles: 1, carries: true, bound: 2, quick: 1}, false},
		{"memory is taken back from who fetches words", model{chunks: 4, start: 3, most: 3, workers: 1, settles: 1, carries: true, bound: 2, flaws: flaws{early: true}}, true},
		{"memory is taken back without a second look", model{chunks: 4, start: 3, most: 3, workers: 1, settles: 1, bound: 2, flaws: flaws{hasty: true}}, true},
		{"two readers", model{chunks: 3, start: 2, most: 2, workers: 1, readers: 1, bound: 2}, false},
		{"two readers, two processing threads", model{chunks: 4, start: 2, most: 2, workers: 2, readers: 1, alone: true, bound: 1}, false},
		{"two readers, one of which is consumed by one at a time", model{chunks: 4, start: 2, most: 2, workers: 2, readers: 1, first: true, bound: 1}, false},
		{"two readers, growth", model{chunks: 5, start: 2, most: 4, workers: 2, readers: 1, bound: 1}, false},
		{"two readers of N-way buffers", model{chunks: 4, start: 2, most: 2, workers: 2, readers: 1, nway: true, alone: true, bound: 1}, false},
		{"two readers, lossy", model{chunks: 3, start: 2, most: 2, workers: 1, readers: 1, lossy: true, bound: 1}, false},
		{"two processing threads", model{chunks: 3, start: 2, most: 2, workers: 2, bound: 2, quick: 1}, false},
		{"growth", model{chunks: 5, start: 2, most: 4, workers: 1, bound: 2}, false},
		{"lossy", model{chunks: 4, start: 2, most: 2, workers: 1, bound: 2, lossy: true}, false},
		{"N-way", model{chunks: 4, start: 2, most: 2, workers: 1, bound: 2, nway: true}, false},
		{"N-way, two processing threads", model{chunks: 3, start: 2, most: 2, workers: 2, bound: 1, nway: true}, false},
		{"N-way, no fence before the bell", model{chunks: 2, start: 3, most: 3, workers: 1, bound: 3, nway: true, flaws: flaws{noFenceBell: true}}, true},
		{"N-way, no fence before sleeping", model{chunks: 3, start: 2, most: 2, workers: 1, bound: 3, nway: true, flaws: flaws{noFenceStarved: true}}, true},
		{"N-way, no second look", model{chunks: 4, start: 2, most: 2, workers: 1, bound: 3, nway: true, flaws: flaws{noRecheck: true}}, true},
		{"N-way, flag before words", model{chunks: 3, start: 2, most: 2, workers: 1, bound: 2, nway: true, flaws: flaws{flagFirst: true}}, true},
		{"no fence before the bell", model{chunks: 2, start: 3, most: 3, workers: 1, bound: 3, flaws: flaws{noFenceBell: true}}, true},
		{"no fence before sleeping", model{chunks: 3, start: 2, most: 2, workers: 1, bound: 3, flaws: flaws{noFenceStarved: true}}, true},
		{"no second look", model{chunks: 4, start: 2, most: 2, workers: 1, bound: 3, flaws: flaws{noRecheck: true}}, true},
		{"published too early", model{chunks: 3, start: 2, most: 2, workers: 1, bound: 2, flaws: flaws{publishFirst: true}}, true},
		{"floor of the chunk before", model{chunks: 4, start: 2, most: 2, workers: 1, bound: 2, lossy: true, flaws: flaws{keepFloor: true}}, true},
	} {
		c.check(t)
	}
}

var every = flag.Bool("every", false, "go through all orders of every ring")

// modelCase is a ring that is taken through its orders, with a mistake that is to be found or without one.
type modelCase struct {
	name  string
	model model
	fails bool
}

// check goes through all orders with as many departures as there may be, or, where most of the time goes, with fewer in the usual form.
func (c modelCase) check(t *testing.T) {
	if !*every && c.model.quick > 0 {
		c.model.bound = c.model.quick
	}
	if testing.Short() {
		c.model.bound = min(c.model.bound, 1)
		if c.fails {
			return // these take more departures
		}
	}
	failure, runs := c.model.all(t)
	if c.fails != (failure != "") {
		t.Errorf("%s: after %d orders: %.150q", c.name, runs, failure)
	} else {
		t.Logf("%s: %d orders %.150s", c.name, runs, failure)
	}
}

// TestProtocolSingleDeath kills the producer of a ring of one chunk.
func TestProtocolSingleDeath(t *testing.T) {
	for at := 1; at <= 60; at++ {
		m := model{chunks: 3, start: 1, most: 1, workers: 1, bound: 1, dies: at}
		if failure, runs := m.all(t); failure != "" {
			t.Errorf("killed at step %d: after %d orders: %q", at, runs, failure)
		}
	}
}

// TestProtocolDeath kills the producer at each of its steps: what it had completed is consumed, once and in order.
func TestProtocolDeath(t *testing.T) {
	for _, m := range []model{{}, {readers: 1}, {lossy: true}, {nway: true}, {nway: true, flaws: flaws{leaveFlag: true}}} {
		found := ""
		for at := 1; at <= 60; at++ {
			m.chunks, m.start, m.most, m.workers, m.bound, m.dies = 3, 2, 2, 1, 1, at
			if failure, runs := m.all(t); failure != "" {
				found = fmt.Sprintf("killed at step %d: after %d orders: %q", at, runs, failure)
				break
			}
		}
		if (found != "") != m.leaveFlag {
			t.Errorf("%+v: %s", m, found)
		}
	}
}
