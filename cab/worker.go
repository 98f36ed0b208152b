package cab

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"alleria/internal/layout"
	"alleria/internal/sys"
)

// worker is one processing thread: its sink and the leases it works on.
type worker struct {
	*Pool
	number int
	sink   Sink
	held   map[*Reader]*Lease
	// state is one of the states below; who changes it wakes the thread, which sleeps on it while it is suspended.
	state atomic.Uint32
	// broken is why it gives up; its own.
	broken error
	// drains: there is nobody else, so that it stays to throw away what comes; its own.
	drains bool
	clock  idleClock
	chunks atomic.Uint64 // that it has consumed
	used   atomic.Int64  // nanoseconds of processor time, as of when it ended
	tid    atomic.Int32  // of its thread, once it runs
}

// States of a processing thread.
const (
	working   = iota
	suspended // or about to be
	ended
)

// idleClock is how long a processing thread has waited for something to do.
type idleClock struct {
	total atomic.Int64 // nanoseconds, of waits that are over
	since atomic.Int64 // when the one that goes on began; 0: none does
}

func (c *idleClock) begin(now int64) { c.since.Store(now) }

func (c *idleClock) end(now int64) {
	c.total.Add(now - c.since.Load())
	c.since.Store(0)
}

// sum is the time up to now. Who asks while a wait ends may see it twice, or not yet, for that instant.
func (c *idleClock) sum(now int64) int64 {
	total := c.total.Load()
	if s := c.since.Load(); s != 0 {
		total += max(now-s, 0)
	}
	return total
}

// reserve tells whether the thread takes only what others don't come to.
func (w *worker) reserve() bool {
	f := w.first.Load()
	return f != nil && f != w
}

// run is one processing thread.
func (w *worker) run() {
	defer w.wg.Done()
	runtime.LockOSThread()
	sys.YieldToOthers()
	w.settleDown()
	began := sys.ThreadTime() // the runtime's thread has lived before
	defer func() { w.used.Store(int64(sys.ThreadTime() - began)) }()
	last := time.Now()
	for {
		// Before everything that somebody rings for, the end of the pool too: what is said later changes the words, and who sleeps on them wakes.
		bell, more := w.bell.u32(layout.ConsumerBell).Load(), w.more.Load()
		stopping := w.stop.Load()
		if !stopping && w.state.Load() == suspended {
			w.giveBack()
			w.wake() // somebody else may have to take what was given back
			if w.broken == nil {
				w.suspended()
				last = time.Now()
				continue
			}
		}
		due := time.Since(last) >= w.Interval
		x := Completed
		switch {
		case stopping: // nobody records any more
			x = Everything
		case due:
			x = Committed
		}
		did := w.round(x)
		if due || stopping {
			w.giveBack()
			w.settle()
			last = time.Now()
		}
		if w.broken != nil && !w.drains && w.retire() || stopping && !did {
			w.state.Store(ended)
			return
		}
		switch {
		case did || stopping:
		case w.reserve():
			w.rest(more)
		default:
			w.wait(bell)
		}
	}
}

// suspended sleeps until the thread is resumed or the pool is closed.
func (w *worker) suspended() {
	for w.state.Load() == suspended && !w.stop.Load() {
		sys.FutexWaitAt(&w.state, suspended, time.Second)
	}
}

// nudge wakes a thread that is suspended.
func (w *worker) nudge() { sys.FutexWakeAt(&w.state, 1) }

// round consumes what each ring holds; false if there was nothing.
//
// closed is read before anything is taken: what was written before the ring was
// closed is then sure to be seen in this round.
func (w *worker) round(x Extent) bool {
	did := false
	for _, e := range w.list() {
		x, closed := x, e.closed.Load()
		if closed {
			x = Everything
		} else if x == Committed && e.Lossy() {
			x = Completed
		}
		l := w.held[e.Reader]
		if l == nil && (!w.reserve() || x == Everything || e.isCrowded()) {
			l = e.Acquire(x)
		}
		if l != nil {
			did = w.consume(e, l, x) || did
		}
		if w.broken != nil && !w.drains {
			return did
		}
		if closed {
			if l := w.held[e.Reader]; l != nil {
				w.leave(e, l)
			}
			if e.retire() {
				w.drop(e.Ring)
			}
		}
	}
	return did
}

// consume takes what a lease holds and keeps the lease until it is used up.
//
// After an error the words are still taken and released: the producer must not
// wait for room that nobody will make.
func (w *worker) consume(e *entry, l *Lease, x Extent) (did bool) {
	w.held[e.Reader] = l
	for w.broken == nil || w.drains {
		c, ok := l.Take(x)
		if !ok {
			break
		}
		did = true
		if !e.drops.Load() && !w.drains {
			if err := w.guard(e.tag, &c, func() error { return w.sink.Consume(e.tag, c) }); err != nil && w.broken == nil {
				w.note(err)
				e.drops.Store(true)
			}
		}
		w.chunks.Add(1)
		l.Release(c)
		if e.crowded() {
			w.call(1)
		}
		if w.state.Load() == suspended && !w.stop.Load() {
			break
		}
	}
	if l.at == l.end && (w.broken == nil || w.drains) {
		w.leave(e, l)
	}
	return did
}

// guard calls the sink. A panic of it, and an error of its own, break the thread.
func (w *worker) guard(tag any, c *Chunk, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: panic: %v\n%s", ErrBroken, p, debug.Stack())
			w.lose(tag, c, err)
		}
		if err != nil && errors.Is(err, ErrBroken) && w.broken == nil {
			w.broken = err
		}
	}()
	return f()
}

// lose has the sink account for what is lost by a panic. It may panic again: then that is not known.
func (w *worker) lose(tag any, c *Chunk, why error) {
	defer func() { _ = recover() }()
	if l, ok := w.sink.(Loser); ok {
		_ = l.Lose(tag, c, why)
	}
}

// leave ends the work at a ring.
func (w *worker) leave(e *entry, l *Lease) {
	delete(w.held, e.Reader)
	if !w.drains {
		if err := w.guard(e.tag, nil, func() error { return w.sink.Leave(e.tag) }); err != nil && w.broken == nil {
			w.note(err)
		}
	}
	l.GiveBack()
}

// giveBack makes everything safe that was consumed, and leaves the rings to
// whoever comes first.
func (w *worker) giveBack() {
	if !w.drains {
		if err := w.guard(nil, nil, w.sink.Flush); err != nil && w.broken == nil {
			w.note(err)
		}
	}
	for r, l := range w.held {
		delete(w.held, r)
		l.GiveBack()
	}
}

// retire ends the work of a thread whose sink is broken, if there is another: one that works, or is suspended, or may
// be started. Otherwise the recording is over, and the thread stays to drain the rings.
func (w *worker) retire() bool {
	w.giveBack()
	if w.replace() {
		if w.OnBroken != nil {
			w.OnBroken(w.number, w.broken)
		}
		w.wake()
		return true
	}
	w.drains = true
	w.first.Store(w)
	w.note(w.broken)
	return false
}

// wait sleeps until a producer rings or the interval is over.
//
// asleep is raised before the bell is looked at, and the producer changes the bell
// before it looks at asleep: one of the two sees the other, so that no chunk is left
// lying for longer than the interval.
func (w *worker) wait(bell uint32) {
	w.clock.begin(w.now())
	w.bell.u32(layout.ConsumerAsleep).Add(1)
	if w.bell.u32(layout.ConsumerBell).Load() == bell && !w.pending() {
		w.noteLull()
		w.bell.wait(bell, w.Interval)
	}
	w.bell.u32(layout.ConsumerAsleep).Add(^uint32(0))
	w.clock.end(w.now())
}

// rest sleeps until a processing thread that works calls, or the interval is over: one that does
// not come to that, since its disk is slow, is helped by then.
func (w *worker) rest(more uint32) {
	w.clock.begin(w.now())
	w.resting.Add(1)
	if w.more.Load() == more && w.state.Load() == working {
		sys.FutexWaitAt(&w.more, more, w.Interval)
	}
	w.resting.Add(-1)
	w.clock.end(w.now())
}

// settle has rings of threads that have gone quiet give memory back. One processing thread looks, all intervals are then of one length.
func (w *worker) settle() {
	if w.reserve() {
		return
	}
	for _, e := range w.list() {
		if e.leads() {
			e.Ring.settle()
		}
	}
}

// noteLull tells the rings that a processing thread has nothing to do.
func (w *worker) noteLull() {
	for _, e := range w.list() {
		if !e.growth.lull.Load() { // no store where it is set: the line is the consumers' in common
			e.growth.lull.Store(true)
		}
	}
}

// pending tells whether some ring has chunks for this processing thread.
func (w *worker) pending() bool {
	for _, e := range w.list() {
		if l := w.held[e.Reader]; l != nil {
			if l.ready(Completed) {
				return true
			}
			continue
		}
		if l := e.Acquire(Completed); l != nil {
			w.held[e.Reader] = l
			return true
		}
	}
	return false
}
