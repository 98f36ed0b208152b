package translate

import (
	"alleria/engine/codecache"
	"alleria/internal/layout"
)

// What counters, blocks and hashes of entries are of stays with the translations that have them, for the next process of the program: its images lie elsewhere, so that each
// is taken with its own. Numbers of indirect branches and their hashes are in the code: whoever takes over goes on behind those that there are.

// Keep is all that there is to be known of the process's translations by others, by the images that they are of, and what its numbers go up to.
func (e *EntryCounts) Keep() (list []codecache.Entered, head codecache.EnteredHead) {
	if e.Function == nil {
		return nil, head
	}
	head = codecache.EnteredHead{On: 1, Sites: uint32(len(e.Edges.Sites)), Hashes: e.Edges.hashes}
	for n, entry := range e.Jumps {
		list = append(list, codecache.Entered{Kind: codecache.OwnJump, N: uint32(n), From: entry, To: entry})
	}
	for n, edge := range e.Edges.Calls {
		list = append(list, codecache.Entered{Kind: codecache.DirectCall, N: n, From: edge.From, To: edge.To})
	}
	for n, edge := range e.Edges.Jumps {
		list = append(list, codecache.Entered{Kind: codecache.DirectJump, N: uint32(n), From: edge.From, To: edge.To})
	}
	for n := range e.Edges.Sites {
		list = e.Edges.Sites[n].keep(uint32(n), list)
	}
	for p := range e.Edges.met {
		list = append(list, p.keep())
	}
	for _, p := range e.Edges.away {
		list = append(list, p.keep())
	}
	return list, head
}

// keep is the pair as it is kept, by the image of its target.
func (p Pair) keep() codecache.Entered {
	return codecache.Entered{Kind: codecache.Led, N: p.Site, From: p.To, To: p.To}
}

// keep adds an indirect branch, and where code has its hash. One that was taken over and that no image here has is another process's.
func (b *Branch) keep(n uint32, list []codecache.Entered) []codecache.Entered {
	if b.Addr == 0 {
		return list
	}
	one := codecache.Entered{Kind: codecache.Unhashed, N: n, From: b.Addr, To: b.Addr}
	if b.hashed {
		one.Kind, one.At = codecache.Indirect, b.hash
	}
	if b.Jump {
		one.Jump = 1
	}
	list = append(list, one)
	for _, p := range b.places {
		list = append(list, codecache.Entered{Kind: codecache.HashPlace, N: n, From: b.Addr, To: b.Addr, At: p.off, Region: p.region})
	}
	return list
}

// Worn tells whether too few hashes are left for others to go on, as each branch that meets others takes a new one, or there are too many branches.
func (e *EntryCounts) Worn() bool {
	return len(e.Edges.Sites) > codecache.MostSites || e.Edges.hashes > layout.EdgeEntries/4*3
}

// Reserve is for who takes translations over and has none yet: numbers go on behind theirs.
func (e *EntryCounts) Reserve(head codecache.EnteredHead) {
	e.Edges.Sites, e.Edges.hashes = make([]Branch, head.Sites), head.Hashes
}

// Take makes known what was kept of an image, which lies shift bytes further on.
func (e *EntryCounts) Take(list []codecache.Entered, shift uint64) {
	for i := range list {
		o := &list[i]
		edge := Edge{From: o.From + shift, To: o.To + shift, Jump: o.Kind == codecache.DirectJump}
		switch o.Kind {
		case codecache.OwnJump:
			e.Jumps[int(o.N)] = edge.To
		case codecache.DirectCall:
			e.Edges.Calls[o.N] = edge
		case codecache.DirectJump:
			e.Edges.Jumps[int(o.N)] = edge
		case codecache.Indirect, codecache.Unhashed:
			s := Site{Addr: edge.From, Jump: o.Jump != 0}
			b := &e.Edges.Sites[o.N]
			b.Site, b.hash, b.hashed, b.bears = s, o.At, o.Kind == codecache.Indirect, leastBorne
			e.Edges.number[s] = o.N
		case codecache.HashPlace:
			b := &e.Edges.Sites[o.N]
			b.places = append(b.places, place{o.Region, o.At})
		case codecache.Led:
			e.Edges.away = append(e.Edges.away, Pair{o.N, edge.To})
		}
	}
	e.Edges.cameHere()
}

// cameHere takes pairs of whose branches the images are known by now.
func (e *EdgeCounts) cameHere() {
	left := e.away[:0]
	for _, p := range e.away {
		if e.Sites[p.Site].Addr == 0 {
			left = append(left, p)
			continue
		}
		e.Meet(p)
	}
	e.away = left
}
