// Package asm is an assembler: it writes x86-64 machine code into a stretch of memory.
//
// In a nutshell: a Writer stands for the stretch, and has a method for each instruction that
// instrumentation, linking and the rewriting of application code need, and for nothing
// else. Registers are x86.Reg, memory operands are Mem, conditions Cond. A branch whose target is not
// known yet returns the Site of its displacement, which Link fills in later. Words of a thread's
// area lie at fixed distances from gs; methods whose name ends in Word take that distance.
//
// Methods write the one encoding that is named with them, always the same for the same arguments:
// code around them counts bytes, jumps over them by a constant, and patches what they have
// written. Where an encoding has a redundant byte the comment says so.
// Flags are left alone by all instructions but those that are named for what they do to flags.
//
// The translator calls it, some tens of instructions for each block of application code. So nothing here
// allocates, and nothing goes through an interface. Refused: Zydis's encoder, which is
// general, and has a structure filled in for each instruction; and a table of instructions
// that is interpreted, which is slower than code and checks less at compile time.
//
// A Writer is a value without locks and belongs to whoever made it. Running out of room is not
// an error of each method: it sets Full, and what follows is dropped; the caller looks once, at the
// end.
//
// It does not know what lies at an address, which registers are free, and what code is for.
package asm
