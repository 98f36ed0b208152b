package sys

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// Regs is the general registers of a tracee, as the kernel's user_regs_struct.
type Regs = unix.PtraceRegs

// Signal is a signal number.
type Signal = unix.Signal

// Error is a ptrace request that the kernel refused.
type Error struct {
	// the request's name in ptrace(2)
	Op  string
	TID int
	// the kernel's
	Err error
}

// Error says which request on which thread failed and why.
func (e *Error) Error() string { return fmt.Sprintf("%s of thread %d: %v", e.Op, e.TID, e.Err) }

// Unwrap returns the kernel's error; errors.Is(err, unix.ESRCH) tells a thread that is gone.
func (e *Error) Unwrap() error { return e.Err }

// wrap makes an Error of a refused request, nil of none.
func wrap(op string, tid int, err error) error {
	if err == nil {
		return nil
	}
	return &Error{op, tid, err}
}

// traceOptions are what every tracee has: events for children, exec and exit,
// and death with the tracer, so that no target is left behind in the cache of a
// tracer that was killed.
//
// There is no PTRACE_O_TRACEEXIT: a dying thread would stop once more, and a tracer
// that is slow to answer would hold up exit_group. SetOptions adds it, as for the first threads of what is followed, or has several.
const traceOptions = unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK |
	unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL | unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACEVFORKDONE

// Seize attaches to a process without stopping it.
// Unlike PTRACE_ATTACH it sends no SIGSTOP, which the target could see; children
// are seized with it and stop with PTRACE_EVENT_STOP.
func Seize(pid int) error {
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, traceOptions, 0, 0)
	if e != 0 {
		return wrap("PTRACE_SEIZE", pid, e)
	}
	return nil
}

// AnyTracee tells whether the calling thread has a tracee or child left, reported or not. Which it is is not said, nor taken.
func AnyTracee() bool {
	const noThread = 0x20000000 // __WNOTHREAD: others' are not looked at
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT|unix.WALL|noThread, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

// SetOptions makes a stopped tracee stop once more when it begins to end
// (PTRACE_EVENT_EXIT), or no longer. The other options stay; threads that it creates
// inherit them all.
func SetOptions(tid int, atExit bool) error { return setOptions(tid, traceOptions, atExit) }

// FollowOptions is SetOptions for a tracee whose return from vfork nobody needs to hear of: a stop less for each program that is started so.
func FollowOptions(tid int, atExit bool) error {
	return setOptions(tid, traceOptions&^unix.PTRACE_O_TRACEVFORKDONE, atExit)
}

func setOptions(tid, options int, atExit bool) error {
	if atExit {
		options |= unix.PTRACE_O_TRACEEXIT
	}
	return wrap("PTRACE_SETOPTIONS", tid, ptraceShort(unix.PTRACE_SETOPTIONS, tid, 0, uintptr(options)))
}

// Interrupt asks a running tracee to stop.
// The stop comes later, as PTRACE_EVENT_STOP; there may be another one before it.
func Interrupt(tid int) error { return wrap("PTRACE_INTERRUPT", tid, unix.PtraceInterrupt(tid)) }

// GetRegs reads the general registers of a stopped tracee.
func GetRegs(tid int, r *Regs) error { return wrap("PTRACE_GETREGS", tid, getRegs(tid, r)) }

// SetRegs writes the general registers of a stopped tracee.
func SetRegs(tid int, r *Regs) error { return wrap("PTRACE_SETREGS", tid, setRegs(tid, r)) }

// Cont lets a stopped tracee run and delivers sig to it, if not 0.
func Cont(tid int, sig Signal) error {
	return wrap("PTRACE_CONT", tid, ptraceShort(unix.PTRACE_CONT, tid, 0, uintptr(sig)))
}

// ContToCall is Cont until the next entry or end of a system call.
func ContToCall(tid int, sig Signal) error {
	return wrap("PTRACE_SYSCALL", tid, unix.PtraceSyscall(tid, int(sig)))
}

// Step lets a stopped tracee execute one instruction and delivers sig, if not
// 0; with a handler, it stops before the handler's first instruction.
func Step(tid int, sig Signal) error {
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SINGLESTEP, uintptr(tid), 0, uintptr(sig), 0, 0)
	if e != 0 {
		return wrap("PTRACE_SINGLESTEP", tid, e)
	}
	return nil
}

// Listen leaves a tracee in its group stop and still reports what happens.
// PTRACE_LISTEN is what keeps job control working under a tracer: a stopped job
// stays stopped, and SIGCONT is reported.
func Listen(tid int) error {
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_LISTEN, uintptr(tid), 0, 0, 0, 0)
	if e != 0 {
		return wrap("PTRACE_LISTEN", tid, e)
	}
	return nil
}

// Detach lets a stopped tracee go and delivers sig, if not 0.
// Breakpoints, changed registers and mappings of ours must be gone by then.
func Detach(tid int, sig Signal) error {
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_DETACH, uintptr(tid), 0, uintptr(sig), 0, 0)
	if e != 0 {
		return wrap("PTRACE_DETACH", tid, e)
	}
	return nil
}

// Kill ends a process.
func Kill(pid int) error { return wrap("SIGKILL", pid, unix.Kill(pid, unix.SIGKILL)) }

// SendSignal sends a signal to one thread of a process, 0 to see whether that
// is possible.
func SendSignal(pid, tid int, sig Signal) error {
	return wrap("tgkill", tid, unix.Tgkill(pid, tid, sig))
}

// EventMsg reads what a ptrace event stop is about: a child's id, an exit status.
func EventMsg(tid int) (uint, error) {
	m, err := eventMessage(tid)
	return m, wrap("PTRACE_GETEVENTMSG", tid, err)
}

// Stop is what wait reports of a tracee.
type Stop struct {
	// the thread that stopped or ended
	TID int
	// as wait4 gave it, the ptrace event included
	Status unix.WaitStatus
	// of a process that has ended, what it used; else nil
	Usage *Usage
}

// Usage is what the kernel accounted to a process and to the children that it waited for.
type Usage struct {
	User, System time.Duration
	Faults       uint64 // of pages, with and without reading
	// Switches are what it gave its processor up for: waits, among them a tracer's
	// stops. Taken are those where it was taken away.
	Switches, Taken uint64
	MaxRSS          int64 // bytes, the most that was resident at a time
}

// usageOf takes what is used of the kernel's record.
func usageOf(r *unix.Rusage) *Usage {
	return &Usage{User: time.Duration(r.Utime.Nano()), System: time.Duration(r.Stime.Nano()), Faults: uint64(r.Minflt + r.Majflt),
		Switches: uint64(r.Nvcsw), Taken: uint64(r.Nivcsw), MaxRSS: r.Maxrss << 10}
}

// Event is the ptrace event of the stop, 0 for none.
// The kernel puts it above the sixteen bits that wait(2) documents.
func (s Stop) Event() int { return int(s.Status>>16) & 0xff }

// Signal is the signal of a signal-delivery stop.
func (s Stop) Signal() Signal { return s.Status.StopSignal() }

// Reap waits for the end of a child that is not traced.
func Reap(pid int) {
	for {
		if _, err := unix.Wait4(pid, nil, 0, nil); err != unix.EINTR {
			return
		}
	}
}

// Killed tells whether a child that is not traced has been ended by a signal. It stays to be waited for.
func Killed(pid int) bool {
	const killed, dumped = 2, 3 // CLD_KILLED, CLD_DUMPED
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil && info.Signo != 0 && (info.Code == killed || info.Code == dumped)
		}
	}
}

// Errno is an error number of the kernel.
type Errno = unix.Errno

// ErrNoReader is what writing to a pipe answers whose reader has ended.
var ErrNoReader = unix.EPIPE

// Gone tells an error that means that the thread does not exist any more.
func Gone(err error) bool { return errors.Is(err, unix.ESRCH) }
