package engine

import (
	"slices"

	"alleria/internal/sys"
)

// LetRun says that nothing that the process does itself matters to the client any more:
// once all its threads run natively, it is let go, and followed if fate is Follow. The end of the user's own process is still waited
// for: it is the tracer's child.
//
// What stays is the memory that was shared, out of the way: taking it away would
// be system calls in the program's name.
func (p *Process) LetRun(fate Fate) { p.leaving, p.fate = !p.tr.opts.NoDetach, fate }

// leave lets the process go, if its threads are where that is simple: all in native
// code, no child about to be born or in the address space. Else it is tried again.
func (tr *Tracer) leave(p *Process) {
	if p.mode != ModeNative || p.threads[p.pid] == nil || p.threads[p.pid].ending || tr.awaits(p) {
		return
	}
	for _, t := range p.running() {
		if t.vfork || t.vforking || t.ending || tr.modeDiffers(t) || t.stopped || t.callStops || len(t.held) > 0 {
			return
		}
	}
	stood, ok := tr.haltAll(p)
	if !ok {
		for _, t := range stood {
			tr.threadError(t, tr.switchStopped(t))
		}
		return
	}
	p.points.RemoveAll()
	for _, t := range p.running() {
		var none heldSignal
		var regs sys.Regs
		err := sys.GetRegs(t.tid, &regs)
		if err == nil {
			err = tr.outOfJump(t, &regs, &none)
		}
		if err == nil && regs.Gs_base == t.slot.Base {
			regs.Gs_base = t.appGS
			err = sys.SetRegs(t.tid, &regs)
		}
		tr.threadError(t, err)
	}
	for _, t := range p.running() {
		t.endRing()
		p.client.ThreadEnded(t)
	}
	threads := slices.Clone(p.running())
	p.released = true
	tr.dropProcess(p)
	for _, t := range threads {
		var err error
		switch {
		case p.fate != Release:
			err = tr.follow(t.tid, p.pid, 0)
		case t.tid != p.pid:
			err = sys.Detach(t.tid, 0)
		}
		if !passing(err) {
			tr.fail(err)
		}
	}
	if p.fate == Release {
		if err := tr.detach(p.pid, nil); err != nil {
			tr.fail(err)
		}
	}
	tr.lookWhetherDone()
}

// awaits tells whether something of a process is still to be seen to: a child, a signal, a stop.
func (tr *Tracer) awaits(p *Process) bool {
	for _, k := range tr.children {
		if k.parent == nil && k.of == nil || k.parent != nil && k.parent.p == p {
			return true
		}
	}
	for _, q := range tr.postponed {
		if q.t.p == p {
			return true
		}
	}
	return len(tr.later) > 0
}

// haltAll stops all threads, which run natively. ok is false if one of them has
// something else to report, which comes first.
func (tr *Tracer) haltAll(p *Process) (stood []*Thread, ok bool) {
	for _, t := range p.running() {
		if _, err := tr.halt(t); err != nil {
			tr.threadError(t, err)
			return stood, false
		}
		stood = append(stood, t)
		if len(t.held) > 0 || t.groupStopped { // a signal, or a probe that it has just hit
			return stood, false
		}
	}
	return stood, true
}
