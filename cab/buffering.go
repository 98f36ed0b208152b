package cab

import (
	"fmt"
	"slices"
	"strings"

	"alleria/internal/layout"
)

// Buffering is a way in which application threads and processing threads exchange words: cache-friendly asymmetric buffering,
// or one of its rivals, each with the same rings, leases and sinks.
type Buffering int

// The ways.
const (
	// CAB counts the chunks that are complete and those that are free, and grows.
	CAB Buffering = layout.BufferCAB
	// NWay: a fixed number of buffers, each with a flag that says whose it is.
	NWay Buffering = layout.BufferNWay
	// FastForward: each word says whether it is free. The producer looks at one for each
	// record, the consumer at each record's first, and keeps its distance.
	FastForward Buffering = layout.BufferSlots
	// Batched: as FastForward, but the producer looks a batch ahead, halving it where that is not free (as in B-Queue).
	Batched Buffering = layout.BufferBatched
)

// names of the ways, as users write them.
func (b Buffering) names() map[string]Buffering {
	return map[string]Buffering{"cab": CAB, "nway": NWay, "fastforward": FastForward, "batched": Batched}
}

// String is the way's name.
func (b Buffering) String() string {
	for name, way := range b.names() {
		if way == b {
			return name
		}
	}
	return fmt.Sprint(int(b))
}

// Set makes b the way of that name.
func (b *Buffering) Set(name string) error {
	way, ok := b.names()[name]
	if !ok {
		return fmt.Errorf("%q is none of %s", name, strings.Join(Bufferings(), ", "))
	}
	*b = way
	return nil
}

// Type is what a value is called in help texts.
func (b *Buffering) Type() string { return "way" }

// Bufferings is the ways' names.
func Bufferings() []string {
	return slices.SortedFunc(func(yield func(string) bool) {
		for name := range Buffering(0).names() {
			if !yield(name) {
				return
			}
		}
	}, func(a, b string) int { return int(Buffering(0).names()[a] - Buffering(0).names()[b]) })
}

// completed tells whether the producer has completed a chunk, one that was not released yet or is the next.
func (r *Ring) completed(n uint64) bool {
	if r.buffering == layout.BufferNWay {
		// Until it was passed to the producer, the entry is of an older chunk.
		return r.placed(n) && r.u64(chunkCtl(n)+layout.ChunkUsed).Load() != 0
	}
	return n < r.u64(layout.Head).Load()
}

// opened tells whether a chunk is the one that the producer writes.
func (r *Ring) opened(n uint64) bool { return n == r.u64(layout.Head).Load() }
