package sys

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// FreeSpace tells how many bytes the file system of a path has left for an
// ordinary user, and how many it has in all.
func FreeSpace(path string) (free, total uint64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return 0, 0, fmt.Errorf("file system of %s: %w", path, err)
	}
	return s.Bavail * uint64(s.Bsize), s.Blocks * uint64(s.Bsize), nil
}

// Used is how much memory a process uses, in bytes. What can be read again from a file is neither private nor shared.
type Used struct {
	Private uint64 // now
	Shared  uint64 // now: pages of memory that it shares with others
	Peak    uint64 // the highest of all that was resident
}

// MemoryOf tells how much memory a process uses; nothing when it is gone.
// The peak is the kernel's own (VmHWM) and needs no luck. There is none of the private part (RssAnon).
func MemoryOf(pid int) (m Used) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		kb, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "RssAnon":
			m.Private = kb << 10
		case "RssShmem":
			m.Shared = kb << 10
		case "VmHWM":
			m.Peak = kb << 10
		}
	}
	return m
}
