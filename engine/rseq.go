package engine

// A program that starts natively would register its restartable sequences with
// the kernel; once it runs in the cache, the answer is ENOSYS (trapSyscall),
// and a C library whose first thread was registered gives up over a second one that
// is not. So the first calls of a native start are watched until that one, and
// it is answered alike (start.go): C libraries make it before main, and don't make it for
// later threads if it was refused.
//
// The refused alternatives: a seccomp filter stays for good and is inherited;
// letting later calls through leaves sequences whose abort addresses lie in
// the application's code while the thread is in the cache.

// watchedCalls is how many calls of a native start are watched at most: more
// than a dynamic linker makes for a large program.
const watchedCalls = 4000

// sigCall is how a stop at a system call is reported (PTRACE_O_TRACESYSGOOD).
const sigCall = sigTrap | 0x80
