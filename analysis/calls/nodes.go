package calls

import (
	"math"

	"alleria/abp"
	"alleria/internal/sys"
)

// nodes is a tree while it grows: nodes by number, in one slice without pointers, and a hash table from a parent, a function and a call site to the child.
type nodes struct {
	all   []node
	parts []part  // by number, the sums with fractions; nil: those of all are right
	table []entry // open addressing
	shift uint
	apart int // so many contexts are told apart by call sites, see anywhere
}

// MostSites is how many contexts a tree tells apart by the places that calls are made from, unless a Query says otherwise. Contexts that come behind these are one for all places in
// a caller: a function with two calls of itself has 2^n contexts in a recursion of depth n, which took 1.4 GB for the 1.3 M calls of fib(30).
// What functions count for, by themselves, inclusively and by caller, is the same either way.
const MostSites = 1 << 18

// anywhere is the site of a context that is one for all call sites in its caller: no instruction is there.
const anywhere = 1

// node is a function in the context of its callers.
type node struct {
	own        abp.Counts
	executed   uint64 // instructions that loops have followed, recorded or not
	calls      uint64
	parent, fn int32
	depth      int32
	met        [3]met // the children that loops have looked up last
	site       uint64
	ticks      uint64 // of the time stamp counter, where blocks are stamped
}

// met is a child that the loop in C has looked up, by the steps that lead there: what a call of one of a few places leads to lies where the caller's other numbers do.
// A node is two lines, of which the first has what is counted, and these take nothing else. from 0: none. A place for each step, whatever the caller, was the way
// before: a compiler's calls come from many, and it was another line to wait for.
type met struct {
	from, to uint32
	child    int32
}

// entry is a place of the table. It has what is looked for in itself: nodes are looked up all over a compiler's tree, and the child's own lines come with the first thing that it counts.
// It has the layout of C's.
type entry struct {
	site       uint64
	parent, fn int32
	child      int32 // 0: free
	_          [3]int32
}

// root is the number of the node above all others. It has no function.
const root = 0

func newNodes(apart int) *nodes {
	return &nodes{all: []node{{parent: -1, fn: -1}}, table: make([]entry, 1<<10), shift: 64 - 10, apart: apart}
}

// many tells whether call sites are not told apart any more.
func (t *nodes) many() bool { return len(t.all) > t.apart }

// child returns the child of a node for a function called from a site, made if it is new.
// Below MaxDepth it is a sibling instead.
func (t *nodes) child(parent, fn int32, site uint64) int32 {
	if t.all[parent].depth >= MaxDepth {
		parent = t.all[parent].parent
	}
	p := &t.all[parent]
	i := t.find(parent, fn, site)
	n := t.table[i].child
	if n == 0 && site > anywhere && t.many() {
		return t.child(parent, fn, anywhere)
	}
	if n == 0 {
		n = int32(len(t.all))
		if len(t.all) == cap(t.all) { // twice as many, where append has a quarter more: each copy is all there is
			t.all = append(sys.Large[node](2 * len(t.all))[:0], t.all...)
			p = &t.all[parent]
		}
		t.all = append(t.all, node{parent: parent, fn: fn, site: site, depth: p.depth + 1})
		t.table[i] = entry{site: site, parent: parent, fn: fn, child: n}
		if len(t.all)*2 > len(t.table) {
			t.grow()
		}
	}
	return n
}

// find returns the place of a child in the table, or the free one where it belongs.
func (t *nodes) find(parent, fn int32, site uint64) uint64 {
	h := (uint64(uint32(parent))<<32 ^ uint64(uint32(fn)) ^ site*0x9E3779B97F4A7C15) * 0xff51afd7ed558ccd
	mask := uint64(len(t.table) - 1)
	for i := h >> t.shift; ; i = (i + 1) & mask {
		if e := &t.table[i]; e.child == 0 || e.parent == parent && e.fn == fn && e.site == site {
			return i
		}
	}
}

// grow doubles the table.
func (t *nodes) grow() {
	t.table = sys.Large[entry](2 * len(t.table))
	t.shift--
	for n := 1; n < len(t.all); n++ {
		c := &t.all[n]
		t.table[t.find(c.parent, c.fn, c.site)] = entry{site: c.site, parent: c.parent, fn: c.fn, child: int32(n)}
	}
}

// merge adds another tree of the same functions, with counts times scale, and returns its nodes' numbers here. Where a
// scale is not 1 sums are kept with fractions until round: a node that a burst has met once is twenty, and a half is not
// to be lost each time.
func (t *nodes) merge(o *nodes, scale float64) []int32 {
	if scale != 1 && t.parts == nil {
		t.fractions()
	}
	to := make([]int32, len(o.all))
	var place func(n int32) int32 // of a node; its parent has a higher number where it was found later (adopt)
	place = func(n int32) int32 {
		if n != root && to[n] == 0 {
			c := &o.all[n]
			to[n] = t.child(place(c.parent), c.fn, c.site)
		}
		return to[n]
	}
	for n := range o.all {
		t.sum(place(int32(n)), o.parted(int32(n)), scale)
	}
	return to
}

// part is what a node counts for, with fractions.
type part struct {
	calls, ticks float64
	own          [6]float64
}

// parted is what a node counts for.
func (t *nodes) parted(n int32) part {
	if t.parts != nil {
		return t.parts[n]
	}
	c := &t.all[n]
	return part{float64(c.calls), float64(c.ticks), [6]float64{float64(c.own.Instructions), float64(c.own.MemInstructions),
		float64(c.own.Loads), float64(c.own.Stores), float64(c.own.BytesRead), float64(c.own.BytesWritten)}}
}

// fractions has sums kept with fractions.
func (t *nodes) fractions() {
	parts := make([]part, len(t.all))
	for n := range t.all {
		parts[n] = t.parted(int32(n))
	}
	t.parts = parts
}

// sum adds to a node.
func (t *nodes) sum(n int32, p part, scale float64) {
	if t.parts == nil {
		c := p.rounded()
		d := &t.all[n]
		d.calls += c.calls
		d.ticks += c.ticks
		d.own.Add(c.own, 1)
		return
	}
	for len(t.parts) < len(t.all) {
		t.parts = append(t.parts, part{})
	}
	d := &t.parts[n]
	d.calls += p.calls * scale
	d.ticks += p.ticks * scale
	for i := range p.own {
		d.own[i] += p.own[i] * scale
	}
}

// rounded is whole numbers of it.
func (p *part) rounded() (n node) {
	f := func(v float64) uint64 { return uint64(math.Round(v)) }
	n.calls, n.ticks = f(p.calls), f(p.ticks)
	n.own = abp.Counts{Instructions: f(p.own[0]), MemInstructions: f(p.own[1]), Loads: f(p.own[2]), Stores: f(p.own[3]),
		BytesRead: f(p.own[4]), BytesWritten: f(p.own[5])}
	return n
}

// round has whole numbers of all sums.
func (t *nodes) round() {
	for n := range t.parts {
		c := t.parts[n].rounded()
		t.all[n].calls, t.all[n].ticks, t.all[n].own = c.calls, c.ticks, c.own
	}
	t.parts = nil
}

// adopt puts a child of the root below one of function fn that has called it from a site, and returns that one. Nobody has met it: frames are of the root's children at least.
func (t *nodes) adopt(child, fn int32, site uint64) int32 {
	c := &t.all[child]
	if e := &t.table[t.find(c.parent, c.fn, c.site)]; e.child == child {
		e.parent = nobody // it may be of the same function: not to be found
	}
	c.parent = nobody
	n := t.child(root, fn, 0)
	t.all[child].parent, t.all[child].site = n, site
	return n
}

// nobody is the parent of a node for which one is being looked for.
const nobody = -2

// clear has nothing but the root.
func (t *nodes) clear() {
	t.all = append(t.all[:0], node{parent: -1, fn: -1})
	clear(t.table)
}
