package sys

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// readSequences is a request of ptrace since Linux 5.13 (include/uapi/linux/ptrace.h).
const readSequences = 0x420f

// Sequences is where a thread has registered restartable sequences, as ptrace knows it: struct ptrace_rseq_configuration.
type Sequences struct {
	Area            uint64 // 0: it has none
	Size, Signature uint32
	Flags, _        uint32
}

// ReadSequences reads that of a stopped tracee. A kernel that cannot be asked says EIO.
func ReadSequences(tid int, s *Sequences) error {
	_, _, e := unix.Syscall6(unix.SYS_PTRACE, readSequences, uintptr(tid), unsafe.Sizeof(*s), uintptr(unsafe.Pointer(s)), 0, 0)
	if e != 0 {
		return wrap("PTRACE_GET_RSEQ_CONFIGURATION", tid, e)
	}
	return nil
}
