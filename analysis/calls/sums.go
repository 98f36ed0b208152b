package calls

import (
	"cmp"
	"slices"

	"alleria/abp"
)

// Method is a function, counted over the whole tree.
type Method struct {
	Func  *Function
	Calls uint64
	Own   abp.Counts
	Total abp.Counts // with all that it called; of a recursion once
	// Seconds of Own and Total, 0 where blocks were not stamped with their time.
	OwnSeconds, TotalSeconds float64
	// By how much of themselves Own and Total may be off, where they are estimates: 1 where nothing is known of it.
	OwnError, TotalError float64
}

// Edge is who called whom.
type Edge struct {
	Caller, Callee *Function // Caller is nil where it is not known
	Calls          uint64
	Total          abp.Counts // what the callee and all that it called count for; of a recursion once
	// Nested is the same with each call of a recursion by itself, so that what is inside of
	// several counts for each. It is what callgrind writes.
	Nested abp.Counts
	// Seconds of Total, 0 where blocks were not stamped with their time.
	Seconds float64
	Sites   []Site  // by calls, the most first
	Error   float64 // by how much of itself Total may be off, as in a Method
}

// Site is a place that an Edge's calls were made from.
type Site struct {
	Addr  uint64 // 0: they were jumps, signals or the like, or are of Merged nodes
	Calls uint64
}

// Methods counts by function, the most instructions of their own first.
func (t *Tree) Methods() []*Method {
	by := map[*Function]*Method{}
	open := map[*Function]int{}
	var out []*Method
	t.walk(func(n *Node) {
		m := by[n.Func]
		if m == nil {
			m = &Method{Func: n.Func, OwnError: t.error(ownKey(n.Func.number)), TotalError: t.error(inclusiveKey(n.Func.number))}
			by[n.Func], out = m, append(out, m)
		}
		m.Calls += n.Calls
		m.Own.Add(n.Own, 1)
		m.OwnSeconds += n.OwnSeconds
		if open[n.Func] == 0 {
			m.Total.Add(n.Total, 1)
			m.TotalSeconds += n.TotalSeconds
		}
		open[n.Func]++
	}, func(n *Node) { open[n.Func]-- })
	slices.SortFunc(out, func(a, b *Method) int {
		return cmp.Or(cmp.Compare(b.Own.Instructions, a.Own.Instructions), cmp.Compare(b.Total.Instructions, a.Total.Instructions), compareFunctions(a.Func, b.Func))
	})
	return out
}

// edgeKey names an Edge.
type edgeKey struct{ caller, callee *Function }

// Edges counts by caller and callee, the most instructions first.
func (t *Tree) Edges() []*Edge {
	by := map[edgeKey]*Edge{}
	sites := map[edgeKey]map[uint64]uint64{}
	open := map[edgeKey]int{}
	var out []*Edge
	t.walk(func(n *Node) {
		k := edgeKey{n.Parent.Func, n.Func}
		e := by[k]
		if e == nil {
			caller := int32(-1)
			if k.caller != nil {
				caller = k.caller.number
			}
			e = &Edge{Caller: k.caller, Callee: k.callee, Error: t.error(spreadEdge{caller, k.callee.number})}
			by[k], sites[k], out = e, map[uint64]uint64{}, append(out, e)
		}
		e.Calls += n.Calls
		e.Nested.Add(n.Total, 1)
		if open[k] == 0 {
			e.Total.Add(n.Total, 1)
			e.Seconds += n.TotalSeconds
		}
		open[k]++
		sites[k][n.Site] += n.Calls
	}, func(n *Node) { open[edgeKey{n.Parent.Func, n.Func}]-- })
	for k, e := range by {
		for a, c := range sites[k] {
			e.Sites = append(e.Sites, Site{a, c})
		}
		slices.SortFunc(e.Sites, func(a, b Site) int {
			return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Addr, b.Addr))
		})
	}
	slices.SortFunc(out, func(a, b *Edge) int {
		return cmp.Or(cmp.Compare(b.Total.Instructions, a.Total.Instructions), cmp.Compare(b.Calls, a.Calls),
			compareFunctions(a.Caller, b.Caller), compareFunctions(a.Callee, b.Callee))
	})
	return out
}

// compareFunctions orders by name, image and address, so that equal runs give equal tables.
func compareFunctions(a, b *Function) int {
	switch {
	case a == b:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Image, b.Image), cmp.Compare(a.Addr, b.Addr))
}

// walk visits every node but the root, before and behind its children.
func (t *Tree) walk(enter, leave func(n *Node)) {
	var visit func(n *Node)
	visit = func(n *Node) {
		enter(n)
		for _, c := range n.Children {
			visit(c)
		}
		leave(n)
	}
	for _, c := range t.Root.Children {
		visit(c)
	}
}

// byInclusive orders by inclusive instructions instead.
func byInclusive(m []*Method) []*Method {
	slices.SortStableFunc(m, func(a, b *Method) int { return cmp.Compare(b.Total.Instructions, a.Total.Instructions) })
	return m
}
