// Package live runs analyses beside the application: over the words of its rings, as they are
// consumed, with nothing recorded in between.
//
// In a nutshell: a Process has some analyses and hands out a Thread for each application thread, whose
// Consume takes the words of its ring in order. It takes them apart into stretches of whole executions and
// single ones, as a profile's reader does, and hands these to one stream.Sink for each analysis: the very ones that
// recorded profiles feed. When a thread ends, its sinks are added up; at the end each analysis gives
// a Result, which is written beside the profile's tables (Write) and read back by the commands (Read).
//
// Exactly what a profile of the same run would have given comes out, but where only bursts were recorded: then each thread's
// counts are multiplied by what its records stand for.
//
// Callers: internal/session (rings, threads' beginnings and ends) and the commands that print results. A Thread's Consume is
// called by one goroutine at a time, in order; different threads' at once. Process.mu guards the list of threads and is
// held while sinks are added up. Blocks, functions and images are asked of the abp.Source, which has locks of its own
// and is asked once a block.
//
// An analysis that panics is over: the others go on, and the end names it with the place in its code. One that is slow makes
// the application wait for room in its ring, which changes nothing but the time: how long each took is told.
//
// The package starts no goroutine and knows no ring.
package live
