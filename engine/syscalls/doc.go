// Package syscalls knows what system calls mean for a traced process: which of them translated code only makes, tells of, or asks
// the tracer for; who hears of them; which the tracer answers or makes in a way of its own; and what they do to the address space.
//
// # How
//
// Calls is a process's part: the table that translated code looks calls up in (table.go), what calls have done to its memory
// (memory.go), its limit of address space, which ours counts against (limits.go), what it may still call (filters.go), and whether it has restartable
// sequences (sequences.go).
// Thread is a thread's: the call that it is within (thread.go), which calls it has refused (dispatch.go), and flags that were taken
// out of one (creates.go). A thread that asks is stopped with the application's registers in front of its syscall instruction; it makes the
// call from the cache's own, so that a restart by the kernel finds one two bytes before where the thread is.
//
// Methods do what the call needs and return Next, what is to happen to the thread: letting threads go on is the engine's.
//
// # Who calls it
//
// The engine, where a thread asks, has told, or is stopped at a call: on the tracer's goroutine, which owns all that is here. Only the
// table is read by others: by threads in the cache, a byte at a time.
//
// # What it does not do
//
// It returns from no signal's handler, answers no ptrace and no arch_prctl of gs, and rebuilds no registers: these are about where a
// thread is in the cache. What the engine keeps of processes that calls create is not here either.
package syscalls
