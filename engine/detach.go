package engine

import (
	"alleria/internal/sys"
)

// LetRun says that nothing that the process does matters to the client any more:
// once all its threads run natively, it is let go. Its end is still waited for: it
// is the tracer's child.
//
// What stays is the memory that was shared, out of the way: taking it away would
// be system calls in the program's name.
func (p *Process) LetRun() { p.leaving = !p.tr.opts.NoDetach }

// leave lets the process go, if its threads are where that is simple: all in native
// code, no child about to be born or in the address space. Else it is tried again.
func (tr *Tracer) leave() {
	p := tr.proc
	if p.mode != ModeNative || p.threads[p.pid] == nil || p.threads[p.pid].ending || len(tr.children) > 0 || len(tr.postponed) > 0 || len(tr.later) > 0 {
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
	p.removeProbes()
	for _, t := range p.running() {
		var none heldSignal
		var regs sys.Regs
		err := sys.GetRegs(t.tid, &regs)
		if err == nil {
			err = tr.outOfJump(t, &regs, &none)
		}
		tr.threadError(t, err)
	}
	for _, t := range p.running() {
		t.endRing()
		tr.client.ThreadEnded(t)
	}
	for _, t := range p.running() {
		if t.tid != p.pid {
			tr.threadError(t, sys.Detach(t.tid, 0))
		}
	}
	tr.status.Stats = p.stats
	tr.threadError(nil, tr.untraced(p.pid, nil))
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
