package tool

import (
	"bytes"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"alleria/analysis/live"
)

// filler is what a thread of the program fills buffers of one type with. It belongs to who consumes the thread's ring.
type filler struct {
	of *bufferType
	buffer
	handed handed // what all buffers of the thread have in common
	free   chan buffer
	work   chan handed
	failed chan error // of the runner, at most one
	gone   chan struct{}
	// began is when the callback that runs now began, in nanoseconds; 0: none runs.
	began     atomic.Int64
	goroutine atomic.Pointer[string] // the runner's, as tracebacks name it
}

// newFiller begins with the first record of a thread.
func newFiller(c *bufferType, common handed) *filler {
	f := &filler{of: c, handed: common, free: make(chan buffer, c.buffers), work: make(chan handed, c.buffers), failed: make(chan error, 1), gone: make(chan struct{})}
	for range c.buffers - 1 {
		f.free <- c.fresh()
	}
	f.buffer = c.fresh()
	go f.run()
	return f
}

// run calls the callback for each buffer. It is a goroutine of its own, so that a callback that never returns holds up nothing but itself.
func (f *filler) run() {
	defer close(f.gone)
	var text [64]byte
	head, _, _ := bytes.Cut(text[:runtime.Stack(text[:], false)], []byte(" ["))
	name := string(head) + " ["
	f.goroutine.Store(&name)
	for h := range f.work {
		next, err := f.call(&h)
		if err != nil {
			f.failed <- err
			return
		}
		f.free <- next
	}
}

// call is one call of the callback.
func (f *filler) call(h *handed) (next buffer, err error) {
	returned := false
	defer func() {
		f.began.Store(0)
		if v := recover(); v != nil {
			err = fmt.Errorf("the callback of %s panicked: %v, at %s", f.of.name, v, live.PanicPlace(0))
		} else if !returned { // and the goroutine ends behind this
			f.failed <- fmt.Errorf("the callback of %s at %s ended its goroutine (runtime.Goexit)", f.of.name, f.of.callback)
		}
	}()
	f.began.Store(time.Now().UnixNano())
	next, err = f.of.exchanged(h)
	returned = true
	return next, err
}

// hand gives the buffer to the callback and takes another one.
func (f *filler) hand() {
	f.give(false)
	f.wait(f.free)
}

// give gives the buffer to the callback.
func (f *filler) give(final bool) {
	h := f.handed
	h.buffer, h.final = f.buffer, final
	select {
	case f.work <- h: // there is room for as many as there are buffers
	case err := <-f.failed:
		panic(live.Failure{Err: err})
	case <-f.of.tool.over.done:
		panic(live.Failure{Err: f.of.tool.over.err})
	}
}

// end hands over what there is and waits for the callback.
func (f *filler) end() {
	f.give(true)
	close(f.work)
	f.wait(nil)
}

// wait waits for a buffer, or, without free ones, for the runner to end. A callback that takes too long is the analysis's end.
func (f *filler) wait(free chan buffer) {
	limit := f.of.tool.Limit
	for {
		tick := time.After(limit/8 + time.Millisecond)
		gone := f.gone
		if free != nil {
			gone = nil
		}
		select {
		case b := <-free:
			f.buffer = b
			return
		case err := <-f.failed:
			panic(live.Failure{Err: err})
		case <-f.of.tool.over.done:
			panic(live.Failure{Err: f.of.tool.over.err})
		case <-gone:
			select {
			case err := <-f.failed: // both at once
				panic(live.Failure{Err: err})
			default:
				return
			}
		case <-tick:
			if began := f.began.Load(); began != 0 && time.Now().UnixNano()-began > int64(limit) {
				panic(live.Failure{Err: fmt.Errorf("the callback of %s has been at one buffer for more than %v, at %s", f.of.name, limit, f.where())})
			}
		}
	}
}

// where is the place in the user's code at which the callback is.
func (f *filler) where() string {
	text := make([]byte, 1<<20)
	_, mine, ok := strings.Cut(string(text[:runtime.Stack(text, true)]), *f.goroutine.Load())
	if !ok {
		return f.of.callback
	}
	mine, _, _ = strings.Cut(mine, "\n\n")
	lines := strings.Split(mine, "\n")
	for i := 1; i+1 < len(lines); i += 2 {
		function, place := lines[i], strings.TrimSpace(lines[i+1])
		if strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "time.") || strings.HasPrefix(function, "sync.") || strings.HasPrefix(function, "internal/") {
			continue
		}
		place, _, _ = strings.Cut(place, " +0x")
		return filepath.Base(place)
	}
	return f.of.callback
}
