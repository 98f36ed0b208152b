package paths

import (
	"cmp"
	"slices"
)

// graph is the control flow of one function as it was met: runs by address, and the edges between them that do not lead
// back. All of these lead to higher addresses: runs are in topological order.
type graph struct {
	runs []*run
	by   map[uint64]*run
}

// run is a node of the graph.
type run struct {
	addr         uint64
	next         []*run // by address
	begins, ends bool   // some path begins, or ends, with it
	paths        uint64 // from here to where paths end; 0: more than can be counted
	met          float64
	instructions float64
	jump         uint64
}

// manyPaths is how many can be numbered.
const manyPaths = 1 << 62

// at returns a run, made if it is new.
func (g *graph) at(addr uint64) *run {
	r := g.by[addr]
	if r == nil {
		r = &run{addr: addr}
		g.by[addr], g.runs = r, append(g.runs, r)
	}
	return r
}

// edge adds an edge.
func (g *graph) edge(from, to *run) {
	if !slices.Contains(from.next, to) {
		from.next = append(from.next, to)
	}
}

// number counts the paths from each run on, and returns how many there are in all; 0: too many.
func (g *graph) number() uint64 {
	slices.SortFunc(g.runs, func(a, b *run) int { return cmp.Compare(b.addr, a.addr) })
	all := uint64(0)
	for _, r := range g.runs {
		slices.SortFunc(r.next, func(a, b *run) int { return cmp.Compare(a.addr, b.addr) })
		if r.ends {
			r.paths = 1
		}
		many := false
		for _, n := range r.next {
			r.paths += n.paths
			many = many || n.paths == 0
		}
		if many || r.paths >= manyPaths {
			r.paths = 0
		}
	}
	for _, r := range slices.Backward(g.runs) {
		if !r.begins {
			continue
		}
		if r.paths == 0 || all+r.paths >= manyPaths {
			return 0
		}
		all += r.paths
	}
	return all
}

// of is the number of a path, given by the addresses of its runs: what the edges along it add up to, as Ball and Larus have them. It
// means nothing where there are too many.
func (g *graph) of(path []uint64) (number uint64) {
	// The edge from the function's entry to the first run, over those to beginnings at lower addresses.
	for _, r := range slices.Backward(g.runs) {
		if r.addr == path[0] {
			break
		}
		if r.begins {
			number += r.paths
		}
	}
	for i, addr := range path {
		r := g.by[addr]
		if i == len(path)-1 {
			break // the edge to the end comes first, with 0
		}
		if r.ends {
			number++
		}
		for _, n := range r.next {
			if n.addr == path[i+1] {
				break
			}
			number += n.paths
		}
	}
	return number
}
