package stream

import (
	"alleria/abp"
	"alleria/analysis/lanes"
)

// Accesses is a Sink that takes executions apart into accesses, in their order. Those of the
// plain kind, nearly all, are worked out straight from the words.
type Accesses struct {
	proc  *abp.Process
	plans []accessPlan
	x     abp.Exec
	each  func(addr uint64, size uint32, store bool)
	mem   func(m *abp.Mem)
}

// accessPlan is what executions of a block have in common.
type accessPlan struct {
	words int  // of an execution, its number included; 0: not looked at yet
	plain bool // all of its accesses are
	ops   []accessOp
}

// accessOp is a plain access.
type accessOp struct {
	offset uint64
	size   uint32
	word   int16
	store  bool
}

// NewAccesses calls each for every access of a process's executions.
func NewAccesses(p *abp.Process, each func(addr uint64, size uint32, store bool)) *Accesses {
	return &Accesses{proc: p, plans: make([]accessPlan, len(p.Blocks())), each: each,
		mem: func(m *abp.Mem) { each(m.Addr, m.Size, m.Store) }}
}

// Stretch takes whole executions.
func (a *Accesses) Stretch(state *abp.Exec, words []uint64) {
	a.x = *state
	for i := 0; i < len(words); {
		id := words[i]
		if id >= uint64(len(a.plans)) || a.plans[id].words == 0 {
			a.plan(uint32(id))
		}
		p := &a.plans[id]
		if !p.plain {
			b := a.proc.Block(uint32(words[i]))
			a.x.Block, a.x.Words, a.x.Completed, a.x.IsEmulated = b, words[i+1:i+p.words], len(b.Ins), false
			a.x.ForEachAccess(a.mem)
		}
		for k := range p.ops {
			op := &p.ops[k]
			addr := op.offset
			if op.word >= 0 {
				addr += words[i+1+int(op.word)]
			}
			a.each(addr, op.size, op.store)
		}
		i += p.words
	}
}

// Single takes an execution that may be cut or emulated.
func (a *Accesses) Single(x *abp.Exec) {
	a.x = *x
	a.x.ForEachAccess(a.mem)
}

// plan makes the plan of a block.
func (a *Accesses) plan(id uint32) {
	if n := int(id) + 1 - len(a.plans); n > 0 { // the tables of a process that is being recorded grow
		a.plans = append(a.plans, make([]accessPlan, n+len(a.plans)/2)...)
	}
	a.plans[id].make(a.proc.Block(id))
}

// make looks at a block.
func (p *accessPlan) make(b *abp.Block) {
	p.words = b.Words + 1
	p.plain = lanes.PlainAccesses(b, func(_ int, a *abp.Access) {
		p.ops = append(p.ops, accessOp{uint64(a.Offset), a.Size, a.Word, a.Store})
	})
}
