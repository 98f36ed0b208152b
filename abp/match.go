package abp

import (
	"slices"
	"sort"
)

// verdict is what is known of a block and the filters on code.
type verdict uint8

const (
	verdictUnknown verdict = iota
	verdictNone            // no instruction matches
	verdictSome
	verdictAll
)

// matcher applies a query to one process's executions. What depends on the
// block alone is decided once a block.
// It belongs to one Reader: verdicts are filled in as blocks are met.
type matcher struct {
	q        *Query
	p        *Process
	time     Range  // of the query, in this process
	plain    bool   // everything matches
	byCode   bool   // filters on functions or addresses are present
	windows  uint64 // a bit for each window that is asked for; 0: they are not
	noWindow bool   // they are, and the process has none of them
	funcs    map[uint32]bool
	ranges   []Range // of these functions
	blocks   []verdict
	dataHit  bool
	inData   func(*Mem) // sets dataHit; made once, so that no call allocates
}

// newMatcher resolves the query's names in one process.
// A name that no function has leaves nothing to match, which is no error here.
func newMatcher(p *Process, q *Query) *matcher {
	m := &matcher{q: q, p: p, time: q.TimeIn(p), byCode: len(q.Functions) > 0 || !q.Code.All()}
	m.plain = !m.byCode && q.Data.All() && m.time.All() && q.Ordinals.All() && len(q.Windows) == 0
	for _, d := range p.defs {
		if d.Index < 64 && slices.Contains(q.Windows, d.Name) {
			m.windows |= 1 << d.Index
		}
	}
	m.noWindow = m.windows == 0 && len(q.Windows) > 0
	m.blocks = make([]verdict, len(p.blocks))
	m.inData = func(a *Mem) {
		if q.Data.overlaps(a.Addr, a.Addr+uint64(max(a.Size, 1))-1) {
			m.dataHit = true
		}
	}
	if len(q.Functions) == 0 {
		return m
	}
	m.funcs = map[uint32]bool{}
	for i := range p.functions {
		f := &p.functions[i]
		if q.WantsFunction(f) {
			m.funcs[f.Number] = true
			m.ranges = append(m.ranges, Range{f.Addr, f.Addr + f.Size})
		}
	}
	sort.Slice(m.ranges, func(i, j int) bool { return m.ranges[i].From < m.ranges[j].From })
	return m
}

// code reports whether the filters on code take instruction i of a block.
func (m *matcher) code(b *Block, i int) bool {
	addr := b.InsAddr(i)
	if !m.q.Code.Contains(addr) {
		return false
	}
	if len(m.q.Functions) == 0 {
		return true
	}
	// What the recorder noted is right also where functions overlap; the address is
	// for code whose function was not asked for.
	if f := b.Ins[i].Func; f != 0 {
		return m.funcs[f]
	}
	// Functions do not nest: the last that starts at or before the address is the
	// only one that may hold it.
	n := sort.Search(len(m.ranges), func(k int) bool { return m.ranges[k].From > addr })
	return n > 0 && addr < m.ranges[n-1].To
}

// block returns what the filters on code say of a block.
// Instructions that are not recorded do not count: nothing of them can be yielded.
func (m *matcher) block(b *Block) verdict {
	v := &m.blocks[b.ID]
	if *v != verdictUnknown {
		return *v
	}
	n, recorded := 0, 0
	for i := range b.Ins {
		if b.Ins[i].Flags&InsRecorded == 0 {
			continue
		}
		recorded++
		if m.code(b, i) {
			n++
		}
	}
	switch {
	case n == 0:
		*v = verdictNone
	case n == recorded:
		*v = verdictAll
	default:
		*v = verdictSome
	}
	return *v
}

// exec reports whether anything of the execution matches.
//
// The tests are in the order of their costs. true is necessary for anything of the
// execution to be yielded, and sufficient for NextExec, which yields it whole.
func (m *matcher) exec(x *Exec) bool {
	if m.plain {
		return true
	}
	if m.noWindow || m.windows != 0 && x.Windows&m.windows == 0 {
		return false
	}
	if m.byCode && m.block(x.Block) == verdictNone || !m.time.Contains(x.TSC) {
		return false
	}
	if !m.q.Ordinals.All() {
		if n := x.ordinals(); n == 0 || !m.q.Ordinals.overlaps(x.Ordinal, x.Ordinal+n-1) {
			return false
		}
	}
	if m.q.Data.All() {
		return true
	}
	// Last, because it expands the execution.
	m.dataHit = false
	x.ForEachAccess(m.inData)
	return m.dataHit
}

// whole reports whether all of a matching execution matches.
func (m *matcher) whole(x *Exec) bool {
	if m.plain {
		return true
	}
	n := x.ordinals()
	return m.q.Data.All() && (!m.byCode || m.block(x.Block) == verdictAll) &&
		(m.q.Ordinals.All() || n > 0 && m.q.Ordinals.Contains(x.Ordinal) && m.q.Ordinals.Contains(x.Ordinal+n-1))
}

// ins reports whether instruction i of a matching execution matches.
// Time was asked once for the execution.
func (m *matcher) ins(x *Exec, i int, ordinal uint64) bool {
	if m.plain {
		return true
	}
	if !m.q.Ordinals.Contains(ordinal) {
		return false
	}
	return !m.byCode || m.block(x.Block) == verdictAll || m.code(x.Block, i)
}

// mem reports whether an access matches: any byte of it in the range.
// An access of no size (there are none, but a file may claim it) counts as one
// byte.
func (m *matcher) mem(a *Mem) bool {
	return m.plain || m.q.Data.All() || m.q.Data.overlaps(a.Addr, a.Addr+uint64(max(a.Size, 1))-1)
}
