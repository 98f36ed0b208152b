package session

import (
	"errors"
	"fmt"
	"sync"

	"alleria/cab"
	"alleria/emit"
)

// fed is what a ring is known by to the processing threads: the application thread that fills it, and the profile that it
// belongs to.
type fed struct {
	thread thread
	writer *emit.ProcessWriter
}

// sink writes the records of whatever rings it gets, of all processes: to a stream of its own in each one's directory.
// A sink belongs to one processing thread, its streams likewise. The mutexes are for closing a profile, which the goroutine of Record does.
type sink struct {
	number int
	// fault, if any, is called with each chunk: tests fail from there.
	fault   func(thread int, chunk uint64)
	mu      sync.Mutex
	outlets map[*emit.ProcessWriter]*outlet // guarded by mu
}

// outlet is a sink's stream in one process's directory.
type outlet struct {
	mu     sync.Mutex
	stream *emit.Stream // guarded by mu; nil: closed
}

// outletOf returns where a profile's records go. It opens a stream when it is asked for the first time.
func (s *sink) outletOf(w *emit.ProcessWriter) *outlet {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.outlets[w]
	if o == nil {
		o = &outlet{stream: w.StreamOf(s.number)}
		s.outlets[w] = o
	}
	return o
}

// forget leaves a profile's stream to who closes it. It returns when the processing thread does not use it any more.
func (s *sink) forget(w *emit.ProcessWriter) {
	s.mu.Lock()
	o := s.outlets[w]
	delete(s.outlets, w)
	s.mu.Unlock()
	if o != nil {
		o.mu.Lock()
		o.stream = nil
		o.mu.Unlock()
	}
}

// with calls f with the stream that a ring's records go to.
func (s *sink) with(tag any, f func(*emit.Stream, int) error) error {
	r, ok := tag.(*fed)
	if !ok {
		return fmt.Errorf("ring of %T", tag)
	}
	return brokenBy(s.outletOf(r.writer).use(func(stream *emit.Stream) error { return f(stream, r.thread.Num()) }))
}

// brokenBy tells an error of the output, which ends this processing thread, from one of what the ring holds.
func brokenBy(err error) error {
	if out := (*emit.OutputError)(nil); errors.As(err, &out) {
		return fmt.Errorf("%w: %w", cab.ErrBroken, err)
	}
	return err
}

// places are where a chunk's words lie among a thread's records, so that
// parts of a chunk that was drained early fit together with the rest that another sink may get.
func places(c *cab.Chunk) (from, to emit.Place) {
	from = emit.Place{Chunk: c.Number, Word: c.First}
	to = emit.Place{Chunk: c.Number, Word: c.First + uint64(len(c.Words))}
	if c.Whole {
		to = emit.Place{Chunk: c.Number + 1}
	}
	return from, to
}

// Consume is cab.Sink's.
func (s *sink) Consume(tag any, c cab.Chunk) error {
	return s.with(tag, func(stream *emit.Stream, thread int) error {
		if s.fault != nil {
			s.fault(s.number, c.Number)
		}
		from, to := places(&c)
		return stream.ConsumeAt(thread, from, to, c.Words, c.Opened, c.Complete)
	})
}

// Leave is cab.Sink's.
// The stream's frame of that thread is closed: another stream's next one can be
// written.
func (s *sink) Leave(tag any) error {
	return s.with(tag, func(stream *emit.Stream, thread int) error { return stream.CloseThread(thread) })
}

// Flush is cab.Sink's.
func (s *sink) Flush() error {
	var errs []error
	for _, o := range s.all() {
		errs = append(errs, o.use((*emit.Stream).Flush))
	}
	return brokenBy(errors.Join(errs...))
}

// use calls f with the stream, unless it is closed. f may panic.
func (o *outlet) use(f func(*emit.Stream) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stream == nil {
		return nil
	}
	return f(o.stream)
}

// all is the outlets that there are.
func (s *sink) all() []*outlet {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]*outlet, 0, len(s.outlets))
	for _, o := range s.outlets {
		all = append(all, o)
	}
	return all
}

// Lose is cab.Loser's: the processing thread has panicked.
func (s *sink) Lose(tag any, c *cab.Chunk, _ error) error {
	if c == nil {
		var errs []error
		for _, o := range s.all() {
			errs = append(errs, o.use(func(stream *emit.Stream) error { stream.LoseClosing(); return nil }))
		}
		return errors.Join(errs...)
	}
	return s.with(tag, func(stream *emit.Stream, thread int) error {
		from, to := places(c)
		stream.Lose(thread, from, to, c.Words)
		return nil
	})
}
