package engine

import (
	"fmt"

	"alleria/engine/probe"
	"alleria/engine/shm"
	"alleria/engine/tracee"
	"alleria/engine/x86"
	"alleria/internal/sys"
)

// Jumps in place of native int3s, as far as threads have to be stopped, moved or borrowed for them.

// considerJump gives the function at addr, whose int3 a thread has just hit, a jump
// that counts, if that is worth it and possible. The thread is stopped; regs are what it will go
// on with.
func (t *Thread) considerJump(regs *sys.Regs, addr uint64) error {
	p := t.p
	if p.mode != ModeNative || !t.native || t.vfork || !p.points.WorthJump(addr, len(p.threads) == 1) {
		return nil
	}
	// A thread that nobody can stop may be anywhere.
	if !t.calls.Look() || p.detachedThreads {
		p.points.NoJumps()
		return nil
	}
	j, ins := p.points.PlanJump(addr)
	_, err := t.putJump(regs, addr, j, ins)
	return err
}

// considerCapture gives addr, where a thread stands or will return to, a jump that captures, if that is possible. regs is what
// the thread, which is stopped, will go on with. It tells whether there is one now.
func (t *Thread) considerCapture(regs *sys.Regs, addr uint64) (bool, error) {
	p := t.p
	if p.mode != ModeNative || !t.native || t.vfork || t.appGS != 0 || !p.points.WorthCapture(addr) {
		return false, nil
	}
	if !t.calls.Look() || p.detachedThreads {
		p.points.NoJumps()
		return false, nil
	}
	if !p.noted.hears() {
		p.calls.Hush(true)
	}
	j, ins := p.points.PlanCapture(addr)
	return t.putJump(regs, addr, j, ins)
}

// putJump writes a jump that has been planned, nil if there can be none, and the code that it leads to. It tells whether
// it is in place; if not, addr gets none any more.
func (t *Thread) putJump(regs *sys.Regs, addr uint64, j *probe.Jump, ins []x86.Insn) (bool, error) {
	p := t.p
	if j == nil {
		p.points.Refuse(addr)
		return false, nil
	}
	if err := t.tracee.SetRegs(regs); err != nil {
		return false, err
	}
	thaw := p.freeze()
	defer thaw()
	ar, err := t.jumpRegion(addr)
	if err != nil {
		return false, err
	}
	if ar == nil || !p.points.Write(ar, j, ins) || !t.placeJump(j) {
		p.points.Refuse(addr)
		return false, nil
	}
	return true, nil
}

// placeJump puts j in place of its int3. All native threads stand; those in the
// bytes that change go on in the copies. false: one of them stands where there is none.
func (t *Thread) placeJump(j *probe.Jump) bool {
	p := t.p
	type move struct {
		t    *Thread
		regs sys.Regs
	}
	var moves []move
	for _, o := range p.running() {
		if o == t || !o.native || o.vforking {
			continue
		}
		m := move{t: o}
		if err := o.tracee.GetRegs(&m.regs); err != nil {
			if tracee.Passing(err) {
				continue
			}
			return false
		}
		if !j.Displaces(m.regs.Rip) {
			continue
		}
		if o.tracee.HitPending() {
			if m.regs.Rip != j.Entry+1 { // it goes back to a breakpoint that is no more
				return false
			}
			continue
		}
		at, ok := j.CopyOf(m.regs.Rip)
		if !ok {
			return false
		}
		m.regs.Rip = at
		moves = append(moves, m)
	}
	if !p.points.PlaceJump(j) {
		return false
	}
	for i := range moves {
		moves[i].t.failed(moves[i].t.tracee.SetRegs(&moves[i].regs))
	}
	p.stats.Jumps++
	return true
}

// jumpRegion returns memory near the code at addr, mapped now by t, which is stopped,
// if there was none. All native threads stand. nil: there can be none.
func (t *Thread) jumpRegion(addr uint64) (*probe.JumpRegion, error) {
	a, bases := t.p.points.RegionNear(addr)
	for _, base := range bases {
		a, err := t.mapJumpRegion(base)
		if a != nil || err != nil {
			return a, err
		}
	}
	return a, nil
}

// mapJumpRegion has t map a region at base. nil: the kernel did not let it.
func (t *Thread) mapJumpRegion(base uint64) (*probe.JumpRegion, error) {
	p := t.p
	off := p.points.NextRegion()
	mem, err := sys.MapShared(p.shm.File, off, shm.JumpRegionBytes)
	if err != nil {
		return nil, fmt.Errorf("memory for jumps: %w", err)
	}
	ours := p.ourMappings()
	if ok, err := ours.MapJumps(&t.tracee, t.slot, p.ownCall(), base, off); err != nil || !ok {
		sys.Unmap(mem)
		return nil, err
	}
	return p.points.NewRegion(base, mem), nil
}

// siteAsked catches the returns of a call that has just been captured natively, in a thread that has executed the int3 of j for that.
// It goes on with the function.
func (t *Thread) siteAsked(regs *sys.Regs) error {
	t.noteGS(regs)
	site := probe.TopFrame(t.slot).Site()
	if err := t.p.points.CatchTop(t.slot); err != nil {
		return err
	}
	if _, err := t.considerCapture(regs, site); err != nil {
		return err
	}
	if t.modeDiffers() {
		return t.switchStopped()
	}
	return t.run(0)
}

// captureJump is the jump whose code a thread is at, if its first instruction has just faulted: gs does not lead to a slot.
func (p *Process) captureJump(rip uint64, h *tracee.Signal) *probe.Jump {
	if h.Number != tracee.SIGSEGV || !h.Fault() {
		return nil
	}
	return p.points.CapturingAt(rip)
}
