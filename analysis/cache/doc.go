// Package cache simulates a hierarchy of caches and translation look-aside buffers over the
// accesses of a profile.
//
// In a nutshell: a Cache is sets of tags in the order that its policy evicts by. A Hierarchy
// is the first-level caches for instructions and data, further levels behind both, and the
// buffers. A Simulator takes the executions of a thread (it is a stream.Sink): what a block
// fetches and accesses is worked out once a block, so that most accesses are an addition, a
// shift and a comparison with the most recent line of a set. Misses are counted by
// instruction, and summed up by function afterwards, by line of source by whoever knows lines.
//
// What counts as what: an access is one reference, however many lines it touches, and one
// miss at a level if any of these lines is not there; then the next level is referred to in
// the same way. A load and a store of one instruction are two references (cachegrind takes
// them for one load; misses are the same, since the store hits). Stores allocate. An
// instruction refers to its lines when it is executed. Nothing is prefetched, levels neither
// include nor exclude each other, and addresses are virtual: a simulated cache behaves as
// cachegrind's. With Options.Inclusion they do: then each line of an access is brought in by
// itself, and the access is a miss at a level if one of its lines is.
//
// Callers: the command analyze cache, and analyses beside the application. A Simulator belongs to one
// goroutine and has one thread, with caches of its own: as if each ran on a processor of its own, and none shared
// memory. Classes divides a simulation by sets between goroutines. Totals adds simulators up. On request threads go through the same caches one after the other.
// In neither case the order of time between threads matters. With Options.SharedLL it does: the last level is all threads', who come
// as they came (Ordered beside the application). Stores take no line away from other threads: that is analysis/coherence. The package reads no files and
// symbolises nothing.
package cache
