// Package spin is how a thread waits for a few microseconds without a system call.
//
// In a nutshell: Pause executes a number of pause instructions and says when and on
// which processor that was. Whoever waits for another thread compares processors, since
// a thread that shares its own cannot run meanwhile, and looks at the time for gaps: a
// pause that took longer than any pause does is one in which something else had the
// processor.
//
// It is a package of its own because it is written in Go's assembler, which a package
// with C in it cannot have. C was refused: the runtime takes each call of it for a
// system call, and its monitor wakes all the time to look after a thread that makes
// millions of them. The engine's tracer is who calls it. It keeps no state.
package spin

// Unknown is a processor's number where nobody has said one.
const Unknown = ^uint32(0)

// Pause executes n pause instructions, at least one, and returns the time-stamp counter
// and the number of the processor that the thread is on.
//
// The number is the one that the kernel keeps in a segment's limit for its own getcpu:
// reading it takes a few nanoseconds, and cannot fault, unlike rdtscp and rdpid, which
// a virtual machine may lack.
func Pause(n int) (ticks uint64, cpu uint32)
