// Package abp is the binary profile: its container format and the library that
// reads it.
//
// In a nutshell: a run's directory holds one directory a process, with main.abp
// (header, tables, static blocks) and one sub-profile a processing thread. A
// file is a fixed header and then sections, each with a type, a length and a
// CRC-32C; a directory of the sections comes last and is rebuilt by a scan when
// the run was cut off. PROFILE sections hold frames: runs of block executions
// of one application thread, made small by package abp/frame. Open reads the
// headers, tables and frame indices; a Reader then streams executions (whole
// blocks), entries (Header, Ins, Mem, Branch …) or traces (an instruction with
// what hangs on it), and skips frames that a Filter rules out.
//
// Callers: emit writes with the Append functions and Writer; analysis, the
// commands and the C interface read. The words of a frame are the raw records
// of the rings, whose meaning is stated here again (record.go, block.go):
// readers must not depend on what the tracer shares with its target, and the
// file's meaning must not change when that does. A test of emit holds the two
// together.
//
// A Profile and its tables are immutable once Open has returned, so any number
// of Readers may run at the same time; a Reader itself belongs to one goroutine.
// File access is by positioned reads only, never by a shared offset. Memory
// mapping was refused: a file cut short while it is read would kill the reader.
//
// Beside frame there are two leaves for this package alone: internal/wire puts the fields of rows and headers into
// bytes and back, internal/linux names system calls and signals.
//
// The package does not symbolise, decode instructions or aggregate.
//
// What guards what: nothing needs a lock. Open reads all tables before it returns and
// nothing writes them afterwards; readers keep what they change (decoders, batches,
// the current entry) to themselves. A Writer is guarded by whoever owns its file, in
// emit a Stream's mutex.
//
// Trust: a file may be anything, so that every number out of it is checked before it
// sizes or indexes something. Checks happen once and early (Block.Prepare for what
// executions index by, frame's decoder for what a stream says), which is why the
// loops behind them look careless. An error wraps ErrCorrupt, ErrCutOff, ErrVersion
// or ErrNotProfile, and says which file, section and offset.
package abp
