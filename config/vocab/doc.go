// Package vocab knows the names that a window configuration may use of instructions and
// registers, and finds the one that a misspelt name was meant to be.
//
// The lists are the decoder's (Zydis 4, which took them from XED's tables): categories, extensions, ISA
// sets, the operands of forms, registers. Mnemonics are not listed. Package config asks while it reads a file;
// commands ask for the nearest of names of any kind.
//
// Everything here is a pure function. It reports nothing itself: what a name's fault means is config's to say.
package vocab
