// Package capture is the contract between interceptors, which know types, and the engine,
// which captures: what is read at a call's entry and return, and the words that come of it.
//
// In a nutshell: a Program says for one function where its arguments and results lie and what
// their pointers lead to, in bytes and offsets; types and names are not part of it. The engine
// runs it at each call, by generated code as far as that can, else by Run, and writes a Call
// (call.go) into the thread's ring. interceptors makes Programs out of a configuration and
// values out of Calls.
//
// Both ways of running a Program write the same words: Run is the oracle for generated code.
// Reading a pointer's target never faults the application; what cannot be read is marked.
// The package holds no state and does no input or output of its own.
package capture
