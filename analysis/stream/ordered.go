package stream

import (
	"slices"
	"sync"

	"alleria/abp"
)

// mostHeld is how many words are kept of threads that are ahead of others, all together: 64 MiB.
const mostHeld = 8 << 20

// Ordered takes the executions of threads that come side by side, while they run, and hands them on in the order of time. A thread that is ahead waits for
// the others' next records, as they may be earlier; the words are kept meanwhile. Of one that has none, because it sleeps or its ring is read late, nobody knows
// whether any will come: once too much is kept, the others go on without it. What it then brings of the past is taken late, and counted.
type Ordered struct {
	mu      sync.Mutex
	proc    *abp.Process
	each    func(x *abp.Exec)
	threads []*Ahead // that have not ended, or have something left
	held    int      // words
	most    int
	now     uint64 // the latest that was handed on
	late    uint64 // executions
	untimed bool   // some had no time stamp
	x       abp.Exec
	free    [][]uint64
}

// NewOrdered begins with a process. each is called for one execution at a time.
func NewOrdered(p *abp.Process, each func(x *abp.Exec)) *Ordered {
	return &Ordered{proc: p, each: each, most: mostHeld}
}

// Limit keeps so many words at most.
func (o *Ordered) Limit(words int) { o.most = words }

// Held is how many words are kept, and of how many threads something may come or is kept.
func (o *Ordered) Held() (words, threads int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.held, len(o.threads)
}

// Ahead is what has come of one thread and is not handed on yet. It is a Sink.
type Ahead struct {
	of     *Ordered
	pieces []orderedPiece
	first  int // the piece that is next
	at     int // its word that is next
	number uint32
	time   uint64 // of the execution that is next
	last   uint64 // of the one before
	ended  bool
}

// orderedPiece is some whole executions, or a single one.
type orderedPiece struct {
	x      abp.Exec
	words  []uint64
	single bool
}

// Thread begins with another thread.
func (o *Ordered) Thread() *Ahead {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := &Ahead{of: o}
	o.threads = append(o.threads, t)
	return t
}

// End ends a thread, which brings nothing more.
func (o *Ordered) End(t *Ahead) {
	o.mu.Lock()
	defer o.mu.Unlock()
	t.ended = true
	o.advance(o.most)
}

// Stretch is Sink's.
func (t *Ahead) Stretch(state *abp.Exec, words []uint64) {
	if len(words) > 0 {
		t.take(orderedPiece{x: *state}, words, nil)
	}
}

// Single is Sink's.
func (t *Ahead) Single(x *abp.Exec) { t.take(orderedPiece{x: *x, single: true}, x.Words, x.Emulated) }

// take keeps a copy of what has come, and hands on what is known to be next.
func (t *Ahead) take(p orderedPiece, words, emulated []uint64) {
	o := t.of
	o.mu.Lock()
	defer o.mu.Unlock()
	var room []uint64
	if n := len(o.free); n > 0 {
		room, o.free = o.free[n-1][:0], o.free[:n-1]
	}
	p.words = append(append(room, words...), emulated...)
	if p.single {
		p.x.Words, p.x.Emulated = p.words[:len(words)], p.words[len(words):]
	}
	o.held += len(p.words)
	t.number = p.x.Thread
	t.pieces = append(t.pieces, p)
	if len(t.pieces) == t.first+1 {
		t.at = 0
		t.look()
	}
	o.advance(o.most)
}

// waiting tells whether a thread has something to hand on.
func (t *Ahead) waiting() bool { return t.first < len(t.pieces) }

// look finds out when what is next was executed, which is not before what was executed last.
func (t *Ahead) look() {
	p := &t.pieces[t.first]
	time := p.x.TSC
	if !p.single {
		if b := t.of.proc.Block(uint32(p.words[t.at])); b.TimeWord >= 0 {
			time = p.words[t.at+1+int(b.TimeWord)]
		}
	}
	t.time = max(time, t.last)
}

// before is the order of executions: that of time, and of threads' numbers where it is the same.
func (t *Ahead) before(time uint64, number uint32) bool {
	return t.time < time || t.time == time && t.number < number
}

// advance hands on what is known to be next, and more while too many words are kept.
func (o *Ordered) advance(most int) {
	for {
		var next *Ahead
		missing := false
		until, number := ^uint64(0), ^uint32(0) // where another one is next
		for _, t := range o.threads {
			switch {
			case !t.waiting():
				missing = missing || !t.ended
			case next == nil:
				next = t
			case t.before(next.time, next.number):
				until, number = next.time, next.number
				next = t
			case t.before(until, number):
				until, number = t.time, t.number
			}
		}
		if next == nil || missing && o.held <= most {
			break
		}
		for more := true; more; more = next.waiting() && next.before(until, number) && (!missing || o.held > most) {
			o.hand(next)
		}
	}
	o.threads = slices.DeleteFunc(o.threads, func(t *Ahead) bool { return t.ended && !t.waiting() })
}

// hand takes the next execution of a thread.
func (o *Ordered) hand(t *Ahead) {
	p := &t.pieces[t.first]
	x := &p.x
	if !p.single {
		b := o.proc.Block(uint32(p.words[t.at]))
		o.x = p.x
		x = &o.x
		x.Whole(b, p.words[t.at+1:])
		t.at += 1 + b.Words
	} else {
		t.at = len(p.words)
	}
	if t.time < o.now {
		o.late++
	}
	o.now, t.last = max(o.now, t.time), t.time
	o.untimed = o.untimed || !x.Timed
	o.each(x)
	if t.at < len(p.words) {
		t.look()
		return
	}
	o.held -= len(p.words)
	if len(o.free) < 64 {
		o.free = append(o.free, p.words)
	}
	*p = orderedPiece{}
	t.at = 0
	if t.first++; t.first == len(t.pieces) {
		t.pieces, t.first = t.pieces[:0], 0
		return
	}
	t.look()
}

// Finish hands on what is left, once all threads have ended. It returns how many executions came behind others that were later, and whether all had time stamps.
func (o *Ordered) Finish() (late uint64, timed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.advance(-1)
	return o.late, !o.untimed
}
