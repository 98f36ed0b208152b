package sys

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
)

const (
	atExecFn   = 31   // AT_EXECFN: where the name is that execve was given
	mostExecFn = 4096 // PATH_MAX, with the zero at its end
)

// ExecName is the name that a process's program was executed by: the path as execve was
// given it, links and all, and the script's where the kernel runs that by an interpreter,
// neither of which /proc/PID/exe tells. It may be relative to what the working directory was.
//
// It lies in the process's own memory, which the program may have changed meanwhile: right
// after execve it has not. The caller must be allowed to trace the process.
func ExecName(pid int) (string, error) {
	auxv, err := readProc(fmt.Sprintf("/proc/%d/auxv", pid))
	if err != nil {
		return "", fmt.Errorf("name that process %d was executed by: %w", pid, err)
	}
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if binary.LittleEndian.Uint64(auxv) == atExecFn {
			return stringAt(pid, binary.LittleEndian.Uint64(auxv[8:]))
		}
	}
	return "", fmt.Errorf("name that process %d was executed by: not among what the kernel told it", pid)
}

// stringAt reads a text up to its zero from a process's memory.
func stringAt(pid int, addr uint64) (string, error) {
	mem, err := OpenPlain(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDONLY, 0)
	if err != nil {
		return "", fmt.Errorf("memory of process %d: %w", pid, err)
	}
	defer mem.Close()
	b := make([]byte, mostExecFn)
	n, err := mem.ReadAt(b, int64(addr)) // ends early where the stack does
	text, _, found := bytes.Cut(b[:n], []byte{0})
	if !found {
		return "", fmt.Errorf("text at %#x of process %d: %w", addr, pid, err)
	}
	return string(text), nil
}
