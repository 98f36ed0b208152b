package engine

import (
	"alleria/engine/codecache"
	"alleria/engine/probe"
	"alleria/engine/tracee"
	"alleria/internal/capture"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Threads at intercepted functions, as far as they are stopped, led elsewhere or sent on from there: what is captured of them is a matter of package captures.

// captureHost is a thread as its captures see it.
type captureHost struct{ t *Thread }

// Native tells whether its process runs natively.
func (h captureHost) Native() bool { return h.t.p.mode == ModeNative }

// Map has the thread map memory at an address.
func (h captureHost) Map(addr, bytes uint64) bool {
	p := h.t.p
	if !h.t.calls.Look() {
		return false
	}
	in, err := h.t.tracee.Inject(p.ownCall())
	if err != nil {
		return false
	}
	got, err := in.Call(tracee.SysMmap, addr, bytes, tracee.ProtRead|tracee.ProtWrite, tracee.MapPrivate|tracee.MapAnonymous|tracee.MapFixedNoReplace, ^uint64(0), 0)
	return in.Close() == nil && err == nil && got == addr
}

// InPlace stops the thread where it waits for as long as f takes.
func (h captureHost) InPlace(f func()) {
	t := h.t
	if t.tracee.Stopped {
		f()
		return
	}
	if t.freeze() {
		f()
		t.failed(t.run(0))
	}
}

// Runner captures for all threads, unless each call is to be captured by itself.
func (h captureHost) Runner() *capture.Runner {
	tr := h.t.p.tr
	if tr.opts.NoCapturePages {
		return nil
	}
	return &tr.runner
}

// enteredCaptured captures what happens where a thread is natively about to execute regs.Rip.
func (t *Thread) enteredCaptured(regs *sys.Regs) {
	c := t.p.points.CapturesAt(regs.Rip)
	if c == nil {
		return
	}
	if c.Prog.Jumps {
		t.enteredNatively(regs, codecache.Uncounted) // it arrives here, and then elsewhere
	}
	t.captureEntry(c, regs)
}

// loopsTo tells whether a thread with the registers regs, about to execute an intercepted function's first instruction, has come there by a loop of that function.
func (t *Thread) loopsTo(c *probe.Interception, regs *sys.Regs) bool {
	f := probe.TopFrame(t.slot)
	if f.Sp() != regs.Rsp || !t.p.points.JumpsToItself(c.Entry) {
		return false
	}
	of := f.Of(&t.p.points)
	return of != nil && of.Entry == c.Entry
}

// captureEntry captures that a thread, which is stopped with the registers regs, enters a function.
func (t *Thread) captureEntry(c *probe.Interception, regs *sys.Regs) {
	if t.loopsTo(c, regs) {
		return
	}
	act := c.Alteration(capture.Entered)
	if act != nil && t.vfork {
		act = nil
	}
	m := t.captures.Stopped(regs)
	t.failed(t.captures.Enter(c, m, act))
	if addr, stack, ok := m.Sent(); ok {
		regs.Rip, regs.Rsp = addr, stack
	}
	if act != nil && act.Leave && t.captures.Skip(regs) {
		t.captures.Return(regs.Rip, regs.Rsp-8, t.captures.Stopped(regs)) // who has tail-called it
	}
}

// captureOpening has a thread captured that waits at an entry which has just opened a window: c is intercepted in that window, and
// was not before. The thread is stopped, since nothing has saved what captures need of its registers.
func (t *Thread) captureOpening(c *probe.Interception) error {
	regs, err := t.fetchWaiting(c.Entry)
	if err != nil {
		return err
	}
	t.captureEntry(c, regs)
	return t.enterPast(regs, 0, codecache.Counted)
}

// jumpsOn tells whether a function's program sends threads elsewhere.
func (p *Process) jumpsOn(addr uint64) bool {
	c := p.points.CapturesAt(addr)
	return c != nil && c.Prog.Jumps
}

// captureAsked answers a thread that asks at a function's entry.
func (t *Thread) captureAsked() error {
	c := t.p.points.Interception(t.slot.U32(layout.CaptureAsked).Load())
	if t.modeDiffers() { // it will be captured there
		return t.switchWaiting(c.Entry, codecache.Uncounted)
	}
	if c.Armed {
		act := c.Alteration(capture.Entered)
		if act != nil && (act.Leave || act.Jump) && !t.vfork {
			return t.captureLeave(c, act)
		}
		if err := t.captures.Enter(c, t.captures.Asking(), act); err != nil {
			return err
		}
	}
	t.reply(t.slot.Get(layout.CaptureBack))
	return nil
}

// frameAsked answers a thread that asks in front of a return which has reached a captured frame, or that wants the frames of another stack in its slot.
func (t *Thread) frameAsked(req uint32) {
	back := t.slot.Get(layout.CaptureBack)
	switch req {
	case layout.ReqLeft:
		t.captures.ReturnAsked()
	case layout.ReqOwn:
		t.captures.TurnOwn()
	case layout.ReqSuspect:
		if t.captures.Passes(t.recovery.SavedSP()) {
			back = t.slot.Get(layout.CaptureAskAt)
		}
	default:
		if !t.captures.Turn() {
			back = t.slot.Get(layout.CaptureAskAt)
		}
	}
	t.reply(back)
}

// captureLeave has a thread that waits at the entry of a function go on behind the call.
func (t *Thread) captureLeave(c *probe.Interception, act *capture.Alteration) error {
	regs, err := t.fetchWaiting(c.Entry)
	if err != nil {
		return err
	}
	m := t.captures.Stopped(regs)
	if err := t.captures.Enter(c, m, act); err != nil {
		return err
	}
	if addr, stack, ok := m.Sent(); ok {
		regs.Rip, regs.Rsp = addr, stack
	} else if act.Leave && t.captures.Skip(regs) {
		t.captures.Return(regs.Rip, regs.Rsp-8, t.captures.Stopped(regs)) // of who has tail-called it
	}
	return t.enterPast(regs, 0, codecache.Uncounted)
}

// SlowCaptures is how many moments of intercepted calls of the thread the tracer has captured by itself so far.
func (t *Thread) SlowCaptures() uint64 { return t.captures.Slow() }

// Code that captures may fault, since it reads what the program's pointers lead to, or be in the middle of what takes long.

// bailOut tells whether a signal is the fault of a load that code has made to capture something. The thread then has the tracer do
// it, which finds what can be read. Where code has looked for a return address it goes on without one.
func (t *Thread) bailOut(regs *sys.Regs, h *tracee.Signal) bool {
	if h.Number != tracee.SIGSEGV && h.Number != tracee.SIGBUS || !h.Fault() {
		return false
	}
	if bail, ok := t.p.points.CaptureBail(regs.Rip); ok {
		regs.Rip = bail
	} else if call, ok := t.p.points.NoteBail(regs.Rip); ok {
		regs.Rip = call
	} else if n := t.p.loadsReturn(regs.Rip); n > 0 {
		regs.Rip, regs.Rdx = regs.Rip+n, 0
	} else {
		return false
	}
	t.failed(t.tracee.SetRegs(regs))
	return true
}

// faultOfOurs tells whether a thread that was stopped has faulted in code that captures, and leads it on as if nothing had happened.
func (t *Thread) faultOfOurs(h *tracee.Signal) bool {
	var regs sys.Regs
	if !h.Fault() || t.tracee.GetRegs(&regs) != nil {
		return false
	}
	return t.p.captureJump(regs.Rip, h) != nil || t.bailOut(&regs, h)
}

// hurry takes a thread that is to be stepped out of the cache out of a string that it copies.
func (t *Thread) hurry(regs *sys.Regs) {
	a := t.p.cache.RegionAt(regs.Rip)
	if a == nil {
		return
	}
	if off, rt := regs.Rip-a.Base, &a.Routines.Capture; off >= rt.TextCore && off < rt.TextEnd {
		regs.Rip = a.Base + rt.TextBail
		t.failed(t.tracee.SetRegs(regs))
	}
}
