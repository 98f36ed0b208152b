package engine

import (
	"sort"

	"alleria/internal/sys"
)

// Threads and the code of jumps. Signals, changes of mode and detaching find a thread
// there now and then; neither the application nor the rest of the engine is to see
// such an address.

// jumpAt is the jump whose code holds an address.
func (p *Process) jumpAt(addr uint64) *jump {
	all := p.jumps.all
	i := sort.Search(len(all), func(i int) bool { return all[i].code > addr })
	if i > 0 && addr <= all[i-1].hit {
		return all[i-1]
	}
	return nil
}

// jumpHit is the jump whose count has run out in a thread that has executed the int3
// at an address.
func (p *Process) jumpHit(at uint64) *jump {
	if j := p.jumpAt(at); j != nil && at == j.hit {
		return j
	}
	return nil
}

// probeHitAt takes a thread that has executed an int3 at an address back to the
// watched address that it was for; false if it was none of ours. Where a jump's
// count ran out, the arrival is taken back: it is counted once more, by the tracer.
func (p *Process) probeHitAt(at uint64, regs *sys.Regs) bool {
	if j := p.jumpHit(at); j != nil {
		j.again()
		regs.Rip = j.entry
		return true
	}
	_, ok := p.probes[at]
	// Two threads may hit the int3 that the first one's stop replaces.
	if ok || p.jumps.at[at] != nil {
		regs.Rip = at
		return true
	}
	return false
}

// copied is where a native thread has to go on that is to execute app, whose arrival
// has been counted.
func (p *Process) copied(app uint64) uint64 {
	j := p.coveredBy(app)
	if j == nil {
		return app
	}
	if !j.liesIn(p.mem) { // other code is there by now
		delete(p.jumps.at, j.entry)
		return app
	}
	at, ok := j.copyOf(app)
	if !ok { // into the middle of an instruction: as the application wants it
		p.tr.processError(p, p.uncover(app))
		return app
	}
	return at
}

// outOfJump takes a stopped native thread out of a jump's code: back to the
// function's entry if the arrival has not been counted, else behind the displaced
// instructions. h is the signal that it is stopped for, if any: a fault of a
// displaced instruction is the application's, and where handlers return to must be
// code of its own.
//
// A fault that comes up while stepping is delivered instead of h, which is held.
func (tr *Tracer) outOfJump(t *Thread, regs *sys.Regs, h *heldSignal) error {
	p := t.p
	if len(p.jumps.all) == 0 || !t.native {
		return nil
	}
	j := p.jumpAt(regs.Rip)
	if j == nil && !tr.inCache(t, regs.Rip) {
		if j := p.jumps.at[regs.Rip-4]; j != nil && j.patch == regs.Rip { // behind endbr64, not counted yet
			regs.Rip = j.entry
			return sys.SetRegs(t.tid, regs)
		}
		return nil
	}
	if h.fault() && j != nil {
		return tr.faultInJump(t, j, regs, h)
	}
	return undisturbed(t, func() error { return tr.stepOutOfJump(t, regs, h) })
}

// stepOutOfJump is outOfJump for a thread whose signals are blocked.
func (tr *Tracer) stepOutOfJump(t *Thread, regs *sys.Regs, h *heldSignal) error {
	for {
		j := t.p.jumpAt(regs.Rip)
		switch {
		case j == nil && tr.inCache(t, regs.Rip): // the routines that capture
			tr.hurry(t, regs)
			tr.awaitRoom(t, regs)
		case j == nil:
			return nil
		case j.ask != 0 && regs.Rip == j.ask: // it is about to execute the int3
			if err := t.p.catchAt(t.topCapture().site()); err != nil {
				return err
			}
			regs.Rip++
			if err := sys.SetRegs(t.tid, regs); err != nil {
				return err
			}
			continue
		case regs.Rip == j.hit:
			j.again()
			fallthrough
		case regs.Rip == j.code:
			regs.Rip = j.entry
			return sys.SetRegs(t.tid, regs)
		}
		if err := tr.step(t); err != nil {
			return err
		}
		if err := sys.GetRegs(t.tid, regs); err != nil {
			return err
		}
		if k := len(t.held); k > 0 && tr.bailOut(t, regs, &t.held[k-1]) {
			t.held = t.held[:k-1]
			continue
		}
		if k := len(t.held); k > 0 && t.held[k-1].fault() && t.p.captureJump(regs.Rip, &t.held[k-1]) != nil {
			t.held = t.held[:k-1]
			continue
		}
		if k := len(t.held); k > 0 && t.held[k-1].fault() && j != nil {
			first := t.held[k-1]
			t.held[k-1] = *h
			if h.sig == 0 {
				t.held = t.held[:k-1]
			}
			*h = first
			return tr.faultInJump(t, j, regs, h)
		}
	}
}

// faultInJump gives a thread that a displaced instruction has stopped, by a fault or
// the application's own trap flag, the instruction's own address, and the function
// its own code: the handler may return there.
func (tr *Tracer) faultInJump(t *Thread, j *jump, regs *sys.Regs, h *heldSignal) error {
	if t.p.jumps.at[j.entry] == j {
		if err := t.p.uncover(j.entry); err != nil {
			return err
		}
	}
	app := j.appOf(regs.Rip)
	switch h.sig {
	case sigIll, sigTrap, sigFPE:
		if t.p.jumpAt(h.info.Addr()) == j {
			h.info.SetAddr(app)
		}
	}
	regs.Rip = app
	return sys.SetRegs(t.tid, regs)
}

// appOf is the application's address for one in j's code.
func (j *jump) appOf(code uint64) uint64 {
	app := j.entry
	for _, m := range j.moved {
		if m.app != j.patch && m.code <= code && code < j.hit {
			app = m.app
		}
	}
	return app
}

// again takes an arrival back that has used the count up. What captures has done nothing yet.
func (j *jump) again() {
	if j.pl != nil {
		j.pl.again()
	}
}

// takeBack undoes the count of a thread that stands at an address of j's code and
// goes back to the function's entry.
func (j *jump) takeBack(code uint64) {
	switch {
	case code == j.code || j.pl == nil:
	case code == j.hit:
		j.pl.again()
	default:
		j.pl.left().Add(1)
	}
}

// trapInJump takes a thread whose program single-steps itself out of a jump's code,
// into which it has just been led: what it has executed there was not its own. false:
// it has executed an instruction of its own, whose trap is to be delivered.
func (tr *Tracer) trapInJump(t *Thread, j *jump, regs *sys.Regs) (bool, error) {
	if regs.Rip > j.body && regs.Rip != j.hit {
		return false, nil
	}
	if err := t.p.uncover(j.entry); err != nil {
		return true, err
	}
	j.takeBack(regs.Rip)
	regs.Rip = j.entry
	return true, tr.goOn(t, regs)
}

// freeze stops all native threads that run and returns what lets them go on. Those in
// vfork stand in the kernel; one that has something else to report stands as well.
//
// What else they report is left for later, in order that nothing of it happens here:
// the caller may be in the middle of something.
func (tr *Tracer) freeze(p *Process) (thaw func()) {
	var stood []*Thread
	for _, t := range p.running() {
		if t.stopped || !t.native || t.vforking {
			continue
		}
		if err := t.interrupt(); err != nil {
			tr.threadError(t, err)
			continue
		}
		s, err := tr.waitFor(t)
		switch {
		case err != nil:
			tr.threadError(t, err)
		case s.Event() == eventStop && !s.Status.Exited() && !s.Status.Signaled():
			t.stopped = true
			t.groupStopped = s.Signal() != sigTrap
			stood = append(stood, t)
		default:
			tr.later = append(tr.later, s)
		}
	}
	return func() {
		for _, t := range stood {
			tr.threadError(t, tr.resume(t, 0))
		}
	}
}
