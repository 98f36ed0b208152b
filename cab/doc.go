// Package cab is the channel from application threads to processing threads:
// Cache-friendly Asymmetric Buffering (CAB paper, section 3.1).
//
// Each application thread has one Ring, a ring of chunks in memory that it
// shares with the tracer. The producer, translated code, sees one continuous
// buffer and never locks; once a chunk is full it publishes the chunk's number
// (exhaustive mode) and goes on with the next, or waits, first spinning, then
// in a futex, if the consumer has not released it yet. The consumer takes whole
// chunks, so the two never touch the same cache lines at a time, and the chunks
// of a ring in use stay within the second-level cache.
//
// by leases: stretches of half a ring's chunks. While one thread works at the
// earlier half another may do the later one, so that a single application
// thread can keep several busy; the producer gets chunks back in order. What is
// waiting in a ring's open chunk is drained after at most the pool's interval
// as well.
//
// Locking: a Ring's mutex guards its list of leases and is held for a few
// instructions; a Lease's cursor belongs to who holds it;
// the pool's list of rings is guarded by a mutex that no one holds while
// consuming. The package knows nothing of what the words mean but where
// internal/layout puts the ring's control words.
package cab
