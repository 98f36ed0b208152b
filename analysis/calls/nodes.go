package calls

import (
	"math"

	"alleria/abp"
	"alleria/analysis"
)

// nodes is a tree while it grows: nodes by number, in pieces of one slice without pointers,
// and a hash table from a parent, a function and a call site to the child.
type nodes struct {
	all   []node
	table []int32 // open addressing; number + 1, 0: free
	shift uint
}

// node is a function in the context of its callers.
type node struct {
	parent, fn int32
	depth      int32
	last       int32 // the child that was looked up last, 0 none
	site       uint64
	calls      uint64
	own        abp.Counts
}

// root is the number of the node above all others. It has no function.
const root = 0

func newNodes() *nodes {
	return &nodes{all: []node{{parent: -1, fn: -1}}, table: make([]int32, 1<<10), shift: 64 - 10}
}

// child returns the child of a node for a function called from a site, made if it is new.
// Below MaxDepth it is a sibling instead.
func (t *nodes) child(parent, fn int32, site uint64) int32 {
	if t.all[parent].depth >= MaxDepth {
		parent = t.all[parent].parent
	}
	p := &t.all[parent]
	if l := p.last; l != 0 {
		if c := &t.all[l]; c.fn == fn && c.site == site {
			return l
		}
	}
	i := t.find(parent, fn, site)
	n := t.table[i] - 1
	if n < 0 {
		n = int32(len(t.all))
		t.all = append(t.all, node{parent: parent, fn: fn, site: site, depth: p.depth + 1})
		t.table[i] = n + 1
		if len(t.all)*2 > len(t.table) {
			t.grow()
		}
	}
	t.all[parent].last = n
	return n
}

// find returns the place of a child in the table, or the free one where it belongs.
func (t *nodes) find(parent, fn int32, site uint64) uint64 {
	h := (uint64(uint32(parent))<<32 ^ uint64(uint32(fn)) ^ site*0x9E3779B97F4A7C15) * 0xff51afd7ed558ccd
	mask := uint64(len(t.table) - 1)
	for i := h >> t.shift; ; i = (i + 1) & mask {
		n := t.table[i] - 1
		if n < 0 {
			return i
		}
		if c := &t.all[n]; c.parent == parent && c.fn == fn && c.site == site {
			return i
		}
	}
}

// grow doubles the table.
func (t *nodes) grow() {
	t.table = make([]int32, 2*len(t.table))
	t.shift--
	for n := 1; n < len(t.all); n++ {
		c := &t.all[n]
		t.table[t.find(c.parent, c.fn, c.site)] = int32(n + 1)
	}
}

// merge adds another tree of the same functions, with counts times scale. Parents have lower numbers than their
// children.
func (t *nodes) merge(o *nodes, scale float64) {
	to := make([]int32, len(o.all))
	t.all[root].own.Add(analysis.Scaled(o.all[root].own, scale), 1)
	for n := 1; n < len(o.all); n++ {
		c := &o.all[n]
		to[n] = t.child(to[c.parent], c.fn, c.site)
		d := &t.all[to[n]]
		d.calls += uint64(math.Round(float64(c.calls) * scale))
		d.own.Add(analysis.Scaled(c.own, scale), 1)
	}
}
