// Package calls is what a profile says of intercepted calls: types and signatures, calls as they
// are stored, and their values.
//
// In a nutshell: a Table has the types; a Signature says of one function which values a capture
// has, in which order, and of which types. A Record is one entry or return of a function, with
// words that only a Signature can read (Values). A Block is many Records of one thread, packed.
// A Pairer makes Calls of Records, each with its entry and its return or how else it was left.
//
// The meaning of the words repeats what internal/capture says, for the same reason for which package abp
// repeats the raw records: a change in what engine and interceptors share must not change what files
// mean. Decoders take anything and return errors; nothing they read is trusted.
//
// Nothing here does input or output, and nothing is shared: a Table and its Signatures are
// immutable once made, everything else belongs to one goroutine.
package calls

import "errors"

// ErrCorrupt: bytes or words are not what a recorder writes.
var ErrCorrupt = errors.New("captured calls are corrupt")
