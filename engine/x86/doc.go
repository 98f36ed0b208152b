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
package x86
