package cab

import (
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Ring is the consumers' side of one application thread's ring. Several
// processing threads may consume it at a time, each a Lease: a stretch of
// chunks that follow each other.
type Ring struct {
	// the thread's slot, shared with the target
	slot []byte
	// how many of the words of an open chunk stay as they are
	committed func(words []uint64) int
	// the producer has ended: nothing more will come
	closed atomic.Bool
	hooks  *hooks // nil but in the check of the protocol
	// layout.Buffer…, and of a ring with slots what finds the records in it
	buffering uint64
	filled    Filled
	apart     distances
	kept      bool // consumed only where its producer could not go on otherwise

	growth  growth
	mu      sync.Mutex
	retired bool      // guarded by mu
	last    Waited    // when it was retired; guarded by mu
	readers []*Reader // at least one; set before the ring is handed to a pool
}

// Lease is a processing thread's right to a stretch of a ring's chunks, for one of its readers.
type Lease struct {
	ring *Reader
	at   uint64 // the chunk to be taken next
	end  uint64 // behind the last
	done uint64 // words of chunk at that were taken already
	held bool   // a processing thread works on it; guarded by ring.mu
}

// Extent is how much of a ring can be taken.
type Extent uint8

// Extents, each with the ones before it.
const (
	// Completed: chunks that the producer has completed.
	Completed Extent = iota
	// Committed: what of the chunk being written stays as it is, whatever becomes of the producer.
	Committed
	// Everything: all that has been written, since the producer has ended.
	Everything
)

// NewRing returns the consumer's side of the ring in a thread's slot, which may
// grow to most chunks. committed tells of the words of an open chunk, from a place on up to
// which they have been taken, how many of them stay as they are: the
// last ones may yet be replaced by others. It is asked by one processing thread at a time, once for
// each drain of an open chunk.
func NewRing(slot []byte, most int, committed func(words []uint64) int) *Ring {
	r := &Ring{slot: slot, committed: committed, apart: usualDistances()}
	size := r.u64(layout.ChunkBytes).Load()
	r.growth.most = min(uint64(most), layout.MaxChunks, layout.RingMax/size)
	if r.buffering = r.u64(layout.Buffering).Load(); r.buffering >= layout.BufferNWay {
		r.growth.most = 0
	}
	r.Split(1)
	return r
}

// Alone has one processing thread at a time consume the ring for each of its first readers, for sinks that need its records in order. It is
// called before the ring is handed to a pool.
func (r *Ring) Alone(readers int) {
	for _, rd := range r.readers[:readers] {
		rd.alone = true
	}
}

// Follow tells the producer up to which hash of a line what accesses it matters (layout.Follow). It may see that later: until then more comes than has to.
func (r *Ring) Follow(most uint64) {
	if w := r.u64(layout.Follow); most < w.Load() {
		w.Store(most)
	}
}

// Keep has a lossy ring not consumed: its producer goes on over the chunk that it has open. It is for measuring what
// producing takes by itself. Where the producer waits all the same, since what is in the chunk must stay, the ring is drained, as
// it is when the producer has ended. It is called before the ring is handed to a pool.
func (r *Ring) Keep() { r.kept = true }

// u64 is the control word at an offset. The target writes it at the same time, so
// that it is only ever touched by atomics; on x86-64 they order stores before it as
// the other side needs.
func (r *Ring) u64(off int) *atomic.Uint64 {
	r.hooks.step()
	return (*atomic.Uint64)(unsafe.Pointer(&r.slot[off]))
}

func (r *Ring) u32(off int) *atomic.Uint32 {
	r.hooks.step()
	return (*atomic.Uint32)(unsafe.Pointer(&r.slot[off]))
}

// Chunk is a stretch of words that the producer has completed.
type Chunk struct {
	Words    []uint64 // good until Release
	Number   uint64   // of the ring's chunk, counted from 0
	First    uint64   // which word of the chunk comes first
	Whole    bool     // to the end of the chunk
	Opened   uint64   // TSC when the chunk was begun
	Complete uint64   // TSC when it was completed, or now for a part of an open one
}

// GiveBack ends the work at a lease for now.
func (l *Lease) GiveBack() {
	l.ring.lock()
	l.held = false
	l.ring.holders--
	l.ring.mu.Unlock()
}

// ready tells whether there is something to take.
// The holder calls it, or somebody under
// ring.mu for a lease that nobody holds: at and done stay as they are meanwhile.
func (l *Lease) ready(x Extent) bool {
	if l.ring.slotted() {
		return l.readySlots(x)
	}
	if l.at < l.end && l.ring.completed(l.at) {
		return true
	}
	if x == Completed || !l.ring.opened(l.at) || l.at == l.end || !l.ring.placed(l.at) {
		return false
	}
	return l.ring.u64(layout.Buf).Load() > l.ring.base(l.at)+8*l.done
}

// Take returns the next words: the rest of a completed chunk or, where that counts, what the
// chunk being written holds so far. ok is false if there are none. Until
// Release the words stay as they are. Only the holder of the lease calls it.
func (l *Lease) Take(x Extent) (c Chunk, ok bool) {
	if l.at == l.end {
		return Chunk{}, false
	}
	r := l.ring
	if r.slotted() {
		return l.takeSlots(x)
	}
	ctl := chunkCtl(l.at)
	if r.completed(l.at) {
		used := r.u64(ctl+layout.ChunkUsed).Load() / 8
		return Chunk{r.words(l.at, l.done, used), l.at, l.done, true, r.u64(ctl + layout.ChunkOpened).Load(), r.u64(ctl + layout.ChunkComplete).Load()}, true
	}
	if x == Completed {
		return Chunk{}, false
	}
	words := l.open()
	if x == Committed && len(words) > 0 {
		words = words[:r.committed(words)]
	}
	return Chunk{words, l.at, l.done, false, r.u64(ctl + layout.ChunkOpened).Load(), sys.TSC()}, len(words) > 0
}

// open is the words of the open chunk that were not taken yet, none if it was completed meanwhile.
// Head is looked at behind Buf: it says that what was read there is of this chunk.
func (l *Lease) open() []uint64 {
	r := l.ring
	buf := r.u64(layout.Buf).Load()
	if !r.placed(l.at) {
		return nil // the producer waits for room
	}
	base, size := r.base(l.at), r.u64(layout.ChunkBytes).Load()
	if r.u64(layout.Head).Load() != l.at || buf <= base+8*l.done || buf > base+size {
		return nil // completed meanwhile, or nothing new
	}
	return r.words(l.at, l.done, (buf-base)/8)
}

// Release gives the words of a chunk back. The producer gets chunks in their
// order, and when all readers have released them: those of a later lease wait for those of an earlier one.
func (l *Lease) Release(c Chunk) {
	if l.ring.slotted() {
		l.releaseSlots(c)
		return
	}
	if !c.Whole {
		l.done += uint64(len(c.Words))
		return
	}
	r := l.ring
	r.lock()
	l.at++
	l.done = 0
	tail := r.released()
	r.free(tail)
	r.grow()
	r.mu.Unlock()
	r.feed(tail)
}

// feed wakes a producer that sleeps for want of room, if there is enough; chunks before tail are its again.
func (r *Ring) feed(tail uint64) {
	if r.u32(layout.Starved).Load() != 0 && r.roomy(tail) && r.u32(layout.Starved).Swap(0) != 0 {
		r.hooks.wake((*uint32)(unsafe.Pointer(&r.slot[layout.Starved])), 1)
	}
}

// roomy tells whether a producer that sleeps for want of room has enough of it to
// be woken: a quarter of the ring. Woken for each chunk, it would fill it in no
// time and go to sleep again, and take the processor from those who make room
// each time. It is woken for certain: the chunks that fill the ring are complete,
// so they are all released.
func (r *Ring) roomy(tail uint64) bool {
	chunks := r.u64(layout.Chunks).Load()
	return chunks-(r.u64(layout.Head).Load()-tail) >= chunks/4
}

// Crowded tells whether the producer will soon wait for room, or overwrite records: less than a quarter is left.
func (r *Ring) Crowded() bool { return r.crowded() }

// isCrowded is crowded for who holds no lease: the slot of a ring that was retired may be gone.
func (r *Ring) isCrowded() bool {
	r.lock()
	defer r.mu.Unlock()
	return !r.retired && r.crowded()
}

// crowded is Crowded for who holds a lease, or knows that the thread is there.
func (r *Ring) crowded() bool {
	chunks := r.u64(layout.Chunks).Load()
	return (r.u64(layout.Head).Load()-r.u64(layout.Tail).Load())*4 >= chunks*3
}

// retire ends the ring if everything that the producer wrote has been taken, and
// tells whether it did. From then on nothing looks at the slot through this ring:
// another thread may have it, and a processing thread that was slow still finds
// the ring in its list.
func (r *Ring) retire() bool {
	r.lock()
	defer r.mu.Unlock()
	if !r.retired && r.drained() {
		r.retired, r.last = true, r.waited()
		return true
	}
	return false
}

// drained tells whether everything that the producer wrote has been taken. r.mu is
// held.
func (r *Ring) drained() bool {
	if r.slotted() {
		return r.drainedSlots()
	}
	for _, rd := range r.readers {
		if !rd.drained() {
			return false
		}
	}
	return true
}

// chunkCtl is where a chunk's control entry lies in the slot.
func chunkCtl(n uint64) int { return layout.ChunkCtl + int(n%layout.MaxChunks)*layout.ChunkCtlSize }

// placed tells whether a chunk that was not released yet has its memory: the
// control entry of one that the producer has no room for is an older chunk's.
func (r *Ring) placed(n uint64) bool {
	return n-r.u64(layout.Tail).Load() < r.u64(layout.Chunks).Load()
}

// base is the target address of a chunk that has its memory.
//
// The address is as the target sees it; words has the tracer's.
func (r *Ring) base(n uint64) uint64 { return r.u64(chunkCtl(n) + layout.ChunkBase).Load() }

// words are words [from, to) of a chunk in the tracer's mapping.
func (r *Ring) words(n, from, to uint64) []uint64 {
	off := layout.RingOff + r.base(n) - r.u64(layout.RingBase).Load()
	return unsafe.Slice((*uint64)(unsafe.Pointer(&r.slot[off])), to)[from:]
}

// Touched is how many bytes of the ring have ever been written.
func (r *Ring) Touched() uint64 {
	return min(r.u64(layout.Head).Load()+1, r.u64(layout.Chunks).Load()) * r.u64(layout.ChunkBytes).Load()
}

// Lossy tells whether the producer overwrites what it has no room for. What its open chunk holds may then
// be replaced until the chunk is complete.
func (r *Ring) Lossy() bool { return r.buffering == layout.BufferLossy }

// Lost tells how often the producer of a lossy ring has overwritten words, and how many.
func (r *Ring) Lost() (times, words uint64) {
	return r.u64(layout.Lost).Load(), r.u64(layout.LostWords).Load()
}

// Waiting is how many chunks wait to be consumed, of those that the ring has.
func (r *Ring) Waiting() (chunks, of uint64) {
	return r.u64(layout.Head).Load() - r.u64(layout.Tail).Load(), r.u64(layout.Chunks).Load()
}

// Waits tells how often and for how many TSC ticks the producer waited.
// They are the paper's atwt, the time that application threads waited for a free
// buffer (Alleria, section 5.3).
func (r *Ring) Waits() (times, ticks uint64) {
	return r.u64(layout.Waits).Load(), r.u64(layout.WaitTSC).Load()
}

// Bell is where processing threads sleep until a chunk is complete.
type Bell struct {
	control []byte
	hooks   *hooks // as a Ring's
}

// NewBell returns the bell in the page that all traced processes share.
func NewBell(page []byte) *Bell { return &Bell{control: page} }

// u32 is a word of that page, shared with the target.
func (b *Bell) u32(off int) *atomic.Uint32 {
	b.hooks.step()
	return (*atomic.Uint32)(unsafe.Pointer(&b.control[off]))
}

// wake wakes who waits for the bell.
func (b *Bell) wake() { b.hooks.wake(b.word(), 1<<20) }

// wait sleeps until the bell is no longer what it was, or somebody wakes, for at most d.
func (b *Bell) wait(was uint32, d time.Duration) { b.hooks.wait(b.word(), was, d) }

// word is the futex. The kernel wants its plain address.
func (b *Bell) word() *uint32 { return (*uint32)(unsafe.Pointer(&b.control[layout.ConsumerBell])) }
