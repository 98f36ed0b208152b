// Package strides finds out how instructions walk through memory: by which distance each access of an instruction lies from
// the one before it of the same instruction and thread.
//
// In a nutshell: a Counter is the stream.Sink of one thread. It keeps, for each operand of each instruction, the latest address, the range of
// addresses, and how often each stride came, of up to 64 different ones; a run of one stride is counted without a look at the table.
// Whole executions of plain accesses are taken eight accesses at a time where the processor can (lanes.Tracks). What
// blocks an instruction is part of does not matter: all of them share what is known of it. Totals adds threads up, and a Result lists operands by how often
// they were executed, with the pattern that their strides make.
//
// Callers: the command on profiles (Count) and analysis/live. A Counter belongs to one goroutine, and so do Totals; there are no locks. It follows
// addresses alone: whose pointers they are, and which loop they are in, is not its business.
package strides
