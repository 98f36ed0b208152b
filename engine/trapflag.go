package engine

import (
	"encoding/binary"

	"alleria/engine/asm"
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// A program that sets the trap flag itself gets a SIGTRAP behind each of its
// instructions. In the cache it would get one behind each of ours too, and at
// addresses that mean nothing to it. So the tracer executes such instructions one
// by one, natively, as it does those that cannot be copied, and delivers the
// signal. The flag can only be set by popf, iret, which the tracer executes in any
// case, and the return from a signal handler, which it sees.
//
// The refused alternative has the tracer execute every popf: programs that save
// and restore flags in loops would pay for what hardly any program does.

// flagTrap is the trap flag's bit.
const flagTrap = 0x100

// popMask is the flags that popf can change and a tracer can set.
const popMask = 0x44dd5

// popsFlags tells popf of either size. It stands in a block of its own, so that
// nothing has been recorded or borrowed when it is found to set the trap flag.
func popsFlags(in *x86.Insn) bool { return in.Mnem == x86.MPOPF || in.Mnem == x86.MPOPFQ }

// checkPopped writes, before a popf, the request that has the tracer execute it
// if it would set the trap flag. The other flags are free: popf replaces them.
func (u *unit) checkPopped(b *codecache.Block) {
	n := u.p.cache.NewExit(codecache.Exit{Target: b.App, Region: u.ar, Variant: u.v, Fixed: true, RareExit: codecache.RareExit{Trap: b}})
	a := &u.asm
	back := func(*unit) {}
	if u.p.keepFlags { // they are recorded in front of it, too
		a.StoreWord(spillF, x86.RAX)
		a.Load(x86.RAX, asm.At(x86.RSP, 1), 1) // faults with all as it was
		a.FlagsToRAX()
		back = func(u *unit) {
			u.asm.FlagsFromRAX()
			u.asm.LoadWord(x86.RAX, spillF)
		}
	}
	a.TestByte(asm.At(x86.RSP, 1), flagTrap>>8)
	u.coldAsk(a.JccLater(asm.IfNotZero), n, back)
	back(u)
}

// popFlags executes a popf for a thread that stands at one, in the cache or not;
// false if it does not, or its stack cannot be read: then the instruction faults.
func (p *Process) popFlags(regs *sys.Regs) bool {
	var code [2]byte
	if n, _ := p.mem.ReadAt(code[:], int64(regs.Rip)); n < 2 {
		return false
	}
	size, mask := uint64(8), uint64(popMask)
	switch {
	case code == [2]byte{0x66, 0x9d}:
		size, mask = 2, popMask&0xffff
		regs.Rip++
	case code[0] != 0x9d:
		return false
	}
	var word [8]byte
	if _, err := p.mem.ReadAt(word[:size], int64(regs.Rsp)); err != nil {
		regs.Rip -= (8 - size) / 6
		return false
	}
	regs.Eflags = regs.Eflags&^mask | binary.LittleEndian.Uint64(word[:])&mask
	regs.Rsp += size
	regs.Rip++
	return true
}

// stepOwn executes one instruction of a thread that has the trap flag set, in
// variant v, and delivers the trap. The instruction is recorded and counted like
// any other that the tracer executes.
func (tr *Tracer) stepOwn(t *Thread, regs *sys.Regs, v codecache.Variant) error {
	p := t.p
	if p.systemCallAt(regs.Rip) && !p.plainCall(uint32(regs.Rax)) {
		// The tracer has a part in it, and its code ends in more than one place:
		// the traps end here. A return from a handler brings its own flag.
		r := *regs
		r.Eflags &^= flagTrap
		return tr.enter(t, &r, 0)
	}
	key := codecache.HeadKey{Variant: v, App: regs.Rip}
	b := p.cache.Stepped[key]
	if b == nil {
		if b = p.translateTrap(regs.Rip, v); b == nil {
			return tr.native(t, regs, 0)
		}
		if p.cache.Stepped == nil {
			p.cache.Stepped = make(map[codecache.HeadKey]*codecache.Block)
		}
		p.cache.Stepped[key] = b
	}
	return tr.emulate(t, b, regs)
}

// translateTrap makes a block of one instruction that the tracer executes,
// whatever it is. No code leads there: it says what to record.
func (p *Process) translateTrap(app uint64, v codecache.Variant) *codecache.Block {
	ar := p.cache.RegionFor(app)
	if ar == nil {
		return nil
	}
	return p.unit(ar, v, func(u *unit) *codecache.Block {
		u.limit, u.forced = 1, true
		defer func() { u.limit, u.forced = 0, false }()
		b, _ := u.block(app)
		return b
	})
}

// execute executes the instruction that a stopped thread stands at, natively.
// regs has the registers before and gets those after it.
func (tr *Tracer) execute(t *Thread, regs *sys.Regs) error {
	own := regs.Eflags&flagTrap != 0
	if !own && t.p.popFlags(regs) {
		return nil
	}
	if own && t.p.systemCallAt(regs.Rip) {
		return tr.callOwn(t, regs)
	}
	if err := t.p.uncover(regs.Rip); err != nil {
		return err
	}
	if err := sys.SetRegs(t.tid, regs); err != nil {
		return err
	}
	step := tr.stepAt
	if _, ok := t.p.probes[regs.Rip]; ok {
		step = tr.overProbe
	}
	if err := step(t, regs.Rip); err != nil {
		return err
	}
	return sys.GetRegs(t.tid, regs)
}

// stepAt is step for a thread that stands at addr, undisturbed by signals unless it enters
// the kernel there: the call may change the mask, or wait for a signal.
func (tr *Tracer) stepAt(t *Thread, addr uint64) error {
	if t.p.systemCallAt(addr) || t.p.by32Bits(addr+2) {
		return tr.step(t)
	}
	return undisturbed(t, func() error { return tr.step(t) })
}

// systemCallAt tells a syscall instruction.
func (p *Process) systemCallAt(addr uint64) bool {
	var code [2]byte
	n, _ := p.mem.ReadAt(code[:], int64(addr))
	return n == 2 && code == [2]byte{0x0f, 0x05}
}

// plainCall tells system calls that the tracer has no part in.
func (p *Process) plainCall(nr uint32) bool {
	switch nr {
	case sysClone, sysFork, sysVfork, sysExecve, sysExit, sysExitGroup, sysExecveat, sysClone3:
		return false
	}
	return p.ctl.mem[layout.SyscallTable+int(nr&(layout.SyscallEntries-1))] == layout.SyscallPlain
}

// callOwn makes a system call of a thread that has the trap flag set. The
// processor clears the flag for the kernel and the return sets it again: the first
// trap comes behind the instruction after the call.
func (tr *Tracer) callOwn(t *Thread, regs *sys.Regs) error {
	a, next := t.p.cache.Regions[0], regs.Rip+2
	r := *regs
	r.Rip = a.Base + a.Routines.Inject
	r.Eflags &^= flagTrap
	if err := sys.SetRegs(t.tid, &r); err != nil {
		return err
	}
	if err := tr.call(t); err != nil {
		return err
	}
	if err := sys.GetRegs(t.tid, &r); err != nil {
		return err
	}
	r.Rip, r.Rcx, r.R11, r.Gs_base = next, next, regs.Eflags, regs.Gs_base
	r.Eflags |= flagTrap
	*regs = r
	return nil
}

// trapOwn delivers the trap behind an instruction that was executed with the
// program's trap flag set. The thread is in the stop that the trap has caused.
func (tr *Tracer) trapOwn(t *Thread, regs *sys.Regs) error {
	h, err := hold(t, sigTrap)
	if err != nil {
		return err
	}
	return tr.deliver(t, regs, h)
}
