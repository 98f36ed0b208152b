// Package layout is the contract between the code that runs in the target
// and the code that runs in the tracer: where the words of a thread's shared
// area lie, and of the control area that all threads share.
//
// In a nutshell: every application thread owns a slot of shared memory that
// its gs base points at. A slot holds the thread area (spilled registers, ring
// pointers, the mailbox for dispatches to the tracer), the look-up table for
// indirect branches, the thread's block counters and its ring. Translated code
// writes raw records into the ring (what they mean is in records); cab hands whole chunks
// of them to processing threads.
//
// The engine writes this layout (translated code and the assembly routines in
// engine/codecache/routines_amd64.S, whose constants a test compares with these), cab
// reads it. Nothing here locks: each word names its one writer. The package
// does no input or output and imports nothing of ours.
package layout
