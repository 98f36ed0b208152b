package frame

import "errors"

// Shape is what the encoding wants to know of a block: where its words come
// from. Encoder and decoder must be given the same. Small numbers, because the
// recorder keeps one for each of hundreds of thousands of blocks.
type Shape struct {
	Addr   uint64 // of the block
	Target uint64 // of a direct branch
	Words  int32  // words of one execution
	// Weight is what one execution adds to what Encoder.Weight returns: its recorded
	// instructions.
	Weight int32
	// StackWord is the index of a word that is the stack pointer for certain (what
	// a call stores at, what a return loads from); -1 none. Other words on the
	// stack are recognised by being near it.
	StackWord  int16
	TimeWord   int16 // index of the time stamp; -1 none
	BranchWord int16 // index of the branch's outcome; -1 none
	// Conditional: the outcome is 1 for Target and 0 for the other way; else it
	// is the address of the next block.
	Conditional bool
	// Dynamic: the encoder lists the block's executions for its caller.
	Dynamic bool
	// Values says which words are bytes that were read or written.
	Values []ValueWord
}

// ValueWord is a word of an execution that holds bytes read or written.
type ValueWord struct {
	Word int16 // which word of the execution
	// AddrWord is the index of the word that, with Offset, is the address of the
	// bytes. -1: the address is not that simple.
	AddrWord int16
	Offset   uint64
}

// MaxWords bounds Shape.Words.
// A word's number has to fit the twelve bits that an op has for it.
const MaxWords = 4096

// ErrMalformed: a body is not what an Encoder makes, or raw words are not what
// a ring holds.
var ErrMalformed = errors.New("malformed frame")
