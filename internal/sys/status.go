package sys

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// SignalSets are a thread's signal masks from /proc, bit n-1 for signal n.
type SignalSets struct {
	Blocked uint64 // the thread's mask: SigBlk
	Ignored uint64 // the process's dispositions: SigIgn
	Caught  uint64 // signals that have a handler: SigCgt
}

// ReadSignalSets reads a thread's signal masks and dispositions.
//
// The masks are hexadecimal, the highest signal first. A thread that is gone gives an
// error of the file.
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

// Zombie tells whether a thread has ended and is not reported as ended yet: the first
// thread of a process stays so until all others have ended.
//
// The state follows the name, which is in parentheses and may hold any character.
func Zombie(tid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", tid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(b[max(strings.LastIndexByte(string(b), ')'), 0):]), " ")
	return strings.HasPrefix(state, "Z")
}
