package layout

import "sync/atomic"

// Ways in which the producer of a ring and its consumers exchange words: the values of Buffering.
//
// All of them fill chunks, one after the other. They differ in what tells that words are there, and that
// there is room.
const (
	// BufferCAB: counters of chunks, Head and Tail.
	BufferCAB = iota
	// BufferLossy: the same, and a producer that finds no room goes on at Floor.
	BufferLossy
	// BufferNWay: each chunk has a flag, ChunkUsed: 0 while it is the producer's, else how many bytes it
	// was filled with. Neither side looks at the other's counter.
	BufferNWay
	// BufferSlots: each word of the ring is a flag as well. The producer looks at each record whether the slot
	// behind its last word is free, and writes the record's first word last; the consumer takes records
	// until a first word is not there, and makes all words SlotClear again.
	BufferSlots
	// BufferBatched: likewise, but the producer looks far ahead once a batch.
	BufferBatched
)

// Words of rings with slots. Neither is the first word of a record or a mark. SlotClear may be a value that was
// recorded, with a probability of one in 2^64 a word; then, if the ring is full at that very word, what is
// not consumed yet is overwritten.
const (
	SlotClear = 0xf7a3c59d_1e6b8f42
	SlotEnd   = 0xf65b1d37_84c2e9a6 // nothing more comes in this chunk
)

// A chunk of a ring with slots ends in a guard that is never free, longer than a record and its mark: who looks
// whether a slot is free finds the chunk's end by the same look. A chunk is left where the largest mark
// would not fit in front of it.
const (
	SlotGuard = MaxRecordWords*8 + 64
	SlotLast  = SlotGuard + RingSlack // that far before the chunk's end lies Last
	SlotBatch = 16 << 10              // bytes that the producer looks ahead
)

// Slotted tells the ways of exchange in which words are flags.
func Slotted(buffering uint64) bool { return buffering >= BufferSlots }

// Filled tells how many of the words at the start of words are records that stay as they are, in a chunk of
// a ring with slots, up to about most words. ended: behind them the chunk has been left. The
// latest record is not settled (see Settled) unless the producer has ended: all.
//
// The tracer, when it cuts the latest record, takes its first word away before it writes behind it: so the first
// word is looked at again when there is one behind it.
func (t *Blocks) Filled(words []uint64, most int, all bool) (n int, ended bool) {
	for n < len(words) && n < most {
		first := load(words, n)
		if first == SlotClear {
			return n, false
		}
		if first == SlotEnd {
			return n, true
		}
		size, mark := t.recordWords(words[n:])
		if size == 0 { // for the reader to complain about
			size, mark = 1, true
		}
		if n+size >= len(words) {
			return n, false
		}
		if !mark && !all && (load(words, n+size) == SlotClear || load(words, n) != first) {
			return n, false
		}
		n += size
	}
	return n, false
}

// load reads a word that the producer may be writing.
func load(words []uint64, at int) uint64 { return atomic.LoadUint64(&words[at]) }
