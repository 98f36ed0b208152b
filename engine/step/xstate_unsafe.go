package step

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// NT_X86_XSTATE, the regset's type in <elf.h>.
const ntX86XState = 0x202

// getXState reads the XSAVE area of a stopped thread, in the standard format,
// into buf and returns how much of it there is.
//
// It is here and not with the other requests because nobody but an oracle reads
// vector registers by way of the kernel.
func getXState(tid int, buf []byte) (int, error) {
	iov := unix.Iovec{Base: &buf[0], Len: uint64(len(buf))}
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_GETREGSET, uintptr(tid), ntX86XState, uintptr(unsafe.Pointer(&iov)), 0, 0)
	if e != 0 {
		return 0, fmt.Errorf("vector registers of thread %d: %w", tid, e)
	}
	return int(iov.Len), nil
}
