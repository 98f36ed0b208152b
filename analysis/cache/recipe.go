package cache

import "alleria/abp"

// opKind is a kind of step of a block.
type opKind uint8

const (
	opFetch  opKind = iota // of a line of code that the instruction before did not use
	opPlain                // an access of the plain kind
	opMasked               // an access of some lanes, as a word says
	opOther                // all accesses of an instruction, expanded
)

// operation is a step of a block.
type operation struct {
	kind   opKind
	store  bool
	seg    uint8
	cut    bool  // to 32 bits
	lanes  uint8 // of one of some lanes
	ins    uint16
	word   int16
	aux    int16 // of one of some lanes: which these are
	size   uint32
	offset uint64 // or the address of a fetch
}

// recipe is what executions of a block have in common.
type recipe struct {
	block *abp.Block
	words int
	ops   []operation
	runs  uint64
	ins   []Misses // what instructions missed; Executed, Reads and Writes only of what was not whole
	// What the fast way needs of a whole execution, if there is one.
	plain   []plainOp
	fetches []fetchOp
	fast    bool
	latest  uint64 // Simulator.moved when all of fetches were the latest lines of their sets
}

// plainOp is an access of the plain kind, of no segment but fs.
type plainOp struct {
	offset uint64 // with fs's base, if it is of that
	word   int32  // -1: none
	last   uint32 // its size less one
	op     uint32 // which of recipe.ops it is
}

// fetchOp is a line of code, and which of recipe.ops refers to it.
type fetchOp struct {
	line uint64
	op   uint32
}

// recipe returns the recipe of a block, made if it is new.
func (s *Simulator) recipe(id uint32) *recipe {
	for int(id) >= len(s.recipes) {
		s.recipes = append(s.recipes, make([]*recipe, int(id)+1-len(s.recipes)+len(s.recipes)/2)...)
	}
	if r := s.recipes[id]; r != nil {
		return r
	}
	b := s.proc.Block(id)
	r := &recipe{block: b, words: b.Words + 1, ins: make([]Misses, len(b.Ins))}
	last := uint64(0)
	for i := range b.Ins {
		addr, size := b.InsAddr(i), uint64(b.Ins[i].Len)
		if s.h.L1I != nil && size > 0 {
			first, end := addr>>s.h.L1I.shift, (addr+size-1)>>s.h.L1I.shift
			if i == 0 || first != last || end != last {
				r.ops = append(r.ops, operation{kind: opFetch, ins: uint16(i), offset: addr, size: uint32(size)})
			}
			last = end
		}
		if b.Counted(i) {
			r.accesses(i)
		}
	}
	r.prepare(s)
	s.recipes[id] = r
	if s.filter != nil {
		s.filter.plan(id, r)
	}
	return r
}

// prepare finds out whether whole executions can go the fast way.
func (r *recipe) prepare(s *Simulator) {
	if s.latestD == nil || s.h.L1I != nil && s.latestI == nil {
		return
	}
	for i := range r.ops {
		op := &r.ops[i]
		switch {
		case op.kind == opFetch:
			first, end := op.offset>>s.h.L1I.shift, (op.offset+uint64(op.size)-1)>>s.h.L1I.shift
			for l := first; l <= end; l++ {
				r.fetches = append(r.fetches, fetchOp{l, uint32(i)})
			}
		case op.kind != opPlain || op.seg != abp.SegNone && op.seg != abp.SegFS || op.cut || op.size == 0:
			return
		default:
			r.plain = append(r.plain, plainOp{op.offset, int32(op.word), op.size - 1, uint32(i)})
		}
	}
	r.fast = true
	for i := range r.plain {
		if p := &r.plain[i]; r.ops[p.op].seg == abp.SegFS {
			p.offset += s.fs
			s.inFS = append(s.inFS, p)
		}
	}
}

// accesses appends the accesses of an instruction.
func (r *recipe) accesses(i int) {
	all := r.block.InsAccesses(i)
	for k := range all {
		if kind := all[k].Kind; kind != abp.AccessPlain && kind != abp.AccessMasked {
			r.ops = append(r.ops, operation{kind: opOther, ins: uint16(i)})
			return
		}
	}
	for k := range all {
		a := &all[k]
		op := operation{kind: opPlain, store: a.Store, seg: a.Seg, cut: a.AddrBits == 32, ins: uint16(i), word: a.Word, size: a.Size, offset: uint64(a.Offset)}
		if a.Kind == abp.AccessMasked {
			op.kind, op.aux, op.lanes = opMasked, a.AuxWord, a.Lanes
		}
		r.ops = append(r.ops, op)
	}
}
