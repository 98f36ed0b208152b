package probe

import (
	"bytes"

	"alleria/engine/asking"
	"alleria/engine/asm"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// A handler for SIGTRAP that a program installs natively is lost by the next int3 of ours that is hit while the signal is blocked, and the kernel does not tell
// which it was. So the program's own code notes it: in front of rt_sigaction the instruction that loads the call's number becomes a jump to a few instructions of
// ours, which store what is asked for where the tracer finds it, if the signal is SIGTRAP, and then load the number and go back to the call.
//
// Nothing is in the way of other code: exactly five bytes are displaced, one instruction, behind which comes the call. The call destroys rcx and r11,
// so that both may be used; the flags are left alone. Nothing counts until the call is made, so that a thread that is found there stands in front of the
// instruction, whatever it has executed. What the program cannot read the kernel would refuse: a load that faults leads to the call (NoteBail).
//
// The C library's syscall() has a jump of the same kind, in place of the instruction in front of its call, so that numbers which are not written down in any
// code are seen: the code looks at the number first, and has an int3 for those calls that are stopped at elsewhere (package asking), some 50 µs each.
//
// Calls that may limit what the process can call (prctl, seccomp) have the same: their code says in the control area that code of ours makes no calls from now on, whatever becomes of
// them. It is code that captures natively which has to know (engine.Process.hush).
//
// Refused: an int3 there, as at other calls that have to be known of, which programs hit 7 to 65 times when they start, 50 µs each; and one behind the comparison,
// for SIGTRAP alone, since it would let a lone SIGTRAP through that is blocked, in programs that block it and install a handler then.

const (
	// maxNote bounds the code of one, maxAny that of syscall()'s.
	maxNote = 128
	maxAny  = 384
	// kernelSets is the size of a set of signals, which rt_sigaction wants to be told.
	kernelSets = 8
	sigtrap    = 5
	// What prctl is asked for by who installs a filter of system calls, and who has them turned into signals (PR_SET_SECCOMP, PR_SET_SYSCALL_USER_DISPATCH).
	setSeccomp  = 22
	setDispatch = 59
)

// Armed tells whether something is watched by address, so that threads may run into int3s natively.
func (p *Points) Armed() bool { return !p.Unasked() || len(p.cache.Watched) > 0 }

// WriteNote writes the code for a site in front of the call: an instruction that loads rt_sigaction's number, or what Any has there. nil if there is no room near it, or something else
// lies there. Code at low addresses is near to no region: it needs a region for jumps, nil where there is none.
func (p *Points) WriteNote(site *asking.Site, low *JumpRegion) *Jump {
	at := site.At
	j := &Jump{Entry: at, Patch: at, end: at + jumpBytes, size: jumpBytes, orig: bytes.Clone(site.Load()), notes: true}
	if p.gone || p.jumps.refused[at] || p.host == nil || p.IsPoint(at) || p.awaited(at) || p.disturbed(j) {
		return nil
	}
	if _, ok := p.probes.get(at); ok {
		return nil
	}
	most := maxNote
	if site.Kind == asking.Any {
		most = maxAny
	}
	w, ok := p.noteWriter(at, most, low)
	if !ok {
		return nil
	}
	p.writeNote(&w, j, site)
	if w.Full() {
		return nil
	}
	if low != nil && low.holds(j.Code) {
		low.next = (w.Pos() + 15) &^ 15
	}
	j.patchBytes()
	p.jumps.add(j)
	return j
}

// NoteNear tells whether the code for a call at an address goes where translations are, or into a region for jumps, nil if there is none.
func (p *Points) NoteNear(at uint64, low *JumpRegion) bool {
	if low != nil && low.near(at, at+jumpBytes) && low.next+maxAny <= len(low.mem) {
		return true
	}
	for _, a := range p.cache.Regions {
		if a.Near(at) {
			return true
		}
	}
	return false
}

// noteWriter writes where the code is to lie.
func (p *Points) noteWriter(at uint64, most int, low *JumpRegion) (asm.Writer, bool) {
	if low != nil && low.near(at, at+jumpBytes) {
		return asm.New(low.mem, low.base, low.next), low.next+most <= len(low.mem)
	}
	for _, a := range p.cache.Regions {
		if !a.Near(at) {
			continue
		}
		if off, ok := a.NoteRoom(most); ok {
			return asm.New(a.Mem[:off+most], a.Base, off), true
		}
	}
	return asm.Writer{}, false
}

// writeNote writes the code, and says where its parts are.
func (p *Points) writeNote(a *asm.Writer, j *Jump, site *asking.Site) {
	j.Code, j.Body = a.Here(), a.Here()
	switch {
	case site.Kind == asking.Any:
		p.writeAny(a, j)
	case site.Call == asking.Sigaction:
		trap := p.writeAction(a)
		p.writeCall(a, j)
		a.Link(trap, a.Here())
		p.writeStores(a, j)
	case site.Call == asking.Prctl:
		p.writeLimits(a, j, p.writeIs(a, x86.RDI, setSeccomp, setDispatch), true)
	default:
		p.writeLimits(a, j, []asm.Site{a.JmpLater()}, true)
	}
	j.Hit = a.Here() - 1
}

// writeCall writes the program's own instruction and goes on behind it.
func (p *Points) writeCall(a *asm.Writer, j *Jump) {
	j.skip = a.Here()
	a.Copy(j.orig)
	a.Jmp(j.end)
}

// writeIs leads on at what it returns if the lower half of a register is one of some numbers.
func (p *Points) writeIs(a *asm.Writer, reg x86.Reg, numbers ...uint32) (sites []asm.Site) {
	for _, n := range numbers {
		a.LeaBits(x86.RCX, asm.At(reg, -int(n)), 32)
		sites = append(sites, a.JecxzLater())
	}
	return sites
}

// writeLimits has what leads there say that no calls of ours are to be made; with call, the program's own comes in front of it.
func (p *Points) writeLimits(a *asm.Writer, j *Jump, from []asm.Site, call bool) {
	if call {
		p.writeCall(a, j)
	}
	for _, s := range from {
		a.Link(s, a.Here())
	}
	a.MovImm64(x86.RCX, p.shm.Control()+layout.NoCalls)
	a.PutImm(x86.RCX, 0, 1)
	a.Jmp(j.skip)
}

// writeStores stores what rt_sigaction is asked for.
func (p *Points) writeStores(a *asm.Writer, j *Jump) {
	a.Lea(x86.RCX, asm.At(x86.R10, -kernelSets))
	a.Link(a.JnrcxzLater(), j.skip) // it will be refused
	a.Mov(x86.RCX, x86.RSI)
	a.Link(a.JrcxzLater(), j.skip) // it only asks
	a.MovImm64(x86.RCX, p.shm.Control()+layout.NotedAction)
	a.PutImm(x86.RCX, layout.NotedLast-layout.NotedAction, 0)
	for off := 0; off < layout.NotedLast-layout.NotedAction; off += 8 {
		a.Get(x86.R11, x86.RSI, off)
		a.Put(x86.RCX, off, x86.R11)
	}
	a.PutImm(x86.RCX, layout.NotedLast-layout.NotedAction, 1)
	a.Jmp(j.skip)
}

// writeAny writes the code of syscall() itself: the number is in eax.
func (p *Points) writeAny(a *asm.Writer, j *Jump) {
	action, limits, prctl := p.writeIs(a, x86.RAX, asking.Sigaction), p.writeIs(a, x86.RAX, asking.Seccomp), p.writeIs(a, x86.RAX, asking.Prctl)
	asked := p.writeIs(a, x86.RAX, asking.Stopping()...)
	p.writeCall(a, j)
	j.asks = a.Here()
	a.Int3()
	for _, s := range asked {
		a.Link(s, j.asks)
	}
	a.Link(prctl[0], a.Here())
	limits = append(limits, p.writeIs(a, x86.RDI, setSeccomp, setDispatch)...)
	a.Jmp(j.skip)
	p.writeLimits(a, j, limits, false)
	a.Link(action[0], a.Here())
	trap := p.writeAction(a)
	a.Jmp(j.skip)
	a.Link(trap, a.Here())
	p.writeStores(a, j)
}

// writeAction leads on at what it returns if the call is for SIGTRAP: the kernel looks at the lower half of the number.
func (p *Points) writeAction(a *asm.Writer) asm.Site { return p.writeIs(a, x86.RDI, sigtrap)[0] }

// PlaceNote writes a jump that notes over its instruction, which is still there; false if that fails. All native threads stand.
func (p *Points) PlaceNote(j *Jump) bool {
	if _, err := p.mem.WriteAt(j.ours, int64(j.Entry)); err != nil {
		return false
	}
	p.jumps.at.put(j.Entry, j)
	return true
}

// DropNotes gives the application the code of these jumps back, for good.
func (p *Points) DropNotes() {
	for _, j := range p.jumps.all {
		if j.notes && p.JumpOf(j.Entry) == j {
			p.host.Fail(p.Uncover(j.Entry))
		}
	}
}

// NoteBail tells whether code that notes is at an address, and where it goes on if a load of it faults; false for the program's own instruction there, which may fault itself.
func (p *Points) NoteBail(addr uint64) (uint64, bool) {
	if j := p.JumpAt(addr); j != nil && j.notes && addr != j.skip {
		return j.skip, true
	}
	return 0, false
}

// Notes tells a jump whose code notes what the program asks for: all of it may be executed anew.
func (j *Jump) Notes() bool { return j.notes }

// Noted is what the program has asked for since it was asked for last, as rt_sigaction has it; false: nothing.
func (p *Points) Noted() (action [4]uint64, ok bool) {
	last := p.shm.Ctl.U32(layout.NotedLast)
	if last.Load() == 0 {
		return action, false
	}
	for i := range action {
		action[i] = p.shm.Ctl.U64(layout.NotedAction + 8*i).Load()
	}
	last.Store(0)
	return action, true
}
