package engine

import (
	"encoding/binary"

	"alleria/engine/codecache"
	"alleria/engine/emulate"
	"alleria/engine/recovery"
	"alleria/engine/tracee"
	"alleria/engine/translate"
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

// popMask is the flags that popf can change and a tracer can set.
const popMask = 0x44dd5

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
func (t *Thread) stepOwn(regs *sys.Regs, v codecache.Variant) error {
	p := t.p
	if p.calls.At(regs.Rip) && !p.calls.Plain(uint32(regs.Rax)) {
		// The tracer has a part in it, and its code ends in more than one place:
		// the traps end here. A return from a handler brings its own flag.
		r := *regs
		r.Eflags &^= translate.FlagTrap
		return t.enter(&r, 0)
	}
	key := codecache.CheckKey{Variant: v, App: regs.Rip}
	b := p.cache.Stepped[key]
	if b == nil {
		if b = p.translator.TranslateSingle(regs.Rip, v); b == nil {
			return t.runNatively(regs, 0)
		}
		if p.cache.Stepped == nil {
			p.cache.Stepped = make(map[codecache.CheckKey]*codecache.Block)
		}
		p.cache.Stepped[key] = b
	}
	return t.emulate(b, regs)
}

// execute executes the instruction that a stopped thread stands at, natively.
// regs has the registers before and gets those after it.
func (t *Thread) execute(regs *sys.Regs) error {
	own := regs.Eflags&translate.FlagTrap != 0
	if !own && t.p.popFlags(regs) {
		return nil
	}
	if own && t.p.calls.At(regs.Rip) {
		return t.callOwn(regs)
	}
	if err := t.p.points.Uncover(regs.Rip); err != nil {
		return err
	}
	if err := t.tracee.SetRegs(regs); err != nil {
		return err
	}
	step := t.stepAt
	if _, ok := t.p.points.Original(regs.Rip); ok {
		step = t.overProbe
	}
	at := regs.Rip
	if err := step(at); err != nil {
		return err
	}
	if err := t.tracee.GetRegs(regs); err != nil {
		return err
	}
	if !own && t.tracee.Raised() != nil {
		regs.Eflags &^= translate.FlagTrap // an iretq or popf that faults leaves the step's, which the kernel takes for the program's
	}
	if next, ok := emulate.Icebp(t.p.code.Fetch(at, 15), at); ok && t.tracee.Raised() == nil {
		return t.icebp(regs, next)
	}
	return nil
}

// icebp makes the trap of a step the application's, which is behind its int1: that raises the same one, and there is no second. Some hypervisors leave the
// processor in front of the instruction, so that it is executed again and again natively; the manuals say behind it.
func (t *Thread) icebp(regs *sys.Regs, next uint64) error {
	h, err := t.tracee.Take(tracee.SIGTRAP)
	if err != nil {
		return err
	}
	h.Info.SetCode(tracee.CodeBreak)
	h.Info.SetAddr(next)
	t.tracee.Hold(h)
	regs.Rip = next
	return nil
}

// stepAt is step for a thread that stands at addr, undisturbed by signals unless it enters
// the kernel there: the call may change the mask, or wait for a signal.
func (t *Thread) stepAt(addr uint64) error {
	if t.p.calls.At(addr) || t.p.calls.By32Bits(addr+2) {
		return t.step()
	}
	return t.tracee.Undisturbed(func() error { return t.step() })
}

// callOwn makes a system call of a thread that has the trap flag set. The
// processor clears the flag for the kernel and the return sets it again: the first
// trap comes behind the instruction after the call.
func (t *Thread) callOwn(regs *sys.Regs) error {
	a, next := t.p.cache.Regions[0], regs.Rip+2
	r := *regs
	r.Rip = a.Base + a.Routines.Inject
	r.Eflags &^= translate.FlagTrap
	if err := t.tracee.SetRegs(&r); err != nil {
		return err
	}
	if err := t.tracee.Call(); err != nil {
		return err
	}
	if err := t.tracee.GetRegs(&r); err != nil {
		return err
	}
	r.Rip, r.Rcx, r.R11, r.Gs_base = next, next, regs.Eflags, regs.Gs_base
	r.Eflags |= translate.FlagTrap
	*regs = r
	return nil
}

// trapOwn delivers the trap behind an instruction that was executed with the
// program's trap flag set. The thread is in the stop that the trap has caused.
func (t *Thread) trapOwn(regs *sys.Regs) error {
	h, err := t.tracee.Take(tracee.SIGTRAP)
	if err != nil {
		return err
	}
	return t.deliver(regs, h)
}

// beforeEmulation notes the accesses of the instruction in block b, which a thread with these registers is about to execute; nil where its facts come from a file and are none.
func (t *Thread) beforeEmulation(b *codecache.Block, regs *sys.Regs) *emulate.Execution {
	facts := t.p.cache.Facts.Get(b.Rec.ID)
	if facts == nil {
		return nil
	}
	return emulate.Before(t.p.mem, facts, b.App, regs, t.appGS, t.tracee.XState)
}

// vsyscallPage is where three calls lie, 1 KiB apart, that old programs make as
// functions. The kernel emulates each as a whole when it is jumped to.
const vsyscallPage = 0xffffffffff600000

// vsyscallNumber is the system call that an address in the page stands for.
// Addresses between them raise SIGSEGV, which is left to the kernel.
func vsyscallNumber(addr uint64) (nr uint64, ok bool) {
	switch addr {
	case vsyscallPage:
		return 96, true // gettimeofday
	case vsyscallPage + 0x400:
		return 201, true // time
	case vsyscallPage + 0x800:
		return 309, true // getcpu
	}
	return 0, false
}

// vsyscall executes the call that regs, the application's, are about to make
// through the page, and goes on where it returns to. Left to the kernel, the
// thread would return to the application's own code and escape.
func (t *Thread) vsyscall(regs *sys.Regs, nr uint64) error {
	var ret [8]byte
	if _, err := t.p.mem.ReadAt(ret[:], int64(regs.Rsp)); err != nil {
		return t.vsyscallFaults(regs)
	}
	if err := t.giveAllBack(); err != nil {
		return err
	}
	a := t.p.cache.Regions[0]
	r := *regs
	r.Rip, r.Rax, r.Orig_rax = a.Base+a.Routines.Inject, nr, ^uint64(0)
	if err := t.tracee.CallWith(&r); err != nil {
		return err
	}
	if efault := int64(-14); r.Rax == uint64(efault) {
		return t.vsyscallFaults(regs)
	}
	// As the emulated call does: a result, and a return by popping the address.
	regs.Rax = r.Rax
	regs.Rip, regs.Rsp = binary.LittleEndian.Uint64(ret[:]), regs.Rsp+8
	return t.enter(regs, 0)
}

// vsyscallFaults leaves a call to the kernel whose stack or pointers cannot be used: it raises SIGSEGV, in front of
// the return.
func (t *Thread) vsyscallFaults(regs *sys.Regs) error {
	t.native = true
	r := *regs
	r.Gs_base = t.appGS
	if err := t.tracee.SetRegs(&r); err != nil {
		return err
	}
	return t.run(0)
}

// A program may have the processor refuse it the time-stamp counter (PR_SET_TSC, strict seccomp). Translated code that
// takes the time faults then, in front of nothing of the program's: it is given the time by the tracer, and goes on.

// ownFault deals with a fault of translated code that is not the program's, and has regs behind it; false if it is.
func (t *Thread) ownFault(regs *sys.Regs, h *tracee.Signal) (bool, error) {
	if t.stampFault(regs, h) {
		return true, nil
	}
	return t.goesOnBehind(regs, h)
}

// stampFault gives a thread the time that translated code could not take at regs; false if the fault is the
// program's own.
func (t *Thread) stampFault(regs *sys.Regs, h *tracee.Signal) bool {
	if h.Number != tracee.SIGSEGV || h.Info.Code() != tracee.CodeKernel || !t.ownStamp(regs.Rip) {
		return false
	}
	now := sys.TSC()
	regs.Rax, regs.Rdx = now&(1<<32-1), now>>32
	regs.Rip += 2
	return true
}

// goesOnBehind has a thread at regs go on behind a load from a branch's target (translate.TargetLoad) that has faulted; false if the fault is the branch's own:
// its target is not canonical. What the processor does about addresses of the kernel goes by its features (LASS), so that the address decides.
// What may be executed and not be read raises no fault natively: what it has done to a thread that blocks the signal is put right.
func (t *Thread) goesOnBehind(regs *sys.Regs, h *tracee.Signal) (bool, error) {
	if !h.Fault() || !recovery.Canonical(regs.Rcx) {
		return false, nil
	}
	size, _ := t.recovery.TargetLoad(regs.Rip)
	if size == 0 {
		return false, nil
	}
	target := regs.Rcx
	regs.Rip += uint64(size)
	if h.Number != tracee.SIGSEGV || !t.p.code.Executable(target) {
		return true, nil
	}
	f := &t.p.guarding.fault
	f.Signal = tracee.SIGSEGV
	return true, f.Mend(&t.tracee, t.borrow)
}

// ownStamp tells whether at a cache address lies an rdtsc that is not a copy of the program's.
func (t *Thread) ownStamp(addr uint64) bool {
	a := t.p.cache.RegionAt(addr)
	if a == nil {
		return false
	}
	var code [2]byte
	if n, _ := t.p.mem.ReadAt(code[:], int64(addr)); n != 2 || code != [2]byte{0x0f, 0x31} {
		return false
	}
	b := t.p.cache.BlockAt(a, addr)
	if b == nil {
		return true // a routine or a stub
	}
	at, pos := uint32(addr-b.Code), t.p.cache.PositionsOf(b)
	i, _ := pos.Find(at)
	return at != uint32(pos.At[i].Exec) || b.Term == codecache.TermSyscall && i == pos.N-1
}
