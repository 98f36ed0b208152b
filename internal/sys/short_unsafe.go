package sys

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// System calls that the kernel answers at once, of which the tracer makes some twenty for each process that it follows. The runtime is not told of them: its monitor takes the share
// of the processors away from a thread that it finds in a system call, and is woken when that wants it back, which at a busy tracer it does for each second report.

// ptraceShort is a request of ptrace.
func ptraceShort(request, tid int, addr, data uintptr) error {
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0); e != 0 {
		return e
	}
	return nil
}

// eventMessage is PTRACE_GETEVENTMSG.
func eventMessage(tid int) (message uint, err error) {
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETEVENTMSG, uintptr(tid), 0, uintptr(unsafe.Pointer(&message)), 0, 0); e != 0 {
		return 0, e
	}
	return message, nil
}

// openShort opens a file of /proc to be read.
func openShort(name string) (fd int, err error) {
	path, err := unix.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	r, _, e := unix.RawSyscall6(unix.SYS_OPENAT, ^uintptr(99), uintptr(unsafe.Pointer(path)), unix.O_RDONLY|unix.O_CLOEXEC, 0, 0, 0) // AT_FDCWD
	runtime.KeepAlive(path)
	if e != 0 {
		return -1, e
	}
	return int(r), nil
}

// descriptorLimit sets this process's limit of descriptors, and reads what it was; nil: it does not. The runtime is not told: it would give others that it starts the same.
func descriptorLimit(set, was *Limit) error {
	if _, _, e := unix.RawSyscall6(unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(was)), 0, 0); e != 0 {
		return fmt.Errorf("limit of descriptors: %w", e)
	}
	return nil
}

// readShort reads such a file.
func readShort(fd int, b []byte) (n int, err error) {
	r, _, e := unix.RawSyscall6(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(r), nil
}

// preadShort reads it again from its beginning.
func preadShort(fd int, b []byte) (n int, err error) {
	r, _, e := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(r), nil
}

// readlinkShort is where a link of /proc leads.
func readlinkShort(name string, b []byte) (n int, err error) {
	path, err := unix.BytePtrFromString(name)
	if err != nil {
		return 0, err
	}
	r, _, e := unix.RawSyscall6(unix.SYS_READLINK, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)), 0, 0, 0)
	runtime.KeepAlive(path)
	if e != 0 {
		return 0, e
	}
	return int(r), nil
}

// FileID tells files apart, and a file from what it was before it was written to.
type FileID struct {
	Dev, Inode uint64
	Size       int64
	Changed    int64 // the time of its last change, in nanoseconds
}

// Identify is the identity of the file that a path leads to.
func Identify(name string) (FileID, error) {
	path, err := unix.BytePtrFromString(name)
	if err != nil {
		return FileID{}, err
	}
	var st unix.Stat_t
	_, _, e := unix.RawSyscall6(unix.SYS_STAT, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&st)), 0, 0, 0, 0)
	runtime.KeepAlive(path)
	if e != 0 {
		return FileID{}, e
	}
	return FileID{Dev: st.Dev, Inode: st.Ino, Size: st.Size, Changed: st.Ctim.Nano()}, nil
}

// ReadMemory reads a stretch of another process's memory, and returns how much of it could be read. It opens nothing.
func ReadMemory(pid int, at uint64, b []byte) (n int, err error) { return readvShort(pid, at, b) }

// getRegs is PTRACE_GETREGS.
func getRegs(tid int, regs *Regs) error {
	if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGS, uintptr(tid), 0, uintptr(unsafe.Pointer(regs)), 0, 0); e != 0 {
		return e
	}
	return nil
}

// setRegs is PTRACE_SETREGS. Refused: the library's, which is PTRACE_SETREGSET: its layout is that of the code that the thread executes, which may be 32-bit code.
func setRegs(tid int, regs *Regs) error {
	_, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETREGS, uintptr(tid), 0, uintptr(unsafe.Pointer(regs)), 0, 0)
	switch e {
	case 0:
		return nil
	case unix.EIO:
		return setEachReg(tid, regs)
	}
	return e
}

// setEachReg sets the registers that differ from what they are. All of them together the kernel refuses where a program has loaded a selector whose privilege level is not
// the user's, as the processor lets it (mov gs, 1), or set a base in the kernel's half: those stay as they are.
func setEachReg(tid int, regs *Regs) error {
	var now Regs
	if err := getRegs(tid, &now); err != nil {
		return err
	}
	const words = unsafe.Sizeof(now) / 8
	want, have := (*[words]uint64)(unsafe.Pointer(regs)), (*[words]uint64)(unsafe.Pointer(&now))
	for i := range want {
		if want[i] == have[i] {
			continue
		}
		if _, _, e := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_POKEUSR, uintptr(tid), uintptr(8*i), uintptr(want[i]), 0, 0); e != 0 {
			return e
		}
	}
	return nil
}

// readvShort reads a stretch of another process's memory.
func readvShort(pid int, at uint64, b []byte) (n int, err error) {
	here, there := unix.Iovec{Base: unsafe.SliceData(b), Len: uint64(len(b))}, unix.RemoteIovec{Base: uintptr(at), Len: len(b)}
	r, _, e := unix.RawSyscall6(unix.SYS_PROCESS_VM_READV, uintptr(pid), uintptr(unsafe.Pointer(&here)), 1, uintptr(unsafe.Pointer(&there)), 1, 0)
	runtime.KeepAlive(&here)
	if e != 0 {
		return 0, e
	}
	return int(r), nil
}

// closeShort closes it.
func closeShort(fd int) { _, _, _ = unix.RawSyscall6(unix.SYS_CLOSE, uintptr(fd), 0, 0, 0, 0, 0) }
