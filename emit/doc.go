// Package emit writes profiles: it turns the raw words of the rings into the
// files that package abp reads.
//
// In a nutshell: a Run is a directory, a ProcessWriter one process's part of
// it, a Sink what takes one processing thread's records of it: a Stream, which writes, a Dropper, which counts, or a
// Sampler, which passes some on. A Stream keeps a frame open
// for each application thread whose chunks it gets, encodes chunk after chunk
// into it, and writes it when it is large, when it is flushed, or when it
// notices that the thread's chunks went on to another Stream. Before a frame is
// written, the blocks that it refers to and that no file defines yet are
// written to the main profile.
//
// internal/session calls it: images, functions, windows and the family of
// processes from the tracer's goroutine, a Sink's methods from processing
// threads (package cab).
//
// Guards: ProcessWriter.mu guards the main profile, its pending rows and the
// list of threads; it is taken for a frame only while blocks are missing. A
// Stream belongs to one goroutine. What must survive from chunk to chunk of one
// application thread lies in its ThreadState, which belongs to whoever consumes
// that thread; the ring that hands the thread over orders the accesses. Block
// facts are immutable and published by atomics; blockTable.mu, taken last of all,
// is held while what is kept of one is entered. A converter belongs to its stream,
// the ProcessWriter's to whoever holds its mu.
//
// The package does not know where words come from, and draws no conclusions
// from them beyond counts.
//
// Order of locks, outermost first: ThreadState.mu, Stream.mu, ProcessWriter.mu; Run.mu is
// taken alone, or before ProcessWriter.mu when a run is finished. Writing happens under
// the first three, which is what keeps a thread's frames in order across streams; it
// holds up only streams that have a frame of the same thread to write.
//
// Errors: the first one of a stream's output ends it and is returned once, as an OutputError; what comes later is
// encoded for its counts and its place among the thread's frames, and dropped, so that a full disk never holds the target up and
// what is lost is known. What was written stays readable.
package emit
