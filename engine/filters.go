package engine

import (
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// What a process may call is read where a call of ours, or of translated code, depends on it: it may have installed a
// filter while it ran natively, or by another thread, without our hearing of it. Filters that the tracer was started
// under, a container's, say, are its own as well and forbid nothing that it needs.

// limited tells whether a thread's calls are limited by more than the tracer's own.
func (tr *Tracer) limited(tid int) bool {
	f, err := sys.ReadFilters(tid)
	return err == nil && f.Beyond(tr.filters)
}

// noteFilters has translated code make no calls of its own any more if a filter of the thread's could forbid them.
func (t *Thread) noteFilters() {
	p := t.p
	if p.mayCall() && p.tr.limited(t.tid) {
		p.forbidCalls()
	}
}

// forbidCalls says that no call of ours may be made in the process any more.
func (p *Process) forbidCalls() {
	p.filtered = true
	p.shm.Ctl.U32(layout.NoCalls).Store(1)
}

// mayCall tells whether nothing is known that would forbid our calls.
func (p *Process) mayCall() bool { return p.shm.Ctl.U32(layout.NoCalls).Load() == 0 }
