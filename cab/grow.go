package cab

import (
	"cmp"
	"sync/atomic"

	"alleria/internal/layout"
)

// growth is what a ring knows of its size.
//
// A ring starts small, since what the producer writes is in the processor's caches
// when it is consumed only if the whole ring fits there, and since a program may have
// hundreds of threads. It doubles when its producer has waited for room, or overwritten records, though the
// consumers had nothing to do before: then the work comes in bursts, which a larger
// ring takes up. Where the consumers are behind all the time, more room would only delay the
// first wait. And it doubles only when its producer has gone round it some times since it did so last: on a busy machine each wait has a lull in front of it, and a program
// that does little more than start had a ring of 32 megabytes of which it filled the most once. What it had before its thread went quiet (settle) it gets again by the first wait.
type growth struct {
	most  uint64      // chunks that it may have; guarded by Ring.mu
	waits uint64      // the producer's waits when it was last looked at; guarded by Ring.mu
	lull  atomic.Bool // a processing thread went to sleep since
	fixed bool        // no growth; guarded by Ring.mu
	hasty bool        // growth by the first wait; guarded by Ring.mu
	// often is how often its producer goes round it before it grows; 0: rounds. Guarded by Ring.mu.
	often uint64
	since uint64 // chunks that had been released when it grew last; guarded by Ring.mu
	asked uint64 // ticks that the producer had waited when Widen looked last; guarded by Ring.mu
	// What settle goes by, and where chunks lie whose memory was given back. Guarded by Ring.mu.
	head  uint64
	quiet int
	spare []uint64
}

// free gives the chunks before tail back to the producer: their memory goes to the
// chunks that the producer may open next, which it learns of by Tail. r.mu is held.
func (r *Ring) free(tail uint64) {
	chunks := r.u64(layout.Chunks).Load()
	for n := r.u64(layout.Tail).Load(); n < tail; n++ {
		base := r.base(n)
		if chunks == 1 {
			base = r.other(base)
		}
		r.u64(chunkCtl(n+chunks) + layout.ChunkBase).Store(base)
		if r.buffering == layout.BufferNWay {
			r.u64(chunkCtl(n+chunks) + layout.ChunkUsed).Store(0)
		}
	}
	r.u64(layout.Tail).Store(tail)
}

// other is the memory of the chunk that follows in a ring of one chunk, whose producer waits until that has been consumed: it has two by turns. In the same memory
// Buf, which still is the chunk's before when there is room for the next, would look as if words had been written there already.
func (r *Ring) other(base uint64) uint64 {
	if start := r.u64(layout.RingBase).Load(); base != start {
		return start
	}
	return base + r.u64(layout.ChunkBytes).Load()
}

// grow doubles the ring if that would help. r.mu is held.
func (r *Ring) grow() {
	g := &r.growth
	waits, chunks := r.u64(layout.Waits).Load()+r.u64(layout.Lost).Load(), r.u64(layout.Chunks).Load()
	if waits == g.waits || g.fixed {
		return
	}
	g.waits = waits
	if g.most > chunks && (g.lull.Swap(false) && r.worthMore(chunks) || len(g.spare) > 0) {
		r.extend(chunks)
		g.since = r.u64(layout.Tail).Load()
	}
}

// rounds is how often a producer goes round its ring before that grows: memory that is made takes as long as writing and consuming it a few times.
const rounds = 8

// worthMore tells whether what has been consumed since the ring grew last is worth as much memory again as it has. r.mu is held.
func (r *Ring) worthMore(chunks uint64) bool {
	return r.growth.hasty || r.u64(layout.Tail).Load()-r.growth.since >= cmp.Or(r.growth.often, rounds)*chunks
}

// extend gives the ring so many chunks more, or as many as it may have, and returns how many. r.mu is held.
//
// The chunks that the producer may open from now on get their memory first; then Chunks says
// that it may. Memory that the machine does not have is an error here, where it would be a SIGBUS in the
// target. That is done piece by piece, and a producer that waits goes on in the first ones while the others get theirs: sixteen megabytes take some milliseconds.
func (r *Ring) extend(more uint64) uint64 {
	g, chunks := &r.growth, r.u64(layout.Chunks).Load()
	more = min(more, g.most-min(g.most, chunks))
	if more == 0 {
		return 0
	}
	size, base := r.u64(layout.ChunkBytes).Load(), r.u64(layout.RingBase).Load()
	again := min(more, uint64(len(g.spare))) // before there is any of its own beyond
	memory := append([]uint64(nil), g.spare[uint64(len(g.spare))-again:]...)
	for made := chunks + uint64(len(g.spare)); uint64(len(memory)) < more; made++ {
		memory = append(memory, base+made*size)
	}
	given, piece := uint64(0), max(growPiece/size, 1)
	tail := r.u64(layout.Tail).Load()
	for given < more {
		next := memory[given:min(given+piece, more)]
		if err := r.give(next, tail+chunks+given, size); err != nil {
			g.most = chunks + given
			break
		}
		given += uint64(len(next))
		r.u64(layout.Chunks).Store(chunks + given)
		r.feed(tail)
	}
	// What is left of the memory that was given back, of which the machine has made none again.
	used := min(given, again)
	g.spare = append(g.spare[:uint64(len(g.spare))-again], memory[used:again]...)
	return given
}

// growPiece is how much memory a ring that grows gets at a time.
const growPiece = 1 << 20

// give has the chunks from number at on lie in memory.
func (r *Ring) give(memory []uint64, at, size uint64) error {
	for _, m := range memory {
		if err := r.hooks.populate(r.memory(m, size)); err != nil {
			return err
		}
	}
	for n, m := range memory {
		r.u64(chunkCtl(at+uint64(n)) + layout.ChunkBase).Store(m)
	}
	return nil
}

// widen is extend for who does not hold the lock, of a ring that there still is.
func (r *Ring) widen(more uint64) int {
	r.lock()
	defer r.mu.Unlock()
	if r.retired || r.growth.fixed {
		return 0
	}
	return int(r.extend(more))
}

// fix keeps the ring as long as it is.
func (r *Ring) fix() {
	r.lock()
	defer r.mu.Unlock()
	r.growth.fixed = true
}

// grows has the ring grow when its producer has gone round it so often.
func (r *Ring) grows(often int) {
	r.lock()
	defer r.mu.Unlock()
	r.growth.often = uint64(often)
}

// hurry has the ring grow whenever that would help.
func (r *Ring) hurry() {
	r.lock()
	defer r.mu.Unlock()
	r.growth.hasty = true
}

// waitedSince is how many ticks the producer has waited since this was asked last.
func (r *Ring) waitedSince() uint64 {
	r.lock()
	defer r.mu.Unlock()
	if r.retired {
		return 0
	}
	was := r.growth.asked
	r.growth.asked = r.u64(layout.WaitTSC).Load()
	return r.growth.asked - was
}

// measure adds what the ring's words say. Those of a ring that was retired may be another's by now: of it the last are kept.
func (r *Ring) measure(m *Measures, tsc uint64) {
	r.lock()
	defer r.mu.Unlock()
	if r.retired {
		m.Waited.add(r.last)
		return
	}
	m.Waited.add(r.waited())
	m.Buffers += int(r.u64(layout.Chunks).Load())
	head, tail := r.u64(layout.Head).Load(), r.u64(layout.Tail).Load()
	m.Full += int(head - tail)
	if !r.placed(head) && head > 0 { // its wait is added when it ends
		m.Waiting++
		if from := r.u64(chunkCtl(head-1) + layout.ChunkComplete).Load(); from < tsc && !r.placed(head) {
			m.Ticks += tsc - from
		}
	}
}

// waited is what the ring's words say of its producer's waits. The ring is not retired.
func (r *Ring) waited() Waited {
	return Waited{r.u64(layout.Waits).Load(), r.u64(layout.WaitTSC).Load(), r.u64(layout.Head).Load(), r.u64(layout.LostWords).Load()}
}
