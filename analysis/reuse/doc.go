// Package reuse finds out how far apart accesses to the same memory are, and with it how
// caches of every size at once would have fared.
//
// In a nutshell: the reuse distance of a reference to a line is how many other lines have
// been used since the last one; a cache of n lines that evicts the line used longest ago
// misses exactly those with a distance of n or more. Exact counts the distances with a hash
// table (line to the time of its last use) and a set of times, bits with sums of groups of them, that has those at which
// a line was used last; times are renumbered when they run out. Sampled does so for lines
// whose hash is below a threshold, which is lowered so that no more than a fixed number of
// lines is followed (SHARDS: Waldspurger et al., FAST 2015), and multiplies.
//
// Beside the list of lines that were used last, which takes nearly all references, a long thread's distances are counted by a second goroutine (later).
//
// Callers: the command analyze reuse, and analyses beside the application. A Counter belongs to one goroutine. An access that
// touches two lines is a reference to each. Threads come one after the other.
package reuse
