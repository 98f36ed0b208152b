package main

import (
	"fmt"
	"sync"
	"time"

	"alleria/analysis"
)

// progressEvery is how often the line is rewritten, and how long work has to
// take before there is one at all.
const progressEvery = 500 * time.Millisecond

// reading shows how far reading a profile has got, on a terminal. stop takes
// the line away again; it must be called before anything else is printed.
//
// The line is rewritten in place by a goroutine of its own, so that the readers never
// wait for a slow terminal. The escape at its end (CSI K, ECMA-48) clears the line.
// Without a terminal, or with --quiet, there is nobody to tell: progress is nil,
// which every reader takes, and stop does nothing.
func (a *app) reading() (progress *analysis.Progress, stop func()) {
	if a.progress() == nil {
		return nil, func() {}
	}
	progress = new(analysis.Progress)
	return progress, a.showing("reading", progress.Share)
}

// showing is reading for whatever can say which share of it is done.
func (a *app) showing(what string, share func() float64) (stop func()) {
	out := a.progress()
	if out == nil {
		return func() {}
	}
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for shown := false; ; shown = true {
			select {
			case <-done:
				if shown {
					fmt.Fprint(out, "\r\x1b[K")
				}
				return
			case <-tick.C:
				fmt.Fprintf(out, "\r%s: %3.0f %%", what, 100*share())
			}
		}
	})
	return func() {
		close(done)
		wait.Wait()
	}
}
