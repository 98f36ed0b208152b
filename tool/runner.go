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

// runner calls the callback of one type for one thread of the program, on a goroutine of its own, so that one that never
// returns holds up nothing but itself.
type runner struct {
	of        *bufferType
	common    handed // what all buffers have in common
	work      chan handed
	to        answers
	goroutine atomic.Pointer[string] // as tracebacks name it
}

// answers is who is told what came of the calls.
type answers interface {
	next(b buffer)  // a call has returned, and this is filled next
	fail(err error) // the analysis is over, and why
	end()           // nothing comes behind this
}

// newRunner begins with the first buffer of a thread.
func newRunner(c *bufferType, to answers, common handed) *runner {
	r := &runner{of: c, common: common, work: make(chan handed, c.buffers+1), to: to}
	go r.run()
	return r
}

// call is of callee.
func (r *runner) call(h handed) { r.work <- h }

// close is of callee.
func (r *runner) close() { close(r.work) }

// run calls the callback for each buffer.
func (r *runner) run() {
	defer r.to.end()
	var text [64]byte
	head, _, _ := bytes.Cut(text[:runtime.Stack(text[:], false)], []byte(" ["))
	name := string(head) + " ["
	r.goroutine.Store(&name)
	limit := time.AfterFunc(time.Hour, r.late)
	defer limit.Stop()
	for h := range r.work {
		limit.Reset(r.of.tool.Limit)
		next, err := r.one(&h)
		limit.Stop()
		if err != nil {
			r.to.fail(err)
			return
		}
		r.to.next(next)
	}
}

// one is one call of the callback.
func (r *runner) one(h *handed) (next buffer, err error) {
	returned := false
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the callback of %s panicked: %v, at %s", r.of.name, v, live.PanicPlace(0))
		} else if !returned { // and the goroutine ends behind this
			r.to.fail(fmt.Errorf("the callback of %s at %s ended its goroutine (runtime.Goexit)", r.of.name, r.of.callback))
		}
	}()
	next, err = r.of.exchanged(h)
	returned = true
	return next, err
}

// late is of callee, and called as well when the callback has been at one buffer for too long.
func (r *runner) late() {
	r.to.fail(fmt.Errorf("the callback of %s has been at one buffer for more than %v, at %s", r.of.name, r.of.tool.Limit, r.where()))
}

// where is the place in the user's code at which the callback is.
func (r *runner) where() string {
	text := make([]byte, 1<<20)
	_, mine, ok := strings.Cut(string(text[:runtime.Stack(text, true)]), *r.goroutine.Load())
	if !ok {
		return r.of.callback
	}
	mine, _, _ = strings.Cut(mine, "\n\n")
	if place := placeIn(mine); place != "" {
		return place
	}
	return r.of.callback
}

// placeIn is the innermost place of the user's code in a traceback, empty if there is none.
func placeIn(traceback string) string {
	var function string
	for line := range strings.Lines(traceback) {
		place, inside := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "\t")
		if !inside {
			function = line
			continue
		}
		if strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "time.") || strings.HasPrefix(function, "sync.") || strings.HasPrefix(function, "internal/") ||
			strings.HasPrefix(function, "panic(") || strings.HasPrefix(function, "os.Exit") {
			continue
		}
		place, _, _ = strings.Cut(place, " +0x")
		return filepath.Base(place)
	}
	return ""
}
