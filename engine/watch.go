package engine

import (
	"time"

	"alleria/internal/layout"
	"alleria/internal/sys"
)

// watches is what of a process's system calls, signals and ends the handler hears, or the tracer has a part in.
type watches struct {
	watchCalls  int             // system calls that native threads still stop at: see callStop
	calls       map[uint32]bool // that the handler watches
	special     map[int]byte    // what translated code does with calls, but for those
	hearCalls   bool            // the handler is told of all system calls
	hearSignals bool            // and of signals
	hearEnds    bool            // threads stop where they begin to end
}

func newWatches() watches {
	return watches{calls: make(map[uint32]bool), special: specialCalls()}
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

// SetAlarm asks for Handler.Alarm at a time; the zero time for none.
func (p *Process) SetAlarm(at time.Time) { p.alarm = at }

// ringAlarms calls the processes' handlers whose time has come.
// It is looked at in each turn, and the tracer never sleeps beyond the next one.
func (tr *Tracer) ringAlarms() {
	for _, p := range tr.procs {
		if p.alarm.IsZero() || time.Now().Before(p.alarm) {
			continue
		}
		p.alarm = time.Time{}
		tr.syncAll(p)
		p.client.Alarm(p)
	}
}

// nap is how long the tracer may sleep at most: until the next alarm, and for a moment only
// where a process has threads that do not ring, or there is something to do soon.
func (tr *Tracer) nap() time.Duration {
	nap := 100 * time.Millisecond
	for _, p := range tr.procs {
		if !p.alarm.IsZero() {
			nap = max(min(nap, time.Until(p.alarm)), time.Microsecond)
		}
		if p.shm.Ctl.U32(layout.NoCalls).Load() != 0 {
			nap = min(nap, soon)
		}
	}
	if tr.stops.AnyPostponed() {
		nap = min(nap, soon)
	}
	return nap
}

const soon = 100 * time.Microsecond

// WatchCall asks for Handler.CallEntered, or no longer. In the cache only calls
// with that number pay for it; a native thread stops at every call while any is
// watched.
//
// Refused: a filter of seccomp, which would stop at that number alone: it stays
// for good, is inherited by children that are detached, and fails their calls once
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
	p.modeChanged = true
}

// setCallTable says what translated code does with a call: it asks where calls are judged.
func (p *Process) setCallTable(nr uint32) {
	what := p.callTable(nr)
	if p.judged {
		what = layout.SyscallTracer
	}
	p.shm.Ctl.Mem[layout.SyscallTable+int(nr)] = what
}

// callTable is what is to be done with a call.
func (p *Process) callTable(nr uint32) byte {
	what := p.special[int(nr)]
	switch {
	case p.calls[nr], p.hearCalls && leaves(uint64(nr)):
		what = layout.SyscallTracer
	case p.hearCalls && what == layout.SyscallPlain:
		what = layout.SyscallNotify
	}
	return what
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
	t.p.client.CallEntered(t, callRegs(regs, nr, next))
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
	var regs sys.Regs
	if err := t.tracee.GetRegs(&regs); err != nil {
		return err
	}
	if t.native && tr.inCache(t, regs.Rip) { // a call of the routines that capture
		return tr.resume(t, 0)
	}
	t.inCall = !t.inCall
	if t.inCall {
		if t.native {
			if err := tr.nativeCall(t, &regs); err != nil {
				return err
			}
		}
		return tr.resume(t, 0)
	}
	if done, err := tr.callOver(t, &regs); done || err != nil {
		return err
	}
	t.restarted = restarting(&regs)
	if !t.restarted {
		tr.callDone(t, regs.Rax)
	}
	t.toReturn = false
	tr.segmentChanged(t, &regs)
	if tr.modeDiffers(t) || len(t.tracee.Held) > 0 || t.native && t.vfork {
		return tr.switchStopped(t)
	}
	return tr.resume(t, 0)
}

// callOver looks at what a call did, at its end; true if the thread goes on already.
func (tr *Tracer) callOver(t *Thread, regs *sys.Regs) (bool, error) {
	if t.hidden != nil {
		if err := t.unhide(regs); err != nil {
			return false, err
		}
		if restarting(regs) {
			return true, tr.createAgain(t, regs)
		}
	}
	switch {
	case t.native && t.p.by32Bits(regs.Rip):
		if restarting(regs) && t.p.mode != ModeNative {
			return true, tr.resume(t, 0) // for a handler, or the call once more
		}
		t.callEnded32(regs)
		regs.Orig_rax = ^uint64(0) // its results are none of the other table's
	case t.toReturn, t.native:
		t.p.callEnded(regs.Orig_rax, regs.Rax, regs)
	}
	return false, nil
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
		return t.tracee.SetRegs(regs)
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
