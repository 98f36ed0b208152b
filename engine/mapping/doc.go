// Package mapping puts our memory into a traced process and takes it out again: the control area with threads' slots, the code cache's regions, the
// doorbell, and regions for jumps near to functions; all of them shared with the tracer.
//
// # How
//
// The process maps them itself, by system calls that a stopped thread is had to make: it opens the shared files by the tracer's descriptors
// in /proc, or is sent them by a socket, maps their parts where they are out of everybody's way (places.go), and closes them. Where nothing forbids it all
// calls are made in a row, with one stop at their end; else one by one, with the neighbourhood tried if something is in the way. A forked child has its creator's
// mappings, which it unmaps before it executes anything; one that is closed to inspection is opened for that, and closed again (open.go).
//
// # Who calls it
//
// The engine, on the tracer's goroutine, while the thread is stopped and the only one that may execute where a system call is borrowed. There is no state but the
// arguments.
//
// # What it does not do
//
// It keeps nothing of what is mapped: the shared memory (package shm), the cache and the points do. What limits of the address space say of our mappings is
// a matter of system calls (package syscalls).
package mapping

import (
	"alleria/engine/codecache"
	"alleria/engine/shm"
	"alleria/engine/tracee"
)

// Target is a process that our memory is mapped in.
type Target struct {
	PID      int
	Mem      tracee.Memory
	Shm      *shm.Memory
	Cache    *codecache.Cache
	Filtered bool // a filter of system calls may kill it for calls that are not needed
	NoBatch  bool // each call has stops of its own
}

// Where is where a new process's one thread is stopped.
type Where uint8

const (
	Executing Where = iota // in execve, before a program's first instruction
	Forked                 // behind the system call that made it, with the application's registers
)
