// Command queues measures how many records a second queues hand over by themselves: cache-friendly asymmetric
// buffering and its rivals, two threads on two processors (bench/rings). "make bench" runs it.
//
// Like the benchmark of programs it decides nothing; a queue that loses records is its one failure.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"

	"alleria/bench/rings"
)

// ringSizes are the published one, smaller ones and larger ones: what a queue needs at least, and what it loses by too much. With fewer
// than five chunks the published queue comes to a stop: each side waits for two chunks of the other.
var ringSizes = [...]rings.Size{{Ring: 64 << 10, Chunk: 8 << 10}, {Ring: 512 << 10, Chunk: 64 << 10}, {Ring: 2 << 20, Chunk: 128 << 10}, {Ring: 4 << 20, Chunk: 256 << 10}, {Ring: 16 << 20, Chunk: 1 << 20}}

// ringRecords is how many words are handed over in each run: some hundredths of a second.
const ringRecords = 16 << 20

// main prints the table.
func main() {
	times := flag.Int("n", 5, "`number` of runs of each queue and size")
	flag.Parse()
	if err := ringTable(os.Stdout, max(*times, 1)); err != nil {
		fmt.Fprintln(os.Stderr, "queues:", err)
		os.Exit(1)
	}
}

// ringTable prints how many records a second queues hand over by themselves. Sizes and queues take turns, so that a noisy
// minute hits all.
func ringTable(w io.Writer, times int) error {
	fmt.Fprintf(w, "\nQueues by themselves, two threads on two of %d processors: millions of words a second (lowest to highest of %d)\n", runtime.NumCPU(), times)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(tw, "queue")
	for _, s := range ringSizes {
		fmt.Fprintf(tw, "\t%dK of %dK", s.Ring>>10, s.Chunk>>10)
	}
	fmt.Fprintln(tw, "\t")
	consumer := min(1, runtime.NumCPU()-1)
	for _, q := range rings.Queues() {
		fmt.Fprint(tw, q.Name)
		for _, s := range ringSizes {
			median, low, high, err := q.Measure(s, ringRecords, times, 0, consumer)
			if err != nil {
				return err
			}
			fmt.Fprintf(tw, "\t%.0f (%.0f–%.0f)", median/1e6, low/1e6, high/1e6)
		}
		fmt.Fprintln(tw, "\t", q.About)
	}
	return tw.Flush()
}
