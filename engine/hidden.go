package engine

import (
	"encoding/binary"
	"fmt"
	"io"

	"alleria/internal/sys"
)

// With CLONE_UNTRACED the kernel does not tell a tracer of what a thread brings forth: it would run in the cache, with
// its creator's slot, and nobody would answer it. Translated code asks before each call of the family, and the flag is
// taken out of the call. Creator and child find it where it was.

// cloneUntraced is CLONE_UNTRACED (include/uapi/linux/sched.h).
const cloneUntraced = 0x800000

// hiddenFlag is where the flags of a call stand, and what they were: in rdi, or in memory if addr is not 0.
type hiddenFlag struct {
	addr, flags uint64
}

// createsUntraced tells whether the call in regs would bring forth something that we are not told of.
func (t *Thread) createsUntraced(regs *sys.Regs) (hiddenFlag, bool) {
	var h hiddenFlag
	switch uint32(regs.Rax) {
	case sysClone:
		h.flags = regs.Rdi
	case sysClone3:
		var b [8]byte
		if _, err := t.p.mem.ReadAt(b[:], int64(regs.Rdi)); err != nil {
			return h, false // the kernel cannot read it either
		}
		h = hiddenFlag{regs.Rdi, binary.LittleEndian.Uint64(b[:])}
	}
	return h, h.flags&cloneUntraced != 0
}

// plainClone tells a call of the clone family that needs nothing of us, made by a thread that waits.
func (t *Thread) plainClone() bool {
	p, regs := t.p, &sys.Regs{}
	t.savedRegs(regs)
	nr := uint32(regs.Rax)
	if nr != sysClone && nr != sysClone3 || p.calls[nr] || p.hearCalls {
		return false
	}
	_, untraced := t.createsUntraced(regs)
	return !untraced
}

// hide takes the flag out of the call that a stopped thread is about to make with regs.
func (t *Thread) hide(regs *sys.Regs) error {
	h, untraced := t.createsUntraced(regs)
	if !untraced {
		return nil
	}
	t.hidden = &h
	if h.addr == 0 {
		regs.Rdi &^= cloneUntraced
		return nil
	}
	return h.write(t.p.mem, h.flags&^cloneUntraced)
}

// write puts flags where a call has them in memory.
func (h *hiddenFlag) write(mem io.WriterAt, flags uint64) error {
	if h.addr == 0 {
		return nil
	}
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], flags)
	if _, err := mem.WriteAt(b[:], int64(h.addr)); err != nil {
		return fmt.Errorf("flags of a new process at %#x: %w", h.addr, err)
	}
	return nil
}

// unhide puts the flag back, behind the call or within it, when the kernel has read the flags.
func (t *Thread) unhide(regs *sys.Regs) error {
	h := t.hidden
	if h == nil {
		return nil
	}
	t.hidden = nil
	h.restore(regs)
	if err := sys.SetRegs(t.tid, regs); err != nil {
		return err
	}
	return h.write(t.p.mem, h.flags)
}

// restore puts the flag back into a register; h may be nil.
func (h *hiddenFlag) restore(regs *sys.Regs) {
	if h != nil && h.addr == 0 {
		regs.Rdi = h.flags
	}
}

// createAgain has a thread make the call once more, from the program's own instruction: the kernel would make it again
// as it is now, with the flag. Calls of the family are always begun again.
func (tr *Tracer) createAgain(t *Thread, regs *sys.Regs) error {
	t.toReturn, t.call = false, nil
	regs.Rax, regs.Orig_rax = regs.Orig_rax, ^uint64(0)
	if tr.inCache(t, regs.Rip) && !tr.clean(t, regs, false) {
		return tr.lost(t, regs)
	}
	regs.Rip -= 2
	return tr.enter(t, regs, 0)
}
