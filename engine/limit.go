package engine

import (
	"encoding/binary"

	"alleria/internal/layout"
	"alleria/internal/sys"
)

// A limit of the address space (RLIMIT_AS) counts what we have mapped as well, most of it room that is never touched.
// Where a process has one it is raised by that much, and what the program is told and says of it is translated.

const (
	sysGetrlimit = 97
	sysSetrlimit = 160
	sysPrlimit64 = 302

	limitAS = 9
)

// ourMappings is what we map in a process at most.
const ourMappings = sharedBytes + layout.BellBelow + 2*areaBytes + maxJumpAreas*(jumpAreaBytes+countsBytes)

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

// makeRoom raises the limit that a process was started with for what is to be mapped, as far as that is permitted.
func (p *Process) makeRoom() {
	if p.widened != 0 {
		p.KeepTranslated()
		return
	}
	l, err := sys.AddressLimit(p.pid)
	if err != nil || l.Cur == sys.Unlimited {
		return
	}
	if sys.SetAddressLimit(p.pid, widen(l, ourMappings)) == nil {
		p.widened = ourMappings
		p.KeepTranslated()
	}
}

// unwiden gives a process that is not traced its limit back.
func unwiden(pid int, by uint64) {
	if by == 0 {
		return
	}
	if l, err := sys.AddressLimit(pid); err == nil {
		_ = sys.SetAddressLimit(pid, narrow(l, by)) // it may be gone
	}
}

// limits tells a call about the limit of the process's own address space, and where the new limit and the old one are
// in its arguments; 0 for neither.
func (t *Thread) limits(regs *sys.Regs) (set, get *uint64, ok bool) {
	switch uint32(regs.Rax) {
	case sysSetrlimit:
		return &regs.Rsi, nil, uint32(regs.Rdi) == limitAS
	case sysGetrlimit:
		return nil, &regs.Rsi, uint32(regs.Rdi) == limitAS
	case sysPrlimit64:
		of := int(int32(regs.Rdi))
		return &regs.Rdx, &regs.R10, uint32(regs.Rsi) == limitAS && (of == 0 || of == t.p.pid)
	}
	return nil, nil, false
}

// limitCall makes such a call with numbers that have room for us. regs is the application's state, plain the cache's own
// syscall instruction.
func (tr *Tracer) limitCall(t *Thread, regs *sys.Regs, plain uint64) error {
	p, r := t.p, *regs
	set, get, _ := t.limits(&r)
	r.Rip, r.Gs_base = plain, t.slot.base
	was := r
	widened := p.widened
	if set != nil && *set != 0 {
		if l, ok := p.readLimit(*set); ok && p.mayWiden() {
			l, widened = widen(l, ourMappings), ourMappings
			t.slot.set(scratchInSlot, l.Cur)
			t.slot.set(scratchInSlot+8, l.Max)
			*set = t.slot.base + scratchInSlot
		}
	}
	if err := tr.callWith(t, &r); err != nil {
		return err
	}
	r.Rsi, r.Rdx = was.Rsi, was.Rdx
	if err := sys.SetRegs(t.tid, &r); err != nil {
		return err
	}
	if r.Rax == 0 {
		if get != nil && *get != 0 && p.widened != 0 {
			if l, ok := p.readLimit(*get); ok {
				l = narrow(l, p.widened)
				_ = p.putWord(*get, l.Cur)
				_ = p.putWord(*get+8, l.Max)
			}
		}
		if p.widened = widened; widened != 0 {
			p.KeepTranslated()
		}
	}
	tr.callDone(t, r.Rax)
	if len(t.held) > 0 || tr.modeDiffers(t) {
		return tr.switchStopped(t)
	}
	return tr.resume(t, 0)
}

// mayWiden tells whether a limit that the program sets may be wider than it says: not where one that could not be
// widened forbids it.
func (p *Process) mayWiden() bool {
	l, err := sys.AddressLimit(p.pid)
	return err == nil && (p.widened != 0 || l.Max == sys.Unlimited)
}

// readLimit reads a limit from the application's memory.
func (p *Process) readLimit(at uint64) (l sys.Limit, ok bool) {
	var b [16]byte
	if _, err := p.mem.ReadAt(b[:], int64(at)); err != nil {
		return l, false
	}
	return sys.Limit{Cur: binary.LittleEndian.Uint64(b[:]), Max: binary.LittleEndian.Uint64(b[8:])}, true
}
