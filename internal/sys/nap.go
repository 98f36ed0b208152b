package sys

import (
	"time"

	"golang.org/x/sys/unix"
)

// Nap sleeps for a short time with the calling thread.
//
// time.Sleep hands the thread to other goroutines, and where there is none the runtime waits for whole milliseconds.
func Nap(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // a signal ends it early
}
