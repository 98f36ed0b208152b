// Package coherence simulates private caches that are kept coherent, over the accesses of all threads in the order of time: what
// lines that several threads use cost, and whose code it is that takes them away.
//
// In a nutshell: each thread runs on a processor of its own with a private cache, or two, in front of a cache that all share. A store takes its line
// away from the others that have it (the protocol is MSI with an owner; that a line is exclusive and clean is not told apart). A processor that
// comes back for a line that was taken away has a coherence miss. It shares truly if, before the line goes again, it touches a byte that another
// processor has written since it last did so, and falsely otherwise (Dubois and others, "The detection and elimination of useless misses in
// multiprocessors", 1993): a line that holds both sides' bytes apart would have had no such miss. Each miss names the instruction that missed, the store that had
// taken the line, and the bytes that each of them uses.
//
// The order is that of the records' time stamps; without any, threads take turns by the chunks of their rings, thousands of records long, and most of what
// lines go back and forth is not seen: Result.Timed tells. Two blocks that ran at the same instant come one after the other as wholes.
//
// Callers: the command analyze coherence, and package live beside the program, where Ordered puts what comes of the threads in the order of time. A Simulator belongs to one goroutine, since all
// threads meet in it; Ordered's lock guards it there. It knows nothing of
// hardware's prefetching, of store buffers, of lines that several processes map, and takes virtual addresses.
package coherence
