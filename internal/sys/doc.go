// Package sys is the single door to the kernel: ptrace, wait, memfd, futex,
// /proc. Nothing else of ours imports golang.org/x/sys/unix for these.
//
// It adds names and errors to the raw calls and decides nothing. ptrace
// requests must come from the thread that seized the tracee; the caller locks
// its goroutine to a thread (runtime.LockOSThread) before it starts. Waiting
// may happen in any thread of the process.
package sys
