package analysis

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"alleria/abp"
)

// HeatOf counts the accesses of one process that q matches. Threads are counted
// side by side. progress may be nil.
func HeatOf(p *abp.Profile, proc *abp.Process, q abp.Query, block uint64, progress *Progress) (*Heat, error) {
	q.Processes = []uint32{proc.Number()}
	all := NewHeat(block)
	var (
		lock sync.Mutex // guards all and fail
		fail error
		wait sync.WaitGroup
	)
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, t := range proc.Threads() {
		if !wants(q.Threads, t.Number) {
			continue
		}
		tq := q
		tq.Threads = []uint32{t.Number}
		m := &meter{progress: progress, left: progress.expect(&t)}
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			h, err := heatOfThread(p, tq, block, m)
			lock.Lock()
			defer lock.Unlock()
			if err != nil && fail == nil {
				fail = err
			}
			all.Merge(h)
		})
	}
	wait.Wait()
	if fail != nil {
		return nil, fmt.Errorf("heat map of %s: %w", p.Path(), fail)
	}
	return all, nil
}

// wants reports whether a query's list, where empty means all, has n.
func wants(list []uint32, n uint32) bool { return len(list) == 0 || slices.Contains(list, n) }

// heatOfThread counts what a query that names one thread matches. A filter
// that takes executions apart costs the slow path, entry by entry: it is also
// the one that yields little.
func heatOfThread(p *abp.Profile, q abp.Query, block uint64, m *meter) (*Heat, error) {
	defer m.finish()
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
