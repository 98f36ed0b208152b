package sys

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Allowed is the processors that the calling thread may use: a cpuset and a taskset show here.
func Allowed() []int { return allowed() }

// ThreadID is the calling thread's. The caller has locked its goroutine to it.
func ThreadID() int { return unix.Gettid() }

// Place binds a thread of this process, 0 the calling one, to processors, of which it must be allowed at least one.
func Place(tid int, cpus []int) error {
	var set unix.CPUSet
	for _, i := range cpus {
		set.Set(i)
	}
	if err := unix.SchedSetaffinity(tid, &set); err != nil {
		return fmt.Errorf("binding thread %d to processors %v: %w", tid, cpus, err)
	}
	return nil
}

// PlacedOn is the processors that a thread may use.
func PlacedOn(tid int) (cpus []int, err error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(tid, &set); err != nil {
		return nil, fmt.Errorf("processors of thread %d: %w", tid, err)
	}
	for i := range 64 * len(set) {
		if set.IsSet(i) {
			cpus = append(cpus, i)
		}
	}
	return cpus, nil
}

// RunOn is the processors of those threads of a process that run or want to, for at most so many of its threads.
func RunOn(pid, most int) (cpus []int) {
	dir, err := os.Open(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil // it has ended
	}
	defer dir.Close()
	tids, _ := dir.Readdirnames(most)
	slices.Sort(tids)
	for _, tid := range tids {
		text, err := readProc(fmt.Sprintf("/proc/%d/task/%s/stat", pid, tid))
		if err != nil {
			continue
		}
		if cpu, running, err := parseRunsOn(string(text)); err == nil && running {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

var errRunsOn = errors.New("stat of a thread without a processor")

// parseRunsOn takes the state and the processor of a thread's stat: the fields 3 and 39. The second is its name, in parentheses, with any characters.
func parseRunsOn(stat string) (cpu int, running bool, err error) {
	f := strings.Fields(stat[max(strings.LastIndexByte(stat, ')'), 0):])
	const state, processor = 3 - 2, 39 - 2
	if len(f) <= processor {
		return 0, false, errRunsOn
	}
	cpu, err = strconv.Atoi(f[processor])
	if err != nil || cpu < 0 {
		return 0, false, errRunsOn
	}
	return cpu, f[state] == "R", nil
}
