package engine

import (
	"slices"

	"alleria/engine/starts"
	"alleria/engine/syscalls"
	"alleria/engine/tracee"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// Int3s that threads run into natively: of probes, of a start that is watched (package starts), and the application's own.

// breakpoint handles an int3: a native probe, or the application's. done is false for the last.
// An int3 of the application's own is delivered as what it is.
func (t *Thread) breakpoint(regs *sys.Regs) (done bool, err error) {
	p := t.p
	at := regs.Rip - 1
	if _, asks := p.points.Asks(at); !asks && p.cache.RegionAt(at) != nil { // no other one is ever reached there
		return true, t.lost(regs)
	}
	if done, err := t.startHit(regs, at); done {
		return true, err
	}
	if done, err := t.callHit(regs, at); done {
		return true, err
	}
	if j := p.points.JumpAt(at); j != nil && j.Ask == at && j.Ask != 0 {
		if err := p.mendTrap(t); err != nil {
			return true, err
		}
		return true, t.siteAsked(regs)
	}
	if p.points.HitAt(at, regs) {
		t.noteGS(regs)
		if err := p.mendTrap(t); err != nil {
			return true, err
		}
		if captures, err := t.considerCapture(regs, regs.Rip); captures || err != nil {
			if err != nil {
				return true, err
			}
			return true, t.enter(regs, 0)
		}
		p.probeHit()
		if p.points.Loops(regs.Rip) && p.points.Counted(regs.Rip) {
			p.stayInsideFunction()
		}
		if err := t.considerJump(regs, regs.Rip); err != nil {
			return true, err
		}
		return true, t.enter(regs, 0)
	}
	if p.points.Gone(at) || p.points.MendCopy(at) { // it ran into a probe that was taken away meanwhile, or into a copy of one
		if err := p.mendTrap(t); err != nil {
			return true, err
		}
		regs.Rip = at
		return true, t.goOn(regs)
	}
	return false, nil
}

// goOn lets a native thread go on natively at regs, which is an entry nowhere, or as the mode says
// if that has changed while the thread was behind a breakpoint.
func (t *Thread) goOn(regs *sys.Regs) error {
	if t.modeDiffers() {
		t.noteGS(regs)
		return t.enter(regs, 0)
	}
	regs.Rip = t.p.points.CopyOf(regs.Rip) // a jump may lie there by now
	if err := t.tracee.SetRegs(regs); err != nil {
		return err
	}
	return t.run(0)
}

// ownTrap tells whether a SIGTRAP of a native thread that is being stopped is one that signal has
// more to do with than to hold it: that of a breakpoint of a native start, or of a program
// that steps itself, within a jump's code.
func (t *Thread) ownTrap() bool {
	var regs sys.Regs
	if !t.native || t.tracee.GetRegs(&regs) != nil {
		return false
	}
	return t.p.start != nil || t.p.points.JumpAt(regs.Rip) != nil
}

// mergedTrap tells whether a SIGTRAP that was sent to a native thread stands for the hit of an int3 of ours as well: one
// that is pending and blocked takes the hit's place, and gets through. It is given back to the kernel.
//
// Where the program handles the signal the kernel has forgotten that with the hit. Where it does not, where the thread stands has to say that there was one.
func (t *Thread) mergedTrap(regs *sys.Regs, h *tracee.Signal) bool {
	p := t.p
	if !t.native || h.Fault() || !p.points.Raises(regs.Rip-1) {
		return false
	}
	p.takeNote()
	known := p.trap.Known()
	if !known && !p.onlyByHit(regs.Rip) {
		return false
	}
	const bit = 1 << (tracee.SIGTRAP - 1)
	sets, err := sys.ReadSignalSets(t.tid)
	if err != nil || (sets.Caught|sets.Ignored)&bit != 0 {
		return false
	}
	if known {
		err = p.mendTrap(t)
	} else {
		err = t.tracee.SetMask(sets.Blocked | bit)
	}
	if err != nil {
		return false
	}
	if !t.givesBack(h) {
		t.tracee.GiveBackTrap(h)
	}
	return true
}

// givesBack has a stopped thread give a SIGTRAP back to the kernel that it blocks. false: it cannot.
func (t *Thread) givesBack(h *tracee.Signal) bool {
	if t.slot == nil {
		return false
	}
	b, ok := t.borrow()
	if !ok {
		return false
	}
	did, err := t.tracee.GiveBackItself(h, &b)
	return did && err == nil
}

// onlyByHit tells whether a native thread can stand behind an int3 of ours by a hit alone: amid the instruction whose first byte that is, or in code of ours.
func (p *Process) onlyByHit(rip uint64) bool {
	if _, probe := p.points.Original(rip - 1); !probe {
		return true
	}
	const longest = 15
	var one [1]x86.Insn
	n, _ := x86.Decode(p.code.Fetch(rip-1, longest), rip-1, one[:])
	return n == 1 && one[0].Len > 1
}

// mendTrap puts right what a hit of an int3 of ours has done to a stopped native thread.
func (p *Process) mendTrap(t *Thread) error {
	p.takeNote()
	return p.trap.Mend(&t.tracee, t.borrow)
}

// borrow is borrowed, and whether the calls may be made.
func (t *Thread) borrow() (tracee.Borrowed, bool) { return t.borrowed(), t.calls.Look() }

// leaveCache puts what is watched into the program's own code for a stopped thread that is about to leave the cache with signal sig, and asks what the program does with
// SIGTRAP by now. Not where a signal is to be delivered first: the call would come in between; nor beside other native threads, one of which may have run into an int3 and lost a handler just now.
func (t *Thread) leaveCache(sig sys.Signal) error {
	p := t.p
	p.takeNote()
	others := slices.ContainsFunc(p.running(), func(o *Thread) bool { return o.native })
	if sig == 0 && !others && !t.tracee.Holds() {
		if err := p.trap.Learn(&t.tracee, t.borrow); err != nil {
			return err
		}
	}
	return p.points.PlaceAll(p.slots())
}

// borrowed is what calls need that the thread is had to make.
func (t *Thread) borrowed() tracee.Borrowed {
	return tracee.Borrowed{Call: t.p.ownCall(), Addr: t.slot.Base + layout.Scratch, Words: t.slot, Off: layout.Scratch}
}

// ignoreTrap makes the kernel ignore SIGTRAP again.
func (t *Thread) ignoreTrap() error {
	if !t.calls.Look() {
		return nil
	}
	return t.p.trap.Ignore(&t.tracee, t.borrowed())
}

// watchStart puts breakpoints in place of the stops at a native start's system calls, where
// the code that begins at the entry point, rip, is one that is known.
func (p *Process) watchStart(rip uint64) error {
	if p.tr.opts.NoStartSites || p.calls.Starting() == 0 || p.mode != ModeNative {
		return nil
	}
	if !p.code.Executable(rip) {
		return nil
	}
	m := p.code.Mapping(rip)
	if m == nil || m.End-m.Start > starts.MostCode {
		return nil
	}
	code := make([]byte, m.End-m.Start)
	if _, err := p.mem.ReadAt(code, int64(m.Start)); err != nil {
		return nil // it is left to stops
	}
	s := starts.Find(code, m.Start)
	if s == nil {
		return nil
	}
	p.start = s
	p.calls.SetStarting(0)
	for at := range s.All() {
		if err := p.points.Add(at); err != nil {
			return err
		}
	}
	return nil
}

// endStart takes the breakpoints of a start out.
func (p *Process) endStart() {
	s := p.start
	if s == nil {
		return
	}
	p.start = nil
	for at := range s.All() {
		p.points.RemoveIdle(at)
	}
}

// startHit handles a native thread that has executed the int3 of a start at an address.
// done is false if it is none, or something else waits for that address: then the start's
// calls are watched by stops.
func (t *Thread) startHit(regs *sys.Regs, at uint64) (done bool, err error) {
	p := t.p
	s := p.start
	if s == nil || !t.native || !s.Has(at) {
		return false, nil
	}
	if p.points.IsPoint(at) {
		p.endStart()
		p.calls.SetStarting(starts.Calls)
		return false, nil
	}
	regs.Rip = at
	t.noteGS(regs)
	if s.Hit(at) {
		p.endStart()
	}
	if s.Rseq(at) {
		return true, t.refuseRseq(regs)
	}
	p.calls.Ended(tracee.SysMmap, regs.Rax, regs)
	if p.mode == ModeNative {
		starts.Skip(regs)
	}
	return true, t.enter(regs, 0)
}

// refuseRseq answers a thread that stands at its call of rseq as a kernel without it, but where its process has sequences already.
func (t *Thread) refuseRseq(regs *sys.Regs) error {
	// One that came from elsewhere goes on as it would.
	if uint32(regs.Rax) != syscalls.Rseq || regs.Rax >= layout.SyscallEntries || t.p.calls.HasSequences() {
		return t.enter(regs, 0)
	}
	t.calls.Entered(regs, syscalls.Rseq, regs.Rip+syscalls.Length)
	regs.Rax = syscalls.NoSuchCall()
	regs.Rip += syscalls.Length
	regs.Rcx, regs.R11 = regs.Rip, regs.Eflags
	return t.enter(regs, 0)
}
