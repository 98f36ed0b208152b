package mapping

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"alleria/engine/syscalls"
	"alleria/engine/tracee"
	"alleria/internal/sys"
)

// A program that closes itself to inspection (PR_SET_DUMPABLE, as agents that hold keys do) cannot be looked into by a
// tracer without privilege: not its memory, nor what is mapped there. What was opened before stays open, but a child
// has to be opened anew. It is had to open itself, by code of ours that it has a copy of, and closes again before it
// executes anything of its own. Meanwhile others of the same user could look into it.

const (
	prGetDumpable = 3
	prSetDumpable = 4
)

// Open opens the memory of a process.
func Open(pid int) (*sys.ProcessMemory, error) { return open(pid, sys.OpenPlain) }

// OpenBriefly is Open for memory that is closed before any other is opened so: there is a descriptor for it where others are used up.
func OpenBriefly(pid int) (*sys.ProcessMemory, error) { return open(pid, sys.OpenBriefly) }

func open(pid int, how func(name string, flags int, mode uint32) (*os.File, error)) (*sys.ProcessMemory, error) {
	mem, err := how(fmt.Sprintf("/proc/%d/mem", pid), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("memory of process %d: %w", pid, err)
	}
	return &sys.ProcessMemory{File: mem}, nil
}

// Closed is a process that has opened itself for us.
type Closed struct {
	was uint64             // what the kernel said of it
	mem *sys.ProcessMemory // by which it is closed again, maybe when nothing of ours is mapped there any more
}

// OpenForked opens the memory of a child that stands before its first instruction, with all mappings of its creator's. call is the
// address of a syscall instruction, 0 where it may make no calls. The child is to be closed again, if it is not nil.
func OpenForked(t *tracee.Thread, call uint64) (*sys.ProcessMemory, *Closed, error) {
	mem, err := OpenBriefly(t.TID)
	if !errors.Is(err, fs.ErrPermission) || call == 0 {
		return mem, nil, err
	}
	in, err := t.Inject(call)
	if err != nil {
		return nil, nil, err
	}
	was, perr := in.Call(syscalls.Prctl, prGetDumpable)
	if perr == nil && was != 1 {
		_, perr = in.Call(syscalls.Prctl, prSetDumpable, 1)
	}
	if cerr := in.Close(); cerr != nil {
		return nil, nil, cerr
	}
	if perr != nil || was == 1 {
		return nil, nil, err
	}
	if mem, err = OpenBriefly(t.TID); err != nil {
		return nil, nil, err
	}
	return mem, &Closed{was, mem}, nil
}

// Again undoes what OpenForked did to a child that stands at regs. c may be nil.
func (c *Closed) Again(t *tracee.Thread, regs *sys.Regs) error {
	if c == nil {
		return nil
	}
	in, err := t.InjectAt(c.mem, regs.Rip)
	if err != nil {
		return err
	}
	was := c.was
	if was != 1 {
		was = 0 // "for root only" cannot be asked for, and lets nobody else in either
	}
	_, err = in.Call(syscalls.Prctl, prSetDumpable, was)
	if cerr := in.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("closing process %d to inspection again: %w", t.TID, err)
	}
	return nil
}
