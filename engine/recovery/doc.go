// Package recovery rebuilds the application's state of a thread that was stopped in translated code.
//
// In a nutshell: a block of translated code borrows registers, and does some things ahead of its instructions: it takes what they will
// use off budgets, counts itself, writes its record. Where a thread stands in it (codecache.Position) says what of this there is. Registers
// gives back what was borrowed, TakeBack corrects what was done ahead for instructions that were not executed: refunded, counted as
// partial, the record cut. In the middle of an instruction's instrumentation there is no state to be rebuilt: Registers says so,
// and package engine, which calls it, steps the thread on to the next safe point.
//
// A Thread belongs to one thread of the target, which is stopped, or waits and writes nothing, while its methods are called; only the
// goroutine that owns the process calls them. They read the slot, the code cache's positions and, of repeated string instructions,
// the code; no system call is made but for that.
//
// It does not know what a thread in a routine waits for, or in which part of a system call it is: that is package engine's (recover.go).
package recovery
