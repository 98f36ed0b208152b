package coherence

import (
	"alleria/abp"
	"alleria/analysis/stream"
)

// Ordered takes the executions of threads that come side by side, while they run, through one simulator, in the order of time (see stream.Ordered).
type Ordered struct {
	*stream.Ordered
	o    Options
	proc *abp.Process
	sim  *Simulator
	all  *executions
}

// NewOrdered begins with a process.
func NewOrdered(p *abp.Process, o Options) *Ordered {
	sim := NewSimulator(o)
	all := newExecutions(p, sim)
	return &Ordered{Ordered: stream.NewOrdered(p, all.take), o: o, proc: p, sim: sim, all: all}
}

// Result gives what was found, once all threads have ended.
func (o *Ordered) Result() *Result {
	late, timed := o.Finish()
	o.sim.finish()
	out := newResult(o.proc, o.o)
	out.Timed, out.Late = timed, late
	out.sum(o.sim, o.proc, o.all.threads)
	return out
}
