// Package programfile writes programs that tests execute.
//
// The kernel refuses to execute a file that anyone has open for writing (ETXTBSY). A process that another goroutine begins between the
// opening of a file and its closing has it open until it has executed its own program, closed-on-exec or not. So nothing may be begun
// in between: os.WriteFile does not see to that (https://go.dev/issue/22315), and tests that run side by side failed by it now and then.
//
// Only tests use it; what other programs write, as compilers do, needs no such care. It keeps nothing.
package programfile

import (
	"os"
	"syscall"
)

// Write writes an executable file as os.WriteFile does; afterwards no process that this one began has it open for writing.
func Write(path string, content []byte, mode os.FileMode) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	return os.WriteFile(path, content, mode)
}
