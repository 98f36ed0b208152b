// Package records owns raw words: what translated code and the tracer write into the rings, and the
// facts of blocks that give them their meaning.
//
// In a nutshell: a ring is a sequence of 64-bit words, in which executions of blocks alternate with
// marks. Block says of a block what does not change from one execution to the next, Blocks is the table
// of all of a process, kept packed, with a Row for each of what is wanted again and again; MarkLen is the one place that knows how long each mark is, and
// Iterator goes over a chunk's words, a record at a time, for whoever has no need to be faster than
// that (encoders have: they are in abp/frame, and emit's tests hold the two together). AccessKind and Reg
// are the vocabulary of operands and registers that decoding, instrumentation and the oracle share.
//
// The engine writes records, emit reads them. A further kind of record is a constant and a length here,
// and whoever makes or wants it. How chunks of words get from one side to the other is none of this package's
// business: where a ring lies is in layout, who reads it is cab's.
//
// Only one goroutine adds to Blocks; any number look up at the same time, without locks. An Iterator
// belongs to one goroutine. Nothing here does input or output but the mapping of memory for facts; it imports
// nothing of ours.
package records
