package sys

/*
#include "waiter.h"
*/
import "C"

import (
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Waiter passes on what the kernel reports of tracees and children.
//
// The thread that waits is one of C's, which the Go runtime does not know: it puts reports
// into a ring, changes a word that whoever takes them may sleep on, and rings a doorbell. A
// goroutine and a channel were refused: each report took the goroutine's way through the
// runtime's scheduler and, where the other side is locked to its thread, from thread to
// thread twice more; and the runtime's monitor woke every 80 µs to see whether the wait was
// over, on a processor that the target could have had.
//
// Its methods are for one goroutine at a time. It is the only wait for tracees of a recording,
// so that no stop is taken by a stranger: os/exec's Wait is not used for targets. __WALL
// includes threads made by clone with another exit signal than SIGCHLD.
//
// Two threads that hand a report from one to the other are a change of threads more for each, and the runtime's monitor, woken by whoever comes back from a sleep that it has noticed, is two more.
// Whoever gets report after report and has nothing else to wait for may therefore wait by itself (WaitHere): the thread does not, then. The runtime takes it for busy meanwhile, so that this is no way to
// wait for long: after some ticks without a report the thread waits again.
type Waiter struct {
	w    *C.struct_waiter
	here bool // the ticks are on
	idle int  // how many of them have ended a wait since the last report
}

// longestHere is for how long WaitHere waits at most, for which the runtime's collector may have to wait, and mostIdle how often it does in vain until the thread waits again.
const (
	longestHere = 10 * time.Millisecond
	mostIdle    = 10
)

// StartWaiter starts the thread. There must be something to wait for: it ends with the
// last tracee and child. Stops and ends of tracees and children send us no signal from then on until Close, unless stopSignals: of each, the thread that traces would run a handler that does nothing.
func StartWaiter(stopSignals bool) (*Waiter, error) {
	all := C.int(0)
	if stopSignals {
		all = 1
	}
	w, err := C.alleria_wait_start(all)
	if w == nil {
		return nil, fmt.Errorf("thread that waits for tracees: %w", err)
	}
	return &Waiter{w: w}, nil
}

// word is one of the shared words as Go's atomics want it.
func word[T any](p *T) *atomic.Uint32 { return (*atomic.Uint32)(unsafe.Pointer(p)) }

// WaitHere waits for the next report on the calling thread, at most for longestHere, and tells whether it has. It has not where the thread that was started still waits, which lets go with the
// next report, and where nothing has been reported for a while. The calling thread is the one that started it, its processor one of several.
func (w *Waiter) WaitHere() bool {
	if w.w.has_ticks == 0 {
		return false
	}
	if word(&w.w.parked).Load() == 0 {
		word(&w.w.wish).Store(1)
		return false
	}
	if !w.here {
		w.here, w.idle = true, 0
		C.alleria_wait_ticks(w.w, C.long(longestHere))
	}
	head := word(&w.w.head).Load()
	r := &w.w.ring[head%C.REPORTS]
	// A raw call: the runtime's monitor is to leave this thread its share of the processors, which it would take and give back with each report.
	tid, _, e := unix.RawSyscall6(unix.SYS_WAIT4, ^uintptr(0), uintptr(unsafe.Pointer(&r.status)), unix.WALL, uintptr(unsafe.Pointer(&r.used)), 0, 0)
	switch {
	case e == 0:
		r.tid, w.idle = C.int(tid), 0
		word(&w.w.head).Store(head + 1)
		return true
	case e == unix.EINTR && w.idle < mostIdle:
		w.idle++
		return true
	}
	w.WaitThere()
	return false
}

// WaitThere has the thread that was started wait again, if WaitHere did.
func (w *Waiter) WaitThere() {
	word(&w.w.wish).Store(0)
	if word(&w.w.parked).Load() == 0 {
		return
	}
	if w.here {
		w.here = false
		C.alleria_wait_ticks(w.w, 0)
	}
	word(&w.w.parked).Store(0)
	FutexWakeAt(word(&w.w.parked), 1)
}

// Next returns the oldest report that has not been taken, false if there is none.
func (w *Waiter) Next() (Stop, bool) {
	tail := word(&w.w.tail).Load()
	if word(&w.w.head).Load() == tail {
		return Stop{}, false
	}
	r := &w.w.ring[tail%C.REPORTS]
	s := Stop{TID: int(r.tid), Status: unix.WaitStatus(r.status)}
	if s.Status.Exited() || s.Status.Signaled() {
		s.Usage = usageOf((*unix.Rusage)(unsafe.Pointer(&r.used)))
	}
	word(&w.w.tail).Store(tail + 1)
	return s, true
}

// Pending tells whether Next has a report, or Over something to say.
func (w *Waiter) Pending() bool {
	return word(&w.w.head).Load() != word(&w.w.tail).Load() || word(&w.w.error).Load() != 0
}

// Over tells whether everything has been taken and nothing is left to wait for.
func (w *Waiter) Over() bool {
	return word(&w.w.error).Load() != 0 && word(&w.w.head).Load() == word(&w.w.tail).Load()
}

// Wait sleeps until something is Pending, at most for the timeout (0: without end). It may
// return earlier.
func (w *Waiter) Wait(timeout time.Duration) {
	w.WaitThere()
	asleep, news := word(&w.w.asleep), word(&w.w.news)
	asleep.Store(1)
	if now := news.Load(); !w.Pending() {
		futexWaitPrivate((*uint32)(unsafe.Pointer(&w.w.news)), now, timeout)
	}
	asleep.Store(0)
}

// Bell says which futex word to increment, and to wake if asleep is not zero, with each
// report besides; nil none. When it returns, the former word is not touched any more.
func (w *Waiter) Bell(bell, asleep *uint32) {
	C.alleria_wait_bell(w.w, unsafe.Pointer(bell), unsafe.Pointer(asleep))
}

// Close frees what the thread used, if it has ended: it lives on while there is another
// child to wait for, whose end it then takes.
func (w *Waiter) Close() {
	w.WaitThere()
	C.alleria_wait_signals(w.w)
	w.Bell(nil, nil)
	for range 10 {
		if word(&w.w.error).Load() != 0 {
			C.alleria_wait_end(w.w)
			break
		}
		w.Wait(time.Millisecond)
	}
	w.w = nil
}
