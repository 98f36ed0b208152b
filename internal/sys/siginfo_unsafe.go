package sys

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Siginfo is the kernel's siginfo_t, kept as it is.
// Only what signal handlers are lied to about is taken apart: addresses within the
// code cache become the application's. The layout is the x86-64 ABI's
// (include/uapi/asm-generic/siginfo.h): signo, errno, code, padding, then the
// union.
type Siginfo [128]byte

// Code is si_code.
// It is positive for what the kernel found (SEGV_MAPERR, ILL_ILLOPN …), zero or
// negative for what a process sent.
func (s *Siginfo) Code() int32 { return *(*int32)(unsafe.Pointer(&s[8])) }

// SetCode replaces si_code.
func (s *Siginfo) SetCode(c int32) { *(*int32)(unsafe.Pointer(&s[8])) = c }

// Addr is si_addr (or si_call_addr).
func (s *Siginfo) Addr() uint64 { return *(*uint64)(unsafe.Pointer(&s[16])) }

// Sender is si_pid, of a signal that was sent.
func (s *Siginfo) Sender() int { return int(*(*int32)(unsafe.Pointer(&s[16]))) }

// SetAddr replaces si_addr.
func (s *Siginfo) SetAddr(a uint64) { *(*uint64)(unsafe.Pointer(&s[16])) = a }

// Signal is si_signo.
func (s *Siginfo) Signal() Signal { return Signal(*(*int32)(unsafe.Pointer(&s[0]))) }

// PendingSignals reads signals that wait for a stopped tracee alone, not for its whole
// process, in the order in which they came, without the first from of them. It returns how many
// it has read: less than there is room for if there are no more.
func PendingSignals(tid, from int, s []Siginfo) (int, error) {
	args := struct { // ptrace_peeksiginfo_args
		off   uint64
		flags uint32
		n     int32
	}{off: uint64(from), n: int32(len(s))}
	n, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_PEEKSIGINFO, uintptr(tid), uintptr(unsafe.Pointer(&args)), uintptr(unsafe.Pointer(&s[0])), 0, 0)
	if e != 0 {
		return 0, wrap("PTRACE_PEEKSIGINFO", tid, e)
	}
	return int(n), nil
}

// GetSiginfo reads what a signal-delivery stop is about.
// In a group stop there is none, and the kernel answers EINVAL.
func GetSiginfo(tid int, s *Siginfo) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGINFO, uintptr(tid), 0, uintptr(unsafe.Pointer(s)), 0, 0)
	if e != 0 {
		return wrap("PTRACE_GETSIGINFO", tid, e)
	}
	return nil
}

// SetSiginfo replaces what will be delivered with the next continuation.
func SetSiginfo(tid int, s *Siginfo) error {
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SETSIGINFO, uintptr(tid), 0, uintptr(unsafe.Pointer(s)), 0, 0)
	if e != 0 {
		return wrap("PTRACE_SETSIGINFO", tid, e)
	}
	return nil
}

// SignalMask reads a stopped tracee's blocked signals, bit n-1 for signal n.
// PTRACE_GETSIGMASK gives the mask that will be in force once the thread runs on,
// where /proc shows the one of the moment: they differ within sigsuspend.
func SignalMask(tid int) (uint64, error) {
	var m uint64
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GETSIGMASK, uintptr(tid), 8, uintptr(unsafe.Pointer(&m)), 0, 0)
	if e != 0 {
		return 0, wrap("PTRACE_GETSIGMASK", tid, e)
	}
	return m, nil
}

// SetSignalMask replaces a stopped tracee's blocked signals.
func SetSignalMask(tid int, m uint64) error {
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SETSIGMASK, uintptr(tid), 8, uintptr(unsafe.Pointer(&m)), 0, 0)
	if e != 0 {
		return wrap("PTRACE_SETSIGMASK", tid, e)
	}
	return nil
}

// Sent tells a signal that a process sent, whose siginfo says which.
func (s *Siginfo) Sent() bool {
	const queue, kernel, user, tkill, child = -1, 0x80, 0, -6, 17
	c := s.Code()
	return c == user || c == queue || c == tkill || c > 0 && c != kernel && s.Signal() == child
}

// UserDispatch is which system calls a thread has turned into SIGSYS (prctl PR_SET_SYSCALL_USER_DISPATCH), as ptrace knows
// it: struct ptrace_sud_config.
type UserDispatch struct{ Mode, Selector, Offset, Length uint64 }

// Requests of ptrace since Linux 6.4 (include/uapi/linux/ptrace.h).
const (
	setUserDispatch  = 0x4210
	readUserDispatch = 0x4211
)

// ReadUserDispatch reads that of a stopped tracee.
func ReadUserDispatch(tid int, d *UserDispatch) error {
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, readUserDispatch, uintptr(tid), unsafe.Sizeof(*d), uintptr(unsafe.Pointer(d)), 0, 0)
	if e != 0 {
		return wrap("PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG", tid, e)
	}
	return nil
}

// SetUserDispatch replaces it. The kernel refuses what it would refuse to the thread itself, by the same error.
func SetUserDispatch(tid int, d *UserDispatch) error {
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, setUserDispatch, uintptr(tid), unsafe.Sizeof(*d), uintptr(unsafe.Pointer(d)), 0, 0)
	if e != 0 {
		return wrap("PTRACE_SET_SYSCALL_USER_DISPATCH_CONFIG", tid, e)
	}
	return nil
}

// AsErrno is the kernel's error in an error.
func AsErrno(err error) (no Errno, is bool) {
	is = errors.As(err, &no)
	return no, is
}
