package tool

import (
	"alleria/abp"
	"alleria/analysis/live"
	"alleria/analysis/stream"
)

// analysis is the tool for one program of one process.
type analysis struct {
	tool *Tool
	proc *abp.Process
}

// Thread is live.Analysis's.
func (a *analysis) Thread() stream.Sink {
	return &sink{a: a, fillers: make([]*filler, len(a.tool.types)), each: a.tool.opts.advance == advanceEach}
}

// Add is live.Analysis's: the thread has ended.
func (a *analysis) Add(s stream.Sink, _ float64) {
	a.tool.words.Add(s.(*sink).words)
	for _, f := range s.(*sink).fillers {
		if f != nil {
			f.finish()
		}
	}
}

// Result is live.Analysis's. What was found is the user's.
func (a *analysis) Result() live.Result { return nil }

// sink fills the buffers of one thread of the program.
type sink struct {
	a       *analysis
	x       abp.Exec // the thread's state
	plans   []plan   // by block
	fillers []*filler
	each    bool   // room is looked for before each record
	begins  bool   // a basic block begins with the block that is executed
	next    uint64 // where the last block went on without a branch; 0: it did not
	words   uint64 // of the ring
}

// Gap is what live tells of missing records.
func (s *sink) Gap() { s.next = 0 }

// filler is what fills the buffers of a type.
func (s *sink) filler(to int) *filler {
	if s.fillers[to] == nil {
		s.fillers[to] = newFiller(s.a.tool.types[to], handed{process: s.a.proc.Number(), thread: s.x.Thread, osid: s.x.OSID, names: procNames{s.a.proc}})
	}
	return s.fillers[to]
}

// Stretch is stream.Sink's.
func (s *sink) Stretch(state *abp.Exec, words []uint64) {
	s.x = *state
	s.words += uint64(len(words))
	for i := 0; i < len(words); {
		id := words[i]
		if id >= uint64(len(s.plans)) || s.plans[id].words == 0 {
			s.plan(uint32(id))
		}
		p := &s.plans[id]
		exec := words[i : i+p.words]
		if i += p.words; p.bits == 0 && s.a.tool.blocks {
			s.next = p.falls
		}
		if p.bits == 0 {
			continue
		}
		s.begins = p.addr != s.next
		s.next = p.falls
		switch {
		case p.slow:
			s.x.Whole(s.a.proc.Block(uint32(id)), exec[1:])
			s.general()
			s.x.TSC, s.x.Timed = state.TSC, state.Timed
		case s.each || state.Windows&p.bits != p.bits:
			s.some(p, exec, state.Windows)
		default:
			s.all(p, exec)
		}
	}
}

// all makes the records of an execution, all of whose windows are open: room is looked for once.
func (s *sink) all(p *plan, words []uint64) {
	for _, n := range p.need {
		if f := s.filler(n.to); f.of.records-f.n < n.n {
			f.hand()
		}
	}
	for k := range p.steps {
		if st := &p.steps[k]; s.holds(st, words) {
			s.fillers[st.to].put(st, s, words)
		}
	}
}

// some makes the records of the windows that are open, and looks for room before each.
func (s *sink) some(p *plan, words []uint64, open uint64) {
	for k := range p.steps {
		st := &p.steps[k]
		if st.bit&open == 0 || !s.holds(st, words) {
			continue
		}
		s.room(st.to).put(st, s, words)
	}
}

// room is a filler with room for a record.
func (s *sink) room(to int) *filler {
	f := s.filler(to)
	if f.n == f.of.records {
		f.hand()
	}
	return f
}

// holds tells whether a step's conditions hold.
func (s *sink) holds(st *step, words []uint64) bool {
	if st.block && !s.begins {
		return false
	}
	for k := range st.conds {
		if c := &st.conds[k]; !c.holds(c.of.number(s, words)) {
			return false
		}
	}
	return true
}

// Single is stream.Sink's: an execution that is cut short, or was the tracer's.
func (s *sink) Single(x *abp.Exec) {
	s.x = *x
	s.begins = x.Block.Addr != s.next
	s.next = 0
	switch n := len(x.Block.Ins); {
	case x.Completed < n && x.Completed >= 0:
		s.next = x.Block.InsAddr(x.Completed)
	case x.Block.Branch == abp.BranchNone:
		s.next = x.Block.End()
	}
	s.general()
}

// general makes the records of s.x, whatever it is. Plans do the same for what is executed most.
func (s *sink) general() {
	b := s.x.Block
	for i := range min(s.x.Completed, len(b.Ins)) {
		s.a.eachFill(s.x.Thread, b, i, func(k int, f *fill) {
			switch {
			case s.x.Windows&(1<<k) == 0, f.at.point == atBlock && i == 0 && !s.begins:
			case f.at.point == atAccess:
				s.x.InsAccesses(i, func(m *abp.Mem) { s.record(f, i, m) })
			default:
				s.record(f, i, nil)
			}
		})
	}
}

// record makes one record, of an access or of an instruction.
func (s *sink) record(f *fill, i int, m *abp.Mem) {
	value := func(from Source) (uint64, []byte) { return s.value(from, i, m) }
	for k := range f.at.If {
		c := &f.at.If[k]
		n, wide := value(c.Of)
		if wide != nil {
			n = number(wide)
		}
		if !c.holds(n) {
			return
		}
	}
	s.room(f.of.index).putNumbers(f.fields, value)
}

// value is what a source has, as a number, or as bytes if there may be more than eight.
func (s *sink) value(from Source, i int, m *abp.Mem) (n uint64, wide []byte) {
	x := &s.x
	switch from.kind {
	case isTime:
		return x.TSC, nil
	case isAddress:
		return m.Addr, nil
	case isSize:
		return uint64(m.Size), nil
	case isStore:
		if m.Store {
			return 1, nil
		}
		return 0, nil
	case isValue:
		return 0, m.Value
	case isRegister:
		list, _ := x.Registers(i, nil, nil)
		for _, r := range list {
			if r.Register == from.reg {
				return 0, r.Value
			}
		}
		return 0, nil
	case isTaken, isTarget:
		return s.branch(from.kind, i), nil
	}
	n, _ = s.fixed(x.Block, i, from)
	return n, nil
}

// branch is what the instruction did, if it is a branch.
func (s *sink) branch(what kind, i int) uint64 {
	var br abp.Branch
	if i != len(s.x.Block.Ins)-1 || !s.x.LastBranch(&br) {
		return 0
	}
	if what == isTarget {
		return br.Target
	}
	if br.Taken {
		return 1
	}
	return 0
}
