package emit

import "alleria/abp"

// Sink takes what one processing thread gets of one process's records. A Stream writes it, a Dropper counts it, and a Sampler
// passes some of it on to another Sink. One goroutine calls it.
type Sink interface {
	// ConsumeAt takes the words of an application thread from one place to another: a chunk or a part of one,
	// which was opened and completed at these times. The places that a process's sinks are given cover the thread's records without
	// gaps; a sink gets its own in order. An error of the output is an OutputError, and returned once.
	ConsumeAt(thread int, from, to Place, words []uint64, opened, completed uint64) error
	// CloseThread says that the sink will not get what comes next of a thread.
	CloseThread(thread int) error
	// Flush makes what was consumed safe.
	Flush() error
	// Lose accounts for a panic of ConsumeAt, with its arguments.
	Lose(thread int, from, to Place, words []uint64)
	// LoseClosing accounts for a panic of CloseThread or Flush.
	LoseClosing()
}

// outlet is a Sink at the end of the way: Close closes it.
type outlet interface {
	Flush() error
	close(end *abp.EndInfo) error
}

// SinkOf makes the sink of a processing thread, counted from 0, for this process: as the run's options and Sample have it.
// It is called once a thread.
func (p *ProcessWriter) SinkOf(thread int) Sink {
	if p.run.opts.Discard {
		return p.newDropper()
	}
	s := p.StreamOf(thread)
	if p.blocks.sampling == nil {
		return s
	}
	return p.newSampler(thread, s)
}
