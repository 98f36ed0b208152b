package engine

import (
	"slices"

	"alleria/engine/asking"
	"alleria/engine/probe"
	"alleria/internal/sys"
)

// Native code of traced processes that makes calls which have to be known of: breakpoints, as of a start (package asking). Code in the cache needs none.

// watchCalls puts breakpoints where a process's native code makes these calls. It is asked when the process creates another one, and at its own creation.
func (p *Process) watchCalls() {
	if p.mode == ModeNative {
		p.watch(p.tr.client.CallSites(p.pid))
	}
}

// watchLibrary is watchCalls for the C library alone, once, when it is there and threads run natively. The start that is watched is over then.
func (p *Process) watchLibrary() {
	if !p.watched && p.start == nil && p.calls.Starting() == 0 {
		p.watched = true
		p.watch(p.tr.client.LibrarySites(p.pid))
	}
}

func (p *Process) watch(sites []asking.Site) {
	for _, site := range sites {
		p.forgetReplaced(&site)
		if site.Noted() {
			if p.points.JumpOf(site.At) == nil && !slices.Contains(p.noted.unnoted, site) {
				p.noted.unnoted = append(p.noted.unnoted, site)
			}
			continue
		}
		if p.asksFor >= asking.Most || p.hasSite(site.At) || p.points.IsPoint(site.At) || !site.Lies(p.mem) {
			continue
		}
		if err := p.points.Add(site.At); err == nil { // who cannot be written to is ending
			p.sites = append(p.sites, site)
		}
	}
}

// callSite is the site at an address; nil if there is none. One that a thread has come to by the C library's syscall() is of the number that it has.
func (p *Process) callSite(at uint64, regs *sys.Regs) *asking.Site {
	if entry, ok := p.points.Asks(at); ok {
		return &asking.Site{At: entry, Kind: asking.Any, Call: uint32(regs.Rax)}
	}
	if i := slices.IndexFunc(p.sites, func(s asking.Site) bool { return s.At == at }); i >= 0 {
		return &p.sites[i]
	}
	return nil
}

// forgetReplaced forgets a site whose breakpoint, or jump, has gone natively with the code that it lay in: code that came there since has the call as it was.
func (p *Process) forgetReplaced(site *asking.Site) {
	if (p.hasSite(site.At) || p.points.JumpOf(site.At) != nil) && site.Lies(p.mem) {
		p.points.Lost(site.At, site.At+1)
		p.sites = slices.DeleteFunc(p.sites, func(s asking.Site) bool { return s.At == site.At })
	}
}

func (p *Process) hasSite(at uint64) bool {
	return slices.ContainsFunc(p.sites, func(s asking.Site) bool { return s.At == at })
}

// callHit handles a native thread that has executed the int3 in front of such a call; done is false if it is none.
// One that the cache alone answers as it should has the process go on there for good.
func (t *Thread) callHit(regs *sys.Regs, at uint64) (done bool, err error) {
	p := t.p
	site := p.callSite(at, regs)
	if site == nil || !t.native || p.points.IsPoint(at) {
		return false, nil
	}
	what, tid, ok := site.Request(regs)
	if err := p.mendTrap(t); err != nil {
		return true, err
	}
	if call, ok := site.Registers(regs); ok && p.calls.NeedsCache(&call) {
		p.KeepTranslated()
		regs.Rip = site.At
		return true, t.goOn(regs)
	}
	if err := site.Execute(regs, p.mem); err != nil {
		return true, err
	}
	switch {
	case !ok:
	case what == asking.TraceMe:
		return true, t.traceMe(regs)
	case what == asking.Attach || what == asking.Seize:
		return true, p.tr.attached(t, tid, regs, func() error { return t.goOn(regs) })
	}
	if p.asksFor++; p.asksFor == asking.Most {
		for _, s := range p.sites {
			p.points.RemoveIdle(s.At)
		}
		if site.Kind == asking.Any {
			p.dropNotes()
		}
	}
	return true, t.goOn(regs)
}

// noteActions has native code note what the program does with SIGTRAP (probe.Points.WriteNote), where it runs into int3s of ours. t is stopped, and about to run natively with
// signal sig.
func (t *Thread) noteActions(sig sys.Signal) error {
	p := t.p
	if len(p.noted.unnoted) == 0 || p.tr.opts.NoTrapNotes || !p.points.Armed() || p.detachedThreads {
		return nil
	}
	sites := p.noted.unnoted
	p.noted.unnoted = nil
	thaw := p.freeze()
	defer thaw()
	var low *probe.JumpRegion
	for i := range sites {
		site := &sites[i]
		placed, err := t.note(site, &low, sig)
		if err != nil {
			return err
		}
		if site.Kind == asking.Any && placed {
			p.noted.any = true
		}
		if later := len(p.noted.unnoted) > 0 && p.noted.unnoted[len(p.noted.unnoted)-1] == *site; site.Limits() && !placed && !later {
			p.noted.missed = true
		}
	}
	t.calls.Look()
	for _, o := range p.running() { // each may have a filter of its own, from before
		p.calls.Look(o.tid)
	}
	p.hush()
	return nil
}

// note puts a jump that notes over a site, with low for its code, if that is near; false if it stays as it is, for now, where the site is to be noted later, or for good.
func (t *Thread) note(site *asking.Site, low **probe.JumpRegion, sig sys.Signal) (placed bool, err error) {
	p := t.p
	if !site.Lies(p.mem) {
		return false, nil
	}
	if !p.points.NoteNear(site.At, *low) {
		if sig != 0 || t.tracee.Holds() { // the calls that map memory would come in between: another time
			p.noted.unnoted = append(p.noted.unnoted, *site)
			return false, nil
		}
		if !t.calls.Look() {
			return false, nil
		}
		if *low, err = t.jumpRegion(site.At); err != nil || *low == nil {
			return false, err
		}
	}
	j := p.points.WriteNote(site, *low)
	if j == nil || !p.points.PlaceNote(j) {
		return false, nil
	}
	p.stats.Jumps++
	return true, nil
}

// noted is what is known of calls that the program's code notes.
type noted struct {
	unnoted []asking.Site // where it is to, see noteActions
	any     bool          // the C library's syscall() does
	missed  bool          // a call that may limit what the process can call is not noted
}

// hears tells whether code says when the process may have come under a filter of system calls.
func (n *noted) hears() bool {
	return n.any && !n.missed && !slices.ContainsFunc(n.unnoted, func(s asking.Site) bool { return s.Limits() })
}

// dropNotes gives the program's code back where it notes.
func (p *Process) dropNotes() {
	p.points.DropNotes()
	p.noted.missed = true
	p.hush()
}

// takeNote learns what the program has done with SIGTRAP natively, as far as its code has noted it.
func (p *Process) takeNote() {
	if action, ok := p.points.Noted(); ok {
		p.trap.Noted(action)
	}
}
