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
// Who consumes which chunks is settled by leases: stretches of half a ring's
// chunks. While one thread works at the earlier half another may do the later one, so that a single application
// thread can keep several busy; the producer gets chunks back in order. What is
// waiting in a ring's open chunk is drained after at most the pool's interval
// as well.
//
// One Pool serves the rings of all processes of a tree. Its processing threads can be suspended and resumed,
// and their idle time and the producers' waiting measured (Measure): how many should work is
// decided elsewhere (package tuner). One whose sink fails or panics gives up, and others take over.
//
// What differs from the paper: a full chunk is told by a counter and not by
// cleared words (Head and Tail where it has CLEAR), since clearing would write
// every line of the ring once more; the end of a chunk is checked once a block
// and not once a word; and one ring may have several consumers, one after the
// other by lease, where the paper's section 3.3 allows a single one.
//
// A ring may have several readers (Split), each with leases and a place of its own: chunks are free when all have released them.
//
// Rivals of CAB are there for comparison (Buffering): N-way buffers, and rings whose words say by themselves whether they are free, which one
// processing thread at a time consumes by a single lease.
//
// Locking: a Ring's mutex guards its list of leases and is held for a few
// instructions; a Lease's cursor belongs to who holds it;
// the pool's list of rings is guarded by a mutex that no one holds while
// consuming. A ring's may be taken while the pool's is held (Measure), not the other way round. The producer takes none:
// it is another process, which may be killed at any instruction.
//
// A lossy ring's producer never waits: without room for another chunk it goes on over its latest records, from the
// last word on that must stay (layout.Floor), and counts them. Its open chunk is not drained, since what is there
// may be replaced.
//
// The engine makes rings, internal/session the pool and its sinks (emit). The
// package knows nothing of what the words mean but where
// internal/layout puts the ring's control words.
package cab
