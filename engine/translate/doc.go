// Package translate turns basic blocks of a program into instrumented code in the code cache.
//
// In a nutshell: Translate decodes the code at an address, and along its direct successors, and writes a group of
// fragments: the instructions as they were (relocate.go) with what variants do in front of them (flags.go counts, spend.go
// and counted.go take off budgets, place_code.go and capture_code.go count and capture entries, record*.go record), branches
// that lead to other translations (branch.go), and behind them the cold stubs that ask the tracer. Superblocks go on along
// branches while they record (superblock.go, side.go); code that may change compares itself with what it was
// translated from (changing.go). Symbols tells which addresses follow from others, so that they need not be recorded.
//
// A Translator belongs to one process and is used again for each group; only the goroutine that owns the process calls it.
// What it has to know of the program it asks through Target, which is the engine's process and, in tests, a few bytes. Where
// it writes, and how blocks are found and linked, is codecache's; instructions are written with asm.
//
// It neither runs nor stops anything: it makes no system calls, and knows no threads.
package translate
