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

// outlet is what takes the records of one process.
type outlet struct {
	mu   sync.Mutex
	sink emit.Sink // guarded by mu; nil: closed
}

// outletOf returns where a profile's records go. It is made when it is asked for the first time.
func (s *sink) outletOf(w *emit.ProcessWriter) *outlet {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.outlets[w]
	if o == nil {
		o = &outlet{sink: w.SinkOf(s.number)}
		s.outlets[w] = o
	}
	return o
}

// forget leaves a profile's outlet to who closes it. It returns when the processing thread does not use it any more.
func (s *sink) forget(w *emit.ProcessWriter) {
	s.mu.Lock()
	o := s.outlets[w]
	delete(s.outlets, w)
	s.mu.Unlock()
	if o != nil {
		o.mu.Lock()
		o.sink = nil
		o.mu.Unlock()
	}
}

// with calls f with the sink that a ring's records go to.
func (s *sink) with(tag any, f func(emit.Sink, int) error) error {
	r, ok := tag.(*fed)
	if !ok {
		return fmt.Errorf("ring of %T", tag)
	}
	return brokenBy(s.outletOf(r.writer).use(func(out emit.Sink) error { return f(out, r.thread.Num()) }))
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
	return s.with(tag, func(out emit.Sink, thread int) error {
		if s.fault != nil {
			s.fault(s.number, c.Number)
		}
		from, to := places(&c)
		return out.ConsumeAt(thread, from, to, c.Words, c.Opened, c.Complete)
	})
}

// Leave is cab.Sink's.
// The frame of that thread is closed: another sink's next one can be
// written.
func (s *sink) Leave(tag any) error {
	return s.with(tag, func(out emit.Sink, thread int) error { return out.CloseThread(thread) })
}

// Flush is cab.Sink's.
func (s *sink) Flush() error {
	var errs []error
	for _, o := range s.all() {
		errs = append(errs, o.use(emit.Sink.Flush))
	}
	return brokenBy(errors.Join(errs...))
}

// use calls f with the sink, unless it is closed. f may panic.
func (o *outlet) use(f func(emit.Sink) error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sink == nil {
		return nil
	}
	return f(o.sink)
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
			errs = append(errs, o.use(func(out emit.Sink) error { out.LoseClosing(); return nil }))
		}
		return errors.Join(errs...)
	}
	return s.with(tag, func(out emit.Sink, thread int) error {
		from, to := places(c)
		out.Lose(thread, from, to, c.Words)
		return nil
	})
}
