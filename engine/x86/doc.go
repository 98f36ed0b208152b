// Package x86 decodes x86-64 code and says what instructions do to memory.
//
// Zydis does the decoding; decode.c turns what it says into one compact
// structure an instruction, a whole basic block in one call, because a call
// from Go into C costs as much as decoding does. Operands (in access.go) derives from that
// structure which accesses an instruction makes, in which order, as PROFILE
// counts them: a read-modify-write is a load and a store, a prefetch is
// nothing, a string instruction with a repeat prefix is as many as it iterates.
//
// The translator and the single-step engine both use it; neither knows the
// instruction set otherwise. The package holds no state and may be called from
// any goroutine.
//
// What it does not know: which registers are dead, what a block looks like when it is
// translated, and what is recorded. Those are the engine's questions; this package gives
// the facts that they are answered from. Where Zydis's tables are not what processors do
// (decode.c: string pointers, flags called undefined, syscall), they are put right here.
//
// cmd/alleria counts the code of programs with it, without running them.
package x86
