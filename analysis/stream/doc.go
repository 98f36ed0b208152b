// Package stream brings the executions of a thread to an analysis in the order in which
// they happened.
//
// In a nutshell: a Sink takes stretches of whole executions as words, and single ones (cut
// short, or executed by the tracer) expanded. Thread reads one thread of a profile into a
// Sink. Frames decode by themselves, so that as many goroutines as there are processors
// decode ahead of the Sink, which alone has to go by the order; with one processor all of it
// runs on the caller's goroutine, without the copy.
//
// A Sink depends on nothing but what it is handed, so that whoever has executions from
// elsewhere, a ring that is being drained for one, can feed it as well.
//
// The analyses below this folder's parent call it. A Sink is called from one goroutine at a
// time. What guards what: a frame belongs to the goroutine that decodes it until it is sent
// over its channel, and to the Sink's afterwards; Ordered, which brings threads that come side by side
// into the order of time, has the only lock. The package keeps
// nothing, filters nothing but by thread, and looks at no instruction.
//
// A Walker is a Sink that finds by itself where executions end, for who has nothing but it to feed (analysis/live).
package stream
