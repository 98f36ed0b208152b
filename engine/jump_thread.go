package engine

import (
	"alleria/engine/probe"
	"alleria/engine/tracee"
	"alleria/internal/sys"
)

// Threads and the code of jumps. Signals, changes of mode and detaching find a thread
// there now and then; neither the application nor the rest of the engine is to see
// such an address.

// outOfJump takes a stopped native thread out of a jump's code: back to the
// function's first instruction if the entry has not been counted, else behind the displaced
// instructions. h is the signal that it is stopped for, if any: a fault of a
// displaced instruction is the application's, and where handlers return to must be
// code of its own.
//
// A fault that comes up while stepping is delivered instead of h, which is held.
func (t *Thread) outOfJump(regs *sys.Regs, h *tracee.Signal) error {
	p := t.p
	if !p.points.HasJumped() || !t.native {
		return nil
	}
	j := p.points.JumpAt(regs.Rip)
	if j == nil && !t.inCache(regs.Rip) {
		if j := p.points.JumpOf(regs.Rip - 4); j != nil && j.Patch == regs.Rip { // behind endbr64, not counted yet
			regs.Rip = j.Entry
			return t.tracee.SetRegs(regs)
		}
		return nil
	}
	if h.Fault() && j != nil {
		return t.faultInJump(j, regs, h)
	}
	return t.tracee.Undisturbed(func() error { return t.stepOutOfJump(regs, h) })
}

// stepOutOfJump is outOfJump for a thread whose signals are blocked.
func (t *Thread) stepOutOfJump(regs *sys.Regs, h *tracee.Signal) error {
	for {
		j := t.p.points.JumpAt(regs.Rip)
		switch {
		case j == nil && t.inCache(regs.Rip): // the routines that capture
			t.hurry(regs)
			t.awaitRoom(regs)
		case j == nil:
			return nil
		case j.Notes():
			regs.Rip = j.Entry
			return t.tracee.SetRegs(regs)
		case j.Ask != 0 && regs.Rip == j.Ask: // it is about to execute the int3
			if err := t.p.points.CatchTop(t.slot); err != nil {
				return err
			}
			regs.Rip++
			if err := t.tracee.SetRegs(regs); err != nil {
				return err
			}
			continue
		case regs.Rip == j.Hit:
			j.Retry()
			fallthrough
		case regs.Rip == j.Code:
			regs.Rip = j.Entry
			return t.tracee.SetRegs(regs)
		}
		if err := t.step(); err != nil {
			return err
		}
		if err := t.tracee.GetRegs(regs); err != nil {
			return err
		}
		if t.dropOurFault(regs) {
			continue
		}
		if j != nil && t.tracee.FaultFirst(h) {
			return t.faultInJump(j, regs, h)
		}
	}
}

// dropOurFault drops the signal that a step has ended in, if it is the fault of code of ours that captures: the thread goes on as if
// nothing had happened.
func (t *Thread) dropOurFault(regs *sys.Regs) bool {
	h := t.tracee.Last()
	if h == nil {
		return false
	}
	if !t.bailOut(regs, h) && t.p.captureJump(regs.Rip, h) == nil {
		return false
	}
	t.tracee.DropLast()
	return true
}

// faultInJump gives a thread that a displaced instruction has stopped, by a fault or
// the application's own trap flag, the instruction's own address, and the function
// its own code: the handler may return there.
func (t *Thread) faultInJump(j *probe.Jump, regs *sys.Regs, h *tracee.Signal) error {
	if t.p.points.JumpOf(j.Entry) == j {
		if err := t.p.points.Uncover(j.Entry); err != nil {
			return err
		}
	}
	app := j.AppOf(regs.Rip)
	switch h.Number {
	case tracee.SIGILL, tracee.SIGTRAP, tracee.SIGFPE:
		if t.p.points.JumpAt(h.Info.Addr()) == j {
			h.Info.SetAddr(app)
		}
	}
	regs.Rip = app
	return t.tracee.SetRegs(regs)
}

// trapInJump takes a thread whose program single-steps itself out of a jump's code,
// into which it has just been led: what it has executed there was not its own. false:
// it has executed an instruction of its own, whose trap is to be delivered.
func (t *Thread) trapInJump(j *probe.Jump, regs *sys.Regs) (bool, error) {
	if regs.Rip > j.Body && regs.Rip != j.Hit {
		return false, nil
	}
	if err := t.p.points.Uncover(j.Entry); err != nil {
		return true, err
	}
	j.TakeBack(regs.Rip)
	regs.Rip = j.Entry
	return true, t.goOn(regs)
}

// freeze stops all native threads that run and returns what lets them go on. Those in
// vfork stand in the kernel; one that has something else to report stands as well.
//
// What else they report is left for later, in order that nothing of it happens here:
// the caller may be in the middle of something.
func (p *Process) freeze() (thaw func()) {
	var stood []*Thread
	for _, t := range p.running() {
		if t.tracee.Stopped || !t.native || t.vforking {
			continue
		}
		if t.freeze() {
			stood = append(stood, t)
		}
	}
	return func() {
		for _, t := range stood {
			t.failed(t.run(0))
		}
	}
}

// freeze stops a thread that runs as it is, until run; false if it has something else to report, which comes first.
func (t *Thread) freeze() bool {
	ok, err := t.tracee.Freeze()
	t.failed(err)
	return ok
}

// nativeGS is the base of gs with which a thread runs natively.
func (t *Thread) nativeGS() uint64 {
	if t.appGS == 0 && t.slot != nil && !t.vfork && t.p.points.CapturesByJump() {
		return t.slot.Base
	}
	return t.appGS
}

// noteGS takes the application's base of gs from a native thread's registers.
func (t *Thread) noteGS(regs *sys.Regs) {
	if t.slot != nil && regs.Gs_base == t.slot.Base {
		t.appGS = 0
		return
	}
	t.appGS = regs.Gs_base
}
