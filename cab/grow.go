package cab

import (
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
// first wait.
type growth struct {
	most  uint64      // chunks that it may have; guarded by Ring.mu
	waits uint64      // the producer's waits when it was last looked at; guarded by Ring.mu
	lull  atomic.Bool // a processing thread went to sleep since
}

// free gives the chunks before tail back to the producer: their memory goes to the
// chunks that the producer may open next, which it learns of by Tail. r.mu is held.
func (r *Ring) free(tail uint64) {
	chunks := r.u64(layout.Chunks).Load()
	for n := r.u64(layout.Tail).Load(); n < tail; n++ {
		r.u64(chunkCtl(n+chunks) + layout.ChunkBase).Store(r.base(n))
		if r.buffering == layout.BufferNWay {
			r.u64(chunkCtl(n+chunks) + layout.ChunkUsed).Store(0)
		}
	}
	r.u64(layout.Tail).Store(tail)
}

// grow doubles the ring if that would help. r.mu is held.
//
// The chunks that the producer may open from now on get their memory first; then Chunks says
// that it may. Memory that the machine does not have is an error here, where it would be a SIGBUS in the
// target.
func (r *Ring) grow() {
	g := &r.growth
	waits, chunks := r.u64(layout.Waits).Load()+r.u64(layout.Lost).Load(), r.u64(layout.Chunks).Load()
	if waits == g.waits {
		return
	}
	g.waits = waits
	more := min(chunks, g.most-min(g.most, chunks))
	if more == 0 || !g.lull.Swap(false) {
		return
	}
	size := r.u64(layout.ChunkBytes).Load()
	off := layout.RingOff + chunks*size
	if err := r.hooks.populate(r.slot[off:][:more*size]); err != nil {
		g.most = chunks
		return
	}
	tail, base := r.u64(layout.Tail).Load(), r.u64(layout.RingBase).Load()
	for n := range more {
		r.u64(chunkCtl(tail+chunks+n) + layout.ChunkBase).Store(base + (chunks+n)*size)
	}
	r.u64(layout.Chunks).Store(chunks + more)
}
