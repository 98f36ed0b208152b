package sys

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Rights that the kernel gives a process for the program that it executes: the user or the group whose file it is, or capabilities of the file. Where a tracer without CAP_SYS_PTRACE
// traces the process, it leaves them out and says nothing.

const (
	capPtrace = 19 // CAP_SYS_PTRACE
	// Of the attribute that holds a file's capabilities (vfs_cap_data): where the two words of those that are permitted lie, and how long it is.
	capsLow, capsHigh, capsSize = 4, 12, 20
	nosuid                      = 2 // ST_NOSUID
)

// TracesAll tells whether this process keeps none from the rights of what they execute.
func TracesAll() bool {
	r, err := rightsOf("self")
	return err == nil && r.effective&(1<<capPtrace) != 0
}

// rights are what a process has of them.
type rights struct {
	user, group                   uint64 // effective
	effective, permitted, bounded uint64 // capabilities
	none                          bool   // it is to get no new ones: no_new_privs
}

// rightsOf reads those of a process, from its status in /proc.
func rightsOf(process string) (r rights, err error) {
	b, err := readProc("/proc/" + process + "/status")
	if err != nil {
		return r, fmt.Errorf("rights of process %s: %w", process, err)
	}
	for line := range strings.Lines(string(b)) {
		name, text, _ := strings.Cut(line, ":")
		values := strings.Fields(text)
		if len(values) == 0 {
			continue
		}
		switch name {
		case "Uid":
			r.user, err = strconv.ParseUint(values[min(1, len(values)-1)], 10, 32)
		case "Gid":
			r.group, err = strconv.ParseUint(values[min(1, len(values)-1)], 10, 32)
		case "CapEff":
			r.effective, err = strconv.ParseUint(values[0], 16, 64)
		case "CapPrm":
			r.permitted, err = strconv.ParseUint(values[0], 16, 64)
		case "CapBnd":
			r.bounded, err = strconv.ParseUint(values[0], 16, 64)
		case "NoNewPrivs":
			r.none = values[0] != "0"
		}
		if err != nil {
			return r, fmt.Errorf("rights of process %s: %w", process, err)
		}
	}
	return r, nil
}

// LostRights says which rights a process has not got that stands in front of its program's first instruction, since it is traced: "" for none. Where the kernel would not
// have given them either, none is lost. An error: it cannot be found out, as where the program's file may not be read.
func LostRights(pid int) (which string, err error) {
	exe := fmt.Sprintf("/proc/%d/exe", pid)
	var st unix.Stat_t
	if err := unix.Stat(exe, &st); err != nil {
		return "", fmt.Errorf("program of process %d: %w", pid, err)
	}
	// Setgid without execute permission for the group is the old mark of mandatory locking.
	user, group := st.Mode&unix.S_ISUID != 0, st.Mode&unix.S_ISGID != 0 && st.Mode&unix.S_IXGRP != 0
	caps := fileCapabilities(exe)
	if !user && !group && caps == 0 {
		return "", nil
	}
	r, err := rightsOf(strconv.Itoa(pid))
	if err != nil {
		return "", err
	}
	switch {
	case r.none || givesNone(exe) || !sameUsers(pid):
	case user && uint64(st.Uid) != r.user:
		return "set-user-ID", nil
	case group && uint64(st.Gid) != r.group:
		return "set-group-ID", nil
	case caps&r.bounded&^r.permitted != 0:
		return "file capabilities", nil
	}
	return "", nil
}

// fileCapabilities are those that a file permits.
func fileCapabilities(path string) uint64 {
	var b [64]byte
	n, err := unix.Getxattr(path, "security.capability", b[:])
	if err != nil || n < capsSize {
		return 0
	}
	return uint64(binary.LittleEndian.Uint32(b[capsLow:])) | uint64(binary.LittleEndian.Uint32(b[capsHigh:]))<<32
}

// givesNone tells whether a file lies where programs give no rights.
func givesNone(path string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(path, &fs) == nil && fs.Flags&nosuid != 0
}

// sameUsers tells whether a process is in the tracer's user namespace. In others that the tracer's user has made, it has all rights, and keeps none from what is executed there.
func sameUsers(pid int) bool {
	theirs, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/user", pid))
	ours, oerr := os.Readlink("/proc/self/ns/user")
	return err != nil || oerr != nil || theirs == ours
}

// executeAgain is code that executes the program again that the registers say. If what they call it by is not there any more, as a descriptor that execve has closed, its file serves.
// If that fails as well, there is nothing to go back to.
const executeAgain = "\xb8\x3b\x00\x00\x00\x0f\x05" + // mov $59,%eax; syscall
	"\x48\x8d\x3d\x13\x00\x00\x00" + // lea file(%rip),%rdi
	"\xb8\x3b\x00\x00\x00\x0f\x05" + // mov $59,%eax; syscall
	"\xbf\x7f\x00\x00\x00\xb8\xe7\x00\x00\x00\x0f\x05" + // mov $127,%edi; mov $231,%eax; syscall
	"/proc/self/exe\x00"

// ExecuteAgain has a process that stands in front of its program's first instruction, and is traced by the calling thread, execute that program once more as soon as it goes on, with
// the same words and environment: untraced by then, it gets its rights. The code lies in the program's first page, which goes with it.
func ExecuteAgain(pid int) error {
	var r Regs
	if err := GetRegs(pid, &r); err != nil {
		return err
	}
	if r.Cs != userCode {
		return errStart
	}
	stack := make([]byte, allStarts)
	n, err := readvShort(pid, r.Rsp, stack)
	if err != nil {
		return fmt.Errorf("stack of process %d: %w", pid, err)
	}
	name, env, ok := startAddresses(stack[:n], r.Rsp)
	if !ok {
		return errStart
	}
	if _, err := unix.PtracePokeText(pid, uintptr(r.Rip), []byte(executeAgain)); err != nil {
		return fmt.Errorf("code of process %d: %w", pid, err)
	}
	r.Rdi, r.Rsi, r.Rdx, r.Orig_rax = name, r.Rsp+8, env, ^uint64(0)
	return SetRegs(pid, &r)
}

// startAddresses is where the name that a program was executed by lies, and where the addresses of its environment do, by its stack from at on.
func startAddresses(stack []byte, at uint64) (name, env uint64, ok bool) {
	t := starting{stack: stack, at: at, ok: true}
	for n := t.take() + 1; n > 0 && t.ok; n-- {
		t.take()
	}
	env = at + t.next
	for t.take() != 0 {
	}
	for t.ok {
		switch key, value := t.take(), t.take(); key {
		case 0:
			return 0, 0, false
		case atExecFn:
			return value, env, t.ok
		}
	}
	return 0, 0, false
}
