package coherence

import (
	"slices"

	"alleria/abp"
	"alleria/analysis/lanes"
)

// executions takes executions of all threads apart into accesses. Those of the plain kind, nearly all, are worked out straight from the words.
type executions struct {
	sim   *Simulator
	proc  *abp.Process
	plans []plan
	// Threads in the order in which they have begun: each has a processor of its own, as long as there are enough.
	threads []uint32
	latest  uint32
	cpu     int // the latest one's
	block   *abp.Block
	each    func(m *abp.Mem)
}

// plan is what whole executions of a block have in common.
type plan struct {
	known, plain bool
	ops          []operation
}

// operation is a plain access.
type operation struct {
	code, offset uint64
	size         uint64
	word         int16 // -1: none
	store        bool
}

// newExecutions feeds a simulator with what a process executes.
func newExecutions(p *abp.Process, sim *Simulator) *executions {
	e := &executions{sim: sim, proc: p, plans: make([]plan, len(p.Blocks()))}
	e.each = func(m *abp.Mem) {
		e.sim.Access(e.cpu, e.block.InsAddr(int(m.Ins)), m.Addr, uint64(m.Size), m.Store)
	}
	return e
}

// processor makes a thread the latest.
func (e *executions) processor(thread uint32) {
	i := slices.Index(e.threads, thread)
	if i < 0 {
		i = len(e.threads)
		e.threads = append(e.threads, thread)
	}
	e.latest, e.cpu = thread, i%MostProcessors
}

// take takes one execution.
func (e *executions) take(x *abp.Exec) {
	if x.Thread != e.latest || len(e.threads) == 0 {
		e.processor(x.Thread)
	}
	id := x.Block.ID
	if int(id) >= len(e.plans) {
		e.plans = append(e.plans, make([]plan, int(id)+1-len(e.plans))...)
	}
	p := &e.plans[id]
	if !p.known {
		p.make(x.Block)
	}
	if !p.plain || x.IsEmulated || x.Completed != len(x.Block.Ins) {
		e.block = x.Block
		x.ForEachAccess(e.each)
		return
	}
	for k := range p.ops {
		o := &p.ops[k]
		addr := o.offset
		if o.word >= 0 {
			addr += x.Words[o.word]
		}
		e.sim.Access(e.cpu, o.code, addr, o.size, o.store)
	}
}

// make looks at a block.
func (p *plan) make(b *abp.Block) {
	p.known = true
	p.plain = lanes.PlainAccesses(b, func(i int, a *abp.Access) {
		p.ops = append(p.ops, operation{b.InsAddr(i), uint64(a.Offset), uint64(a.Size), a.Word, a.Store})
	})
}
