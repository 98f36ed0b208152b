package cab

import (
	"sync/atomic"
	"unsafe"

	"alleria/internal/layout"
	"alleria/internal/sys"
)

// A ring with slots has one lease, for ever: who holds it is the ring's only consumer, as FastForward wants it. The lease's chunk and
// word are where the consumer is; nobody else has to know, and the producer learns of it from the words
// that have become free. Taken, which it looks at only when it finds a word that is not, is written once a batch.

// distances are the consumer's in a ring with slots, in words. The published ones are two and six cache lines, for queues that hand over a
// word at a time; here each batch costs a call of a sink, so that the consumer lets the producer get further ahead. The check of the protocol
// has small ones.
type distances struct {
	safe  int // so much has to be there before any is taken
	most  int // so much is taken at a time, about
	guard int // that are never free at a chunk's end
}

// usualDistances are those of rings that are recorded into.
func usualDistances() distances {
	return distances{safe: 512, most: 4 << 10, guard: layout.SlotGuard / 8}
}

// Filled finds records in words, see records.Blocks.
type Filled func(words []uint64, clear, end uint64, most int, all bool) (n int, ended bool)

// FindRecords says what finds the records of a ring with slots. It is called before anything is consumed.
func (r *Ring) FindRecords(f Filled) { r.filled = f }

func (r *Ring) slotted() bool { return layout.Slotted(r.buffering) }

// acquireSlots returns the one lease if nobody holds it and it is wanted. r.mu is held.
func (r *Reader) acquireSlots(x Extent) *Lease {
	if len(r.leases) > 0 {
		return nil // it was there and held, or not ready
	}
	l := &Lease{ring: r, end: 1<<64 - 1}
	r.leases = append(r.leases, l)
	if !l.readySlots(x) {
		return nil
	}
	return l
}

// rest is the words of the lease's chunk from where it is.
func (l *Lease) rest() []uint64 {
	return l.ring.words(l.at, l.done, l.ring.u64(layout.ChunkBytes).Load()/8)
}

// flag is a word that the producer may be writing.
func (r *Ring) flag(words []uint64, at int) *atomic.Uint64 {
	r.hooks.step()
	return (*atomic.Uint64)(unsafe.Pointer(&words[at]))
}

// readySlots tells whether there is something to take: a word a distance ahead, or the chunk's end, and with them a record. Words ahead may
// be of the one record that is being written, and near the chunk's end its guard lies ahead: nothing can be taken then, and who was told otherwise would ask for ever.
func (l *Lease) readySlots(x Extent) bool {
	r, words := l.ring, l.rest()
	first := r.flag(words, 0).Load()
	if first == layout.SlotClear || x != Completed || first == layout.SlotEnd {
		return first != layout.SlotClear
	}
	if r.flag(words, min(r.apart.safe, len(words)-1)).Load() == layout.SlotClear {
		return false
	}
	n, ended := r.filled(words, layout.SlotClear, layout.SlotEnd, 1, false)
	return n > 0 || ended
}

// takeSlots is Take.
func (l *Lease) takeSlots(x Extent) (c Chunk, ok bool) {
	if !l.readySlots(x) {
		return Chunk{}, false
	}
	words := l.rest()
	n, ended := l.ring.filled(words, layout.SlotClear, layout.SlotEnd, l.ring.apart.most, x == Everything)
	ctl := chunkCtl(l.at)
	c = Chunk{words[:n], l.at, l.done, ended, l.ring.u64(ctl + layout.ChunkOpened).Load(), 0}
	if c.Complete = sys.TSC(); ended {
		c.Complete = l.ring.u64(ctl + layout.ChunkComplete).Load()
	}
	return c, n > 0 || ended
}

// releaseSlots makes the words free, from the first to the last, and then says so.
func (l *Lease) releaseSlots(c Chunk) {
	r := l.ring
	words := l.rest()
	n := len(c.Words)
	if c.Whole { // all words behind are what the first is
		n = len(words) - r.apart.guard
	}
	r.hooks.clear(words[:n])
	size := r.u64(layout.ChunkBytes).Load()
	if l.done += uint64(len(c.Words)); c.Whole {
		l.at++
		l.done = 0
		r.u64(layout.Tail).Store(l.at)
	}
	taken := l.at*size + 8*l.done
	r.u64(layout.Taken).Store(taken)
	if r.u32(layout.Starved).Load() == 0 {
		return
	}
	// A producer that waits is woken for a quarter of the ring, as by Release, or when there is no more to take.
	ring := size * r.u64(layout.Chunks).Load()
	head := r.u64(layout.Head).Load()
	at := head*size + r.u64(layout.Buf).Load() - r.base(head)
	if (int64(taken+ring-at) >= int64(ring/4) || !l.readySlots(Completed)) && r.u32(layout.Starved).Swap(0) != 0 {
		r.hooks.wake((*uint32)(unsafe.Pointer(&r.slot[layout.Starved])), 1)
	}
}

// drainedSlots tells whether everything has been taken. r.mu is held.
func (r *Ring) drainedSlots() bool {
	rd := r.readers[0]
	if len(rd.leases) == 0 {
		return r.flag(r.words(0, 0, 1), 0).Load() == layout.SlotClear
	}
	l := rd.leases[0]
	return !l.held && r.flag(l.rest(), 0).Load() == layout.SlotClear
}
