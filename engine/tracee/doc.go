// Package tracee has threads as ptrace sees them: stopped or not, with signals that were taken out of the kernel's hands,
// and with what may be done with a thread that is stopped (a step, a system call, a signal).
//
// In a nutshell: Stops is what the kernel reports, for a whole run. Whoever waits for one thread puts aside what others
// report, and nothing is lost: Aside gives it back in its order. A Thread goes through a handful of requests: Halt stops it,
// Resume lets it go on, Step, Call and Inject have it execute something in between. A signal that comes meanwhile is held
// (Signal, held.go) until whoever owns the thread has it delivered; signals in quick succession are sent again
// later, so that the thread gets anywhere (storm.go). A stop that was asked for may come in front of a signal that the
// thread has raised itself: it is let on to that first (behind.go).
//
// Package engine calls it, and is asked little: what runs in the thread, and whose a trap is (Host). The kernel is behind
// an interface as well (Kernel), so that tests need no process.
//
// One goroutine, locked to its OS thread, makes all calls: ptrace's requests are bound to the thread that has
// attached. Nothing is locked.
//
// It knows neither the code cache nor what registers mean there, decides about no signal's delivery, and follows no children:
// that is package engine's.
package tracee
