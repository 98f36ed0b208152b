package analysis

import (
	"sync"

	"alleria/abp"
)

// tallies puts together what goroutines count of the threads of a process. A thread is
// attributed to functions and forgotten as soon as its last frame has been counted, so that
// memory goes with the goroutines and not with the threads.
type tallies struct {
	threads []abp.Thread
	mu      sync.Mutex
	sum     threadSum // guarded by mu
	parts   []*tally  // guarded by mu; of threads that are not done, nil where nothing was counted
	left    []int     // guarded by mu; frames that were not counted yet
}

// threadSum takes the tally of a thread.
type threadSum interface {
	thread(t *abp.Thread, counted *tally)
}

// newTallies starts with nothing counted.
func newTallies(s threadSum, threads []abp.Thread) *tallies {
	t := &tallies{threads: threads, sum: s, parts: make([]*tally, len(threads)), left: make([]int, len(threads))}
	for i := range threads {
		t.left[i] = len(threads[i].Frames)
	}
	return t
}

// add adds what a goroutine counted of so many frames of thread i, and takes it over.
func (t *tallies) add(i, frames int, counted *tally) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s, ok := t.sum.(*summary); ok && len(s.proc.Strata()) > 0 { // it is of one frame
		// Nothing is put together, and kept, of frames that count by factors of their own.
		s.spread.frame(s, counted)
		s.thread(&t.threads[i], counted)
		return
	}
	if t.parts[i] == nil {
		t.parts[i] = counted
	} else {
		t.parts[i].merge(counted)
	}
	if t.left[i] -= frames; t.left[i] == 0 {
		t.sum.thread(&t.threads[i], t.parts[i])
		t.parts[i] = nil
	}
}

// tallyWorker counts frames on one goroutine.
type tallyWorker struct {
	all     *tallies
	reader  *abp.Reader
	proc    *abp.Process
	entries bool // a filter picks out instructions
	execs   bool // a filter picks out executions
	decode  bool // all frames, also those whose lists would do

	thread  int    // that counted is of
	frames  int    // that it is of
	counted *tally // nil: nothing yet
}

// frame counts one frame.
func (w *tallyWorker) frame(i int, ref *abp.FrameRef) error {
	if w.counted == nil || w.thread != i || len(w.proc.Strata()) > 0 {
		w.done()
		w.counted, w.thread = newTally(), i
	}
	w.frames++
	r, t := w.reader, w.counted
	if w.proc.Lacks(ref) {
		if !w.entries && !w.execs {
			t.lost.Add(ref.Counts, 1)
		}
		return nil
	}
	t.begin(w.proc.StratumOf(ref), w.proc.Scale(ref))
	if !w.entries && !w.execs && !w.decode {
		if s, err := r.FrameSums(w.proc, ref); s != nil || err != nil {
			if s != nil {
				t.sums(s)
			}
			return err
		}
	}
	r.Frame(w.proc, ref)
	switch {
	case w.entries:
		for r.Next() {
			t.entry(r.Entry())
		}
	case w.execs:
		for r.NextExec() {
			t.exec(r.Exec())
		}
	default:
		for r.NextStretch() {
			if r.Stretch() == nil {
				t.exec(r.Exec())
			} else {
				t.stretch(r)
			}
		}
	}
	return r.Err()
}

// done hands over what was counted of the thread.
func (w *tallyWorker) done() {
	if w.counted != nil {
		w.all.add(w.thread, w.frames, w.counted)
	}
	w.counted, w.frames = nil, 0
}
