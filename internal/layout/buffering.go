package layout

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
