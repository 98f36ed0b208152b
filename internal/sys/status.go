package sys

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ReadSignalSets reads a thread's signal masks and dispositions.
func ReadSignalSets(tid int) (SignalSets, error) {
	var s SignalSets
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return s, fmt.Errorf("status of thread %d: %w", tid, err)
	}
	for line := range strings.Lines(string(b)) {
		name, val, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		var dst *uint64
		switch name {
		case "SigBlk":
			dst = &s.Blocked
		case "SigIgn":
			dst = &s.Ignored
		case "SigCgt":
			dst = &s.Caught
		default:
			continue
		}
		if *dst, err = strconv.ParseUint(val, 16, 64); err != nil {
			return s, fmt.Errorf("status of thread %d: %w", tid, err)
		}
	}
	return s, nil
}
