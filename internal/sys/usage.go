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

// OwnMemory tells how much memory this process uses now, in bytes: private, and
// pages of memory that it shares with its target. What can be read again from
// a file is neither.
func OwnMemory() (private, shared uint64) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		kb, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			continue
		}
		switch name {
		case "RssAnon":
			private = kb << 10
		case "RssShmem":
			shared = kb << 10
		}
	}
	return private, shared
}
