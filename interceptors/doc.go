// Package interceptors knows the types of arguments and results: it makes capture programs for the engine
// out of what a configuration, debug information or prototypes say of a function.
//
// In a nutshell: types from wherever they come lie in a calls.Table. A Prototype says of a function of which
// types its parameters are and which of them are captured when. A Compiler gives each value its place by
// the calling convention (abi.go), follows the pointers in it (targets.go) and yields a Capture: the program,
// and the signature by which a reader takes the words of a call apart. Whatever the program captures, the signature
// says in the same order: both are made in one walk over the same slots.
//
// internal/session calls it, on one goroutine, when an image with intercepted functions is loaded. A Compiler
// belongs to one process image. The package does not read memory and knows no engine.
package interceptors
