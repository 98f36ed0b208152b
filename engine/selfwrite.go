package engine

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"alleria/internal/layout"
)

// Code also changes by calls that say nothing of code: advice that drops a private mapping's pages, so that the file's
// come back, and writes to a process's own memory as a file.

const (
	sysWrite    = 1
	sysPwrite64 = 18
	sysWritev   = 20
	sysOpenat   = 257
	sysPwritev  = 296
	sysPwritev2 = 328

	madvDontNeed = 4
	madvFree     = 8
	madvRemove   = 9
)

// forgets tells advice behind which memory may hold something else.
func forgets(advice uint64) bool {
	return advice == madvDontNeed || advice == madvFree || advice == madvRemove
}

// replaced notes that a stretch of memory may hold something else.
func (p *Process) replaced(addr, length uint64) {
	end := addr + (length+pageSize-1)&^(pageSize-1)
	p.lostProbes(addr, end)
	if p.hasCode(addr, end) {
		p.invalidate(addr, end)
	}
}

// opened looks whether the file whose path lies at an address, which has been opened, is a process's memory: what is written
// to files is looked at from then on.
func (p *Process) opened(path uint64) {
	var b [32]byte
	n, _ := p.mem.ReadAt(b[:], int64(path))
	text, _, _ := bytes.Cut(b[:n], []byte{0})
	if !bytes.HasPrefix(text, []byte("/proc/")) || !bytes.HasSuffix(text, []byte("/mem")) {
		return
	}
	for _, nr := range []uint32{sysWrite, sysPwrite64, sysWritev, sysPwritev, sysPwritev2} {
		p.special[int(nr)] = layout.SyscallNotify
		p.setCallTable(nr)
	}
}

// wroteFile notes what was written to a descriptor, if that is a process's memory: code that lies there is forgotten.
func (p *Process) wroteFile(fd, at, n uint64) {
	file, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", p.pid, fd))
	if err == nil && strings.HasPrefix(file, "/proc/") && strings.HasSuffix(file, "/mem") {
		p.replaced(at, n)
	}
}
