package captures

import (
	"encoding/binary"

	"alleria/engine/probe"
	"alleria/engine/x86"
	"alleria/internal/capture"
	"alleria/internal/layout"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// goroutine is the one whose registers m has, and where its stack ends; false: r14 has none that is on its stack.
func (t *Thread) goroutine(m *Machine) (g, hi uint64, ok bool) {
	var b [16]byte
	g = m.gpr[x86.R14]
	if n, _ := m.ReadAt(b[:], int64(g+layout.GoStackStart)); n < len(b) || g%8 != 0 {
		return 0, 0, false
	}
	lo, hi := binary.LittleEndian.Uint64(b[layout.GoStackStart:]), binary.LittleEndian.Uint64(b[layout.GoStackEnd:])
	rsp := m.gpr[x86.RSP]
	return g, hi, rsp >= lo && rsp < hi
}

// scheduler tells whether a goroutine is the one that its thread's scheduler runs on.
func (t *Thread) scheduler(m *Machine, g uint64) bool {
	var b [8]byte
	for _, at := range []uint64{g + layout.GoThread, 0} {
		if at == 0 {
			at = binary.LittleEndian.Uint64(b[:])
		}
		if n, _ := m.ReadAt(b[:], int64(at)); n < len(b) {
			return false
		}
	}
	return binary.LittleEndian.Uint64(b[:]) == g
}

// enterStack puts the frames into the slot that belong to the stack on which c is entered; false: nobody knows that stack.
func (t *Thread) enterStack(c *probe.Interception, m *Machine) bool {
	return t.stackOf(c.OfGoroutine(t.points), m)
}

// leaveStack puts the frames into the slot that belong to the stack on which a function returns that is caught at site; false: nobody knows that stack.
func (t *Thread) leaveStack(site uint64, m *Machine) bool {
	if t.points.Stacks() {
		t.onStack(m.gpr[x86.RSP] - 8) // the return address may have been the stack's last word
		return true
	}
	return t.stackOf(t.points.GoSite(site), m)
}

// stackOf puts the frames into the slot that belong to the stack on which code is that is in Go, or is not; false: nobody knows that stack.
func (t *Thread) stackOf(inGo bool, m *Machine) bool {
	switch {
	case t.points.Stacks():
		t.onStack(m.gpr[x86.RSP])
	case !t.points.Goroutines():
	case !inGo:
		t.points.TurnTo(t.slot, layout.OwnStack, 0)
	default:
		g, hi, ok := t.goroutine(m)
		if ok {
			t.turnTo(g, hi)
		}
		return ok
	}
	return true
}

// onStack has the frames of the stack in the slot that rsp lies on, and tells readers so.
func (t *Thread) onStack(rsp uint64) { t.tellStack(t.points.OnStack(t.slot, rsp)) }

// suspect tells whether frames at sp are not to be dropped although the stack pointer is rsp, as they are of another stack.
func (t *Thread) suspect(sp, rsp uint64) bool {
	if !t.points.Suspect(t.slot, sp, rsp) {
		return false
	}
	t.tellStack(true)
	return true
}

// Passes tells whether the innermost frame of an awaited return, which a return at rsp is about to drop, is of another stack, and not in the slot any more.
func (t *Thread) Passes(rsp uint64) bool { return t.suspect(probe.AwaitedAt(t.slot), rsp) }

// tellStack tells readers on which stack the thread is, if that has changed.
func (t *Thread) tellStack(changed bool) {
	if lo, hi := probe.RangeOf(t.slot); changed && !t.shares && t.points.Captures().Returns {
		t.slot.Mark(records.Mark(records.MarkCall, capture.HeaderWords), capture.Head(capture.Left, 0, capture.OfGoroutine), sys.TSC(), lo, hi)
	}
}

// Turn answers a thread that asks since its slot has not the frames of the goroutine that it has in r14; false: those are not the frames of the stack that it is on, and stay.
func (t *Thread) Turn() bool {
	m := t.Asking()
	if t.points.Stacks() {
		t.onStack(m.gpr[x86.RSP])
		return true
	}
	g, hi, ok := t.goroutine(m)
	if was, _ := probe.FramesOf(t.slot); ok && was != g && t.scheduler(m, g) && !t.points.Parked(g) {
		probe.NotScheduler(t.slot, g)
		return false
	}
	if ok {
		t.turnTo(g, hi)
	}
	return ok
}

// TurnOwn has the thread's own frames in its slot.
func (t *Thread) TurnOwn() { t.points.TurnTo(t.slot, layout.OwnStack, 0) }

// Enters puts the frames of the stack into the slot on which a stopped thread enters a function whose return is awaited. C code that a goroutine has called is on the thread's own.
func (t *Thread) Enters(regs *sys.Regs, inGo bool) {
	if t.points.Stacks() {
		t.onStack(regs.Rsp)
		return
	}
	if t.points.Goroutines() && !t.stackOf(inGo, t.Stopped(regs)) {
		t.TurnOwn()
	}
	if sp := probe.AwaitedAt(t.slot); sp < regs.Rsp {
		t.suspect(sp, regs.Rsp)
	}
}

// Leaves is Enters for one that has returned to site.
func (t *Thread) Leaves(regs *sys.Regs, site uint64) {
	if t.points.Stacks() {
		t.onStack(regs.Rsp - 8) // see leaveStack
		return
	}
	t.Enters(regs, t.points.GoSite(site))
}

// leaveAnyStack is leaveStack for a return that has reached a frame of the slot's, or that another goroutine makes than the slot has frames of. On the scheduler's stack code
// does not look from now on, as long as the slot has another's: the runtime goes there all the time.
func (t *Thread) leaveAnyStack(m *Machine) bool {
	if t.points.Stacks() {
		t.onStack(m.gpr[x86.RSP])
	}
	if !t.points.Goroutines() {
		return true
	}
	was, _ := probe.FramesOf(t.slot)
	if was == layout.OwnStack && probe.TopFrame(t.slot).Sp() <= m.gpr[x86.RSP] {
		return true // C code on the scheduler's stack, which is the thread's own
	}
	g, hi, ok := t.goroutine(m)
	switch {
	case !ok && was != layout.OwnStack && t.points.OwnReached(t.slot, m.gpr[x86.RSP]):
		t.points.TurnTo(t.slot, layout.OwnStack, 0) // C code that has called into Go
		return true
	case !ok: // C code, or the runtime's assembly
		return was == layout.OwnStack
	case was != g && t.scheduler(m, g):
		probe.NotScheduler(t.slot, g)
		return false
	}
	t.turnTo(g, hi)
	return true
}

// turnTo puts a goroutine's frames into the slot, and tells readers so.
func (t *Thread) turnTo(g, hi uint64) {
	if t.points.TurnTo(t.slot, g, hi) && !t.shares && t.points.Captures().Returns {
		t.slot.Mark(records.Mark(records.MarkCall, capture.HeaderWords), capture.Head(capture.Entered, 0, capture.OfGoroutine), sys.TSC(), g, hi)
	}
}
