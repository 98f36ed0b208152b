package syscalls

import (
	"encoding/binary"

	"alleria/engine/shm"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// A limit of the address space (RLIMIT_AS) counts what we have mapped as well, most of it room that is never touched.
// Where a process has one it is raised by that much, and what the program is told and says of it is translated.

// ourMappings is what we map in a process at most.
const ourMappings = shm.SharedBytes + layout.BellBelow + 2*shm.RegionBytes + shm.MaxJumpRegions*(shm.JumpRegionBytes+shm.CountsBytes)

// widen adds n bytes to what is limited.
func widen(l sys.Limit, n uint64) sys.Limit {
	for _, v := range []*uint64{&l.Cur, &l.Max} {
		if *v >= sys.Unlimited-n {
			*v = sys.Unlimited
		} else {
			*v += n
		}
	}
	return l
}

// narrow takes them away again.
func narrow(l sys.Limit, n uint64) sys.Limit {
	for _, v := range []*uint64{&l.Cur, &l.Max} {
		if *v != sys.Unlimited {
			*v -= min(n, *v)
		}
	}
	return l
}

// MakeRoom raises the limit that a process was started with for what is to be mapped, as far as that is permitted.
func (c *Calls) MakeRoom() {
	if c.Widened != 0 {
		c.host.StayTranslated()
		return
	}
	l, err := sys.AddressLimit(c.pid)
	if err != nil || l.Cur == sys.Unlimited {
		return
	}
	if sys.SetAddressLimit(c.pid, widen(l, ourMappings)) == nil {
		c.Widened = ourMappings
		c.host.StayTranslated()
	}
}

// Narrow gives a process that is not traced its limit back, which was raised by so much.
func Narrow(pid int, by uint64) {
	if by == 0 {
		return
	}
	if l, err := sys.AddressLimit(pid); err == nil {
		_ = sys.SetAddressLimit(pid, narrow(l, by)) // it may be gone
	}
}

// limits tells a call about the limit of the process's own address space, and where the new limit and the old one are
// in its arguments; nil for neither.
func (c *Calls) limits(regs *sys.Regs) (set, get *uint64, ok bool) {
	switch uint32(regs.Rax) {
	case sysSetrlimit:
		return &regs.Rsi, nil, uint32(regs.Rdi) == limitAS
	case sysGetrlimit:
		return nil, &regs.Rsi, uint32(regs.Rdi) == limitAS
	case sysPrlimit64:
		of := int(int32(regs.Rdi))
		return &regs.Rdx, &regs.R10, uint32(regs.Rsi) == limitAS && (of == 0 || of == c.pid)
	}
	return nil, nil, false
}

// limitCall makes such a call with numbers that have room for us. regs is the application's state, plain the cache's own
// syscall instruction.
func (t *Thread) limitCall(regs *sys.Regs, plain uint64) (Next, error) {
	c, r := t.calls, *regs
	set, get, _ := c.limits(&r)
	r.Rip, r.Gs_base = plain, t.slot.Base
	was := r
	widened := c.Widened
	if set != nil && *set != 0 {
		if l, ok := c.readLimit(*set); ok && c.mayWiden() {
			l, widened = widen(l, ourMappings), ourMappings
			t.slot.Set(layout.Scratch, l.Cur)
			t.slot.Set(layout.Scratch+8, l.Max)
			*set = t.slot.Base + layout.Scratch
		}
	}
	if err := t.tracee.CallWith(&r); err != nil {
		return Resume, err
	}
	r.Rsi, r.Rdx = was.Rsi, was.Rdx
	if err := t.tracee.SetRegs(&r); err != nil {
		return Resume, err
	}
	if r.Rax == 0 {
		if get != nil && *get != 0 && c.Widened != 0 {
			if l, ok := c.readLimit(*get); ok {
				l = narrow(l, c.Widened)
				_ = c.putWord(*get, l.Cur)
				_ = c.putWord(*get+8, l.Max)
			}
		}
		if c.Widened = widened; widened != 0 {
			c.host.StayTranslated()
		}
	}
	t.Done(r.Rax)
	*regs = r
	return Over, nil
}

// mayWiden tells whether a limit that the program sets may be wider than it says: not where one that could not be
// widened forbids it.
func (c *Calls) mayWiden() bool {
	l, err := sys.AddressLimit(c.pid)
	return err == nil && (c.Widened != 0 || l.Max == sys.Unlimited)
}

// readLimit reads a limit from the application's memory.
func (c *Calls) readLimit(at uint64) (l sys.Limit, ok bool) {
	var b [16]byte
	if _, err := c.mem.ReadAt(b[:], int64(at)); err != nil {
		return l, false
	}
	return sys.Limit{Cur: binary.LittleEndian.Uint64(b[:]), Max: binary.LittleEndian.Uint64(b[8:])}, true
}

// putWord writes a word of the application's memory.
func (c *Calls) putWord(addr, v uint64) error {
	_, err := c.mem.WriteAt(binary.LittleEndian.AppendUint64(nil, v), int64(addr))
	return err
}
