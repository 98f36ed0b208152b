package cab

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Sink is what one processing thread does with the words of the rings.
// Each sink belongs to one processing thread: its methods are never called by two
// at a time. An error of Consume is the end of recording for that ring.
type Sink interface {
	// Consume takes words of the ring of the application thread that tag names.
	// Chunks of one ring come to the sinks in runs, in order within a run, while another
	// sink may be given the following run.
	Consume(tag any, c Chunk) error
	// Leave says that the sink will not get what follows in a ring.
	Leave(tag any) error
	// Flush makes what was consumed so far safe.
	Flush() error
}

// Pool is a number of processing threads that consume rings: the first does it as long as
// it keeps up, the others are reserves, each of which joins in when a ring is nearly full. On few
// processors a thread more than the load needs takes one from the application: with entries that are
// dropped, two threads on two processors took a fifth longer than one; writing them to disk,
// one took a third longer than two (see docs/internal/engine.md).
//
// A processing thread is an OS thread (the paper's processing threads, Alleria
// section 2.1), so that consuming goes on while Go's scheduler is busy elsewhere.
// The methods may be called from any goroutine.
type Pool struct {
	bell     *Bell
	interval time.Duration
	mu       sync.Mutex
	rings    []*entry // guarded by mu; replaced, never changed
	stop     atomic.Bool
	wg       sync.WaitGroup
	err      atomic.Pointer[error]
	onError  func(error)
	idle     atomic.Int64 // nanoseconds that processing threads waited
	// what reserves sleep on: changed for each that is called, and how many do
	more    atomic.Uint32
	resting atomic.Int32
}

// entry is a ring with what the sinks know it by.
type entry struct {
	*Ring
	tag any
}

// NewPool starts a processing thread for each sink. onError is called once, from a
// processing thread, with the first error of a sink; from then on rings are
// drained and thrown away, so that no producer is held up.
func NewPool(bell *Bell, interval time.Duration, sinks []Sink, onError func(error)) *Pool {
	p := &Pool{bell: bell, interval: interval, onError: onError}
	p.wg.Add(len(sinks))
	for i, s := range sinks {
		go p.run(s, i > 0)
	}
	return p
}

// Add hands a ring to the pool.
//
// The list is replaced and never changed: processing threads go over the one that
// they have without the lock.
func (p *Pool) Add(r *Ring, tag any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rings = append(p.rings[:len(p.rings):len(p.rings)], &entry{r, tag})
}

// Remove drains a ring whose producer has ended and takes it out of the pool.
// It returns when everything has been consumed.
//
// It polls, since this happens once a thread's life, and a condition variable would
// have to be signalled on the consumers' path.
func (p *Pool) Remove(r *Ring) {
	r.closed.Store(true)
	for {
		p.wake()
		p.mu.Lock()
		there := false
		for _, e := range p.rings {
			there = there || e.Ring == r
		}
		p.mu.Unlock()
		if !there {
			return
		}
		time.Sleep(50 * time.Microsecond)
	}
}

// drop takes a drained ring out of the list.
func (p *Pool) drop(r *Ring) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var left []*entry
	for _, e := range p.rings {
		if e.Ring != r {
			left = append(left, e)
		}
	}
	p.rings = left
}

// Close drains all rings, flushes all sinks and ends the processing threads. It
// returns the first error of a sink.
func (p *Pool) Close() error {
	p.stop.Store(true)
	p.wake()
	p.wg.Wait()
	if e := p.err.Load(); e != nil {
		return *e
	}
	return nil
}

// Idle is how long the processing threads waited, together.
func (p *Pool) Idle() time.Duration { return time.Duration(p.idle.Load()) }

// wake makes every processing thread look again. The bell is changed before the
// futex is woken: whoever was just about to sleep then finds another value.
func (p *Pool) wake() {
	p.bell.u32(layout.ConsumerBell).Add(1)
	p.bell.wake()
	p.call(1 << 20)
}

// call has so many reserves look whether they are needed. The word is changed before it is
// looked at whether somebody sleeps, who does it the other way round.
func (p *Pool) call(n int) {
	p.more.Add(1)
	if p.resting.Load() > 0 {
		sys.FutexWakeAt(&p.more, n)
	}
}

// worker is one processing thread: its sink and the leases it works on.
type worker struct {
	*Pool
	sink    Sink
	held    map[*Ring]*Lease
	reserve bool
}

// run is one processing thread.
func (p *Pool) run(s Sink, reserve bool) {
	defer p.wg.Done()
	runtime.LockOSThread()
	sys.YieldToOthers()
	w := &worker{p, s, make(map[*Ring]*Lease), reserve}
	last := time.Now()
	for {
		stopping := p.stop.Load()
		bell, more := p.bell.u32(layout.ConsumerBell).Load(), p.more.Load()
		due := time.Since(last) >= p.interval
		x := Completed
		switch {
		case stopping: // nobody records any more
			x = Everything
		case due:
			x = Settled
		}
		did := w.round(x)
		if due || stopping {
			w.giveBack()
			last = time.Now()
		}
		if stopping && !did {
			return
		}
		switch {
		case did || stopping:
		case reserve:
			w.rest(more)
		default:
			w.wait(bell)
		}
	}
}

// round consumes what each ring holds; false if there was nothing.
//
// closed is read before anything is taken: what was written before the ring was
// closed is then sure to be seen in this round.
func (w *worker) round(x Extent) bool {
	w.mu.Lock()
	rings := w.rings
	w.mu.Unlock()
	did := false
	for _, e := range rings {
		x, closed := x, e.closed.Load()
		if closed {
			x = Everything
		} else if x == Settled && e.Lossy() {
			x = Completed
		}
		l := w.held[e.Ring]
		if l == nil && (!w.reserve || x == Everything || e.crowded()) {
			l = e.Acquire(x)
		}
		if l != nil {
			did = w.consume(e, l, x) || did
		}
		if closed {
			if l := w.held[e.Ring]; l != nil {
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
	w.held[e.Ring] = l
	for {
		c, ok := l.Take(x)
		if !ok {
			break
		}
		did = true
		if !e.drops.Load() {
			if err := w.sink.Consume(e.tag, c); err != nil {
				w.note(err)
				e.drops.Store(true)
			}
		}
		l.Release(c)
		if e.crowded() {
			w.call(1)
		}
	}
	if l.at == l.end {
		w.leave(e, l)
	}
	return did
}

// leave ends the work at a ring.
func (w *worker) leave(e *entry, l *Lease) {
	delete(w.held, e.Ring)
	w.note(w.sink.Leave(e.tag))
	l.GiveBack()
}

// giveBack makes everything safe that was consumed, and leaves the rings to
// whoever comes first.
func (w *worker) giveBack() {
	w.note(w.sink.Flush())
	for r, l := range w.held {
		delete(w.held, r)
		l.GiveBack()
	}
}

// note keeps the first error.
func (p *Pool) note(err error) {
	if err != nil && p.err.CompareAndSwap(nil, &err) && p.onError != nil {
		p.onError(err)
	}
}

// wait sleeps until a producer rings or the interval is over.
//
// asleep is raised before the bell is looked at, and the producer changes the bell
// before it looks at asleep: one of the two sees the other, so that no chunk is left
// lying for longer than the interval.
func (w *worker) wait(bell uint32) {
	start := time.Now()
	w.bell.u32(layout.ConsumerAsleep).Add(1)
	if w.bell.u32(layout.ConsumerBell).Load() == bell && !w.pending() {
		w.noteLull()
		w.bell.wait(bell, w.interval)
	}
	w.bell.u32(layout.ConsumerAsleep).Add(^uint32(0))
	w.idle.Add(int64(time.Since(start)))
}

// rest sleeps until a processing thread that works calls, or the interval is over: one that does
// not come to that, since its disk is slow, is helped by then.
func (w *worker) rest(more uint32) {
	start := time.Now()
	w.resting.Add(1)
	if w.more.Load() == more {
		sys.FutexWaitAt(&w.more, more, w.interval)
	}
	w.resting.Add(-1)
	w.idle.Add(int64(time.Since(start)))
}

// noteLull tells the rings that a processing thread has nothing to do.
func (w *worker) noteLull() {
	w.mu.Lock()
	rings := w.rings
	w.mu.Unlock()
	for _, e := range rings {
		if !e.growth.lull.Load() { // no store where it is set: the line is the consumers' in common
			e.growth.lull.Store(true)
		}
	}
}

// pending tells whether some ring has chunks for this processing thread.
func (w *worker) pending() bool {
	w.mu.Lock()
	rings := w.rings
	w.mu.Unlock()
	for _, e := range rings {
		if l := w.held[e.Ring]; l != nil {
			if l.ready(Completed) {
				return true
			}
			continue
		}
		if l := e.Acquire(Completed); l != nil {
			w.held[e.Ring] = l
			return true
		}
	}
	return false
}
