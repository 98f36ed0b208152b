package analysis

import (
	"fmt"
	"sync"

	"alleria/abp"
)

// HeatOf counts the accesses of one process that q matches, for a map with
// blocks of so many bytes. Threads are counted side by side, each into a count of
// its own: one shared count would be a lock or an atomic for each access, where
// merging costs one addition a page and thread. progress may be nil.
func HeatOf(p *abp.Profile, proc *abp.Process, q abp.Query, block uint64, progress *Progress) (*Heat, error) {
	all := NewHeat(block)
	var lock sync.Mutex // guards all
	_, err := eachThread(proc, q, progress, func(_ int, tq abp.Query, m *meter) error {
		h, err := heatOfThread(p, tq, block, m)
		// Merged at once and not at the end: at most one count a processor is held.
		lock.Lock()
		defer lock.Unlock()
		all.Merge(h)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("heat map of %s: %w", p.Path(), err)
	}
	return all, nil
}

// heatOfThread counts what a query that names one thread matches. A filter
// that takes executions apart costs the slow path, entry by entry: it is also
// the one that yields little.
//
// The count is returned also with an error: what a cut-off profile has is shown.
func heatOfThread(p *abp.Profile, q abp.Query, block uint64, m *meter) (*Heat, error) {
	h := NewHeat(block)
	r := p.Reader(q)
	if picksInstructions(q) {
		for r.Next() {
			if e := r.Entry(); e.Kind == abp.EntryMem {
				h.Add(e.Mem.Addr, e.Mem.Store, 1)
			}
			m.tick()
		}
		return h, r.Err()
	}
	f := newHeatFeed(h)
	for r.NextExec() {
		f.exec(r.Exec())
		m.tick()
	}
	return h, r.Err()
}

// heatFeed counts the accesses of executions. Nearly all blocks only have plain
// accesses, an address input plus an offset: those are counted straight from
// the words. Building a Mem for each of a billion accesses costs several times
// as much.
// Plans are by block number, which the recorder gives out one after the other, so
// that a slice serves where a map would cost more than the counting.
type heatFeed struct {
	heat  *Heat
	plans []heatPlan     // by block number
	add   func(*abp.Mem) // one function value for all: no closure for each execution
}

// heatPlan says how a block's accesses are counted.
type heatPlan struct {
	known  bool
	simple bool // only plain accesses
	plain  []plainAccess
}

// plainAccess is the part of an abp.Access that a plain one's address depends
// on, packed so that a block's lie together.
type plainAccess struct {
	word   int16 // NoWord: the offset alone
	store  bool
	offset uint64
}

// newHeatFeed feeds h. The plans grow with the blocks that are met.
func newHeatFeed(h *Heat) *heatFeed {
	return &heatFeed{heat: h, add: func(m *abp.Mem) { h.Add(m.Addr, m.Store, 1) }}
}

// exec counts one execution, by the block's plan if it ran to its end and has
// one.
// The slice doubles, like append's own growth: block numbers arrive in the order of
// translation, one new one at a time.
func (f *heatFeed) exec(x *abp.Exec) {
	b := x.Block
	if int(b.ID) >= len(f.plans) {
		f.plans = append(f.plans, make([]heatPlan, max(int(b.ID)+1-len(f.plans), len(f.plans)))...)
	}
	plan := &f.plans[b.ID]
	if !plan.known {
		*plan = planOf(b)
	}
	if !plan.simple || x.IsEmulated || x.Completed < len(b.Ins) {
		x.ForEachAccess(f.add)
		return
	}
	for i := range plan.plain {
		a := &plan.plain[i]
		addr := a.offset
		if a.word >= 0 {
			addr += x.Words[a.word]
		}
		f.heat.Add(addr, a.store, 1)
	}
}

// planOf looks at a block once. A single access that is not plain makes the
// whole block take the general path: mixing both would count out of order,
// and such blocks are rare.
//
// Refused are: segment overrides, whose base is a word of its own; 32-bit addresses,
// which wrap; and everything whose number of accesses only the run tells (strings,
// lanes). What the recorder did not record of an instruction does not count.
func planOf(b *abp.Block) heatPlan {
	p := heatPlan{known: true}
	for i := range b.Ins {
		if !b.Counted(i) {
			continue
		}
		for _, a := range b.InsAccesses(i) {
			if a.Kind != abp.AccessPlain || a.Seg != abp.SegNone || a.AddrBits != 64 {
				return heatPlan{known: true}
			}
			p.plain = append(p.plain, plainAccess{a.Word, a.Store, uint64(a.Offset)})
		}
	}
	p.simple = true
	return p
}
