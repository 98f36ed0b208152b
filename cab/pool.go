package cab

import (
	"errors"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Sink is what one processing thread does with the words of the rings.
// Each sink belongs to one processing thread: its methods are never called by two
// at a time. An error of Consume is the end of recording for that ring, and one that wraps ErrBroken
// the end of that processing thread: others take over what it has not consumed.
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

// Loser is a sink that accounts for what is lost when its processing thread panics: c is the chunk that it was given when it did,
// nil where it was not consuming. What it has consumed and not written is lost as well.
type Loser interface {
	Lose(tag any, c *Chunk, why error) error
}

// ErrBroken is what a sink's errors wrap that are its own and not a ring's: its disk is full, say. A
// panic of a sink is one as well.
var ErrBroken = errors.New("processing thread is broken")

// Pool is a number of processing threads that consume rings: the first does it as long as
// it keeps up, the others are reserves, each of which joins in when a ring is nearly full. On few
// processors a thread more than the load needs takes one from the application: with entries that are
// dropped, two threads on two processors took a fifth longer than one; writing them to disk,
// one took a third longer than two (see docs/internal/pool.md).
//
// One pool serves the rings of all processes of a tree: how many threads are worth their processors depends on all of
// them together.
//
// A processing thread is an OS thread (the paper's processing threads, Alleria
// section 2.1), so that consuming goes on while Go's scheduler is busy elsewhere. It is
// started when it is first needed, suspended and resumed, and ends with the pool, or when its sink is broken.
// The methods may be called from any goroutine.
type Pool struct {
	bell *Bell
	PoolOptions
	began   time.Time // for differences
	mu      sync.Mutex
	rings   []*entry  // an entry a reader; guarded by mu; replaced, never changed
	gone    Waited    // of rings that are not there any more; guarded by mu
	threads []*worker // that were started, ended ones as well; guarded by mu, replaced, never changed
	spare   int       // how many may yet be started in the place of broken ones; guarded by mu
	stop    atomic.Bool
	wg      sync.WaitGroup
	err     atomic.Pointer[error]
	cpus    atomic.Pointer[[]int] // that processing threads were placed on; nil: they never were
	// first is the processing thread that is no reserve.
	first atomic.Pointer[worker]
	// what reserves sleep on: changed for each that is called, and how many do
	more    atomic.Uint32
	resting atomic.Int32
	drops   atomic.Uint32 // how often a ring was taken out, for who waits for that
}

// PoolOptions say how many processing threads there are, and what they do.
type PoolOptions struct {
	// Interval is how long a record may lie in a ring.
	Interval time.Duration
	// Sink makes what processing thread n does, counted from 0.
	Sink func(n int) Sink
	// Threads work from the beginning; Most is how many may at a time.
	Threads, Most int
	// Spare is how many may be started in the place of broken ones.
	Spare int
	// OnError is called once, with the first error that ends the recording: from then on rings are
	// drained and thrown away, so that no producer is held up.
	OnError func(error)
	// OnBroken is called for each processing thread that gives up while others go on; may be nil.
	OnBroken func(n int, why error)
	// Fixed rings never grow by themselves.
	Fixed bool
	// Hasty rings grow whenever their producer waits and the consumers had nothing to do before, however little it has written.
	Hasty bool
	// Rounds is how often a producer goes round its ring before that grows; 0: as often as pays where what is consumed is written.
	Rounds int
}

// entry is a reader of a ring with what the sinks know it by.
type entry struct {
	*Reader
	tag any
}

// leads tells whether the entry stands for its ring, where each is looked at once.
func (e *entry) leads() bool { return e.Reader == e.readers[0] }

// NewPool starts a processing thread for each sink. onError is called once, from a
// processing thread, with the first error of a sink.
func NewPool(bell *Bell, interval time.Duration, sinks []Sink, onError func(error)) *Pool {
	return StartPool(bell, PoolOptions{Interval: interval, Sink: func(n int) Sink { return sinks[n] },
		Threads: len(sinks), Most: len(sinks), OnError: onError})
}

// StartPool starts a pool with the processing threads that work from the beginning.
func StartPool(bell *Bell, o PoolOptions) *Pool {
	p := &Pool{bell: bell, PoolOptions: o, began: time.Now(), spare: o.Spare}
	for range max(o.Threads, 1) {
		p.Resume()
	}
	return p
}

// Add hands a ring to the pool, with a tag for each of its readers (Ring.Split).
//
// The list is replaced and never changed: processing threads go over the one that
// they have without the lock.
func (p *Pool) Add(r *Ring, tags ...any) {
	if p.Fixed {
		r.fix()
	}
	if p.Rounds > 0 {
		r.grows(p.Rounds)
	}
	if p.Hasty {
		r.hurry()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	rings := p.rings[:len(p.rings):len(p.rings)]
	for i, rd := range r.readers {
		rings = append(rings, &entry{rd, tags[i]})
	}
	p.rings = rings
}

// Remove drains a ring whose producer has ended and takes it out of the pool.
// It returns when everything has been consumed.
//
// It polls, since this happens once a thread's life, and a condition variable would
// have to be signalled on the consumers' path.
func (p *Pool) Remove(r *Ring) {
	r.closed.Store(true)
	for {
		drops := p.drops.Load()
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
		// Not time.Sleep: the runtime's shortest sleep may be a millisecond, where nothing else runs.
		sys.FutexWaitAt(&p.drops, drops, time.Millisecond)
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
	if len(left) < len(p.rings) {
		p.gone.add(r.last)
	}
	p.rings = left
	p.drops.Add(1)
	sys.FutexWakeAt(&p.drops, math.MaxInt32)
}

// Close drains all rings, flushes all sinks and ends the processing threads. It
// returns the first error of a sink.
func (p *Pool) Close() error {
	p.stop.Store(true)
	p.wake()
	p.mu.Lock()
	for _, w := range p.threads {
		// A wake-up alone is lost on a thread that is about to sleep; a changed word is not.
		w.state.CompareAndSwap(suspended, working)
		w.nudge()
	}
	p.mu.Unlock()
	p.wg.Wait()
	if e := p.err.Load(); e != nil {
		return *e
	}
	return nil
}

// now is a clock for differences.
func (p *Pool) now() int64 { return int64(time.Since(p.began)) }

// list is the rings that there are.
func (p *Pool) list() []*entry {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rings
}

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

// note keeps the first error.
func (p *Pool) note(err error) {
	if err != nil && p.err.CompareAndSwap(nil, &err) && p.OnError != nil {
		p.OnError(err)
	}
}
