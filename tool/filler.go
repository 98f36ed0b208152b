package tool

import (
	"fmt"
	"time"

	"alleria/analysis/live"
)

// filler is what a thread of the program fills buffers of one type with. It belongs to who consumes the thread's ring.
type filler struct {
	of *bufferType
	buffer
	handed handed // what all buffers of the thread have in common
	to     callee
	free   chan buffer
	failed chan error // at most one is waited for
	gone   chan struct{}
}

// callee calls the callback for one thread of the program and one type, in order.
type callee interface {
	call(h handed) // does not wait: as many as there are buffers have room
	close()        // behind the last
	late()         // it has not answered for so long that the analysis is over
}

// newFiller begins with the first record of a thread.
func newFiller(c *bufferType, common handed) *filler {
	f := &filler{of: c, handed: common, free: make(chan buffer, c.buffers), failed: make(chan error, 1), gone: make(chan struct{})}
	for range c.buffers - 1 {
		f.free <- c.fresh()
	}
	f.buffer = c.fresh()
	if b := c.tool.beside; b != nil {
		f.to = b.begin(f)
	} else {
		f.to = newRunner(c, f, common)
	}
	return f
}

// next is of answers: the callback has returned, and there is another buffer to fill.
func (f *filler) next(b buffer) {
	select {
	case f.free <- b:
	default:
		f.fail(fmt.Errorf("the callback of %s has given back more buffers than it got", f.of.name))
	}
}

// fail is of answers.
func (f *filler) fail(err error) {
	select {
	case f.failed <- err:
	default: // it is over already
	}
}

// end is of answers: nothing will be called any more.
func (f *filler) end() { close(f.gone) }

// hand gives the buffer to the callback and takes another one.
func (f *filler) hand() {
	f.give(false)
	f.wait(nil)
}

// give gives the buffer to the callback.
func (f *filler) give(final bool) {
	h := f.handed
	h.buffer, h.final = f.buffer, final
	select {
	case err := <-f.failed:
		panic(live.Failure{Err: err})
	case <-f.of.tool.over.done:
		panic(live.Failure{Err: f.of.tool.over.err})
	default:
		f.to.call(h)
	}
}

// finish hands over what there is and waits for the callback.
func (f *filler) finish() {
	f.give(true)
	f.to.close()
	f.wait(f.gone)
}

// unanswered is how much later than the limit a callback's process may say that the limit is over.
const unanswered = 5 * time.Second

// wait waits for a buffer, or for the last callback's end, if gone is not nil. A callback that takes too long is told by who calls it; that it is not told either
// is the end as well.
func (f *filler) wait(gone chan struct{}) {
	wait := time.NewTimer(2*f.of.tool.Limit + unanswered)
	defer wait.Stop()
	for {
		select {
		case b := <-f.free:
			if gone == nil {
				f.buffer = b
				return
			}
			f.of.drop(b)
			wait.Reset(2*f.of.tool.Limit + unanswered)
		case err := <-f.failed:
			panic(live.Failure{Err: err})
		case <-f.of.tool.over.done:
			panic(live.Failure{Err: f.of.tool.over.err})
		case <-gone:
			f.last()
			return
		case <-wait.C:
			f.to.late()
		}
	}
}

// last takes what was said before the end.
func (f *filler) last() {
	for {
		select {
		case err := <-f.failed:
			panic(live.Failure{Err: err})
		case b := <-f.free:
			f.of.drop(b)
		default:
			return
		}
	}
}
