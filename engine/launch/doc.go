// Package launch starts programs that are to be traced: by way of a launcher stage, a process that shares
// the tracer's memory until it executes the program, and that gives the program what a shell
// had given the tracer: handlers, mask, limits and descriptors as they were before the Go runtime changed them.
//
// In a nutshell: Start begins the stage and returns while it waits at a pipe, so that the caller can
// attach to it; Proceed lets it execute the program; ExecError tells whether the kernel did. The stage
// itself is C without a library (stage.c): it runs on the tracer's memory, beside its threads.
//
// The tracer uses StartSeized; the single-step oracle and tests that compare with native runs use Start, so that
// the program has the same environment and the same stack under all of them. A Launched belongs to one
// goroutine; ExecError, which blocks, may be called from another. What happens behind execve is none of this package's business.
package launch
