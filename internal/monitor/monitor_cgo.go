// Package monitor has the Go runtime's monitor thread wake less often. Who imports it has that.
//
// In a nutshell: the monitor sleeps for 20 µs at a time, and longer only when nothing has happened for fifty times. In a virtual machine each time is some 10 µs
// of a processor, which the target could have had; and what it does then, taking the tracer's processor away from a thread that waits for the target, makes the
// runtime start other threads. How late a thread may be woken (its timer slack, 50 µs) is inherited by threads that it creates, and the monitor is created by the first thread
// before anything of Go runs: C that runs before that raises it. sys.OwnSlack gives a thread back what the program was started with, for those
// that create processes, and the first thread has it when Go's own code begins.
//
// A thread that waits for a processor of the runtime's waits up to half a millisecond longer for it, where all are held by threads that sleep in the kernel.
//
// Refused: waits without end that the runtime is not told of, behind whose back a collection would wait (sys.Waiter.WaitHere has an end); a longer time, which gains little more.
// There is no way to do so later, so that its switch (--engine punctual-monitor) is looked for in all of the command line.
package monitor

import "C"

import "alleria/internal/sys"

func init() { sys.OwnSlack() }
