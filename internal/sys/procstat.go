package sys

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// errStat is what a file of /proc that does not look like one gives.
var errStat = errors.New("not as the kernel writes it")

// StartTime tells when a process started, in ticks since the machine did. A number of a
// process is used again, but not with the same start.
//
// ended is true of one that is dead and only waits for its parent to ask: it has a start
// all the same.
func StartTime(pid int) (start uint64, ended bool, err error) {
	text, err := readProc(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false, fmt.Errorf("process %d: %w", pid, err)
	}
	start, ended, err = parseStat(text)
	if err != nil {
		return 0, false, fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	return start, ended, nil
}

// parseStat takes "pid (name) state … start …" apart. The name may hold anything, also
// parentheses and spaces, so that fields are counted from the last parenthesis.
func parseStat(text []byte) (start uint64, ended bool, err error) {
	const startField = 22 - 3 // of those behind the name, which begin with the third
	_, rest, found := bytes.Cut(text[max(bytes.LastIndexByte(text, ')'), 0):], []byte(" "))
	fields := bytes.Fields(rest)
	if !found || len(fields) <= startField {
		return 0, false, errStat
	}
	start, err = strconv.ParseUint(string(fields[startField]), 10, 64)
	if err != nil {
		return 0, false, errStat
	}
	return start, fields[0][0] == 'Z' || fields[0][0] == 'X', nil
}

// StackStart is where the stack of the program begins that a process executes: where its stack pointer was in front of the first instruction. It is the same in copies of the
// process, and mostly no other's. 0 where the kernel does not tell, as of who has ended.
func StackStart(pid int) uint64 {
	text, err := readProc(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return stackStart(text)
}

// stackStart is StackStart of a text.
func stackStart(text []byte) uint64 {
	const field = 28 - 3 // as in parseStat
	_, rest, _ := bytes.Cut(text[max(bytes.LastIndexByte(text, ')'), 0):], []byte(" "))
	fields := bytes.Fields(rest)
	if len(fields) <= field {
		return 0
	}
	at, err := strconv.ParseUint(string(fields[field]), 10, 64)
	if err != nil || at < PageSize { // 1: it may not be known
		return 0
	}
	return at
}

// Alive tells whether the process that started then still lives.
func Alive(pid int, start uint64) bool {
	now, ended, err := StartTime(pid)
	return err == nil && !ended && now == start
}
