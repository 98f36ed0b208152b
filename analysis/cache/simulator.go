package cache

import (
	"math/bits"

	"alleria/abp"
	"alleria/analysis/stream"
)

// Hierarchy is what is simulated. Levels that are nil are not there.
type Hierarchy struct {
	L1I, L1D   *Cache
	Levels     []*Cache // behind both, the last is LL
	ITLB, DTLB *Cache
	// What is simulated instead of the caches above where levels include or exclude each other; L1I and L1D have shapes only, and
	// Levels is as long as there are levels. Nil otherwise.
	related *levels
}

// Misses are the counts of an instruction, or of several.
type Misses struct {
	Executed uint64 `json:"executed"` // instructions in blocks that were recorded
	Reads    uint64 `json:"reads"`
	Writes   uint64 `json:"writes"`
	L1I      uint64 `json:"l1i_misses"`
	L1DRead  uint64 `json:"l1d_read_misses"`
	L1DWrite uint64 `json:"l1d_write_misses"`
	L2       uint64 `json:"l2_misses"` // of the level behind the first, if there are three
	LLI      uint64 `json:"ll_instruction_misses"`
	LLRead   uint64 `json:"ll_read_misses"`
	LLWrite  uint64 `json:"ll_write_misses"`
	ITLB     uint64 `json:"itlb_misses"`
	DTLB     uint64 `json:"dtlb_misses"`
}

// Add adds n times o.
func (m *Misses) Add(o *Misses, n uint64) {
	m.Executed += o.Executed * n
	m.Reads += o.Reads * n
	m.Writes += o.Writes * n
	m.L1I += o.L1I * n
	m.L1DRead += o.L1DRead * n
	m.L1DWrite += o.L1DWrite * n
	m.L2 += o.L2 * n
	m.LLI += o.LLI * n
	m.LLRead += o.LLRead * n
	m.LLWrite += o.LLWrite * n
	m.ITLB += o.ITLB * n
	m.DTLB += o.DTLB * n
}

// LineMisses are the misses on one line of data.
type LineMisses struct{ L1, LL uint64 }

// Simulator takes executions through a hierarchy. It is a stream.Sink.
type Simulator struct {
	h       *Hierarchy
	proc    *abp.Process
	recipes []*recipe
	line    uint // shift of a data line
	// The latest lines of sets of the first levels, if referring to one of these changes nothing
	// (Cache.latest); else nil.
	latestD, latestI *latest
	moved            uint64 // how often a line of code was not the latest of its set, plus one
	lines            lineTable
	filter           *filter // nil: everything is done here
	list             *list   // where references are listed instead of simulated; nil: they are simulated
	x                abp.Exec
	fs               uint64     // its base of fs, which offsets of plain accesses have with them
	inFS             []*plainOp // which of them
	cur              *recipe
	each             func(m *abp.Mem)
	apart            *counting              // what counts nothing, or else what counts; nil: everything counts
	muted            bool                   // nothing counts
	missedAny        bool                   // since Take
	later            *stream.Behind[parcel] // what goes on behind the first levels meanwhile; nil: nobody
	when             laterWhen
}

// NewSimulator starts with an empty count.
func NewSimulator(p *abp.Process, h *Hierarchy) *Simulator {
	s := &Simulator{h: h, proc: p, recipes: make([]*recipe, len(p.Blocks())), moved: 1, when: laterWhen{after: laterAfter}}
	if h.L1D != nil {
		s.line = h.L1D.shift
		if h.DTLB == nil && h.related == nil {
			s.latestD = h.L1D.latest
		}
	}
	if h.L1I != nil && h.ITLB == nil && h.related == nil {
		s.latestI = h.L1I.latest
	}
	s.each = func(m *abp.Mem) {
		if s.list != nil {
			s.list.ins = uint16(m.Ins)
		}
		i := &s.cur.ins[m.Ins]
		if m.Store {
			i.Writes++
		} else {
			i.Reads++
		}
		s.data(i, m.Addr, uint64(m.Size), m.Store)
	}
	return s
}

// begin begins with executions in a state. The base of fs is nearly always the same for a thread: the fast way has it in offsets, and knows nothing of it.
func (s *Simulator) begin(state *abp.Exec) {
	s.x = *state
	if by := state.FSBase - s.fs; by != 0 {
		s.fs = state.FSBase
		for _, p := range s.inFS {
			p.offset += by
		}
		if s.filter != nil {
			s.filter.rebase(by)
		}
		if s.apart != nil && s.apart.filter != nil {
			s.apart.filter.rebase(by)
		}
	}
}

// Stretch takes whole executions.
func (s *Simulator) Stretch(state *abp.Exec, words []uint64) {
	s.begin(state)
	for i := 0; i < len(words); {
		if s.filter != nil {
			if i = s.filter.stretch(words, i); i == len(words) {
				return
			}
		}
		id := words[i]
		if id >= uint64(len(s.recipes)) || s.recipes[id] == nil {
			s.recipe(uint32(id))
			if s.filter != nil && s.filter.plans[id].words > 0 {
				continue
			}
		}
		r := s.recipes[id]
		r.runs++
		w := words[i+1 : i+r.words]
		if s.list != nil {
			s.list.begin(uint32(id), uint64(i))
			i += r.words
			s.run(r, w, len(r.block.Ins))
			continue
		}
		i += r.words
		if !r.fast || r.latest != s.moved && !s.fetched(r) {
			s.run(r, w, len(r.block.Ins))
			continue
		}
		s.whole(r, w)
	}
}

// fetched tells whether all lines of code of a block are the latest of their sets: then referring to them changes nothing.
func (s *Simulator) fetched(r *recipe) bool {
	for i := range r.fetches {
		if l := r.fetches[i].line; s.latestI.of(l) != l+1 {
			return false
		}
	}
	r.latest = s.moved
	return true
}

// whole refers to the data of a whole execution, the fast way.
func (s *Simulator) whole(r *recipe, words []uint64) {
	ops := r.plain
	for {
		k := latestLines(ops, words, s.latestD, s.line)
		if k == len(ops) {
			return
		}
		op := &ops[k]
		addr := op.offset
		if op.word >= 0 {
			addr += words[op.word]
		}
		o := &r.ops[op.op]
		l := addr >> s.line
		if (addr+uint64(op.last))>>s.line != l {
			s.data(&r.ins[o.ins], addr, uint64(o.size), o.store)
		} else if s.h.L1D.line(l) {
			s.missed(&r.ins[o.ins], addr, uint64(o.size), o.store)
		}
		ops = ops[k+1:]
	}
}

// latestLines returns how many of some accesses, from the first on, are to one line each, the latest of its set: which
// changes nothing. It calls nothing, so that everything it needs stays in registers.
func latestLines(ops []plainOp, words []uint64, d *latest, shift uint) int {
	shift, mask := shift&63, d.mask
	for k := range ops {
		op := &ops[k]
		addr := op.offset
		if w := uint(op.word); w < uint(len(words)) { // -1 is none
			addr += words[w]
		}
		l := addr >> shift
		if d.tags[l&mask%mostLatest]^(l+1)|((addr+uint64(op.last))>>shift^l) != 0 {
			return k
		}
	}
	return len(ops)
}

// Single takes an execution that may be cut or emulated.
func (s *Simulator) Single(x *abp.Exec) {
	s.begin(x)
	r := s.recipe(x.Block.ID)
	if s.list != nil {
		s.list.begin(x.Block.ID, 0)
		s.list.ins = 0
	}
	for i := range x.Completed {
		r.ins[i].Executed++
	}
	if x.IsEmulated {
		s.cur = r
		for i := range r.ops {
			if r.ops[i].kind == opFetch {
				s.fetch(&r.ins[0], r.ops[i].offset, uint64(r.ops[i].size))
			}
		}
		s.x.ForEachAccess(s.each)
		return
	}
	for i := range r.ops {
		if op := &r.ops[i]; op.kind == opPlain && int(op.ins) < x.Completed {
			if op.store {
				r.ins[op.ins].Writes++
			} else {
				r.ins[op.ins].Reads++
			}
		}
	}
	s.run(r, x.Words, x.Completed)
}

// run refers to what the first completed instructions of an execution refer to.
func (s *Simulator) run(r *recipe, words []uint64, completed int) {
	for i := range r.ops {
		op := &r.ops[i]
		if int(op.ins) >= completed {
			return
		}
		if s.list != nil {
			s.list.ins = op.ins
		}
		switch op.kind {
		case opPlain:
			addr := op.offset
			if op.word >= 0 {
				addr += words[op.word]
			}
			if op.cut {
				addr = uint64(uint32(addr))
			}
			if op.seg != abp.SegNone {
				addr += s.base(op.seg)
			}
			s.data(&r.ins[op.ins], addr, uint64(op.size), op.store)
		case opMasked:
			s.masked(&r.ins[op.ins], op, words)
		case opFetch:
			s.fetch(&r.ins[op.ins], op.offset, uint64(op.size))
		default:
			s.cur = r
			s.x.Block, s.x.Words, s.x.Completed, s.x.IsEmulated = r.block, words, completed, false
			s.x.InsAccesses(int(op.ins), s.each)
		}
	}
}

// masked refers to the lanes of an access that a word says: string functions look at 32 bytes so, each by itself. Where that is all there is to a reference, lanes behind the first one in a line
// refer to what was used last, which changes nothing.
func (s *Simulator) masked(m *Misses, op *operation, words []uint64) {
	lanes := words[op.aux] & abp.LaneMask(op.lanes)
	n := uint64(bits.OnesCount64(lanes))
	if op.store {
		m.Writes += n
	} else {
		m.Reads += n
	}
	base := op.offset
	if op.word >= 0 {
		base += words[op.word]
	}
	size, latest, once := uint64(op.size), uint64(0), s.latestD != nil && s.list == nil && op.size > 0
	for ; lanes != 0; lanes &= lanes - 1 {
		addr := base + uint64(bits.TrailingZeros64(lanes))*size
		if op.cut {
			addr = uint64(uint32(addr))
		}
		if op.seg != abp.SegNone {
			addr += s.base(op.seg)
		}
		line := addr>>s.line + 1
		if once && line == latest && (addr+size-1)>>s.line+1 == line {
			continue
		}
		s.data(m, addr, size, op.store)
		latest = (addr+size-1)>>s.line + 1
	}
}

// base is a segment's.
func (s *Simulator) base(seg uint8) uint64 {
	if seg == abp.SegFS {
		return s.x.FSBase
	}
	return s.x.GSBase
}

// data refers to data.
func (s *Simulator) data(m *Misses, addr, size uint64, store bool) {
	if size == 0 {
		return
	}
	if s.h.DTLB != nil && s.h.DTLB.Miss(addr, size) {
		m.DTLB++
	}
	switch {
	case s.h.L1D == nil:
	case s.list != nil:
		kind := uint8(0)
		if store {
			kind = refStore
		}
		s.refer(reference{addr: addr, size: uint16(size), kind: kind})
	case s.h.related != nil:
		s.dataMissed(m, addr, store, s.h.related.data.access(addr, size, s.line))
	case s.h.L1D.Miss(addr, size):
		s.missed(m, addr, size, store)
	}
}

// dataMissed counts an access that so many levels have missed.
func (s *Simulator) dataMissed(m *Misses, addr uint64, store bool, levels int) {
	if levels == 0 {
		return
	}
	s.firstMissed(m, store)
	for i := range levels - 1 {
		s.levelMissed(m, i, store)
	}
	s.lines.miss(addr>>s.line, levels > 1 && levels == 1+len(s.h.Levels))
}

// codeMissed counts a fetch that so many levels have missed.
func (s *Simulator) codeMissed(m *Misses, levels int) {
	if levels == 0 {
		return
	}
	s.missedAny = true
	m.L1I++
	for i := range levels - 1 {
		s.levelMissedCode(m, i)
	}
}

// missed goes on behind the first level, or has another goroutine do so.
func (s *Simulator) missed(m *Misses, addr, size uint64, store bool) {
	if s.later != nil {
		s.item(item{m: m, addr: addr, size: size, store: store})
		return
	}
	s.goOn(m, addr, size, store)
}

// goOn goes on behind the first level.
func (s *Simulator) goOn(m *Misses, addr, size uint64, store bool) {
	s.firstMissed(m, store)
	s.lines.miss(addr>>s.line, s.behind(m, addr, size, store))
}

// firstMissed counts a miss of data in the first level.
func (s *Simulator) firstMissed(m *Misses, store bool) {
	s.missedAny = true
	if store {
		m.L1DWrite++
	} else {
		m.L1DRead++
	}
}

// levelMissed counts a miss of data in a level behind the first, and tells whether it is the last one.
func (s *Simulator) levelMissed(m *Misses, i int, store bool) (last bool) {
	switch {
	case i < len(s.h.Levels)-1:
		m.L2++
		return false
	case store:
		m.LLWrite++
	default:
		m.LLRead++
	}
	return true
}

// levelMissedCode counts a miss of code in a level behind the first.
func (s *Simulator) levelMissedCode(m *Misses, i int) {
	if i < len(s.h.Levels)-1 {
		m.L2++
	} else {
		m.LLI++
	}
}

// behind goes on in the levels behind the first and tells whether the last one missed.
func (s *Simulator) behind(m *Misses, addr, size uint64, store bool) (last bool) {
	for i, c := range s.h.Levels {
		if !c.Miss(addr, size) {
			return false
		}
		last = s.levelMissed(m, i, store)
	}
	return last
}

// fetch refers to an instruction's lines.
func (s *Simulator) fetch(m *Misses, addr, size uint64) {
	if s.h.ITLB != nil && s.h.ITLB.Miss(addr, size) {
		m.ITLB++
	}
	if s.list != nil {
		s.moved++
		s.refer(reference{addr: addr, size: uint16(size), kind: refCode})
		return
	}
	if s.latestI != nil {
		if l := addr >> s.h.L1I.shift; s.latestI.of(l) == l+1 && (addr+size-1)>>s.h.L1I.shift == l {
			return
		}
	}
	if s.h.related != nil {
		s.codeMissed(m, s.h.related.code.access(addr, size, s.h.L1I.shift))
		return
	}
	s.moved++
	if s.h.L1I.Miss(addr, size) {
		s.fetchMissed(m, addr, size)
	}
}

// fetchMissed is missed of code.
func (s *Simulator) fetchMissed(m *Misses, addr, size uint64) {
	if s.later != nil {
		s.item(item{m: m, addr: addr, size: size, code: true})
		return
	}
	s.goOnCode(m, addr, size)
}

// goOnCode goes on behind the first level of code.
func (s *Simulator) goOnCode(m *Misses, addr, size uint64) {
	s.missedAny = true
	m.L1I++
	for i, c := range s.h.Levels {
		if !c.Miss(addr, size) {
			return
		}
		s.levelMissedCode(m, i)
	}
}

// Take calls f with what the instructions of a block have missed since the last time, and forgets it: for who asks after each execution, of a simulator that does one after the
// other.
func (s *Simulator) Take(b *abp.Block, f func(ins int, m *Misses)) {
	if !s.missedAny {
		return
	}
	s.missedAny = false
	r := s.recipe(b.ID)
	for i := range r.ins {
		if m := &r.ins[i]; m.first() > 0 {
			f(i, m)
			*m = Misses{}
		}
	}
}
