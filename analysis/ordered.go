package analysis

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"alleria/abp"
)

// OrderedWork expands what a Reader yields of a batch and hands what it makes of it to emit,
// piece by piece. An error of emit is to be returned.
type OrderedWork[T any] func(r *abp.Reader, b *abp.Batch, emit func(T) error) error

// Ordered has what q matches expanded on all processors, and calls use with the pieces in the
// order of the profile, thread after thread. start makes the work of one goroutine, and what
// is called behind its last batch. use is called on the caller's goroutine.
//
// One goroutine decodes, which takes a tenth of the time of making text. Memory does not
// grow with the profile, nor with what a batch expands to: who is not yet to be written waits
// after a few pieces. After an error no more is read; it is the first in the order of the
// profile, and use has had everything in front of it.
func Ordered[T any](p *abp.Profile, q abp.Query, progress *Progress, start func() (OrderedWork[T], func(), error), use func(T) error) error {
	o := ordering[T]{
		profile: p, query: q, progress: progress, start: start,
		work: make(chan *orderedBatch[T]), order: make(chan *orderedBatch[T], 4*runtime.GOMAXPROCS(0)),
		stop: make(chan struct{}),
	}
	o.free.New = func() any { return &orderedBatch[T]{} }
	var wait sync.WaitGroup
	wait.Go(o.read)
	for range runtime.GOMAXPROCS(0) {
		wait.Go(o.expand)
	}
	err := o.collect(use)
	close(o.stop)
	wait.Wait()
	return errors.Join(err, o.failed)
}

// ordering is one call of Ordered.
type ordering[T any] struct {
	profile  *abp.Profile
	query    abp.Query
	progress *Progress
	start    func() (OrderedWork[T], func(), error)

	work  chan *orderedBatch[T] // to whoever expands
	order chan *orderedBatch[T] // to who collects
	stop  chan struct{}         // closed when nobody collects any more
	free  sync.Pool

	readErr error // of read; valid when order is closed
	mu      sync.Mutex
	failed  error // of start; guarded by mu
}

// orderedBatch is a batch and what becomes of it. err is valid when out is closed.
type orderedBatch[T any] struct {
	batch abp.Batch
	out   chan T
	err   error
}

// orderedPieces is how many pieces of a batch wait for their turn.
const orderedPieces = 4

// errStopped ends the work of those whose output nobody wants any more.
var errStopped = errors.New("stopped")

// read takes batches off the profile.
func (o *ordering[T]) read() {
	defer close(o.work)
	defer close(o.order)
	o.progress.expectAll(o.profile, o.query)
	r := o.profile.Reader(o.query)
	for {
		b := o.free.Get().(*orderedBatch[T])
		if !r.NextBatch(&b.batch) {
			o.readErr = r.Err()
			return
		}
		o.progress.reach(r.Passed())
		b.out, b.err = make(chan T, orderedPieces), nil
		// In this order: what is collected is what is going to be expanded.
		select {
		case o.order <- b:
		case <-o.stop:
			return
		}
		select {
		case o.work <- b:
		case <-o.stop:
			return
		}
	}
}

// expand works on batches until there are none.
func (o *ordering[T]) expand() {
	work, done, err := o.start()
	if err != nil {
		o.mu.Lock()
		o.failed = err
		o.mu.Unlock()
		work, done = func(*abp.Reader, *abp.Batch, func(T) error) error { return err }, func() {}
	}
	defer done()
	r := o.profile.FrameReader(o.query)
	var b *orderedBatch[T]
	emit := func(v T) error {
		select {
		case b.out <- v:
			return nil
		case <-o.stop:
			return errStopped
		}
	}
	for b = range o.work {
		r.Batch(&b.batch)
		b.err = work(r, &b.batch, emit)
		if b.err == nil {
			b.err = r.Err()
		}
		close(b.out)
	}
}

// collect calls use with everything in order.
func (o *ordering[T]) collect(use func(T) error) error {
	for b := range o.order {
		for v := range b.out {
			if err := use(v); err != nil {
				return err
			}
		}
		if b.err != nil {
			return b.err
		}
		o.free.Put(b)
	}
	return o.readErr
}

// OrderedText is Ordered for text: work appends to a buffer, which is written and used again
// as soon as it is full.
func OrderedText(w io.Writer, p *abp.Profile, q abp.Query, progress *Progress, start func() (TextWork, func(), error)) error {
	return OrderedJoined(w, p, q, progress, start, nil)
}

// Join puts what batches have left together with text that comes behind them, which begins where something begins: the text that is to be written, and what is left still. At the end
// the text is nil.
type Join func(left, text []byte) (joined, still []byte)

// OrderedJoined is OrderedText for work that cannot be done of a batch alone: what hangs on the next one is left to it (Text.Left), and put together in the order of the profile.
func OrderedJoined(w io.Writer, p *abp.Profile, q abp.Query, progress *Progress, start func() (TextWork, func(), error), join Join) error {
	pool := sync.Pool{New: func() any { b := make([]byte, 0, textPiece+textPiece/4); return &b }}
	type piece struct{ text, left *[]byte } // left is nil but in the last one of a batch
	var left []byte
	write := func(text []byte) error {
		if len(left) > 0 {
			text, left = join(left, text)
		}
		if _, err := w.Write(text); err != nil {
			return fmt.Errorf("write: %w", err)
		}
		return nil
	}
	err := Ordered(p, q, progress, func() (OrderedWork[piece], func(), error) {
		work, done, err := start()
		return func(r *abp.Reader, b *abp.Batch, emit func(piece) error) error {
			t := Text{next: func(full []byte) ([]byte, error) {
				if len(full) > 0 {
					out := full
					if err := emit(piece{text: &out}); err != nil {
						return nil, err
					}
				}
				return (*pool.Get().(*[]byte))[:0], nil
			}}
			t.Buf, _ = t.next(nil)
			if err := work(r, b, &t); err != nil {
				return err
			}
			return emit(piece{&t.Buf, &t.Left})
		}, done, err
	}, func(b piece) error {
		if err := write(*b.text); err != nil {
			return err
		}
		pool.Put(b.text)
		if b.left != nil {
			left = append(left, *b.left...)
		}
		return nil
	})
	if err == nil && len(left) > 0 {
		err = write(nil)
	}
	return err
}

// textPiece is the size at which a piece of text is handed on.
const textPiece = 256 << 10

// TextWork appends what it makes of a batch to t.Buf, and calls t.Flush now and then.
type TextWork func(r *abp.Reader, b *abp.Batch, t *Text) error

// Text is text that grows.
type Text struct {
	Buf  []byte
	Left []byte // what the work leaves to the next batch, for who joins them
	next func(full []byte) ([]byte, error)
}

// Flush hands on what is there, if it is enough to be worth it.
func (t *Text) Flush() (err error) {
	if len(t.Buf) >= textPiece {
		t.Buf, err = t.next(t.Buf)
	}
	return err
}
