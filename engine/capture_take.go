package engine

import (
	"bytes"
	"encoding/binary"
	"errors"

	"alleria/engine/codecache"
	"alleria/engine/probe"
	"alleria/engine/recovery"
	"alleria/engine/tracee"
	"alleria/engine/x86"
	"alleria/internal/capture"
	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// Captures by the tracer: of a thread that is stopped natively, or that asks from the cache.

// captureMachine is a thread at a call's entry or return, for capture.Run.
type captureMachine struct {
	t     *Thread
	gpr   [16]uint64
	regs  *sys.Regs // of a thread that is stopped; nil: it waits in the cache
	stack uint64    // where arguments begin; 0: none, at return
	frame *probe.Frame
	// changes are what was changed, for the next mark; set are vector registers among it, their low bytes.
	changes []capture.Changed
	set     map[uint32][]byte
	goTo    uint64 // where the thread is to go on, with this stack; 0: where it is
	goStack uint64
	// vectors and x87 give registers' bytes, nil: there are none.
	vector, x87 func(n uint32) []byte
}

// Value is capture.Machine's.
func (m *captureMachine) Value(src capture.Source, b []byte) bool {
	switch src.Kind {
	case capture.GPR:
		return src.N < 16 && putWord(b, m.gpr[src.N])
	case capture.Stack:
		if m.stack == 0 {
			return false
		}
		n, _ := m.ReadAt(b, int64(m.stack+uint64(src.N)))
		clear(b[n:])
		return n == len(b)
	case capture.Vector:
		n := copy(b, m.vector(src.N))
		copy(b, m.set[src.N])
		return n == len(b)
	case capture.X87:
		v := m.x87(src.N)
		return copy(b, v) == len(b)
	case capture.Saved:
		return m.frame != nil && src.N < capture.MaxSaves && putWord(b, m.frame.Save(int(src.N)))
	}
	return false
}

// putWord puts a word's low bytes into b, as many as there is room for; false if b has more than a word.
func putWord(b []byte, w uint64) bool {
	var x [8]byte
	binary.LittleEndian.PutUint64(x[:], w)
	return copy(b, x[:]) == len(b)
}

// ReadAt is capture.Machine's. It reads what the application could read.
func (m *captureMachine) ReadAt(b []byte, addr int64) (int, error) {
	n, err := sys.ReadForeign(m.t.tid, b, uint64(addr))
	if n > 0 || err == nil || !errors.Is(err, sys.ErrForbidden) {
		return n, err
	}
	return m.t.p.mem.ReadAt(b, addr)
}

// stoppedMachine is a machine of a thread that is stopped with the application's registers.
func stoppedMachine(t *Thread, regs *sys.Regs) *captureMachine {
	m := &captureMachine{t: t, regs: regs}
	for r := range m.gpr {
		m.gpr[r] = *recovery.RegOf(regs, x86.Reg(r))
	}
	var state []byte
	at := func(off uint32, n uint32) []byte {
		if state == nil {
			state = make([]byte, 16<<10)
			k, _ := t.tracee.XState(state)
			state = state[:k]
		}
		if off == 0 || int(off+n) > len(state) {
			return make([]byte, n)
		}
		return state[off : off+n]
	}
	ymm, _ := x86.StateComponent(x86.StateYMM)
	zmm, _ := x86.StateComponent(x86.StateZMM)
	m.vector = func(n uint32) []byte {
		b := append([]byte(nil), at(x86.StateXMM0Off+16*n, 16)...)
		b = append(b, plus(at, ymm, 16*n, 16)...)
		return append(b, plus(at, zmm, 32*n, 32)...)
	}
	m.x87 = func(n uint32) []byte { return at(32+16*n, 10) }
	return m
}

// plus reads a component's bytes, zeros where the processor lacks it.
func plus(at func(off, n uint32) []byte, component, off, n uint32) []byte {
	if component == 0 {
		return make([]byte, n)
	}
	return at(component+off, n)
}

// askingMachine is a machine of a thread that waits: code has saved what is needed.
func askingMachine(t *Thread) *captureMachine {
	m := &captureMachine{t: t}
	for r := range m.gpr {
		m.gpr[r] = t.slot.Get(layout.Save + 8*r)
	}
	m.vector = func(n uint32) []byte { return t.slot.Mem[layout.CaptureVec+64*n:][:64] }
	m.x87 = func(n uint32) []byte { return t.slot.Mem[layout.FXSave+32+16*n:][:10] }
	return m
}

// captureEntry captures that a thread enters c with the registers in m, after act, which may be nil, has changed them. A call that
// act leaves is captured as one that returns at once.
func (t *Thread) captureEntry(c *probe.Interception, m *captureMachine, act *capture.Alteration) error {
	if t.vfork {
		return nil
	}
	rsp := m.gpr[x86.RSP]
	site, ok := t.p.points.ReturnAddress(rsp)
	probe.DropDeadFrames(t.slot, c, rsp)
	m.stack = rsp + 8
	if act != nil && act.Jump {
		act.Do(m)
		return nil
	}
	if act != nil && !act.Leave {
		m.changes = act.Do(m)
	}
	if c.Prog.Returns && ok {
		var saves [capture.MaxSaves]uint64
		for i, src := range c.Prog.Saves {
			var b [8]byte
			m.Value(src, b[:])
			saves[i] = binary.LittleEndian.Uint64(b[:])
		}
		f := probe.PushCapture(t.slot, c, rsp, site)
		for i := range c.Prog.Saves {
			f.SetSave(i, saves[i])
		}
	}
	t.countSlow()
	t.writeCall(capture.Entered, c, m, rsp, site)
	if act != nil && act.Leave {
		m.changes = act.Do(m)
		m.stack = 0
		if c.Prog.Returns && ok {
			f := probe.TopFrame(t.slot)
			m.frame = &f
			t.writeCall(capture.Left, c, m, rsp, site)
			probe.DropFrame(t.slot)
		}
		return nil
	}
	if c.Prog.Returns && ok && t.p.mode == ModeNative {
		return t.p.points.CatchAt(site)
	}
	return nil
}

// countSlow counts what code has not captured.
func (t *Thread) countSlow() { t.slot.Set(layout.CaptureSlow, t.slot.Get(layout.CaptureSlow)+1) }

// captureReturns captures the returns of a thread that has returned to site, with rsp being where the return address
// lay and registers in m. It drops all frames that have been left.
func (t *Thread) captureReturns(site, rsp uint64, m *captureMachine) {
	for {
		f := probe.TopFrame(t.slot)
		sp := f.Sp()
		if sp > rsp {
			return
		}
		if c := f.Of(&t.p.points); c != nil && sp == rsp && f.Site() == site {
			m.frame = &f
			t.countSlow()
			if act := c.Alteration(capture.Left); act != nil {
				m.changes = act.Do(m)
			}
			t.writeCall(capture.Left, c, m, sp, site)
		}
		probe.DropFrame(t.slot)
	}
}

// writeCall runs a program and writes what comes of it into the thread's ring.
func (t *Thread) writeCall(moment capture.Moment, c *probe.Interception, m *captureMachine, sp, site uint64) {
	if tell := c.Prog.Tell; tell != nil {
		if moment == capture.Left {
			tell(m.gpr[x86.RAX])
		}
		return
	}
	items := c.Prog.Entry
	if moment == capture.Left {
		items = c.Prog.Exit
	}
	now := sys.TSC()
	var words []uint64
	altered := uint64(0)
	if len(m.changes) > 0 {
		words, altered = capture.AppendChanges(nil, m.changes), capture.Altered
		m.changes = nil
	}
	words, cut := capture.Run(m, items, c.Prog.MaxBytes, words)
	for {
		n := min(len(words), capture.MaxWords-capture.HeaderWords)
		flags := altered
		altered = 0
		if n < len(words) {
			flags |= capture.More
		} else if cut {
			flags |= capture.Cut
		}
		mark := []uint64{records.Mark(records.MarkCall, uint64(n+capture.HeaderWords)), capture.Head(moment, flags, c.Fn), now, sp, site}
		t.mark(append(mark, words[:n]...)...)
		if words = words[n:]; len(words) == 0 {
			return
		}
	}
}

// enteredCaptured captures what happens where a thread is natively about to execute regs.Rip.
func (t *Thread) enteredCaptured(regs *sys.Regs) {
	c := t.p.points.CapturesAt(regs.Rip)
	if c == nil {
		return
	}
	if c.Prog.Jumps {
		t.enteredNatively(regs.Rip, regs.Rsp, codecache.Uncounted) // it arrives here, and then elsewhere
	}
	// A loop that leads to the function's first instruction.
	if f := probe.TopFrame(t.slot); f.Sp() == regs.Rsp && f.Of(&t.p.points) == c && t.p.points.JumpsToItself(c.Entry) {
		return
	}
	act := c.Alteration(capture.Entered)
	if act != nil && t.vfork {
		act = nil
	}
	m := stoppedMachine(t, regs)
	t.failed(t.captureEntry(c, m, act))
	if m.goTo != 0 {
		regs.Rip, regs.Rsp = m.goTo, m.goStack
	}
	if act != nil && act.Leave && t.skipCall(regs) {
		t.leftCaptured(regs) // who has tail-called it
	}
}

// jumpsOn tells whether a function's program sends threads elsewhere.
func (p *Process) jumpsOn(addr uint64) bool {
	c := p.points.CapturesAt(addr)
	return c != nil && c.Prog.Jumps
}

// leftCaptured captures the returns of a thread that ran natively and is about to execute regs.Rip, if that is where it
// returned to.
func (t *Thread) leftCaptured(regs *sys.Regs) {
	if t.p.points.CatchesAt(regs.Rip) && probe.TopFrame(t.slot).Sp() < regs.Rsp {
		t.captureReturns(regs.Rip, regs.Rsp-8, stoppedMachine(t, regs))
	}
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
		if err := t.captureEntry(c, askingMachine(t), act); err != nil {
			return err
		}
	}
	t.reply(t.slot.Get(layout.CaptureBack))
	return nil
}

// captureLeft answers a thread that asks in front of a return which has reached a captured frame.
func (t *Thread) captureLeft() {
	m := askingMachine(t)
	rsp := m.gpr[x86.RSP]
	site, _ := t.p.points.ReturnAddress(rsp)
	t.captureReturns(site, rsp, m)
	t.reply(t.slot.Get(layout.CaptureBack))
}

// bailOut tells whether a signal is the fault of a load that code has made to capture something. The thread then has the tracer do
// it, which finds what can be read. Where code has looked for a return address it goes on without one.
func (t *Thread) bailOut(regs *sys.Regs, h *tracee.Signal) bool {
	if h.Number != tracee.SIGSEGV && h.Number != tracee.SIGBUS || !h.Fault() {
		return false
	}
	if bail, ok := t.p.points.CaptureBail(regs.Rip); ok {
		regs.Rip = bail
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

// Calls whose values are changed (capture.Program.Alter) are the tracer's at each entry and return. A thread that is stopped gets other
// registers; one that waits in the cache gets back, with the answer, what the dispatch routine has saved of the integer registers. Its vector
// registers are nobody's but the kernel's, so that it is stopped for those where it is. A call that is not to be executed goes on behind itself.

// Set is capture.Alterable's.
func (m *captureMachine) Set(src capture.Source, b []byte) bool {
	if len(b) > 8 {
		return false
	}
	switch src.Kind {
	case capture.GPR:
		if src.N > 11 || src.N == uint32(x86.RSP) || src.N == uint32(x86.RBX) || src.N == uint32(x86.RBP) {
			return false // nothing of a call travels in others
		}
		var w [8]byte
		binary.LittleEndian.PutUint64(w[:], m.gpr[src.N])
		copy(w[:], b)
		m.gpr[src.N] = binary.LittleEndian.Uint64(w[:])
		if m.regs != nil {
			*recovery.RegOf(m.regs, x86.Reg(src.N)) = m.gpr[src.N]
		} else {
			m.t.slot.Set(layout.Save+8*int(src.N), m.gpr[src.N])
		}
		return true
	case capture.Stack:
		return m.stack != 0 && m.WriteAt(b, m.stack+uint64(src.N))
	case capture.Vector:
		return src.N < 16 && m.setVector(src.N, b)
	}
	return false
}

// WriteAt is capture.Alterable's.
func (m *captureMachine) WriteAt(b []byte, addr uint64) bool {
	return sys.WriteForeign(m.t.tid, b, addr) == nil
}

// ThreadBase is capture.Alterable's.
func (m *captureMachine) ThreadBase() uint64 {
	if m.regs == nil {
		return 0
	}
	return m.regs.Fs_base
}

// Map is capture.Alterable's.
func (m *captureMachine) Map(addr, bytes uint64) bool {
	if m.regs == nil || !m.t.p.calls.May() {
		return false
	}
	a := m.t.p.cache.Regions[0]
	in, err := m.t.tracee.Inject(a.Base + a.Routines.Inject)
	if err != nil {
		return false
	}
	got, err := in.Call(tracee.SysMmap, addr, bytes, tracee.ProtRead|tracee.ProtWrite, tracee.MapPrivate|tracee.MapAnonymous|tracee.MapFixedNoReplace, ^uint64(0), 0)
	return in.Close() == nil && err == nil && got == addr
}

// Stack is capture.Alterable's.
func (m *captureMachine) Stack() uint64 { return m.gpr[x86.RSP] }

// Go is capture.Alterable's.
func (m *captureMachine) Go(addr, stack uint64) { m.goTo, m.goStack = addr, stack }

// setVector changes the low bytes of a vector register.
func (m *captureMachine) setVector(n uint32, b []byte) bool {
	ok := false
	set := func() {
		state := make([]byte, 16<<10)
		k, err := m.t.tracee.XState(state)
		const used, sse = 512, 1 << 1 // which components are not as they are at first
		if err != nil || k <= used {
			return
		}
		copy(state[x86.StateXMM0Off+16*n:], b)
		state[used] |= sse
		ok = m.t.tracee.SetXState(state[:k]) == nil
	}
	if m.regs == nil {
		m.t.inPlace(set)
	} else {
		set()
	}
	if ok {
		if m.set == nil {
			m.set = make(map[uint32][]byte)
		}
		m.set[n] = bytes.Clone(b)
	}
	return ok
}

// inPlace stops a thread that waits, calls f, and lets it wait on. If something else stops it first, f is not called.
func (t *Thread) inPlace(f func()) {
	if t.tracee.Stopped {
		f()
		return
	}
	ok, err := t.tracee.Freeze()
	t.failed(err)
	if ok {
		f()
		t.failed(t.run(0))
	}
}

// captureLeave has a thread that waits at the entry of a function go on behind the call.
func (t *Thread) captureLeave(c *probe.Interception, act *capture.Alteration) error {
	regs, err := t.fetchWaiting(c.Entry)
	if err != nil {
		return err
	}
	m := stoppedMachine(t, regs)
	if err := t.captureEntry(c, m, act); err != nil {
		return err
	}
	if m.goTo != 0 {
		regs.Rip, regs.Rsp = m.goTo, m.goStack
	} else if act.Leave && t.skipCall(regs) {
		t.captureReturns(regs.Rip, regs.Rsp-8, stoppedMachine(t, regs)) // of who has tail-called it
	}
	return t.enterPast(regs, 0, codecache.Uncounted)
}

// skipCall has a thread that stands at a function's first instruction go on as if it had returned. False: there is nowhere to return to.
func (t *Thread) skipCall(regs *sys.Regs) bool {
	site, ok := t.p.points.ReturnAddress(regs.Rsp)
	if !ok {
		return false
	}
	regs.Rip = site
	regs.Rsp += 8
	return true
}
