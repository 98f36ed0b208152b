package stream

import (
	"runtime"
	"sync/atomic"
)

// Behind is a second goroutine of an analysis, for what nothing in front of it waits for: the distances of lines that are not recent, the caches behind the first. Work is handed to
// it in parcels, in their order. Beside a program it is the processing thread that sets the time, and the program's own processor has little to do, so that it is worth it on two
// processors already, if a parcel is some milliseconds' work: small ones cost more than they gain.
//
// Its methods are for the goroutine in front, which owns Filling; a parcel that was handed on is the other's.
type Behind[P any] struct {
	Filling    *P // the parcel that is filled
	full, free chan *P
	done       chan struct{}
	failed     atomic.Pointer[any] // what do has panicked with
}

// parcels is how many there are of one Behind.
const parcels = 4

// NewBehind has do called for each parcel that is handed on, and then empty, which makes it as good as new; nil where there is no processor for another goroutine.
func NewBehind[P any](do, empty func(*P)) *Behind[P] {
	if runtime.GOMAXPROCS(0) < 2 {
		return nil
	}
	b := &Behind[P]{Filling: new(P), full: make(chan *P, parcels), free: make(chan *P, parcels), done: make(chan struct{})}
	for range parcels - 1 {
		b.free <- new(P)
	}
	go b.follow(do, empty)
	return b
}

// follow takes parcels. After a panic it does nothing with them: who hands them on does not wait, and hears of it when it settles.
func (b *Behind[P]) follow(do, empty func(*P)) {
	defer close(b.done)
	for p := range b.full {
		if b.failed.Load() == nil {
			b.guarded(do, p)
		}
		empty(p)
		b.free <- p
	}
}

// guarded notes what do panics with.
func (b *Behind[P]) guarded(do func(*P), p *P) {
	defer func() {
		if r := recover(); r != nil {
			b.failed.Store(&r)
		}
	}()
	do(p)
}

// Hand hands Filling on, and waits for an empty one if all are full.
func (b *Behind[P]) Hand() {
	b.full <- b.Filling
	b.Filling = <-b.free
}

// Settle hands the last parcel on, and waits until all are done. It panics with what one of them has panicked with. b is of no use afterwards.
func (b *Behind[P]) Settle() {
	b.full <- b.Filling
	close(b.full)
	<-b.done
	if failed := b.failed.Load(); failed != nil {
		panic(*failed)
	}
}
