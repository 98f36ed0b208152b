package counts

import (
	"alleria/engine/recovery"
	"alleria/engine/shm"
	"alleria/engine/translate"
	"alleria/internal/layout"
)

// Edges calls f for each branch that has led into a function, and how often it has, with a negative number of times for calls that
// a block counts and that were not executed: f must add in uint64. Indirect jumps come with all their targets. Only for a thread that is stopped or has ended.
func (t *Thread) Edges(partial []recovery.Partial, f func(e translate.Edge, times uint64)) {
	t.counters(f)
	t.partialCalls(partial, f)
	for k, e := range t.entries.Edges.Pairs[t.slot.Index] {
		if n := t.slot.Get(countOff(k)); n != 0 {
			f(e, n)
		}
	}
	for e, n := range t.edges {
		f(e, n)
	}
}

// counters tells of what blocks that end with calls, and jumps into functions, have counted.
func (t *Thread) counters(f func(e translate.Edge, times uint64)) {
	edges := &t.entries.Edges
	if !edges.On {
		return
	}
	for i, num := range t.cache.Counters.All() {
		n := t.slot.Get(layout.CounterOff + 8*i)
		if n == 0 || t.entries.IsJump(i) {
			continue
		}
		e, ok := edges.Jumps[i]
		if !ok {
			e, ok = edges.Calls[num]
		}
		if ok {
			f(e, n)
		}
	}
}

// partialCalls tells of blocks that were left before the calls that they end with.
func (t *Thread) partialCalls(partial []recovery.Partial, f func(e translate.Edge, times uint64)) {
	if !t.entries.Edges.On {
		return
	}
	for _, c := range partial[t.folded:] {
		if e, ok := t.entries.Edges.Calls[c.Block.Num]; ok && c.Done < int(c.Block.Insns) {
			f(e, ^uint64(0))
		}
	}
}

// keepEdges takes what counters say of edges before blocks are forgotten, which numbers are of then.
func (t *Thread) keepEdges(partial []recovery.Partial) {
	t.counters(t.Led)
	t.partialCalls(partial, t.Led)
	t.folded = len(partial)
}

// Led counts an edge some times.
func (t *Thread) Led(e translate.Edge, times uint64) {
	if !t.entries.Edges.On {
		return
	}
	if t.edges == nil {
		t.edges = make(map[translate.Edge]uint64)
	}
	t.edges[e] += times
}

// Site is the branch of a number.
func (t *Thread) Site(n uint32) translate.Site { return t.entries.Edges.Sites[n].Site }

// Branched counts a branch, by its number, to a target that the thread's table has no entry for, and makes one for the next time.
// What had the entry before is kept here: it asks once more when it comes again.
func (t *Thread) Branched(site uint32, to uint64) {
	edges := &t.entries.Edges
	s := edges.Sites[site]
	e := translate.Edge{From: s.Addr, To: to, Jump: s.Jump}
	k, ok := edges.Entry(site, to)
	if !ok {
		t.Led(e, 1)
		return
	}
	pairs := edges.Pairs[t.slot.Index]
	if pairs == nil {
		pairs = make(map[uint32]translate.Edge)
		edges.Pairs[t.slot.Index] = pairs
	}
	edges.Meet(translate.Pair{Site: site, To: to})
	was, ok := pairs[k]
	if ok && was == e { // it was given between the thread's look and its question
		t.slot.Set(countOff(k), t.slot.Get(countOff(k))+1)
		return
	}
	if ok && t.slot.Get(countOff(k)) > 0 {
		t.Led(was, t.slot.Get(countOff(k)))
		edges.Took(t.cache, site)
	}
	pairs[k] = e
	t.slot.Set(keyOff(k), -to)
	t.slot.Set(countOff(k), 1)
	t.GiveEdges()
}

// GiveEdges gives the thread's table entries for what others have asked about, so that it need not. It may run meanwhile: an entry that nobody has is given as a whole by its key.
func (t *Thread) GiveEdges() {
	edges := &t.entries.Edges
	if t.given == len(edges.Met) {
		return
	}
	pairs := edges.Pairs[t.slot.Index]
	if pairs == nil {
		pairs = make(map[uint32]translate.Edge, len(edges.Met))
		edges.Pairs[t.slot.Index] = pairs
	}
	for ; t.given < len(edges.Met); t.given++ {
		m := edges.Met[t.given]
		k, ok := edges.Entry(m.Site, m.To)
		if _, has := pairs[k]; has || !ok {
			continue
		}
		s := &edges.Sites[m.Site]
		pairs[k] = translate.Edge{From: s.Addr, To: m.To, Jump: s.Jump}
		t.slot.Set(keyOff(k), -m.To)
	}
}

// ClearEdges takes what another thread has left in a slot out of its table.
func ClearEdges(e *translate.EdgeCounts, s *shm.Slot) {
	for k := range e.Pairs[s.Index] {
		s.Set(keyOff(k), 0)
		s.Set(countOff(k), 0)
	}
	delete(e.Pairs, s.Index)
	s.U32(layout.EdgeSite).Store(0)
}

func keyOff(k uint32) int   { return layout.EdgeKeys + 8*int(k) }
func countOff(k uint32) int { return layout.EdgeCounts + 8*int(k) }
