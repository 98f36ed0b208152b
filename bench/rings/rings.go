// Package rings measures queues by themselves: how many records a second one thread hands to another on a
// second processor.
//
// The queues are in C (rings.c), so that neither's loops are a matter of a compiler for Go: cache-friendly
// asymmetric buffering as the engine has it and as it was published, and its rivals. Records are
// words. What is measured is the time from the first record to when the last one was consumed.
//
// The benchmark calls it; runs share nothing.
package rings

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Queue is one kind of queue.
type Queue struct {
	Name  string
	About string
	kind  int
}

// Queues lists the kinds. The first is what others are compared with.
func Queues() []Queue {
	return []Queue{
		{"cab", "chunks counted, a check a record", 0},
		{"cab-block", "chunks counted, a check for eight records, as recorded blocks have", 1},
		{"cab-behind-1", "as cab-block, the consumer a chunk behind the one that was completed last", 7},
		{"cab-behind-2", "as cab-block, two chunks behind it", 8},
		{"cab-published", "words cleared, a check a record, the consumer two chunks behind", 2},
		{"nway", "a flag a buffer, a check a record", 3},
		{"fastforward", "each slot a flag, distances of two and six lines", 4},
		{"batched", "each slot a flag, looked at by batches (as in B-Queue)", 5},
		{"cached-index", "two indices, told in batches, each side with a copy of the other's (as in MCRingBuffer)", 6},
	}
}

// Size is the size of a ring and of its chunks in bytes, powers of two.
type Size struct{ Ring, Chunk int }

// ErrLost: what was consumed is not what was produced.
var ErrLost = errors.New("records were lost")

// Measure hands so many records over, so often, and returns the median of the rates in records a second, with the
// lowest and the highest.
func (q Queue) Measure(s Size, records uint64, times, producer, consumer int) (median, low, high float64, err error) {
	records = records / 8 * 8
	var rates []float64
	for range times {
		seconds := handOver(q.kind, s.Ring/8, s.Chunk/8, records, producer, consumer)
		if seconds <= 0 {
			return 0, 0, 0, fmt.Errorf("%s: %w", q.Name, ErrLost)
		}
		rates = append(rates, float64(records)/seconds)
		time.Sleep(time.Millisecond) // others' turn
	}
	slices.Sort(rates)
	return rates[len(rates)/2], rates[0], rates[len(rates)-1], nil
}
