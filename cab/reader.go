package cab

import (
	"sync/atomic"

	"alleria/internal/layout"
)

// Reader is one that reads all of a ring, at a place of its own. A ring has one, or several (Split): then its producer gets a
// chunk back when all of them have released it, and waits for the slowest alone. A reader's leases are as if there were no others.
type Reader struct {
	*Ring
	drops  atomic.Bool // what comes is thrown away, after a sink's error
	alone  bool        // one lease at a time
	leases []*Lease    // not yet wholly released, in order; guarded by Ring.mu
	next   uint64      // first chunk that no lease covers; guarded by Ring.mu
	// holders is how many leases are held, also used up: who holds one looks at the slot behind its last Release. Guarded by Ring.mu.
	holders int
}

// Split gives the ring that many readers and returns how many it has: a ring with slots has one, since who takes words makes them free. It is called
// before the ring is handed to a pool.
func (r *Ring) Split(readers int) int {
	if r.slotted() {
		readers = 1
	}
	r.readers = make([]*Reader, readers)
	for i := range r.readers {
		r.readers[i] = &Reader{Ring: r}
	}
	return readers
}

// Acquire returns a lease with something to take: one that was given back before it
// was used up, or a new one. It is nil if there is none for now. With open, what the
// chunk being written holds counts too.
//
// A lease is as long as half of the ring, so that a second thread works at the
// later half while the first still does the earlier.
func (r *Reader) Acquire(x Extent) *Lease {
	r.lock()
	defer r.mu.Unlock()
	if r.retired || r.kept && x != Everything && r.u32(layout.Starved).Load() == 0 {
		return nil
	}
	for _, l := range r.leases {
		if !l.held && l.ready(x) {
			return r.hold(l)
		}
	}
	if r.slotted() {
		return r.hold(r.acquireSlots(x))
	}
	if r.alone && len(r.leases) > 0 { // which is not used up
		return nil
	}
	if !r.completed(r.next) && (x == Completed || !r.opened(r.next)) {
		return nil
	}
	l := &Lease{ring: r, at: r.next, end: r.next + max(r.u64(layout.Chunks).Load()/2, 1)}
	if !l.ready(x) {
		return nil
	}
	r.next = l.end
	r.leases = append(r.leases, l)
	return r.hold(l)
}

// hold has a lease, which may be nil, held. Ring.mu is held.
func (r *Reader) hold(l *Lease) *Lease {
	if l != nil {
		l.held = true
		r.holders++
	}
	return l
}

// tail is the first chunk that the reader has not released. Ring.mu is held.
func (r *Reader) tail() uint64 {
	for len(r.leases) > 0 && r.leases[0].at == r.leases[0].end {
		r.leases = r.leases[1:]
	}
	if len(r.leases) > 0 {
		return r.leases[0].at
	}
	return r.next
}

// released is the first chunk that some reader has not released. r.mu is held.
func (r *Ring) released() uint64 {
	least := r.readers[0].tail()
	for _, rd := range r.readers[1:] {
		least = min(least, rd.tail())
	}
	return least
}

// drained tells whether the reader has taken everything that the producer wrote. Ring.mu is held.
func (r *Reader) drained() bool {
	if r.holders > 0 {
		return false
	}
	for _, l := range r.leases {
		if l.ready(Everything) {
			return false
		}
	}
	head := r.u64(layout.Head).Load()
	return head < r.next || head == r.next && r.placed(head) && r.u64(layout.Buf).Load() == r.base(head)
}
