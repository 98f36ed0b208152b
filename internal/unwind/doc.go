// Package unwind says who has called the function that a thread is in, from its registers and its stack.
//
// In a nutshell: Parse reads an image's .eh_frame, as compilers write it for exceptions; Table.Walk goes from one
// function to its caller by it. Rows of the table are worked out once an address: the same return addresses come again and
// again. Reading .eh_frame and working out a row are delve's (pkg/dwarf/frame, pkg/dwarf/op), which knows the format; what is
// here is what a row means for a thread's registers, and when to stop.
//
// Refused: frame pointers, which most code does not keep (and code that does has .eh_frame as well, but for Go's own linker); looking for whatever
// on the stack might be a return address, which finds those of calls that are long over.
//
// Its caller is internal/session/stacks. A Table belongs to one goroutine. The package reads no files and no memory: it is given both.
package unwind
