// Package captures takes captures by the tracer: of a thread that is stopped natively at an intercepted function, or asks from the code cache, where code cannot take
// them by itself (package probe has that), and of all calls whose values are changed.
//
// In a nutshell: a Machine is the thread at a call's entry or return, stopped (Stopped) or waiting (Asking), with its registers, its stack and its memory. Thread.Enter and
// Thread.Return run the function's program over it, push and drop the thread's frames, and write what comes of it into its ring. An
// alteration is carried out by way of the same machine. On which goroutine or stack that is goroutine.go finds out, and has its frames put into the slot.
//
// Package engine calls it on the tracer's goroutine, and lets the thread go on. What a machine cannot do by itself the engine does
// for it (Host). Frames and words lie in the thread's slot, which code changes while the thread runs.
//
// It stops nothing, knows no modes but whether the process runs natively, and does not decide which calls are captured.
package captures

import (
	"encoding/binary"
	"io"
	"slices"

	"alleria/engine/probe"
	"alleria/engine/shm"
	"alleria/engine/tracee"
	"alleria/engine/x86"
	"alleria/internal/capture"
	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// Host is what captures of a thread ask of who owns it.
type Host interface {
	// Native tells whether the process's threads are to run their own code, where returns have to be caught.
	Native() bool
	// Map has the thread, which is stopped, map memory at an address where it has none; false: there is some, or the kernel refuses.
	Map(addr, bytes uint64) bool
	// InPlace stops the thread, which waits, calls f, and lets it wait on. If something else stops it first, f is not called.
	InPlace(f func())
	// Runner captures, one call at a time; nil: each is captured by itself.
	Runner() *capture.Runner
}

// Thread is a thread whose calls are captured.
type Thread struct {
	host   Host
	points *probe.Points
	tracee *tracee.Thread
	mem    io.ReaderAt
	slot   *shm.Slot
	shares bool // a child that shares the address space: its calls are nobody's
}

// Init says whose calls are captured, and where its frames and its ring are.
func (t *Thread) Init(h Host, p *probe.Points, tr *tracee.Thread, mem io.ReaderAt, s *shm.Slot, shares bool) {
	*t = Thread{h, p, tr, mem, s, shares}
}

// Slow is how many moments of calls the tracer has captured.
func (t *Thread) Slow() uint64 { return t.slot.Get(layout.CaptureSlow) }

// countSlow counts what code has not captured.
func (t *Thread) countSlow() { t.slot.Set(layout.CaptureSlow, t.Slow()+1) }

// Enter captures that the thread enters c with the registers in m, after act, which may be nil, has changed them. A call that
// act leaves is captured as one that returns at once.
func (t *Thread) Enter(c *probe.Interception, m *Machine, act *capture.Alteration) error {
	if t.shares {
		return nil
	}
	rsp := m.gpr[x86.RSP]
	site, ok := t.points.ReturnAddress(rsp)
	if t.enterStack(c, m) {
		if sp := probe.TopFrame(t.slot).Sp(); sp < rsp {
			t.suspect(sp, rsp)
		}
		t.points.DropDeadFrames(t.slot, c, rsp)
	} else {
		ok = false
	}
	m.stack = rsp + 8
	if act != nil && act.Jump {
		act.Do(m)
		return nil
	}
	if act != nil && !act.Leave {
		m.changes = act.Do(m)
	}
	returns := c.Prog.Returns && ok
	if returns {
		t.push(c, m, rsp, site)
	}
	t.countSlow()
	t.write(capture.Entered, c, m, rsp, site)
	if act != nil && act.Leave {
		m.changes = act.Do(m)
		m.stack = 0
		if returns {
			f := probe.TopFrame(t.slot)
			m.frame = &f
			t.write(capture.Left, c, m, rsp, site)
			probe.DropFrame(t.slot)
		}
		return nil
	}
	if returns && t.host.Native() {
		return t.points.CatchAt(c, site)
	}
	return nil
}

// push pushes the frame of a call, with what its return needs.
func (t *Thread) push(c *probe.Interception, m *Machine, rsp, site uint64) {
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

// Return captures the returns of the thread, which has returned to site, with rsp being where the return address
// lay and registers in m. It drops all frames that have been left.
func (t *Thread) Return(site, rsp uint64, m *Machine) {
	for {
		f := probe.TopFrame(t.slot)
		sp := f.Sp()
		if sp > rsp {
			return
		}
		if c := f.Of(t.points); c != nil && sp == rsp && f.Site() == site {
			m.frame = &f
			t.countSlow()
			if act := c.Alteration(capture.Left); act != nil {
				m.changes = act.Do(m)
			}
			t.write(capture.Left, c, m, sp, site)
		} else if sp < rsp && t.suspect(sp, rsp) {
			continue
		}
		probe.DropFrame(t.slot)
	}
}

// ReturnAsked captures the returns of the thread, which waits in front of one that has reached a captured frame.
func (t *Thread) ReturnAsked() {
	m := t.Asking()
	if !t.leaveAnyStack(m) {
		return
	}
	rsp := m.gpr[x86.RSP]
	site, _ := t.points.ReturnAddress(rsp)
	t.Return(site, rsp, m)
}

// Returned captures the returns of the thread, which ran natively and is about to execute regs.Rip, if that is where it
// returned to. Where it has jumped there, as behind a catch block, it has left what it was in, without a return.
func (t *Thread) Returned(regs *sys.Regs) {
	if !t.points.CatchesAt(regs.Rip) {
		return
	}
	m := t.Stopped(regs)
	if !t.leaveStack(regs.Rip, m) || probe.TopFrame(t.slot).Sp() >= regs.Rsp {
		return
	}
	site := regs.Rip
	if !t.points.ByReturn(site, regs.Rsp-8) {
		site = probe.NoSite
	}
	t.Return(site, regs.Rsp-8, m)
}

// Skip has the thread, which stands at a function's first instruction, go on as if it had returned. False: there is nowhere to return to.
func (t *Thread) Skip(regs *sys.Regs) bool {
	site, ok := t.points.ReturnAddress(regs.Rsp)
	if !ok {
		return false
	}
	regs.Rip = site
	regs.Rsp += 8
	return true
}

// errnoOf is errno of a call that returns; false: it has not failed by itself, or it is not known where that is.
func (t *Thread) errnoOf(moment capture.Moment, c *probe.Interception, m *Machine) (uint32, bool) {
	if moment != capture.Left || !c.Prog.Fails.Failed(m.gpr[x86.RAX]) ||
		slices.ContainsFunc(m.changes, func(ch capture.Changed) bool { return ch.How == capture.Failed }) {
		return 0, false
	}
	at := t.points.Errno()
	if at == 0 {
		return 0, false
	}
	base := m.ThreadBase()
	if m.regs == nil {
		t.host.InPlace(func() {
			var regs sys.Regs
			if t.tracee.GetRegs(&regs) == nil {
				base = regs.Fs_base
			}
		})
	}
	var b [4]byte
	if n, _ := m.ReadAt(b[:], int64(base)+at); base == 0 || n < len(b) {
		return 0, false
	}
	return binary.LittleEndian.Uint32(b[:]), true
}

// write runs a program and writes what comes of it into the thread's ring.
func (t *Thread) write(moment capture.Moment, c *probe.Interception, m *Machine, sp, site uint64) {
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
	if errno, ok := t.errnoOf(moment, c, m); ok {
		m.changes = append(m.changes, capture.Errno(errno))
	}
	var words []uint64
	altered := uint64(0)
	if len(m.changes) > 0 {
		words, altered = capture.AppendChanges(nil, m.changes), capture.Altered
		m.changes = nil
	}
	words, cut := t.run(m, items, c.Prog.MaxBytes, words)
	var room [capture.MaxWords + 1]uint64
	for {
		n := min(len(words), capture.MaxWords-capture.HeaderWords)
		flags := altered
		altered = 0
		if n < len(words) {
			flags |= capture.More
		} else if cut {
			flags |= capture.Cut
		}
		mark := append(room[:0], records.Mark(records.MarkCall, uint64(n+capture.HeaderWords)), capture.Head(moment, flags, c.Fn), now, sp, site)
		if !t.shares {
			t.slot.Mark(append(mark, words[:n]...)...)
		}
		if words = words[n:]; len(words) == 0 {
			return
		}
	}
}

// run runs a program's items.
func (t *Thread) run(m *Machine, items []capture.Item, maxBytes uint32, first []uint64) (words []uint64, cut bool) {
	if r := t.host.Runner(); r != nil {
		return r.Run(m, items, maxBytes, first)
	}
	return capture.Run(m, items, maxBytes, first)
}
