package abp

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// EachFrame calls work(i) for each of n frames, side by side on as many goroutines as
// GOMAXPROCS allows, and on the caller's own if that is one. start makes the work of one
// goroutine, with whatever it keeps from frame to frame (a Reader, counts), and what is
// called behind its last frame, also after an error.
//
// Frames are the unit because each can be decoded alone: its header has all of the
// thread's state. They are handed out in order, one at a time, so that a goroutine sees
// ascending numbers and memory is one frame a goroutine: its bytes, what its streams
// decompress to (a few megabytes together), and a decoder's tables. Whole threads as the
// unit were refused: most programs have one that does everything.
//
// After an error no more frames are begun. What is returned is the first error by number,
// whoever met it, so that results do not depend on the number of processors: all frames in
// front of it have been worked on.
func EachFrame(n int, start func() (work func(i int) error, done func())) error {
	workers := min(runtime.GOMAXPROCS(0), n)
	if workers <= 1 {
		work, done := start()
		defer done()
		for i := range n {
			if err := work(i); err != nil {
				return err
			}
		}
		return nil
	}
	var (
		next   atomic.Int64
		failed atomic.Bool
		lock   sync.Mutex // guards the two below
		first  = n
		err    error
		wait   sync.WaitGroup
	)
	for range workers {
		wait.Go(func() {
			work, done := start()
			defer done()
			for !failed.Load() {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if e := work(i); e != nil {
					failed.Store(true)
					lock.Lock()
					if i < first {
						first, err = i, e
					}
					lock.Unlock()
				}
			}
		})
	}
	wait.Wait()
	return err
}
