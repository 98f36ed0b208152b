package sys

import (
	"bytes"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Processors is how many processors this process may use, which may be a part of one: what its affinity mask allows, bounded by
// the quotas of its control groups.
func Processors() float64 {
	n := float64(len(allowed()))
	if q := cpuQuota("/proc/self/cgroup", "/sys/fs/cgroup"); q > 0 {
		n = math.Min(n, q)
	}
	return n
}

// allowed is the processors of the affinity mask.
func allowed() (cpus []int) {
	var set unix.CPUSet
	if unix.SchedGetaffinity(0, &set) == nil {
		for i := range 64 * len(set) {
			if set.IsSet(i) {
				cpus = append(cpus, i)
			}
		}
	}
	if len(cpus) == 0 {
		for i := range runtime.NumCPU() {
			cpus = append(cpus, i)
		}
	}
	return cpus
}

// cpuQuota is the least quota of a process's control group and those above it, in processors; 0: there is none.
func cpuQuota(cgroup, root string) (least float64) {
	text, err := readProc(cgroup)
	if err != nil {
		return 0
	}
	group, ok := parseCgroup(text)
	if !ok {
		return 0
	}
	for dir := filepath.Clean("/" + group); ; dir = filepath.Dir(dir) {
		if text, err := readProc(filepath.Join(root, dir, "cpu.max")); err == nil {
			if q, ok := parseQuota(text); ok && (least == 0 || q < least) {
				least = q
			}
		}
		if dir == "/" {
			return least
		}
	}
}

// parseCgroup returns the group in the unified hierarchy.
func parseCgroup(text []byte) (group string, ok bool) {
	for line := range strings.Lines(string(text)) {
		if g, found := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); found {
			return g, true
		}
	}
	return "", false
}

// parseQuota reads cpu.max: a quota, or "max", and a period.
func parseQuota(text []byte) (processors float64, ok bool) {
	f := bytes.Fields(text)
	if len(f) != 2 {
		return 0, false
	}
	quota, err := strconv.ParseUint(string(f[0]), 10, 63)
	period, err2 := strconv.ParseUint(string(f[1]), 10, 63)
	if err != nil || err2 != nil || quota == 0 || period == 0 {
		return 0, false
	}
	return float64(quota) / float64(period), true
}

// tick is the kernel's unit of processor time in /proc.
const tick = 10 * time.Millisecond

// BusyTime is how long the processors that this process may use have been busy since the machine started, together, with
// whatever it was.
func BusyTime() (time.Duration, error) {
	text, err := readProc("/proc/stat")
	if err != nil {
		return 0, fmt.Errorf("load: %w", err)
	}
	return parseBusy(text, allowed()), nil
}

// parseBusy adds up the busy time of some processors. Waiting for a disk is none, and neither is what a
// virtual machine did not get.
func parseBusy(text []byte, cpus []int) time.Duration {
	ticks := uint64(0)
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) < 9 || !bytes.HasPrefix(f[0], []byte("cpu")) {
			continue
		}
		n, err := strconv.Atoi(string(f[0][3:]))
		if err != nil || !slices.Contains(cpus, n) {
			continue
		}
		// user, nice, system, idle, waiting for a disk, interrupts of both kinds, stolen
		for _, i := range [...]int{1, 2, 3, 6, 7} {
			v, err := strconv.ParseUint(string(f[i]), 10, 48)
			if err == nil {
				ticks += v
			}
		}
	}
	return time.Duration(min(ticks, math.MaxInt64/uint64(tick))) * tick
}

// ProcessClock is how much processor time a process has used, all of its threads together, up to now.
func ProcessClock(pid int) (time.Duration, error) {
	var t unix.Timespec
	// CPUCLOCK_SCHED of a process (include/linux/posix-timers.h).
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil {
		return 0, fmt.Errorf("processor time of process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// ThreadUsed is how much processor time a thread has used. It is exact for one that does not run.
func ThreadUsed(pid, tid int) (time.Duration, error) {
	text, err := readProc(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid))
	if err != nil {
		return 0, fmt.Errorf("thread %d: %w", tid, err)
	}
	first, _, _ := strings.Cut(string(text), " ")
	n, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("thread %d: %w", tid, err)
	}
	return time.Duration(n), nil
}

// LoadAverage is how many threads ran or wanted to, on the whole machine, in the last minute or so; 0: that is not known.
func LoadAverage() float64 {
	text, err := readProc("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}

// Bind has the calling thread, and processes that it starts from now on, use one processor alone, the first that it may use, until it
// is undone. The caller has locked its goroutine to the thread.
func Bind() (undo func() error, err error) {
	var was unix.CPUSet
	if err := unix.SchedGetaffinity(0, &was); err != nil {
		return nil, fmt.Errorf("processors that may be used: %w", err)
	}
	var one unix.CPUSet
	for i := 0; ; i++ {
		if was.IsSet(i) {
			one.Set(i)
			break
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return nil, fmt.Errorf("binding to one processor: %w", err)
	}
	return func() error { return unix.SchedSetaffinity(0, &was) }, nil
}

// OwnTime is how much processor time this process has used.
func OwnTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// ThreadTime is how much processor time the calling thread has used.
func ThreadTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// ProcessTime is how much processor time a process has used, with that of its children for which it has waited.
func ProcessTime(pid int) (time.Duration, error) {
	text, err := readProc(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, err)
	}
	return parseTimes(text)
}

// parseTimes adds up the times of a process's stat: see parseStat.
func parseTimes(text []byte) (time.Duration, error) {
	const first = 14 - 3 // user time; then system time, and both of children
	_, rest, found := bytes.Cut(text[max(bytes.LastIndexByte(text, ')'), 0):], []byte(" "))
	f := bytes.Fields(rest)
	if !found || len(f) < first+4 {
		return 0, errStat
	}
	ticks := uint64(0)
	for _, v := range f[first : first+4] {
		n, err := strconv.ParseUint(string(v), 10, 48)
		if err != nil {
			return 0, errStat
		}
		ticks += n
	}
	return time.Duration(min(ticks, math.MaxInt64/uint64(tick))) * tick, nil
}

// ProcessDisk is how many bytes a process has caused to be read from and written to disks.
func ProcessDisk(pid int) (uint64, error) {
	text, err := readProc(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, err)
	}
	return parseDisk(text), nil
}

// parseDisk reads a process's io.
func parseDisk(text []byte) (sum uint64) {
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ": ")
		if name != "read_bytes" && name != "write_bytes" {
			continue
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 63); err == nil {
			sum += n
		}
	}
	return sum
}
