package cab

import "alleria/internal/layout"

// A ring gives memory back when its thread has gone quiet: programs have hundreds of threads that work for a moment. The producer is not asked. It
// opens a chunk when it has stored Head and then finds, behind a fence, that Chunks allows for it; here Chunks is lowered first and Head looked at
// then. One of the two sees the other: either the producer waits for what is allowed now, or the number is put back as it was.

const (
	quietLooks = 10 // in which the producer has completed no chunk, an interval each
	quietLeast = 2  // chunks that stay
)

// settle gives the ring's memory back but for some chunks, if its producer has completed none for a while and all of them are released. It is called from time to time.
//
// A lossy ring stays as it is: what its thread does next would be overwritten before the ring had grown again.
func (r *Ring) settle() {
	r.lock()
	defer r.mu.Unlock()
	g := &r.growth
	if r.retired || g.fixed || g.most == 0 || r.Lossy() {
		return
	}
	if head := r.u64(layout.Head).Load(); head != g.head {
		g.head, g.quiet = head, 0
		return
	}
	if g.quiet++; g.quiet >= quietLooks {
		r.shrink(quietLeast)
	}
}

// shrink leaves the ring that many chunks, if nothing waits to be consumed. r.mu is held.
func (r *Ring) shrink(least uint64) {
	tail, chunks := r.u64(layout.Tail).Load(), r.u64(layout.Chunks).Load()
	if chunks <= least || r.u64(layout.Head).Load() != tail || !r.hooks.rash() && !r.writes(tail) {
		return
	}
	r.u64(layout.Chunks).Store(least)
	if !r.hooks.blind() && r.u64(layout.Head).Load()-tail >= least { // it has gone on meanwhile
		r.u64(layout.Chunks).Store(chunks)
		return
	}
	g, size := &r.growth, r.u64(layout.ChunkBytes).Load()
	for n := tail + least; n < tail+chunks; n++ {
		base := r.base(n)
		g.spare = append(g.spare, base)
		r.hooks.discard(r.memory(base, size))
	}
}

// writes tells whether the producer writes into a chunk that has its memory. One that has completed the chunk before and is just opening this one has words of an
// unfinished record to fetch from there, though that chunk may be released and its memory the last one's of the ring: Buf leads there until it has them.
func (r *Ring) writes(n uint64) bool {
	return r.u64(layout.Buf).Load()-r.base(n) <= r.u64(layout.ChunkBytes).Load()
}

// memory is a chunk's in the tracer's mapping.
func (r *Ring) memory(base, size uint64) []byte {
	return r.slot[layout.RingOff+base-r.u64(layout.RingBase).Load():][:size]
}
