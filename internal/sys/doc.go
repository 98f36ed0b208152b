// Package sys is the single door to the kernel: ptrace, wait, memfd, futex,
// /proc. Nothing else of ours imports golang.org/x/sys/unix for these.
//
// It adds names and errors to the raw calls and decides nothing. ptrace
// requests must come from the thread that seized the tracee; the caller locks
// its goroutine to a thread (runtime.LockOSThread) before it starts. Waiting
// may happen in any thread of the process.
//
// The engine calls nearly all of it; cab uses the futexes, emit and the session the
// clock and the processor's leaves. There is no state in here and there are no
// locks. What a failed call means (a thread that was killed meanwhile gives ESRCH
// for every request, see Gone) is for the caller to know. Only what is used is
// wrapped: this is no library of system calls.
package sys
