package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

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

// closed is a process that has opened itself for us.
type closed struct {
	was uint64   // what the kernel said of it
	mem *os.File // by which it is closed again, maybe when nothing of ours is mapped there any more
}

// openForked opens the memory of a child that stands before its first instruction, with all mappings of its creator's.
func (t *Thread) openForked() (*os.File, error) {
	mem, err := openMem(t.tid)
	if !errors.Is(err, fs.ErrPermission) || t.p.tr.limited(t.tid) {
		return mem, err
	}
	a := t.p.areas[0]
	in := &injector{t: t, at: a.base + a.rt.inject}
	if err := sys.GetRegs(t.tid, &in.saved); err != nil {
		return nil, err
	}
	was, perr := in.call(sysPrctl, prGetDumpable)
	if perr == nil && was != 1 {
		_, perr = in.call(sysPrctl, prSetDumpable, 1)
	}
	if cerr := in.close(); cerr != nil {
		return nil, cerr
	}
	if perr != nil || was == 1 {
		return nil, err
	}
	if mem, err = openMem(t.tid); err != nil {
		return nil, err
	}
	t.closed = &closed{was, mem}
	return mem, nil
}

// closeAgain undoes what openForked did to a child that stands at regs.
func (t *Thread) closeAgain(regs *sys.Regs) error {
	c := t.closed
	if c == nil {
		return nil
	}
	t.closed = nil
	in, err := injectAt(t, c.mem, regs.Rip)
	if err != nil {
		return err
	}
	if c.was != 1 {
		c.was = 0 // "for root only" cannot be asked for, and lets nobody else in either
	}
	_, err = in.call(sysPrctl, prSetDumpable, c.was)
	if cerr := in.close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("closing process %d to inspection again: %w", t.tid, err)
	}
	return nil
}
