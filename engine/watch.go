package engine

import (
	"time"

	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Watcher is what a Client may implement besides to hear what the kernel
// reports of the target. As those of Client, the calls come from the goroutine
// of Run, while the thread concerned does not run application code; each may
// change the mode, and the thread goes on in the new one from exactly there.
type Watcher interface {
	// CallEntered is called when a thread has executed the instruction of a system
	// call that Process.WatchCall named: what it executes next comes after the call.
	CallEntered(t *Thread, c *Call)
	// CallReturned is called for every system call that a thread has made in the
	// cache, once Process.WatchReturns asked for it: when it has returned, or, if it
	// never will, when it begins.
	CallReturned(t *Thread, c *Call)
	// Signalled is called when a signal is about to be delivered to a thread, also
	// one that is ignored. What the thread executes next comes after it. ip is
	// where it was interrupted.
	Signalled(t *Thread, info *sys.Siginfo, sig sys.Signal, ip uint64)
	// Forked is called when a thread has created another process.
	Forked(t *Thread, pid int)
	// Executing is called when a thread has executed another program, before the
	// old image's ThreadEnded and Ended. The first thread that is started next has its number.
	Executing(t *Thread)
	// Ending is called once for each thread, before its ThreadEnded: while it stands
	// at the beginning of its end, if Process.WatchEnds asked for that, else when the
	// kernel has reported that it is gone. It executes nothing any more. Of threads that are
	// let go, or that end with their program, it is not called.
	Ending(t *Thread)
	// Unmapped is called when a stretch of memory, which may hold images, was taken
	// away from the target.
	Unmapped(p *Process, start, end uint64)
	// Alarm is called at the time that Tracer.SetAlarm named.
	Alarm(p *Process)
}

// Call is a system call of the target.
// Args are the registers' values, whether the call has so many or not.
type Call struct {
	Number uint32    // of the x86-64 table
	Args   [6]uint64 // as in rdi, rsi, rdx, r10, r8, r9
	Next   uint64    // address of the instruction behind it
	TSC    uint64    // at its entry
	// What CallReturned knows besides. Result is minus an error number where the call
	// failed; Recorded: its instruction is the last of the thread's records.
	Returned bool
	EndTSC   uint64
	Result   int64
	Recorded bool
}

// callRegs makes a Call of the registers at a system call's entry.
func callRegs(r *sys.Regs, nr, next uint64) *Call {
	return &Call{Number: uint32(nr), Next: next, Args: [6]uint64{r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9}, TSC: sys.TSC()}
}

// SetAlarm asks for Watcher.Alarm at a time; the zero time for none.
func (tr *Tracer) SetAlarm(at time.Time) { tr.alarm = at }

// ringAlarm calls the client if its time has come.
// It is looked at in each turn, and the tracer never sleeps beyond it.
func (tr *Tracer) ringAlarm() {
	if tr.alarm.IsZero() || tr.proc == nil || time.Now().Before(tr.alarm) {
		return
	}
	tr.alarm = time.Time{}
	tr.syncAll()
	tr.watcher.Alarm(tr.proc)
}

// nap is how long the tracer may sleep at most.
func (tr *Tracer) nap() time.Duration {
	const most = 100 * time.Millisecond
	if tr.alarm.IsZero() {
		return most
	}
	return max(min(most, time.Until(tr.alarm)), time.Microsecond)
}

// WatchCall asks for Watcher.CallEntered, or no longer. In the cache only calls
// with that number pay for it; a native thread stops at every call while any is
// watched.
//
// Refused: a filter of seccomp, which would stop at that number alone: it stays
// for good, is inherited by children that are let go, and fails their calls once
// no tracer is there; and installing it needs a privilege, or no_new_privs, which
// changes what the program may execute.
func (p *Process) WatchCall(nr uint32, on bool) {
	if on == p.calls[nr] || nr >= layout.SyscallEntries {
		return
	}
	if on {
		p.calls[nr] = true
	} else {
		delete(p.calls, nr)
	}
	p.setCallTable(nr)
	p.tr.modeChanged = true
}

// setCallTable says what translated code does with a call.
func (p *Process) setCallTable(nr uint32) {
	what := p.special[int(nr)]
	switch {
	case p.calls[nr], p.hearCalls && leaves(uint64(nr)):
		what = layout.SyscallTracer
	case p.hearCalls && what == layout.SyscallPlain:
		what = layout.SyscallNotify
	}
	p.ctl.mem[layout.SyscallTable+int(nr)] = what
}

// wantsCalls tells whether native threads stop at system calls.
func (p *Process) wantsCalls() bool { return p.watchCalls > 0 || len(p.calls) > 0 }

// restarting tells the result of a call that will be made again.
func restarting(r *sys.Regs) bool { return r.Orig_rax != ^uint64(0) && restarts(r.Rax) }

// entered tells the client of a watched call, and whether it did. One that the kernel
// restarts after an interruption is the same call.
func (tr *Tracer) entered(t *Thread, regs *sys.Regs, nr, next uint64) bool {
	again := t.restarted
	t.restarted = false
	if again || t.vfork || !t.p.calls[uint32(nr)] {
		return false
	}
	tr.watcher.CallEntered(t, callRegs(regs, nr, next))
	return true
}

// awaitReturn lets a thread that is within a system call, or about to make one,
// run to its end, where callStop takes it over if the mode has changed. Taking
// it over at once would lose the call's result.
func (tr *Tracer) awaitReturn(t *Thread, inside bool) {
	t.toReturn, t.inCall = true, inside
}

// callStop handles a stop at a system call, at its entry or its end: of a native
// thread whose calls are watched, or of one for which awaitReturn was called.
//
// The kernel does not say which of the two stops it is: they are counted, and a thread that
// is taken over between them forgets the count.
func (tr *Tracer) callStop(t *Thread) error {
	t.inCall = !t.inCall
	var regs sys.Regs
	if err := sys.GetRegs(t.tid, &regs); err != nil {
		return err
	}
	if t.inCall {
		if t.native {
			if err := tr.nativeCall(t, &regs); err != nil {
				return err
			}
		}
		return tr.resume(t, 0)
	}
	t.restarted = restarting(&regs)
	if !t.restarted {
		tr.callDone(t, regs.Rax)
	}
	if t.toReturn || t.native {
		t.p.callEnded(regs.Orig_rax, regs.Rax, &regs)
	}
	t.toReturn = false
	tr.segmentChanged(t, &regs)
	if tr.modeDiffers(t) || len(t.held) > 0 {
		return tr.switchStopped(t)
	}
	return tr.resume(t, 0)
}

// nativeCall looks at a call that a native thread makes.
func (tr *Tracer) nativeCall(t *Thread, regs *sys.Regs) error {
	p := t.p
	nr := regs.Orig_rax
	if (p.calls[uint32(nr)] || nr == sysRseq) && p.by32Bits(regs.Rip) {
		return nil
	}
	if tr.entered(t, regs, nr, regs.Rip) {
		// The client may want to hear of its return now, as it does of one from the cache.
		r := *regs
		r.Rax, r.Rip = nr, regs.Rip-2
		tr.callBegins(t, &r, false)
	}
	if p.watchCalls == 0 {
		return nil
	}
	p.watchCalls--
	if nr == sysRseq {
		regs.Orig_rax = ^uint64(0) // no call: the kernel has put -ENOSYS into rax already
		p.watchCalls = 0
		return sys.SetRegs(t.tid, regs)
	}
	return nil
}

// by32Bits tells whether the instruction in front of an address, which has entered the
// kernel, is int 0x80: its calls have numbers in a table of their own.
func (p *Process) by32Bits(next uint64) bool {
	var code [2]byte
	n, _ := p.mem.ReadAt(code[:], int64(next-2))
	return n == 2 && code == [2]byte{0xcd, 0x80}
}

// deaf is the Watcher of a client that is none.
// It saves a nil check at each call.
type deaf struct{}

func (deaf) CallReturned(*Thread, *Call)                         {}
func (deaf) CallEntered(*Thread, *Call)                          {}
func (deaf) Signalled(*Thread, *sys.Siginfo, sys.Signal, uint64) {}
func (deaf) Forked(*Thread, int)                                 {}
func (deaf) Executing(*Thread)                                   {}
func (deaf) Ending(*Thread)                                      {}
func (deaf) Unmapped(*Process, uint64, uint64)                   {}
func (deaf) Alarm(*Process)                                      {}
