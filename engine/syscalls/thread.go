package syscalls

import (
	"alleria/engine/shm"
	"alleria/engine/tracee"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

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

// callOf makes a Call of the registers at a system call's entry.
func callOf(r *sys.Regs, nr, next uint64) *Call {
	return &Call{Number: uint32(nr), Next: next, Args: [6]uint64{r.Rdi, r.Rsi, r.Rdx, r.R10, r.R8, r.R9}, TSC: sys.TSC()}
}

// ThreadHost is a thread as its system calls see it.
type ThreadHost interface {
	// Native tells whether it runs its own code.
	Native() bool
	// Away tells whether it does so on its own, while its process is in the cache, so that it has to stop at calls.
	Away() bool
	// Shares tells a child that shares the address space, whose calls are not the program's.
	Shares() bool
	// Alone tells whether it is the only thread of its process.
	Alone() bool
	// CallEntered and CallReturned tell the client of a call.
	CallEntered(c *Call)
	CallReturned(c *Call)
}

// Next is what is to happen to a stopped thread.
type Next uint8

// What that is.
const (
	Resume Next = iota // it goes on as it stands
	Enter              // it goes on from the registers, which are the application's
	Over               // its call is over, and the registers are those behind it: bases may have changed, and something else may be due
	Again              // its call is to be made once more, from the program's own instruction
)

// Thread is the system calls of one thread.
type Thread struct {
	calls  *Calls
	host   ThreadHost
	tracee *tracee.Thread
	slot   *shm.Slot

	call      *Call // being made, where the tracer has seen it begin
	hidden    *Hidden
	inside    bool // between the stops at a watched call
	toReturn  bool // see AwaitReturn
	restarted bool // the kernel will make its last call again
	changes   bool // it makes a call that changes a handler, and tells when it has

	refuses sys.UserDispatch // which calls it has refused; while it runs natively the kernel's is meant
}

// Init makes t the calls of a thread.
func (t *Thread) Init(c *Calls, h ThreadHost, tt *tracee.Thread) {
	*t = Thread{calls: c, host: h, tracee: tt}
}

// UseSlot says which slot the thread has.
func (t *Thread) UseSlot(s *shm.Slot) { t.slot = s }

// Entered tells the client of a watched call, and whether it did. One that the kernel
// restarts after an interruption is the same call.
func (t *Thread) Entered(regs *sys.Regs, nr, next uint64) bool {
	again := t.restarted
	t.restarted = false
	if again || t.host.Shares() || !t.calls.watched[uint32(nr)] {
		return false
	}
	t.host.CallEntered(callOf(regs, nr, next))
	return true
}

// begins notes a call that the tracer sees begin. recorded: its instruction is
// part of the records.
func (t *Thread) begins(regs *sys.Regs, recorded bool) {
	t.call = nil
	if !t.calls.told || t.host.Shares() {
		return
	}
	c := callOf(regs, regs.Rax, regs.Rip+Length)
	c.Recorded = recorded
	switch c.Number {
	// Told of at once, as not returned: nobody will be there to do it later.
	case sysExit, sysExitGroup, Sigreturn:
		t.host.CallReturned(c)
	default:
		t.call = c
	}
}

// Done tells of the return of the call that was seen to begin, if any.
func (t *Thread) Done(result uint64) {
	t.changes = false
	c := t.call
	if c == nil {
		return
	}
	t.call = nil
	c.Returned, c.Result, c.EndTSC = true, int64(result), sys.TSC()
	t.host.CallReturned(c)
}

// Leaves tells of a call that never returns, since the thread has executed another program by it.
func (t *Thread) Leaves() {
	if t.call != nil {
		t.host.CallReturned(t.call)
	}
}

// Noted tells of a call that translated code has made by itself; regs are those
// behind it, with the arguments and the result.
func (t *Thread) Noted(nr uint64, regs *sys.Regs, recorded bool) {
	t.changes = false
	t.calls.Ended(nr, regs.Rax, regs)
	if !t.calls.told || t.host.Shares() {
		return
	}
	c := callOf(regs, nr, 0)
	c.TSC, c.EndTSC = t.slot.Get(layout.CallTSC), t.slot.Get(layout.CallEnd)
	if c.EndTSC < c.TSC { // a signal came first
		c.EndTSC = sys.TSC()
	}
	c.Recorded, c.Returned, c.Result = recorded, true, int64(regs.Rax)
	t.host.CallReturned(c)
}

// Restarts notes that the kernel will make the thread's call again, with these registers.
func (t *Thread) Restarts(regs *sys.Regs) {
	if t.calls.told && t.call == nil && !t.host.Shares() {
		t.call = callOf(regs, regs.Orig_rax, regs.Rip)
	}
}

// Anew forgets that the thread's call has begun: it will be made anew.
func (t *Thread) Anew() { t.call = nil }

// MadeAgain forgets the call that is to be made once more from the program's own instruction.
func (t *Thread) MadeAgain() { t.toReturn, t.call = false, nil }

// NotAgain says that what the thread does next is no restart of its last call.
func (t *Thread) NotAgain() { t.restarted = false }

// ChangesHandler tells whether the thread may be within a call that changes a handler.
func (t *Thread) ChangesHandler() bool { return t.changes }

// IsAgain tells whether the kernel makes the thread's last call again.
func (t *Thread) IsAgain() bool { return t.restarted }

// AwaitReturn lets a thread that is within a system call, or about to make one,
// run to its end, where Stop takes it over if the mode has changed. Taking
// it over at once would lose the call's result.
func (t *Thread) AwaitReturn(inside bool) { t.toReturn, t.inside = true, inside }

// Awaits tells whether that is so, and Inside whether a thread that stops at calls is within one.
func (t *Thread) Awaits() bool { return t.toReturn }
func (t *Thread) Inside() bool { return t.inside }

// Leave says that the thread runs natively from now on: the next stop is at a call's entry.
func (t *Thread) Leave() { t.inside = false }

// Interrupted says that a handler comes between a thread and the end of its call.
func (t *Thread) Interrupted() {
	t.toReturn, t.inside = t.toReturn && !t.host.Native(), t.inside && !t.host.Native()
	t.changes = false // it has been made, or will be asked for once more
}

// Stops tells whether the thread is to stop at system calls.
func (t *Thread) Stops() bool {
	// Within a call that it has stopped at the entry of it stops at the end too, whether anybody still waits for calls: a window that one has opened is open from there on.
	return t.host.Native() && (t.calls.StopNatively() || t.inside || t.host.Away()) || t.toReturn
}

// Stop handles a stop at a system call, at its entry or its end: of a native
// thread whose calls are watched, or of one for which AwaitReturn was called.
//
// The kernel does not say which of the two stops it is: they are counted, and a thread that
// is taken over between them forgets the count.
func (t *Thread) Stop(regs *sys.Regs) (Next, error) {
	t.inside = !t.inside
	if t.inside {
		if t.host.Native() {
			return Resume, t.Natively(regs)
		}
		return Resume, nil
	}
	if t.hidden != nil {
		if err := t.unhide(regs); err != nil {
			return Resume, err
		}
		if tracee.Restarting(regs) {
			return Again, nil
		}
	}
	switch native := t.host.Native(); {
	case native && t.calls.By32Bits(regs.Rip):
		if tracee.Restarting(regs) && !t.calls.host.Native() {
			return Resume, nil // for a handler, or the call once more
		}
		t.calls.ended32(t.tracee.TID, regs)
		regs.Orig_rax = ^uint64(0) // its results are none of the other table's
	case t.toReturn, native:
		t.calls.Ended(regs.Orig_rax, regs.Rax, regs)
	}
	if t.restarted = tracee.Restarting(regs); !t.restarted {
		t.Done(regs.Rax)
	}
	t.toReturn = false
	return Over, nil
}

// Natively looks at a call that a native thread makes.
func (t *Thread) Natively(regs *sys.Regs) error {
	c := t.calls
	nr := regs.Orig_rax
	if (c.watched[uint32(nr)] || nr == Rseq) && c.By32Bits(regs.Rip) {
		return nil
	}
	if t.Entered(regs, nr, regs.Rip) {
		// The client may want to hear of its return now, as it does of one from the cache.
		r := *regs
		r.Rax, r.Rip = nr, regs.Rip-Length
		t.begins(&r, false)
	}
	if c.starting == 0 {
		return nil
	}
	c.starting--
	if nr != Rseq {
		return nil
	}
	c.starting = 0
	if c.sequences {
		return nil
	}
	regs.Orig_rax = ^uint64(0) // no call: the kernel has put -ENOSYS into rax already
	return t.tracee.SetRegs(regs)
}
