package stream

import "alleria/abp"

// Walker is a Sink that finds by itself where executions end: who feeds nothing but it need not go over the words first.
type Walker interface {
	Sink
	// Walks tells whether it does.
	Walks() bool
	// Walk goes on with whole executions behind the words that have been walked, as far as there are any that it knows: up to a mark, or what is none. state is Stretch's.
	Walk(state *abp.Exec, words []uint64, w *Walked)
}

// Walked is how far a Walker has come. It is right also where the Walker has panicked.
type Walked struct {
	At     int        // words
	Execs  []uint64   // by block: its executions
	Counts abp.Counts // what words of executions have said that they count for
}

// Took counts an execution.
func (w *Walked) Took(id uint32) {
	w.reach(int(id) + 1)
	w.Execs[id]++
}

// reach makes room for executions of blocks below a number.
func (w *Walked) reach(blocks int) {
	if n := blocks - len(w.Execs); n > 0 {
		w.Execs = append(w.Execs, make([]uint64, n+len(w.Execs)/2)...)
	}
}

// Dynamic counts what an execution of a block counts for by its words, if it does.
func (w *Walked) Dynamic(b *abp.Block, words []uint64) {
	if b.Dynamic {
		b.DynamicCounts(words, len(b.Ins), func(_ int, c abp.Counts) { w.Counts.Add(c, 1) })
	}
}
