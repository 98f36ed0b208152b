package sys

import (
	"fmt"
	"strconv"
	"strings"
)

// Filters is what limits the system calls of a thread, from /proc.
type Filters struct {
	mode  int // 1: strict, 2: filters
	count int // how many there are; -1 before Linux 5.9, which does not say
}

// ReadFilters reads what limits a thread's calls; 0 is the calling process.
func ReadFilters(tid int) (Filters, error) {
	name := "self"
	if tid != 0 {
		name = strconv.Itoa(tid)
	}
	b, err := readProc("/proc/" + name + "/status")
	if err != nil {
		return Filters{}, fmt.Errorf("status of thread %s: %w", name, err)
	}
	return parseFilters(string(b))
}

// parseFilters finds the two lines of a status.
// A kernel without seccomp has neither.
func parseFilters(status string) (f Filters, err error) {
	f.count = -1
	for line := range strings.Lines(status) {
		name, val, _ := strings.Cut(line, ":")
		dst := &f.mode
		switch name {
		case "Seccomp":
		case "Seccomp_filters":
			dst = &f.count
		default:
			continue
		}
		if *dst, err = strconv.Atoi(strings.TrimSpace(val)); err != nil {
			return f, fmt.Errorf("%s of a thread's status: %w", name, err)
		}
	}
	return f, nil
}

// Beyond tells whether a thread is limited by more than what limits another one that created it: filters are
// inherited and never taken away, so that a container's count for both.
func (f Filters) Beyond(o Filters) bool {
	if f.count >= 0 && o.count >= 0 {
		return f.count > o.count || f.mode == 1
	}
	return f.mode != 0 && f.mode != o.mode
}
