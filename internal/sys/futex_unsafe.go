package sys

import (
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Operations of futex(2). Without FUTEX_PRIVATE_FLAG, since the word is in memory
// that two processes share.
const (
	futexWait    = 0
	futexWake    = 1
	futexPrivate = 128
)

// FutexWait sleeps while *word is val, at most for timeout (0: without end).
// The futex is a shared one: the other side is another process.
// It may also return for no reason, or at once when the word had changed: callers
// look at their word again in any case, which is why the result is not returned.
func FutexWait(word *uint32, val uint32, timeout time.Duration) {
	futexSleep(word, val, timeout, futexWait)
}

// futexWaitPrivate is FutexWait on a word of this process alone.
func futexWaitPrivate(word *uint32, val uint32, timeout time.Duration) {
	futexSleep(word, val, timeout, futexWait|futexPrivate)
}

// FutexWaitAt and FutexWakeAt are FutexWait and FutexWake on a word of this process alone.
func FutexWaitAt(word *atomic.Uint32, val uint32, timeout time.Duration) {
	futexWaitPrivate((*uint32)(unsafe.Pointer(word)), val, timeout)
}

// FutexWakeAt wakes up to n waiters of a word of this process.
func FutexWakeAt(word *atomic.Uint32, n int) {
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake|futexPrivate, uintptr(n), 0, 0, 0)
}

func futexSleep(word *uint32, val uint32, timeout time.Duration, op uintptr) {
	var ts *unix.Timespec
	if timeout > 0 {
		t := unix.NsecToTimespec(int64(timeout))
		ts = &t
	}
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), op, uintptr(val), uintptr(unsafe.Pointer(ts)), 0, 0)
}

// FutexWake wakes up to n waiters of word.
// The caller must have changed the word before.
func FutexWake(word *uint32, n int) {
	unix.Syscall6(unix.SYS_FUTEX, uintptr(unsafe.Pointer(word)), futexWake, uintptr(n), 0, 0, 0)
}
