package records

import "sync/atomic"

// Filled tells how many of the words at the start of words are records that stay as they are, in a chunk of
// a ring with slots, up to about most words. clear is what is in a slot that is free, end in the one behind the last. ended: behind them the chunk has been left. The
// latest record is not committed (see Committed) unless the producer has ended: all.
//
// The tracer, when it cuts the latest record, takes its first word away before it writes behind it: so the first
// word is looked at again when there is one behind it.
func (t *Blocks) Filled(words []uint64, clear, end uint64, most int, all bool) (n int, ended bool) {
	for n < len(words) && n < most {
		first := load(words, n)
		if first == clear {
			return n, false
		}
		if first == end {
			return n, true
		}
		size, mark := t.recordWords(words[n:])
		if size == 0 { // for the reader to complain about
			size, mark = 1, true
		}
		if n+size >= len(words) {
			return n, false
		}
		if !mark && !all && (load(words, n+size) == clear || load(words, n) != first) {
			return n, false
		}
		n += size
	}
	return n, false
}

// load reads a word that the producer may be writing.
func load(words []uint64, at int) uint64 { return atomic.LoadUint64(&words[at]) }
