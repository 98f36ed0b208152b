package cab

import (
	"sync"
	"testing"

	"alleria/internal/layout"
)

// fill completes chunks until the producer has no room, and says that it waits.
func (p *producer) fill() {
	n := p.u64(layout.Head).Load()
	for ; p.placed(n); n++ {
		p.u64(chunkCtl(n) + layout.ChunkUsed).Store(8)
	}
	p.u64(layout.Head).Store(n)
	p.u64(layout.Waits).Add(1)
}

// release takes one chunk.
func (p *producer) release(t *testing.T) {
	t.Helper()
	l := p.Acquire(Completed)
	if l == nil {
		t.Fatal("nothing to lease")
	}
	c, ok := l.Take(Completed)
	if !ok {
		t.Fatal("nothing to take")
	}
	l.Release(c)
	l.GiveBack()
}

// TestGrows: a ring doubles when its producer waited behind a lull, up to what
// it may have, and no two of its chunks share memory.
func TestGrows(t *testing.T) {
	p := newGrowing(t, 2, 12)
	p.hurry()
	for _, step := range []struct {
		lull, full bool
		want       uint64
	}{{false, true, 2}, {true, false, 2}, {true, true, 4}, {false, true, 4}, {true, true, 8}, {true, true, 12}, {true, true, 12}} {
		p.growth.lull.Store(step.lull)
		if step.full {
			p.fill()
		}
		p.release(t)
		if got := p.u64(layout.Chunks).Load(); got != step.want {
			t.Fatalf("%+v: %d chunks", step, got)
		}
		tail, bases := p.u64(layout.Tail).Load(), map[uint64]bool{}
		for n := tail; p.placed(n); n++ {
			b := p.base(n)
			if b < layout.RingOff || b+testChunk > layout.RingOff+12*testChunk || b%testChunk != 0 || bases[b] {
				t.Errorf("chunk %d lies at %#x", n, b)
			}
			bases[b] = true
		}
		if len(bases) != int(step.want) {
			t.Errorf("%d chunks have memory, want %d", len(bases), step.want)
		}
	}
}

// TestGrowsByUse: the same ring doubles only when its producer has gone round it some times, and each time anew.
func TestGrowsByUse(t *testing.T) {
	growsAfter(t, 0, rounds)
	growsAfter(t, 3*rounds, 3*rounds)
}

func growsAfter(t *testing.T, often int, rounds uint64) {
	t.Helper()
	p := newGrowing(t, 2, 12)
	p.grows(often)
	for want, released := uint64(2), uint64(0); want < 12; want *= 2 {
		for range want * rounds {
			if got := p.u64(layout.Chunks).Load(); got != want {
				t.Fatalf("%d chunks behind %d, want %d", got, released, want)
			}
			p.growth.lull.Store(true)
			p.fill()
			p.release(t)
			released++
		}
		if got := p.u64(layout.Chunks).Load(); got != min(2*want, 12) {
			t.Fatalf("%d chunks behind %d, want %d", got, released, min(2*want, 12))
		}
	}
}

// TestUnplacedChunk: the chunk that a producer waits for has no memory, whatever its
// control entry says.
func TestUnplacedChunk(t *testing.T) {
	p := newProducer(t)
	p.put(1)
	p.fill()
	head := p.u64(layout.Head).Load()
	p.u64(chunkCtl(head) + layout.ChunkBase).Store(p.u64(layout.Buf).Load() - 8) // as if it were there
	l := &Lease{ring: p.readers[0], at: head, end: head + 1}
	if l.ready(Everything) || l.open() != nil {
		t.Error("words of a chunk that the producer waits for")
	}
}

// TestGrowsUnderWay: a producer that waits goes on in the first of a ring's new chunks while the others are still without memory.
func TestGrowsUnderWay(t *testing.T) {
	const piece = growPiece / testChunk
	p := newGrowing(t, 2*piece, 8*piece)
	p.hurry()
	chunks := p.u64(layout.Chunks)
	var woken []uint64 // how many chunks there were
	r := p.readers[0]
	r.hooks = &hooks{at: func() {}, locked: (*sync.Mutex).Lock, waked: func(*uint32) { woken = append(woken, chunks.Load()) }}
	p.fill()
	r.growth.lull.Store(true)
	r.u32(layout.Starved).Store(1)
	p.release(t)
	if got := chunks.Load(); got != 4*piece || len(woken) != 1 || woken[0] != 3*piece {
		t.Errorf("%d chunks, woken at %v, of %d before", got, woken, 2*piece)
	}
}
