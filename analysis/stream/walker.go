package stream

import (
	"alleria/abp"
	"alleria/analysis/lanes"
)

// Walker is a Sink that finds by itself where executions end: who feeds nothing but it need not go over the words first.
type Walker interface {
	Sink
	// Walks tells whether it does.
	Walks() bool
	// Walk goes on with whole executions behind the words that have been walked, as far as there are any that it knows: up to a mark, or what is none. state is Stretch's.
	Walk(state *abp.Exec, words []uint64, w *Walked)
}

// Walked is how far a Walker has come.
type Walked = lanes.Walked
