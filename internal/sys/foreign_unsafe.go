package sys

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ReadForeign reads another process's memory as that process could read it: unlike
// /proc/PID/mem it heeds the protection of pages. It returns how many bytes could be read.
func ReadForeign(pid int, b []byte, addr uint64) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	local := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}
	n, err := unix.ProcessVMReadv(pid, local, remote, 0)
	if err != nil {
		return 0, fmt.Errorf("memory of process %d at %#x: %w", pid, addr, err)
	}
	if n < len(b) {
		return n, fmt.Errorf("memory of process %d at %#x: %w", pid, addr+uint64(n), unix.EFAULT)
	}
	return n, nil
}

// WriteForeign writes another process's memory as that process could write it. It is all written, or an error.
func WriteForeign(pid int, b []byte, addr uint64) error {
	if len(b) == 0 {
		return nil
	}
	local := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
	remote := []unix.RemoteIovec{{Base: uintptr(addr), Len: len(b)}}
	n, err := unix.ProcessVMWritev(pid, local, remote, 0)
	if err == nil && n < len(b) {
		err = unix.EFAULT
	}
	if err != nil {
		return fmt.Errorf("memory of process %d at %#x: %w", pid, addr, err)
	}
	return nil
}

// ntXState is NT_X86_XSTATE, the regset's type in <elf.h>.
const ntXState = 0x202

// XState reads the vector and x87 state of a stopped thread into b, as xsave writes it in the standard format, and returns
// how much of it there is.
func XState(tid int, b []byte) (int, error) {
	iov := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGSET, uintptr(tid), ntXState, uintptr(unsafe.Pointer(&iov)), 0, 0)
	if e != 0 {
		return 0, wrap("PTRACE_GETREGSET", tid, e)
	}
	return int(iov.Len), nil
}

// SetXState writes what XState has read, or a part of it from the beginning.
func SetXState(tid int, b []byte) error {
	iov := unix.Iovec{Base: &b[0], Len: uint64(len(b))}
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SETREGSET, uintptr(tid), ntXState, uintptr(unsafe.Pointer(&iov)), 0, 0)
	if e != 0 {
		return wrap("PTRACE_SETREGSET", tid, e)
	}
	return nil
}

// ErrForbidden is what ReadForeign answers where the kernel does not allow it at all.
var ErrForbidden = unix.EPERM
