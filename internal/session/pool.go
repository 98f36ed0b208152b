package session

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"alleria/abp"
	"alleria/cab"
	"alleria/cab/tuner"
	"alleria/emit"
	"alleria/internal/sys"
)

// processing is who consumes the rings: one pool of processing threads for all processes of the tree. How many are worth
// their processors depends on all of these together, and a process that lasts a moment needs no threads started for it.
type processing struct {
	pool *cab.Pool // nil before the first image of which something is recorded

	mu    sync.Mutex
	sinks []*sink               // guarded by mu
	gone  []string              // which processing threads gave up; guarded by mu
	why   string                // the first of their reasons; guarded by mu
	tuned *tuning               // nil: nothing adapts
	cut   atomic.Pointer[error] // nobody is left who writes, and why
	// where processing threads run; nil before the pool is opened
	placed *placing
}

// perDisk is how many processing threads may be started for each output directory in the place of ones that gave up.
const perDisk = 2

// openPool starts the pool with the first image that it is needed for: the page that the processes share is there then.
func (r *run) openPool(bell []byte) {
	if r.proc.pool != nil {
		return
	}
	o := r.opts
	begin, most := r.threads()
	po := cab.PoolOptions{Interval: flushInterval, Threads: begin, Most: most, Spare: perDisk * max(len(o.Outputs), 1),
		Fixed: o.Buffers > 0 || o.NoThreads, Hasty: slices.Contains(o.Engine, hastyRings), Rounds: r.ringRounds(), Sink: r.newSink, OnError: r.writingFailed, OnBroken: r.threadBroke}
	r.proc.pool = cab.StartPool(cab.NewBell(bell), po)
	r.proc.placed = r.startPlacing()
	if r.adapts() {
		r.proc.tuned = r.startTuning(begin, most)
	}
}

// threads is how many processing threads there are at first, and at most.
//
// Without any, an application thread waits while its chunk is written. Somebody in the tracer has to write it: a thread all the
// same, which runs while the application's waits, as rings have one chunk. The goroutine of Record cannot do it, which waits for room
// in a ring itself when it has a mark to write there.
func (r *run) threads() (begin, most int) {
	o := r.opts
	processors := sys.Processors()
	most = o.Threads
	if most == 0 {
		most = max(int(math.Ceil(processors)), 1)
	}
	switch {
	case o.NoThreads:
		return 1, 1
	case o.FixedThreads > 0:
		return o.FixedThreads, o.FixedThreads
	case o.NoTuner:
		return most, most
	}
	return tuner.Start(most, processors), most
}

// adapts tells whether the number of threads follows the load.
func (r *run) adapts() bool { return !r.opts.NoTuner && !r.opts.NoThreads && r.opts.FixedThreads == 0 }

// newSink makes what a processing thread does. The pool calls it, for one thread at a time.
func (r *run) newSink(n int) cab.Sink {
	switch {
	case len(r.opts.Analyses) > 0 && r.opts.Stage != StageAll:
		return &touchSink{}
	case len(r.opts.Analyses) > 0 && !r.opts.KeepRecords:
		return besideSink{number: n, fault: r.opts.fault}
	}
	s := &sink{number: n, outlets: make(map[*emit.ProcessWriter]*outlet), fault: r.opts.fault}
	r.proc.mu.Lock()
	defer r.proc.mu.Unlock()
	r.proc.sinks = append(r.proc.sinks, s)
	if len(r.opts.Analyses) > 0 {
		return bothSink{s, besideSink{number: n, fault: r.opts.fault}}
	}
	return s
}

// writingFailed ends the recording, from a processing thread: nothing more can be written.
func (r *run) writingFailed(err error) {
	r.failed.CompareAndSwap(nil, &err)
	r.proc.cut.CompareAndSwap(nil, &err)
	r.end("writing failed: " + plain(err))
}

// threadBroke is told that a processing thread has given up, by that thread: others go on.
func (r *run) threadBroke(n int, why error) {
	r.proc.mu.Lock()
	if r.proc.why == "" {
		r.proc.why = plain(why)
	}
	r.proc.gone = append(r.proc.gone, fmt.Sprintf("processing thread %d gave up, others went on: %s", n+1, plain(why)))
	r.proc.mu.Unlock()
	if w := r.opts.Log; w != nil {
		fmt.Fprintf(w, "processing thread %d: %v\n", n+1, why)
	}
	if t := r.proc.tuned; t != nil {
		t.tell(abp.EventBroken)
	}
}

// plain is an error of a processing thread without the word that it is one, and without a panic's stack.
func plain(err error) string {
	if out := (*emit.OutputError)(nil); errors.As(err, &out) {
		return first(out.Err).Error()
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return text
}

// drained closes the profile's streams in all processing threads. Its rings have been drained.
func (r *run) drained(w *emit.ProcessWriter) {
	r.proc.mu.Lock()
	sinks := r.proc.sinks
	r.proc.mu.Unlock()
	for _, s := range sinks {
		s.forget(w)
	}
}

// closePool ends the processing threads, while the page that they share with the processes is still there.
func (r *run) closePool() {
	if r.proc.pool == nil {
		return
	}
	if r.proc.tuned != nil {
		r.proc.tuned.close()
	}
	r.proc.placed.close()
	if err := r.proc.pool.Close(); err != nil {
		r.failed.CompareAndSwap(nil, &err)
	}
}

// lostWith tells the user which processing threads gave up, and adds to an error what could not be written.
func (r *run) lostWith(err error) error {
	r.proc.mu.Lock()
	gone, why := r.proc.gone, r.proc.why
	r.proc.mu.Unlock()
	if err == nil { // else the error is what they all met with
		for _, g := range gone {
			r.lack(g)
		}
	}
	if r.emit == nil {
		return err
	}
	lost := r.emit.Lost()
	what := counted(lost.Instructions, "recorded instruction", "recorded instructions") + " could not be written"
	if lost.Instructions == 0 { // what a processing thread had when it gave up may be half a record; readers miss the frame all the same
		what = counted(lost.Frames, "frame", "frames") + " without an instruction could not be written"
	}
	switch {
	case lost.Frames == 0:
		return err
	case err == nil:
		return fmt.Errorf("%w: %s; %s", ErrIncomplete, cmp.Or(why, "output failed"), what)
	}
	return fmt.Errorf("%w; %s", err, what)
}
