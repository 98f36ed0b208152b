package sys

import (
	"fmt"
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
	text, err := readProc(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return m
	}
	for line := range strings.Lines(string(text)) {
		var to *uint64
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "RssAnon":
			to = &m.Private
		case "RssShmem":
			to = &m.Shared
		case "VmHWM":
			to = &m.Peak
		default:
			continue
		}
		if kb, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64); err == nil {
			*to = kb << 10
		}
	}
	return m
}
