package analysis

import (
	"errors"
	"runtime"
	"slices"
	"sync"

	"alleria/abp"
)

// threadWork reads what q, which names one process and one thread, matches. It
// is told the thread's place in the list that eachThread returns, so that
// results can be put side by side without a lock.
type threadWork func(i int, q abp.Query, m *meter) error

// eachThread runs work for the threads of a process that q matches, side by
// side, and returns these threads in the order of the profile.
//
// Threads are the unit of parallel work because nothing is shared between them:
// each has frames of its own, and its executions must be read in order. Cutting
// one thread's frames into parts would be faster where one thread does
// everything, but the windows that are open at a cut are only known from what
// comes before it.
//
// No more run at a time than there are processors: each reader holds decoded
// frames, so that memory grows with those that run and not with the threads of
// the program. All run to their end even when one fails; the errors are joined.
func eachThread(proc *abp.Process, q abp.Query, progress *Progress, work threadWork) ([]abp.Thread, error) {
	var threads []abp.Thread
	for _, t := range proc.Threads() {
		if wants(q.Threads, t.Number) {
			threads = append(threads, t)
		}
	}
	errs := make([]error, len(threads)) // one slot a thread: no lock
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wait sync.WaitGroup
	for i, t := range threads {
		tq := q
		tq.Processes, tq.Threads = []uint32{proc.Number()}, []uint32{t.Number}
		m := &meter{progress: progress, left: progress.expect(&t)}
		slots <- struct{}{} // before the start: a thousand threads are not a thousand goroutines
		wait.Go(func() {
			defer func() { <-slots }()
			defer m.finish()
			errs[i] = work(i, tq, m)
		})
	}
	wait.Wait()
	return threads, errors.Join(errs...)
}

// wants reports whether a query's list, where empty means all, has n.
func wants(list []uint32, n uint32) bool { return len(list) == 0 || slices.Contains(list, n) }
