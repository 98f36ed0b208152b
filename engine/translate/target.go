package translate

import (
	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
)

// Target is the program that code is translated for.
type Target interface {
	// LookAround makes translations known that were taken over and whose image has been mapped meanwhile, or that were set aside
	// with the page of an address. It comes before a look whether the address has been translated, while nothing is being written, and tells
	// whether there may be any.
	LookAround(addr uint64) bool
	// Made tells whether code at addr was made by the program: it lies in no file that keeps it.
	Made(addr uint64) bool
	// Fetch reads up to n bytes of code at addr, as they are without breakpoints; fewer where executable
	// memory ends. The result is valid until the next call.
	Fetch(addr uint64, n int) []byte
	// Executable tells whether the application may execute at addr.
	Executable(addr uint64) bool
	// Changing tells whether code at addr may change unnoticed.
	Changing(addr uint64) bool
	// Changes tells whether any of the instructions, which follow each other, may.
	Changes(ins []x86.Insn) bool
	// Guarded tells whether code at addr cannot change now, but may at any time: with a fault, by which its blocks are forgotten.
	Guarded(addr uint64) bool
	// WithProbes is code at addr with the breakpoints in it.
	WithProbes(code []byte, addr uint64) []byte
	// Mapping is the bounds of the executable mapping that holds addr, 0 and 0 if none does.
	Mapping(addr uint64) (start, end uint64)
	// Splits tells whether a block must begin at addr because something watches it.
	Splits(addr uint64) bool
	// Point is what is to be done where a block at addr is entered, false if nothing is.
	Point(addr uint64) (pt Point, ok bool)
	// EntryFrom is what of a branch's entry at to counts.
	EntryFrom(from, to uint64) codecache.Entry
	// EntriesAround are the entries of watched functions that hold addr.
	EntriesAround(addr uint64) []uint64
	// Captures is what returns have to do with captured calls.
	Captures() Captures
	// Plan says what is recorded of the instructions of a block, and returns its image.
	Plan(plan int, ins []x86.Insn, want []Want) (image uint32)
	// Publish points threads' tables at target checks that were just written.
	Publish(checks []uint64, v codecache.Variant)
}

// Point is what code does where a function is entered.
type Point struct {
	Entry, Returns, Within *Counter
	Capture                *CapturedEntry
}

// Counter is a count in the control area.
type Counter struct {
	Index, Offset int
	Goroutine     bool // what returns is of a goroutine
}

// CapturedEntry is the capture of a function's entry.
type CapturedEntry struct {
	Number  uint32
	Vectors uint32 // registers that the dispatch needs, a bit each
	// Code is where the code is that captures it, 0: the tracer does; Saves writes what has to be done behind that.
	Code  uint64
	Saves func(a *asm.Writer)
}

// Captures says what returns have to do with captured calls.
type Captures struct {
	Returns bool         // look whether a captured call ends with them
	ByCode  bool         // code captures what it can
	Needs   CaptureNeeds // of the tracer, when it is asked
	// Goroutines is code of programs in Go whose calls are captured: goroutines return there, each on a stack of its own.
	Goroutines []CodeRange
	// Stacks: the program has several stacks a thread.
	Stacks bool
}

// CodeRange is code from Start to End.
type CodeRange struct{ Start, End uint64 }

// CaptureNeeds is which vector registers the tracer needs when code asks it, a bit each, and whether it
// needs the x87 stack.
type CaptureNeeds struct {
	Entry, Exit uint32
	X87         bool
}
