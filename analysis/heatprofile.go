package analysis

import (
	"fmt"
	"sync"

	"alleria/abp"
	"alleria/analysis/pages"
)

// HeatOf counts the accesses of one process that q matches, for a map with
// blocks of so many bytes. Frames are counted side by side, by each goroutine into a count
// of its own: one shared count would be a lock or an atomic for each access, where
// merging costs one addition a page and goroutine. progress may be nil.
func HeatOf(p *abp.Profile, proc *abp.Process, q abp.Query, block uint64, progress *Progress) (*Heat, error) {
	all := NewHeat(block)
	var lock sync.Mutex // guards all
	_, err := eachFrame(proc, q, progress, func([]abp.Thread) func() frameWorker {
		return func() frameWorker {
			return &heatWorker{reader: p.FrameReader(q), proc: proc, feed: newHeatFeed(NewHeat(block)),
				entries: picksInstructions(q), execs: picksExecutions(q), scale: 1,
				merge: func(h *Heat) {
					lock.Lock()
					defer lock.Unlock()
					all.Merge(h)
				}}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("heat map of %s: %w", p.Path(), err)
	}
	return all, nil
}

// heatWorker counts frames on one goroutine.
type heatWorker struct {
	reader  *abp.Reader
	proc    *abp.Process
	feed    *heatFeed
	entries bool // a filter picks out instructions
	execs   bool // a filter picks out executions
	merge   func(*Heat)
	scale   float64 // of the frames that feed has counted
}

// frame counts one frame. A filter that takes executions apart costs the slow path,
// entry by entry: it is also the one that yields little.
func (w *heatWorker) frame(_ int, ref *abp.FrameRef) error {
	if s := w.proc.Scale(ref); s != w.scale { // of another share of what was executed
		w.done()
		w.scale = s
		heat := NewHeat(w.feed.heat.Grain())
		w.feed.heat, w.feed.add = heat, newHeatFeed(heat).add
	}
	r := w.reader
	r.Frame(w.proc, ref)
	switch {
	case w.entries:
		for r.Next() {
			if e := r.Entry(); e.Kind == abp.EntryMem {
				w.feed.heat.Add(e.Mem.Addr, e.Mem.Store, 1)
			}
		}
	case w.execs:
		for r.NextExec() {
			w.feed.exec(r.Exec())
		}
	default:
		for r.NextStretch() {
			if r.Stretch() == nil {
				w.feed.exec(r.Exec())
			} else {
				w.feed.stretch(r)
			}
		}
	}
	return r.Err()
}

// done adds the count to all.
func (w *heatWorker) done() {
	w.feed.heat.scale(w.scale)
	w.merge(w.feed.heat)
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
	words  int  // of an execution, its block's number included; 0: not looked at yet
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

// plan returns a block's plan.
func (f *heatFeed) plan(b *abp.Block) *heatPlan {
	f.plans = reach(f.plans, b.ID)
	plan := &f.plans[b.ID]
	if plan.words == 0 {
		*plan = planOf(b)
	}
	return plan
}

// exec counts one execution, by the block's plan if it ran to its end and has
// one.
func (f *heatFeed) exec(x *abp.Exec) {
	plan := f.plan(x.Block)
	if !plan.simple || x.IsEmulated || x.Completed < len(x.Block.Ins) {
		x.ForEachAccess(f.add)
		return
	}
	f.count(plan, x.Words)
}

// count counts a complete execution by its block's plan.
func (f *heatFeed) count(plan *heatPlan, words []uint64) {
	for i := range plan.plain {
		a := &plan.plain[i]
		addr := a.offset
		if a.word >= 0 {
			addr += words[a.word]
		}
		f.heat.Add(addr, a.store, 1)
	}
}

// stretch counts executions that follow one another.
func (f *heatFeed) stretch(r *abp.Reader) {
	words := r.Stretch()
	proc := r.Exec().Process
	for i := 0; i < len(words); {
		id := words[i]
		if id >= uint64(len(f.plans)) || f.plans[id].words == 0 {
			f.plan(proc.Block(uint32(id)))
		}
		plan := &f.plans[id]
		if plan.simple {
			f.count(plan, words[i+1:])
		} else {
			r.StretchExec(i).ForEachAccess(f.add)
		}
		i += plan.words
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
	p := heatPlan{words: b.Words + 1}
	for i := range b.Ins {
		if !b.Counted(i) {
			continue
		}
		for _, a := range b.InsAccesses(i) {
			if a.Kind != abp.AccessPlain || a.Seg != abp.SegNone || a.AddrBits != 64 {
				return heatPlan{words: b.Words + 1}
			}
			p.plain = append(p.plain, plainAccess{a.Word, a.Store, uint64(a.Offset)})
		}
	}
	p.simple = true
	return p
}

// HeatCount counts the accesses of executions that are handed to it one after the other: it is what
// feeds a Heat from elsewhere than a profile (a stream.Sink).
type HeatCount struct {
	*pages.Counter
	heat *Heat
}

// NewHeatCount makes an empty count; see NewHeat.
func NewHeatCount(block uint64) *HeatCount {
	h := NewHeat(block)
	return &HeatCount{Counter: pages.New(h.shift, h.Add), heat: h}
}

// Heat returns the count.
func (c *HeatCount) Heat() *Heat {
	c.Flush()
	return c.heat
}

// Scaled multiplies all counts.
func (h *Heat) Scaled(by float64) { h.scale(by) }
