// Package step executes a program one instruction at a time and says what each
// instruction was, which memory it accessed with which values, and where it
// branched: the oracle against which the translator is tested.
//
// In a nutshell: the kernel single-steps the target's one thread. Before a step
// the instruction at RIP is decoded and its accesses are worked out from the
// registers as they are, vector and mask registers included; after it the
// values come from /proc/PID/mem. A string instruction with a repeat prefix
// traps at each iteration and is put together again. Nothing of the code cache,
// of the rings or of the recorded blocks takes part, so a mistake there cannot
// hide itself; what both engines share is the decoder and the table of
// accesses in engine/x86, which have tests of their own.
//
// The target is shown what the translator shows: rseq does not exist, xbegin
// takes its fallback, and the trap flag of the stepping is removed from where
// the program could see it. Programs that set the trap flag themselves are not
// for it.
//
// Callers: the differential tests. It is not an engine that users meet: it is
// slow, follows one thread, lets forked children go, and refuses programs that
// create threads. Run locks its goroutine to its thread, since the kernel
// accepts ptrace requests from one thread only; there is no other state.
//
// The price of being simple is a thousandth of the speed, or less: two stops of the kernel
// and a few system calls an instruction. Values are read from memory before or after the
// step, which is right because nothing else runs in the process meanwhile; memory that
// other processes share with it is beyond it.
//
// What it does not do: windows, profiles, threads, and anything about symbols.
package step
