package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"alleria/internal/sys"
)

// outcome is one run of one command.
type outcome struct {
	Seconds float64
	// Digest is of what the command wrote to standard output, cut to the length
	// that the native run wrote: some rivals add their own lines at the end.
	Digest [sha256.Size]byte
	Length int64
	Exit   int
	// Used is what the program itself took, where that is known.
	Used usage
	// Messages is what the command wrote to standard error.
	Messages string
	// Peak memory in bytes: resident sets of the command itself (the tracer) and
	// of its largest child (the target), and the private part of both.
	TracerRSS, TracerPrivate, TargetRSS, TargetPrivate uint64
}

// limits bound one run.
// A run beyond its time is killed with everything that it started, and fails its
// row.
type limits struct {
	timeout time.Duration
	output  int64 // bytes of output that count; 0: all
}

// runOnce runs a command to its end. Its output goes to a file: a pipe would
// make the reader part of the measurement.
//
// Time is wall-clock time from fork to wait, as a user sees it: with processing threads at
// work, processor time would favour whoever burns less and takes longer. The exit status
// is part of the outcome and no error; errors are what makes a run worthless.
func runOnce(argv, env []string, dir string, l limits) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), l.timeout)
	defer cancel()
	out, err := os.Create(filepath.Join(dir, "stdout"))
	if err != nil {
		return o, fmt.Errorf("measurement: %w", err)
	}
	defer out.Close()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdout, cmd.Stderr = out, &stderr
	cmd.Dir = dir
	// The group of its own lets a timeout end a tracer's target too.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second

	start := time.Now()
	if err := cmd.Start(); err != nil {
		return o, err
	}
	watch := watchMemory(cmd.Process.Pid)
	err = cmd.Wait()
	o.Seconds = time.Since(start).Seconds()
	m := watch.stop()
	o.TracerRSS, o.TracerPrivate, o.TargetRSS, o.TargetPrivate = m[0], m[1], m[2], m[3]
	o.Messages = stderr.String()
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && u != nil {
		o.Used = usage{time.Duration(u.Utime.Nano() + u.Stime.Nano()).Seconds(), uint64(u.Minflt + u.Majflt), uint64(u.Nvcsw)}
	}
	if ctx.Err() != nil {
		return o, fmt.Errorf("not done after %v", l.timeout)
	}
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		o.Exit = exit.ExitCode()
	case err != nil:
		return o, err
	}
	return o, o.digest(out, l.output)
}

// digest sums up the file that a run wrote. Comparing digests and not files
// keeps one output on the disk, not one for each mode.
// length bounds what is compared; 0 is everything.
func (o *outcome) digest(f *os.File, length int64) error {
	st, err := f.Stat()
	if err != nil {
		return err
	}
	o.Length = st.Size()
	if length == 0 {
		length = o.Length
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, length)); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	copy(o.Digest[:], sum.Sum(nil))
	return nil
}

// lastLine is the last line of what a program complained: the one that says why
// it ended.
// Tools say what went wrong in their last words; whole messages would burst the
// table.
func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// memoryWatch looks at a process and its children from time to time. Peak
// resident sets are the kernel's own high-water marks, so that nothing is
// missed between looks but what happens after the last one; what wait4 reports
// would be the larger of tracer and target, without saying which.
//
// Polling misses a child that lives for less than a pause, which does not matter: the
// peak that is asked for belongs to a target that runs for seconds.
type memoryWatch struct {
	done   chan struct{}
	result chan [4]uint64
}

// watchEvery is how often memory is looked at: a look costs some 50 µs, a
// thousandth of the pause.
const watchEvery = 50 * time.Millisecond

// watchMemory starts looking.
// The goroutine ends with stop, and holds nothing that the run needs.
func watchMemory(pid int) *memoryWatch {
	w := &memoryWatch{make(chan struct{}), make(chan [4]uint64, 1)}
	go func() {
		var most [4]uint64
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			lookAt(pid, &most)
			select {
			case <-w.done:
				w.result <- most
				return
			case <-tick.C:
			}
		}
	}()
	return w
}

// stop ends the looking and returns the peaks: the command's resident set and
// its private part, then the same of its largest child.
// It must be called exactly once.
func (w *memoryWatch) stop() [4]uint64 {
	close(w.done)
	return <-w.result
}

// lookAt takes one look. Only direct children are looked at: a tracer's
// target is one, or is the tracer itself for tools that run inside of it.
// most is tracer's peak, tracer's private memory, target's peak, in bytes.
func lookAt(pid int, most *[4]uint64) {
	tracer := sys.MemoryOf(pid)
	most[0], most[1] = max(most[0], tracer.Peak), max(most[1], tracer.Private)
	for _, child := range children(pid) {
		target := sys.MemoryOf(child)
		most[2], most[3] = max(most[2], target.Peak), max(most[3], target.Private)
	}
}

// children lists a process's children, whichever of its threads made them.
// task/TID/children needs CONFIG_PROC_CHILDREN, which distributions' kernels have.
func children(pid int) []int {
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		return nil
	}
	var out []int
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread is gone
		}
		for _, f := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(f); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}
