package engine

import (
	"slices"

	"alleria/engine/asking"
	"alleria/internal/sys"
)

// Native code of traced processes that calls ptrace: breakpoints, as of a start (package asking). Code in the cache needs none.

// watchPtrace puts breakpoints where a process's native code calls ptrace. It is asked when the process creates another one, and at its own creation.
func (p *Process) watchPtrace() {
	if p.mode != ModeNative {
		return
	}
	for _, site := range p.tr.client.PtraceSites(p.pid) {
		if p.ptraceSite(site.At) != nil || p.points.IsPoint(site.At) || !site.Lies(p.mem) {
			continue
		}
		if err := p.points.Add(site.At); err == nil { // who cannot be written to is ending
			p.ptrace = append(p.ptrace, site)
		}
	}
}

// ptraceSite is the site at an address; nil if there is none.
func (p *Process) ptraceSite(at uint64) *asking.Site {
	if i := slices.IndexFunc(p.ptrace, func(s asking.Site) bool { return s.At == at }); i >= 0 {
		return &p.ptrace[i]
	}
	return nil
}

// ptraceHit handles a native thread that has executed the int3 in front of a call of ptrace; done is false if it is none.
func (t *Thread) ptraceHit(regs *sys.Regs, at uint64) (done bool, err error) {
	p := t.p
	site := p.ptraceSite(at)
	if site == nil || !t.native || p.points.IsPoint(at) {
		return false, nil
	}
	what, tid, ok := site.Request(regs)
	if err := p.mendTrap(t); err != nil {
		return true, err
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
		for _, s := range p.ptrace {
			p.points.RemoveIdle(s.At)
		}
	}
	return true, t.goOn(regs)
}
