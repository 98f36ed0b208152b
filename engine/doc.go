// Package engine runs unmodified x86-64 Linux programs in a code cache and tells
// its client what they execute. It is an out-of-process dynamic binary translator:
// the tracer decodes and translates, the target executes, and both meet in shared
// memory.
//
// # The life of a thread, step by step
//
// The target is started by a launcher stage, a process that shares the tracer's memory
// until it executes the target (package launch), seized, and
// stopped at its execve. The shared file with thread slots, control area and code
// cache is mapped into it by system calls that the tracer makes in its name
// (package mapping). A thread is then entered (enter.go): its registers are those of the
// application but for RIP, which is the translation's address, and the base of gs,
// which is its slot's.
//
// From there it runs by itself. A group of translated blocks (package translate) holds
// the application's instructions as they were (relocate.go), with instrumentation in
// front of them and branches that lead to other
// translations, written by an assembler (engine/asm). Direct branches are patched once their target is
// translated (package codecache); indirect ones and returns jump through a table in the slot
// to a target check, which compares the address. What has no translation yet ends in a
// dispatch: a routine (codecache/routines_amd64.S) saves the registers, writes the dispatch into
// the slot and waits for the answer there, without a stop (dispatch.go). Which of the two
// sides spins and which sleeps is a matter of where the other one is (package handover).
//
// The kernel stops a thread for signals, children, execve and what else it has to
// report (stop.go). A signal may find it anywhere in the cache; its state is then
// turned into the application's (signal.go) at that point if it can be, else after
// stepping to the next point where it can. What the application sees (signal frames,
// registers, addresses on its stack) never shows the cache.
//
// The client changes a process's mode (mode.go): native, or one of the variants
// plain, counting and recording, which have translations and tables of their own.
// A thread changes over at its next dispatch or by being stopped.
//
// Calls of functions are captured on request (package probe): by code, in the cache and natively, and by the
// tracer where code cannot.
//
// # Who does what
//
// The goroutine that called Run is locked to its thread, makes all ptrace requests
// and all calls of the client, and owns every field of Tracer, Process and Thread,
// but for those that name another guard. A thread of C's waits for the kernel's
// reports and passes them on (sys.Waiter): the Go runtime knows nothing of it, and has
// nothing to look after while the tracer spins (package handover) or sleeps.
//
// With the target there are no locks. Words of a slot have one writer each, named in
// internal/layout, and are accessed by atomics. Tables only grow while threads run;
// code is written before whatever leads to it, and a live branch is patched by one
// aligned store. Where more than that has to change (invalidate.go), threads are
// made to stand still first.
//
// # Its rooms
//
// What a process consists of lies in packages that own it: translations (translate, codecache), what is watched by address
// (probe), the application's code (appcode), shared memory and rings (shm), budgets (budget), threads as ptrace sees them
// (tracee), what their system calls mean (syscalls), what a thread's state is in the middle of a block (recovery), and what is kept for the next process of a program (reuse). This one has the processes and threads, and says what stops,
// signals and system calls mean for them.
//
// # What it promises
//
// A target is never changed in what it does. What the translator cannot do (a fault
// in its own state, a full cache) is an error of Run with the target ended, never a
// target that runs on wrongly. The one exception is a program that cannot be traced
// at all: it runs on natively, and Status says so.
//
// # What it does not do
//
// It knows neither configurations nor profiles, reads no symbols, and does not
// decide what is recorded: the client's Plan does. 32-bit code runs natively.
// Another engine, engine/step, does the same by single steps and serves as the
// oracle; engine/difftest compares the two.
package engine
