// Package calls finds out who called whom: call trees, call graphs and counts by function,
// of the executions of blocks that a profile holds.
//
// In a nutshell: a Tracker follows one thread with a shadow stack. What blocks do with it
// (call, return, go on in another function) is worked out once a block, from its bytes; most
// executions then are a comparison and an addition to the current node of the tree. Where
// the recorder noted addresses, a call's or return's own access to the stack says which
// frame it is about, so that longjmp, exceptions, signal handlers and other stacks come out
// right; else return addresses decide. Build follows all threads of a process and merges
// their trees.
//
// A loop in C (follow_amd64.c) goes over whole executions: those that stay in their function are
// two comparisons and an addition of eight sums at once, calls, returns and jumps push and pop frames
// where they are of the usual kind. What is not (a frame or a node that is to be made, stacks that are
// left, times) it leaves to Go as it finds it, execution by execution. Plans of blocks for it are all threads' (planner.followed); nodes, frames
// and where children were found last are a Tracker's. Observers, and queries by time, are told of each execution by Go alone.
//
// What counts as a call: a call instruction, and whatever else goes to a function's first
// instruction: a jump (a tail call, a stub), a signal's delivery. The function that was
// jumped to is below the one that jumped, and returns for both. Going on in the middle of
// a function (a part that the compiler moved away, a thread's first block) is no call.
// Each instruction counts for the function that its block names, as in the report: sums of
// nodes by function are the report's.
//
// Where a profile begins within calls, or the recorder left code out, callers are not known:
// what they called is at the tree's root. Functions that were called deeper than MaxDepth
// are gathered at that depth. Where only bursts were recorded each has a tree of its own, which is
// added to that of all, times what the burst stands for, when it ends.
//
// Callers: the commands analyze and report, and whoever converts a tree into others'
// formats. A Tracker belongs to one goroutine; Build has one for each thread and merges them
// under no lock, after they are done. A Tree is immutable once made. The package draws
// nothing, opens no profile, and asks no symbols beyond the profile's tables.
package calls
