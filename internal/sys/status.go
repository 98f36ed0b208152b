package sys

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// SignalSets are a thread's signal masks from /proc, bit n-1 for signal n.
type SignalSets struct {
	Blocked uint64 // the thread's mask: SigBlk
	Ignored uint64 // the process's dispositions: SigIgn
	Caught  uint64 // signals that have a handler: SigCgt
	Pending uint64 // that wait for the thread or its process: SigPnd, ShdPnd
}

// ReadSignalSets reads a thread's signal masks and dispositions.
//
// The masks are hexadecimal, the highest signal first. A thread that is gone gives an
// error of the file.
func ReadSignalSets(tid int) (SignalSets, error) {
	var s SignalSets
	b, err := readProc(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return s, fmt.Errorf("status of thread %d: %w", tid, err)
	}
	for line := range strings.Lines(string(b)) {
		name, val, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		var dst *uint64
		switch name {
		case "SigPnd", "ShdPnd":
			waits, err := strconv.ParseUint(val, 16, 64)
			if err != nil {
				return s, fmt.Errorf("status of thread %d: %w", tid, err)
			}
			s.Pending |= waits
			continue
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
	b, err := readProc(fmt.Sprintf("/proc/%d/stat", tid))
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(b[max(strings.LastIndexByte(string(b), ')'), 0):]), " ")
	return strings.HasPrefix(state, "Z")
}

// ThreadGroup returns the id of the process that a thread is of.
func ThreadGroup(tid int) (int, error) { return statusNumber(tid, "Tgid") }

// Leads tells whether a thread is a process's first one. The kernel looks for a thread of that id in a process of that id and sends nothing: a file in
// /proc that says the same takes it thirty times as long.
func Leads(tid int) bool {
	_, _, e := unix.RawSyscall(unix.SYS_TGKILL, uintptr(tid), uintptr(tid), 0)
	return e == 0 || e == unix.EPERM // it is there, and another user's
}

// Parent returns the id of a process's parent.
//
// It follows the state, which follows the name: see Zombie. A thread's status says it as well, and twenty things besides that take longer to find out.
func Parent(pid int) (int, error) {
	b, err := readProc(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(b[max(strings.LastIndexByte(string(b), ')'), 0):]))
	if len(f) < 3 {
		return 0, fmt.Errorf("parent of process %d: %q", pid, b)
	}
	return strconv.Atoi(f[2])
}

// MappedPages says how many pages a process has mapped, again and again: by the shortest file of /proc that changes with what is mapped, which stays open.
type MappedPages struct{ fd int }

// OpenMappedPages is for a process, whatever programs it executes. It is to be closed.
func OpenMappedPages(pid int) (*MappedPages, error) {
	name := fmt.Sprintf("/proc/%d/statm", pid)
	fd, err := openShort(name)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: orGone(name, err)}
	}
	return &MappedPages{fd}, nil
}

// Read is how many there are now.
func (m *MappedPages) Read() (uint64, error) {
	var b [128]byte // all of it: it is written at once
	n, err := preadShort(m.fd, b[:])
	if err != nil {
		return 0, fmt.Errorf("pages of a process: %w", err)
	}
	size, _, _ := bytes.Cut(b[:n], []byte(" "))
	pages, err := strconv.ParseUint(string(size), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("pages of a process: %w", err)
	}
	return pages, nil
}

// Close closes the file.
func (m *MappedPages) Close() { closeShort(m.fd) }

// Children lists the processes that the threads of a process have created, or inherited, and that have not been waited for; none where the kernel does not tell
// (CONFIG_PROC_CHILDREN). The first thread comes last: it is who inherits the children of another one that ends meanwhile.
func Children(pid int) []int {
	dir := fmt.Sprintf("/proc/%d/task/", pid)
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	first := strconv.Itoa(pid)
	names := make([]string, 0, len(threads)+1)
	for _, t := range threads {
		if t.Name() != first {
			names = append(names, t.Name())
		}
	}
	var children []int
	for _, name := range append(names, first) {
		b, _ := readProc(dir + name + "/children") // a thread that has just ended has none
		for _, f := range strings.Fields(string(b)) {
			if id, err := strconv.Atoi(f); err == nil && !slices.Contains(children, id) {
				children = append(children, id)
			}
		}
	}
	return children
}

// Ours tells whether a thread's tracer is a thread of this process.
func Ours(tid int) bool {
	tracer, err := statusNumber(tid, "TracerPid")
	if err != nil || tracer == 0 {
		return false
	}
	group, err := ThreadGroup(tracer)
	return err == nil && group == os.Getpid()
}

// Traced tells whether a thread has a tracer. One that has ended and been waited for by its tracer has none; of one that cannot be looked at, for want of descriptors, say, it is not certain.
func Traced(tid int) bool {
	tracer, err := statusNumber(tid, "TracerPid")
	return err == nil && tracer != 0 || err != nil && !Gone(err)
}

// Dying tells whether a thread has ended, or is certain to: what is asked of it fails in many ways then. Its memory is gone, or
// SIGKILL waits for it. Where that cannot be read, for want of descriptors, say, it has not: whoever takes a thread for dying leaves it where it stands.
func Dying(tid int) bool {
	b, err := readProc(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return Gone(err)
	}
	hasMemory := false
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "VmSize":
			hasMemory = true
		case "SigPnd", "ShdPnd":
			pending, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			if err == nil && pending&(1<<(unix.SIGKILL-1)) != 0 {
				return true
			}
		}
	}
	return !hasMemory
}

// BornOf tells whether a thread is one of the process's, or the first of a child of the process's.
func BornOf(tid, pid int) bool {
	group, err := ThreadGroup(tid)
	if err != nil {
		return false
	}
	if group == pid {
		return true
	}
	parent, err := Parent(tid)
	return err == nil && parent == pid
}

// statusNumber is a number of a thread's status in /proc.
func statusNumber(tid int, name string) (int, error) {
	b, err := readProc(fmt.Sprintf("/proc/%d/status", tid))
	if err != nil {
		return 0, fmt.Errorf("status of thread %d: %w", tid, err)
	}
	for line := range strings.Lines(string(b)) {
		if n, ok := strings.CutPrefix(line, name+":"); ok {
			v, err := strconv.Atoi(strings.TrimSpace(n))
			if err != nil {
				return 0, fmt.Errorf("status of thread %d: %w", tid, err)
			}
			return v, nil
		}
	}
	return 0, fmt.Errorf("status of thread %d: there is no %s", tid, name)
}

// SharesMemory tells whether two processes have one address space, as a child by vfork has with its parent. Where the kernel
// does not tell, they have not.
func SharesMemory(a, b int) bool {
	const kcmpVM = 1
	r, _, e := unix.RawSyscall6(unix.SYS_KCMP, uintptr(a), uintptr(b), kcmpVM, 0, 0, 0)
	return e == 0 && r == 0
}
