package engine

import (
	"encoding/binary"

	"alleria/engine/appcode"
	"alleria/engine/codecache"
	"alleria/engine/shm"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Numbers of the system calls that the tracer has a part in.
// They are x86-64's (arch/x86/entry/syscalls/syscall_64.tbl) and never change.
const (
	sysMprotect    = 10
	sysSigreturn   = 15
	sysMremap      = 25
	sysShmat       = 30
	sysShmdt       = 67
	sysClone       = 56
	sysPtrace      = 101
	sysMlockall    = 151
	sysPrctl       = 157
	sysArchPrctl   = 158
	sysSeccomp     = 317
	sysClone3      = 435
	sysPkeyProtect = 329
	sysPersonality = 135
	sysRseq        = 334

	archSetGS = 0x1001
	archSetFS = 0x1002
	archGetFS = 0x1003
	archGetGS = 0x1004

	enosys = 38

	prSetSeccomp = 22

	ptraceTraceMe = 0
	ptraceAttach  = 16
	ptraceSeize   = 0x4206

	mclCurrent, mclOnFault = 1, 4
)

// specialCalls says which system calls translated code does not just execute.
//
// The tracer makes or answers those that would act on what the cache hides: the frame that
// sigreturn takes, the bases of segments, filters that could forbid calls of ours, and what
// is answered as by a kernel without it. It looks at those that change mappings.
func specialCalls() map[int]byte {
	return map[int]byte{
		sysSigreturn:   layout.SyscallTracer,
		sysArchPrctl:   layout.SyscallTracer,
		sysPtrace:      layout.SyscallTracer,
		sysMlockall:    layout.SyscallTracer,
		sysPrctl:       layout.SyscallTracer,
		sysSeccomp:     layout.SyscallTracer,
		sysRseq:        layout.SyscallTracer,
		sysClone:       layout.SyscallTracer,
		sysClone3:      layout.SyscallTracer,
		sysGetrlimit:   layout.SyscallTracer,
		sysSetrlimit:   layout.SyscallTracer,
		sysPrlimit64:   layout.SyscallTracer,
		tracee.SysMmap: layout.SyscallNotify, tracee.SysMunmap: layout.SyscallNotify,
		sysMprotect: layout.SyscallNotify, sysPkeyProtect: layout.SyscallNotify,
		sysPersonality:    layout.SyscallNotify,
		tracee.SysMadvise: layout.SyscallNotify, tracee.SysOpen: layout.SyscallNotify, sysOpenat: layout.SyscallNotify,
		sysMremap: layout.SyscallNotify, sysShmat: layout.SyscallNotify, sysShmdt: layout.SyscallNotify,
	}
}

// trapSyscall handles a system call that translated code stopped at. regs is
// the application's state at the syscall instruction; plain is the cache
// address of a syscall instruction that goes on after the call.
//
// Calls that are made are made from the cache's own syscall instruction, so that a restart by
// the kernel finds one two bytes before where the thread is.
func (tr *Tracer) trapSyscall(t *Thread, regs *sys.Regs, plain uint64, recorded bool) error {
	tr.entered(t, regs, regs.Rax, regs.Rip+2)
	tr.callBegins(t, regs, recorded)
	if done, err := tr.ownCall(t, regs, plain); done {
		return err
	}
	if nr := uint32(regs.Rax); nr >= layout.SyscallEntries || t.p.special[int(nr)] != layout.SyscallTracer {
		return tr.plainCall(t, regs, plain)
	}
	return tr.guardedCall(t, regs, plain)
}

// ownCall handles the calls that the tracer answers itself, or makes in a way of its own; false for others.
func (tr *Tracer) ownCall(t *Thread, regs *sys.Regs, plain uint64) (done bool, err error) {
	switch uint32(regs.Rax) {
	case sysRseq: // as a kernel without it: sequences would be aborted to addresses outside the cache
		t.p.endStart()
		t.p.watchCalls = 0 // nor is there anything to watch for, should it go on natively
		minus := int64(-enosys)
		return true, tr.finishSyscall(t, regs, uint64(minus))
	case sysSigreturn:
		return true, tr.sigreturn(t, regs)
	case sysPtrace:
		switch regs.Rdi {
		case ptraceTraceMe:
			return true, tr.traceMe(t, regs)
		case ptraceAttach, ptraceSeize:
			return true, tr.attached(t, regs, plain)
		}
	case sysGetrlimit, sysSetrlimit, sysPrlimit64:
		if _, _, ok := t.limits(regs); ok {
			return true, tr.limitCall(t, regs, plain)
		}
		return true, tr.plainCall(t, regs, plain)
	case sysClone, sysClone3:
		r := *regs
		if err := t.hide(&r); err != nil {
			return true, err
		}
		return true, tr.plainCall(t, &r, plain)
	case sysPrctl:
		if uint32(regs.Rdi) == prSetUserDispatch {
			return true, tr.setUserDispatch(t, regs, plain)
		}
	case sysArchPrctl:
		switch regs.Rdi {
		case archSetGS:
			t.appGS = regs.Rsi
			t.slot.Set(layout.AppGS, regs.Rsi)
			return true, tr.finishSyscall(t, regs, 0)
		case archGetGS:
			if t.p.putWord(regs.Rsi, t.appGS) != nil {
				efault := int64(-14)
				return true, tr.finishSyscall(t, regs, uint64(efault))
			}
			return true, tr.finishSyscall(t, regs, 0)
		}
	}
	return false, nil
}

// guardedCall makes a call behind which calls of ours may be forbidden, or that locks memory.
func (tr *Tracer) guardedCall(t *Thread, regs *sys.Regs, plain uint64) error {
	// From the moment that a filter may be in force no call of ours must be made by
	// translated code: that is said before the call, and taken back if it failed.
	filter := uint32(regs.Rax) == sysSeccomp || uint32(regs.Rax) == sysPrctl && regs.Rdi == prSetSeccomp
	calls := t.p.shm.Ctl.U32(layout.NoCalls)
	had := calls.Load()
	if filter {
		calls.Store(1)
	}
	r := *regs
	r.Rip, r.Gs_base = plain, t.slot.Base
	// What is locked is locked as it is touched: else each page of the code cache
	// and of this thread's ring would be made.
	lock := uint32(regs.Rax) == sysMlockall && regs.Rdi&mclCurrent != 0
	if lock {
		r.Rdi |= mclOnFault
	}
	if err := t.tracee.CallWith(&r); err != nil {
		return err
	}
	if lock {
		r.Rdi = regs.Rdi
		if err := t.tracee.SetRegs(&r); err != nil {
			return err
		}
	}
	switch failed := r.Rax > ^uint64(4095); {
	case filter && failed:
		calls.Store(had)
	case filter:
		t.p.forbidCalls()
	}
	if !restarting(&r) {
		tr.callDone(t, r.Rax)
	}
	tr.segmentChanged(t, &r)
	if len(t.tracee.Held) > 0 || tr.modeDiffers(t) {
		return tr.switchStopped(t)
	}
	return tr.resume(t, 0)
}

// plainCall lets a thread make a call that the tracer stopped it for only to
// know of it.
func (tr *Tracer) plainCall(t *Thread, regs *sys.Regs, plain uint64) error {
	r := *regs
	r.Rip, r.Gs_base = plain, t.slot.Base
	if err := t.tracee.SetRegs(&r); err != nil {
		return err
	}
	tr.awaitReturn(t, false)
	return tr.resume(t, 0)
}

// finishSyscall answers a system call without executing it.
// rcx and r11 are what the instruction would have left there.
func (tr *Tracer) finishSyscall(t *Thread, regs *sys.Regs, result uint64) error {
	tr.callDone(t, result)
	regs.Rax = result
	regs.Rip += 2
	regs.Rcx, regs.R11 = regs.Rip, regs.Eflags
	regs.Orig_rax = ^uint64(0)
	return tr.enter(t, regs, 0)
}

// afterCall looks at what a SyscallNotify call did, which a thread that waits has
// made before it left through exit e.
func (tr *Tracer) afterCall(t *Thread, e *codecache.Exit) {
	nr := t.slot.Get(layout.ReqArg)
	regs := &sys.Regs{}
	t.recovery.Saved(regs)
	t.p.callEnded(nr, regs.Rax, regs)
	tr.notedCall(t, nr, regs, e.Recorded)
}

// callEnded looks at what a call with its arguments in regs did to the address
// space.
//
// Errors are results above -4096. Shared memory segments (shmat,
// shmdt) come without a length: everything is forgotten.
func (p *Process) callEnded(nr, res uint64, regs *sys.Regs) {
	if nr >= layout.SyscallEntries || p.special[int(nr)] != layout.SyscallNotify {
		return
	}
	if res > ^uint64(4095) {
		p.callFailed(nr, res, regs)
		return
	}
	addr, length, third := regs.Rdi, regs.Rsi, regs.Rdx
	switch nr {
	case tracee.SysMadvise:
		if forgets(third) {
			p.replaced(addr, length)
		}
	case sysPersonality:
		p.code.ReadPersonality()
	case tracee.SysOpen:
		p.opened(addr)
	case sysOpenat:
		p.opened(length)
	case sysWrite, sysWritev, sysPwritev, sysPwritev2:
		p.wroteFile(addr, 0, 1<<47)
	case sysPwrite64:
		p.wroteFile(addr, regs.R10, res)
	case tracee.SysMmap:
		if third&tracee.ProtWrite != 0 && regs.R10&tracee.MapAnonymous == 0 {
			p.written.Touch(res, res+length)
		}
		p.mapped(res, length, third&tracee.ProtExec != 0)
	case sysMremap:
		p.unmapped(addr, length)
		p.mapped(res, third, false)
		p.code.Remapped()
	case tracee.SysMunmap:
		p.unmapped(addr, length)
	case sysMprotect, sysPkeyProtect:
		if third&tracee.ProtWrite != 0 {
			p.written.Touch(addr, addr+length)
		}
		p.protected(addr, length, third)
	default:
		p.changedCode()
		p.code.Remapped()
		p.code.Invalidate(0, 1<<47)
	}
}

// callFailed looks at a call that has failed, and may have done so halfway: the pages in front of one that is not there, or must not be
// had so, have changed. A mapping over another one may have taken that away.
func (p *Process) callFailed(nr, res uint64, regs *sys.Regs) {
	const einval, mapFixed, mremapFixed = -22, 0x10, 2
	addr, length, third := regs.Rdi, regs.Rsi, regs.Rdx
	if addr < 1<<47 {
		length = min(length, 1<<47-addr)
	}
	switch {
	case int64(res) == einval || addr >= 1<<47: // it was not begun
	case nr == sysMprotect || nr == sysPkeyProtect, nr == tracee.SysMmap && regs.R10&mapFixed != 0, nr == tracee.SysMunmap:
		p.mapped(addr, length, true)
	case nr == sysMremap && regs.R10&mremapFixed != 0:
		p.mapped(regs.R8, third, true)
	case nr == tracee.SysMadvise && forgets(third):
		p.replaced(addr, length)
	}
}

// protected notes that the rights to a stretch of the address space changed.
//
// Compilers change them for each piece of code that they write, mostly without any effect: a page among many that have
// the same rights already. What that does to the mappings is followed, since reading them takes longer than all else.
func (p *Process) protected(addr, length, prot uint64) {
	end := addr + (length+appcode.PageSize-1)&^(appcode.PageSize-1)
	if prot&tracee.ProtExec != 0 || p.code.MayExecute(addr, end) {
		p.changedCode()
	}
	if !p.code.Followed(addr, end) {
		p.mapped(addr, length, prot&tracee.ProtExec != 0)
		return
	}
	p.points.Lost(addr, end)
	changed, known := p.code.Protect(addr, end, prot)
	if !known {
		p.mapped(addr, length, true)
		return
	}
	for _, c := range changed {
		p.code.SetAside(c[0], c[1])
	}
}

// mapped notes that a stretch of the address space changed.
// Code that is mapped where nothing was translated needs no invalidation.
func (p *Process) mapped(addr, length uint64, exec bool) {
	end := addr + (length+appcode.PageSize-1)&^(appcode.PageSize-1)
	p.points.Lost(addr, end)
	if exec || p.code.MayExecute(addr, end) {
		p.changedCode()
	}
	if exec || p.code.Overlaps(addr, end) {
		p.code.Remapped()
	}
	if exec {
		p.client.ImagesChanged(p)
	}
	if p.code.HasCode(addr, end) {
		p.code.Remapped()
		p.code.SetAside(addr, end)
	}
}

// unmapped notes that a stretch of the address space is gone.
func (p *Process) unmapped(addr, length uint64) {
	p.mapped(addr, length, false)
	p.client.Unmapped(p, addr, addr+(length+appcode.PageSize-1)&^(appcode.PageSize-1))
}

// A limit of the address space (RLIMIT_AS) counts what we have mapped as well, most of it room that is never touched.
// Where a process has one it is raised by that much, and what the program is told and says of it is translated.

const (
	sysGetrlimit = 97
	sysSetrlimit = 160
	sysPrlimit64 = 302

	limitAS = 9
)

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
	r.Rip, r.Gs_base = plain, t.slot.Base
	was := r
	widened := p.widened
	if set != nil && *set != 0 {
		if l, ok := p.readLimit(*set); ok && p.mayWiden() {
			l, widened = widen(l, ourMappings), ourMappings
			t.slot.Set(scratchInSlot, l.Cur)
			t.slot.Set(scratchInSlot+8, l.Max)
			*set = t.slot.Base + scratchInSlot
		}
	}
	if err := t.tracee.CallWith(&r); err != nil {
		return err
	}
	r.Rsi, r.Rdx = was.Rsi, was.Rdx
	if err := t.tracee.SetRegs(&r); err != nil {
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
	if len(t.tracee.Held) > 0 || tr.modeDiffers(t) {
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

// callAtProbe lets a native thread make the system call at regs.Rip, under a probe:
// from another syscall instruction, up to where it has entered the kernel, which is
// then made to believe that it came from here. Other signals than those of faults wait
// until then.
//
// Refused: a single step like that over any other probe (overProbe). The kernel reports
// no call in a step, so that whoever watches calls would miss it; a step over a call
// that blocks would hold up the tracer, and what it reports of a clone or an execve is
// lost on somebody who waits for a trap.
func (tr *Tracer) callAtProbe(t *Thread, regs *sys.Regs) error {
	next, a := regs.Rip+2, t.p.cache.Regions[0]
	r := *regs
	r.Rip, r.Orig_rax = a.Base+a.Routines.Inject, ^uint64(0)
	if err := t.tracee.SetRegs(&r); err != nil {
		return err
	}
	if err := t.tracee.Undisturbed(func() error { return t.tracee.CallStops(1) }); err != nil {
		return err
	}
	if err := t.tracee.GetRegs(&r); err != nil {
		return err
	}
	r.Rip, r.Rcx = next, next
	if err := t.tracee.SetRegs(&r); err != nil {
		return err
	}
	if err := tr.nativeCall(t, &r); err != nil {
		return err
	}
	tr.awaitReturn(t, true)
	return tr.resume(t, 0)
}
