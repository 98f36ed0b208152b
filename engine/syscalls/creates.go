package syscalls

import (
	"encoding/binary"
	"fmt"
	"io"

	"alleria/engine/tracee"
	"alleria/internal/sys"
)

// Flags of clone (include/uapi/linux/sched.h).
const (
	cloneVM       = 0x100
	cloneSighand  = 0x800
	cloneThread   = 0x10000
	cloneUntraced = 0x800000
)

// BornHere tells a new thread or process, which stands behind the call that its
// parent has made.
func BornHere(regs *sys.Regs) bool { return creating(regs.Orig_rax) && regs.Rax == 0 }

// BornAs tells what a thread that is within a call of the clone family, with these registers, brings
// forth: tracee.EventClone for a thread, tracee.EventVfork for a process that shares the
// address space, tracee.EventFork for any other. The kernel's event tells them apart
// by other marks, such as the signal that the parent gets.
func (c *Calls) BornAs(regs *sys.Regs, event int) (int, error) {
	flags, at, byFlags := creates(regs)
	if c.By32Bits(regs.Rip) {
		flags, at, byFlags = creates32(regs)
	}
	if !byFlags {
		return event, nil
	}
	if at != 0 {
		var b [8]byte
		if _, err := c.mem.ReadAt(b[:], int64(at)); err != nil {
			return 0, fmt.Errorf("arguments of clone3: %w", err)
		}
		flags = binary.LittleEndian.Uint64(b[:])
	}
	switch {
	// CLONE_THREAD implies CLONE_VM: it has to be asked first.
	case flags&cloneThread != 0:
		return tracee.EventClone, nil
	case flags&cloneVM != 0:
		c.handlers.shared = c.handlers.shared || flags&cloneSighand != 0
		return tracee.EventVfork, nil
	}
	return tracee.EventFork, nil
}

// creates is the flags of a call that creates a process or thread, or where they lie; false for one without flags.
func creates(regs *sys.Regs) (flags, at uint64, ok bool) {
	switch regs.Orig_rax {
	case Clone:
		return regs.Rdi, 0, true
	case Clone3:
		return 0, regs.Rdi, true
	}
	return 0, 0, false
}

// creates32 is creates for a call of the 32-bit table.
func creates32(regs *sys.Regs) (flags, at uint64, ok bool) {
	const low = 1<<32 - 1
	switch regs.Orig_rax {
	case sys32Clone:
		return regs.Rbx & low, 0, true
	case sys32Clone3:
		return 0, regs.Rbx & low, true
	}
	return 0, 0, false
}

// With CLONE_UNTRACED the kernel does not tell a tracer of what a thread brings forth: it would run in the cache, with
// its creator's slot, and nobody would answer it. Translated code asks before each call of the family, and the flag is
// taken out of the call. Creator and child find it where it was.

// Hidden is where the flags of a call stand, and what they were: in rdi, or in memory if the address is not 0.
type Hidden struct {
	addr, flags uint64
}

// createsUntraced tells whether the call in regs would bring forth something that we are not told of.
func (c *Calls) createsUntraced(regs *sys.Regs) (Hidden, bool) {
	var h Hidden
	switch uint32(regs.Rax) {
	case Clone:
		h.flags = regs.Rdi
	case Clone3:
		var b [8]byte
		if _, err := c.mem.ReadAt(b[:], int64(regs.Rdi)); err != nil {
			return h, false // the kernel cannot read it either
		}
		h = Hidden{regs.Rdi, binary.LittleEndian.Uint64(b[:])}
	}
	return h, h.flags&cloneUntraced != 0
}

// PlainClone tells a call of the clone family that needs nothing of us, by the registers that it is made with.
func (c *Calls) PlainClone(regs *sys.Regs) bool {
	nr := uint32(regs.Rax)
	if nr != Clone && nr != Clone3 || c.Hears(nr) {
		return false
	}
	_, untraced := c.createsUntraced(regs)
	return !untraced
}

// NeedsCache tells whether a call that a native thread is about to make with regs is answered as it should be in the cache alone: what it creates would be hidden from us, or
// the limit that it sets would count what we have mapped.
func (c *Calls) NeedsCache(regs *sys.Regs) bool {
	r := *regs
	if _, untraced := c.createsUntraced(&r); untraced || uint32(r.Rax) == sysMlockall {
		return true
	}
	set, _, ok := c.limits(&r)
	return ok && set != nil && *set != 0
}

// hide takes the flag out of the call that a stopped thread is about to make with regs.
func (t *Thread) hide(regs *sys.Regs) error {
	h, untraced := t.calls.createsUntraced(regs)
	if !untraced {
		return nil
	}
	t.hidden = &h
	if h.addr == 0 {
		regs.Rdi &^= cloneUntraced
		return nil
	}
	return h.write(t.calls.mem, h.flags&^cloneUntraced)
}

// Unhide puts the flag back, within the call, when the kernel has read the flags of a thread that has brought something forth; nil if
// none was taken out. What it returns is for the child.
func (t *Thread) Unhide() (*Hidden, error) {
	h := t.hidden
	if h == nil {
		return nil, nil
	}
	var regs sys.Regs
	if err := t.tracee.GetRegs(&regs); err != nil {
		return nil, err
	}
	return h, t.unhide(&regs)
}

// unhide puts the flag back, behind the call or within it.
func (t *Thread) unhide(regs *sys.Regs) error {
	h := t.hidden
	if h == nil {
		return nil
	}
	t.hidden = nil
	h.Restore(regs)
	if err := t.tracee.SetRegs(regs); err != nil {
		return err
	}
	return h.WriteBack(t.calls.mem)
}

// Restore puts the flag back into a register; h may be nil.
func (h *Hidden) Restore(regs *sys.Regs) {
	if h != nil && h.addr == 0 {
		regs.Rdi = h.flags
	}
}

// WriteBack puts the flag back into memory; h may be nil.
func (h *Hidden) WriteBack(mem io.WriterAt) error {
	if h == nil {
		return nil
	}
	return h.write(mem, h.flags)
}

// write puts flags where a call has them in memory.
func (h *Hidden) write(mem io.WriterAt, flags uint64) error {
	if h.addr == 0 {
		return nil
	}
	if _, err := mem.WriteAt(binary.LittleEndian.AppendUint64(nil, flags), int64(h.addr)); err != nil {
		return fmt.Errorf("flags of a new process at %#x: %w", h.addr, err)
	}
	return nil
}
