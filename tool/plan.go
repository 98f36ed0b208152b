package tool

import (
	"alleria/abp"
)

// plan is what is done at each execution of a block.
type plan struct {
	words  int // of an execution, its number included; 0: not looked at yet
	slow   bool
	bits   uint64 // windows that the steps are of
	steps  []step
	need   []room
	addr   uint64 // of its first instruction
	falls  uint64 // where it goes on if it does not end with a branch; 0: it does
	starts bool   // a step is at a block's beginning
}

// room is how many records of a type an execution makes at most.
type room struct{ to, n int }

// step makes one record.
type step struct {
	bit      uint64 // of its window
	to       int    // number of the type
	block    bool   // only if a basic block begins here
	template []byte
	ops      []op
	conds    []cond
}

// cond is a condition that is not the same at each execution.
type cond struct {
	of op
	*Condition
}

// op is a field that is not the same at each execution.
type op struct {
	offset, size uintptr
	from         opKind
	word         int16
	addr32       bool
	seg          uint8
	shift        uint8 // bits of the word that are not the source's
	truth        bool
	add          uint64
	mask         uint64
}

// opKind says where the number of an op is.
type opKind uint8

const (
	opConst   opKind = iota // add
	opWord                  // a word plus a constant
	opAddress               // the same, with a segment or 32 bits
	opTruth                 // a word is not zero
	opClock                 // the thread's time
)

// number is what the op yields for an execution whose words these are, its number in front.
func (o *op) number(s *sink, words []uint64) uint64 {
	n := o.add
	switch o.from {
	case opWord:
		n = (words[1+o.word]>>o.shift + n) & o.mask
	case opAddress:
		if o.word >= 0 {
			n += words[1+o.word]
		}
		if o.addr32 {
			n = uint64(uint32(n))
		}
		switch o.seg {
		case abp.SegFS:
			n += s.x.FSBase
		case abp.SegGS:
			n += s.x.GSBase
		}
	case opTruth:
		n = 0
		if words[1+o.word] != 0 {
			n = 1
		}
	case opClock:
		n = s.x.TSC
	}
	if o.truth && n != 0 {
		return 1
	}
	return n
}

// plan makes the plan of a block.
func (s *sink) plan(id uint32) {
	if n := int(id) + 1 - len(s.plans); n > 0 {
		s.plans = append(s.plans, make([]plan, n+len(s.plans)/2)...)
	}
	b := s.a.proc.Block(id)
	p := &s.plans[id]
	*p = plan{words: b.Words + 1, addr: b.Addr, slow: s.a.tool.opts.noPlans}
	if b.Branch == abp.BranchNone {
		p.falls = b.End()
	}
	for i := range b.Ins {
		s.a.eachFill(s.x.Thread, b, i, func(k int, f *fill) {
			p.bits |= 1 << k
			s.steps(p, b, i, k, f)
		})
	}
	for _, st := range p.steps {
		p.reserve(st.to, s)
	}
}

// reserve notes that an execution makes another record of a type. Where so many have no room in a buffer, room is looked for before each.
func (p *plan) reserve(to int, s *sink) {
	for i := range p.need {
		if p.need[i].to == to {
			p.need[i].n++
			if p.need[i].n > s.a.tool.types[to].records {
				p.slow = true
			}
			return
		}
	}
	p.need = append(p.need, room{to, 1})
}

// eachFill calls f for each fill that is at an instruction of a thread. Which windows select an instruction is known of all threads together.
func (a *analysis) eachFill(thread uint32, b *abp.Block, i int, f func(k int, f *fill)) {
	in := &b.Ins[i]
	if in.Flags&abp.InsRecorded == 0 {
		return
	}
	windows := a.tool.sites.Of(a.proc, b.InsAddr(i), in.Len)
	for k, one := range a.tool.fills {
		if windows&(1<<k) != 0 && (one.at.Thread == 0 || one.at.Thread == int(thread)) && (in.Flags&abp.InsPart == 0 || one.at.point == atAccess) {
			f(k, one)
		}
	}
}

// steps appends the steps of a fill at an instruction.
func (s *sink) steps(p *plan, b *abp.Block, i, k int, f *fill) {
	if f.at.point != atAccess {
		s.step(p, b, i, k, f, nil)
		return
	}
	if !b.Counted(i) {
		return
	}
	all := b.InsAccesses(i)
	for j := range all {
		if all[j].Kind != abp.AccessPlain {
			p.slow = true
			return
		}
		s.step(p, b, i, k, f, &all[j])
	}
}

// step appends a step.
func (s *sink) step(p *plan, b *abp.Block, i, k int, f *fill, a *abp.Access) {
	st := step{bit: 1 << k, to: f.of.index, block: f.at.point == atBlock, template: make([]byte, f.of.size)}
	p.starts = p.starts || st.block
	for _, fd := range f.fields {
		o, ok := s.op(b, i, a, fd.from)
		if !ok {
			p.slow = true
			return
		}
		o.offset, o.size, o.truth = fd.offset, fd.size, fd.truth
		if o.from != opConst {
			st.ops = append(st.ops, o)
			continue
		}
		for n, at := o.number(s, nil), uintptr(0); at < min(o.size, 8); at++ {
			st.template[o.offset+at] = byte(n >> (8 * at))
		}
	}
	for k := range f.at.If {
		c := &f.at.If[k]
		o, ok := s.op(b, i, a, c.Of)
		if p.slow = p.slow || !ok; !ok {
			return
		}
		switch {
		case o.from != opConst:
			st.conds = append(st.conds, cond{o, c})
		case !c.holds(o.number(s, nil)):
			return // never
		}
	}
	p.steps = append(p.steps, st)
}

// op says how a source is computed; false: by the general path alone.
func (s *sink) op(b *abp.Block, i int, a *abp.Access, from Source) (o op, ok bool) {
	o = op{from: opConst, mask: ^uint64(0)}
	switch from.kind {
	case isTime:
		o.from = opClock
		if b.TimeWord >= 0 {
			o.from, o.word = opWord, b.TimeWord
		}
		return o, true
	case isAddress:
		o.from, o.word, o.add = opWord, a.Word, uint64(a.Offset)
		if a.Word < 0 || a.Seg != abp.SegNone || a.AddrBits == 32 {
			o.from, o.seg, o.addr32 = opAddress, a.Seg, a.AddrBits == 32
		}
		return o, true
	case isSize:
		o.add = uint64(a.Size)
		return o, true
	case isStore:
		if a.Store {
			o.add = 1
		}
		return o, true
	case isValue:
		if a.Size > 8 {
			return o, false
		}
		if a.Value >= 0 {
			o.from, o.word, o.mask = opWord, a.Value, mask(int(a.Size))
		}
		return o, true
	case isRegister:
		return registerOp(b, i, from)
	case isTaken, isTarget:
		return branchOp(b, i, from.kind)
	}
	o.add, _ = s.fixed(b, i, from)
	return o, true
}

// fixed is a source that is the same at each execution of the instruction; false: it is not.
func (s *sink) fixed(b *abp.Block, i int, from Source) (n uint64, ok bool) {
	switch from.kind {
	case isConstant:
		return from.constant, true
	case isPC:
		return b.InsAddr(i), true
	case isLength:
		return uint64(b.Ins[i].Len), true
	case isFunction:
		return uint64(b.Ins[i].Func), true
	case isThread:
		return uint64(s.x.Thread), true
	}
	return 0, false
}

// registerOp is a register that fits into a word.
func registerOp(b *abp.Block, i int, from Source) (o op, ok bool) {
	o = op{from: opConst, mask: ^uint64(0)}
	if from.reg.Size() > 8 || from.reg == abp.RegFSBase || from.reg == abp.RegGSBase {
		return o, false
	}
	if from.reg == abp.RegRIP {
		o.add = b.InsAddr(i)
		return o, true
	}
	for _, w := range b.Registers {
		if int(w.Ins) == i && w.Reg == from.reg && w.Word >= 0 {
			o.from, o.word, o.mask = opWord, w.Word, mask(from.reg.Size())
			if from.reg.Class() == abp.RegHigh {
				o.shift = 8
			}
			break
		}
	}
	return o, true
}

// branchOp is what a branch did.
func branchOp(b *abp.Block, i int, what kind) (o op, ok bool) {
	o = op{from: opConst, mask: ^uint64(0)}
	if i != len(b.Ins)-1 || b.Branch == abp.BranchNone || b.Branch == abp.BranchSyscall {
		return o, true
	}
	indirect := b.Branch == abp.BranchIndJump || b.Branch == abp.BranchIndCall || b.Branch == abp.BranchRet
	switch {
	case what == isTaken && b.Branch == abp.BranchCond && b.BranchWord >= 0:
		o.from, o.word = opTruth, b.BranchWord
	case what == isTaken && b.Branch != abp.BranchCond:
		o.add = 1
	case what == isTarget && !indirect:
		o.add = b.Target
	case what == isTarget && b.BranchWord >= 0:
		o.from, o.word = opWord, b.BranchWord
	}
	return o, true
}
