package calls

import (
	"slices"

	"alleria/analysis"
)

// bursts is what a Tracker keeps where only bursts of a thread were recorded. Each burst has a tree of its own: nothing
// says what has returned before it begins, so that its stack is empty. The tree is added to that of all bursts when the
// burst is over.
type bursts struct {
	all      *nodes  // of the bursts that are over; nil: there was none
	scale    float64 // what counts of this one are to be multiplied by
	executed uint64  // instructions of this one, recorded or not
	whole    bool    // all callers of this one are known
	lacking  float64 // instructions of those whose callers are not all known, recorded or not, times what they stand for
	sum      float64 // and of all
	sampled  bool    // it is known already that there will be more than one
	spread   *analysis.Spread
	// flushed is told of the numbers that the burst's nodes have among those of all, and of the scale; nil: nobody.
	flushed func(to []int32, scale float64)
}

// Scale says what a count of what comes stands for. It is stream.Scaled's.
func (t *Tracker) Scale(by float64) { t.bursts.scale = by }

// Gap says that records are missing in front of what comes: what ended the last execution has nothing to do
// with what the next one begins with, and what has returned in between is not known.
func (t *Tracker) Gap() {
	t.finishFrames()
	t.dormant, t.bySlot = nil, map[uint64]int{}
	t.pend, t.match, t.clock = pending{}, -1, clock{}
	b := &t.bursts
	if b.all == nil {
		b.all = newNodes(t.nodes.apart)
	}
	for n := range t.nodes.all {
		b.executed += t.nodes.all[n].executed
	}
	if b.spread != nil && b.executed > 0 {
		b.spread.Add(float64(b.executed)*b.scale, t.nodes.spread(b.scale))
	}
	to := b.all.merge(t.nodes, b.scale)
	if b.flushed != nil {
		b.flushed(to, b.scale)
	}
	b.sum += float64(b.executed) * b.scale
	if !b.whole {
		b.lacking += float64(b.executed) * b.scale
	}
	b.executed, b.whole = 0, false
	t.nodes.clear()
}

// Keys of a Spread: a function's own instructions, those with what it calls, by number, and those of an edge.
type (
	ownKey       int32
	inclusiveKey int32
	spreadEdge   struct{ caller, callee int32 }
)

// spread lists what a burst counts by function and edge.
func (t *nodes) spread(scale float64) map[any]float64 {
	out := map[any]float64{}
	children := make([][]int32, len(t.all))
	for n := 1; n < len(t.all); n++ {
		children[t.all[n].parent] = append(children[t.all[n].parent], int32(n))
	}
	open := map[any]bool{}
	var visit func(n int32) float64
	visit = func(n int32) float64 {
		c := &t.all[n]
		own := float64(c.own.Instructions) * scale
		f, e := inclusiveKey(c.fn), spreadEdge{-1, c.fn}
		if c.parent > root {
			e.caller = t.all[c.parent].fn
		}
		outer, outerEdge := !open[f], !open[e]
		open[f], open[e] = true, true
		total := own
		for _, k := range children[n] {
			total += visit(k)
		}
		out[nil] += own
		out[ownKey(c.fn)] += own
		if outer {
			out[f] += total
			open[f] = false
		}
		if outerEdge {
			out[e] += total
			open[e] = false
		}
		return total
	}
	for _, n := range children[root] {
		visit(n)
	}
	return out
}

// error is by how much of itself a count of bursts may be off, with a confidence of 95 %. 0 where everything was recorded
// or it was not found out, 1 where nothing is known.
func (t *Tree) error(key any) float64 {
	if t.spread == nil {
		return 0
	}
	// Bursts tell here what was recorded of them. Where that is not most of the code, how often they meet it is chance as well.
	if t.spread.Executed() < 0.75*float64(t.Sampling.Recorded+t.Sampling.Passed) {
		return 1
	}
	return t.spread.Error(key, t.Sampling.Part())
}

// found is asked where a return left the outermost frame of a burst, for an address of function fn: that is who had
// called it, before the burst. All that the burst has done so far belongs below fn.
func (t *Tracker) found(addr uint64, fn int32) bool {
	if !t.bursts.sampled && t.bursts.all == nil || len(t.frames) == 0 || slices.ContainsFunc(t.frames[1:], func(f frame) bool { return !f.tail }) {
		return false
	}
	base := &t.frames[0]
	if base.slot != 0 || base.tail || t.nodes.all[base.node].parent != root {
		return false
	}
	if f := t.function(fn); f.Addr != 0 && f.Addr == addr { // no function returns to another's first instruction
		return false
	}
	n := t.nodes.adopt(base.node, fn, t.pl.site(addr))
	t.keep(0)
	t.frames = append(t.frames, frame{node: n, fn: fn, match: t.function(fn).match})
	return true
}

// clock is the time stamp that was met last, and whose it was.
type clock struct {
	at   uint64 // 0: none
	node int32  // that its block ended in
	on   bool   // it counts
}

// stamp says when a block began. The time since the last one belongs to the node that that one ended in: a block may go
// on through calls, and what takes long (a system call, waiting) is at its end.
func (t *Tracker) stamp(tsc uint64) {
	if c := &t.clock; c.at != 0 && c.on && tsc > c.at {
		t.nodes.all[c.node].ticks += tsc - c.at
	}
	t.clock = clock{tsc, t.cur, t.count}
}
