package paths

import (
	"alleria/abp"
	"alleria/analysis/calls"
)

// steps carries out what steps do to paths. The same step of the same block does the same to a path that is at the same node, and most do little: so what it
// has led to is kept (edge), later executions only count, and what they count for is added up when somebody asks (settle).
type steps struct {
	units []unit  // steps of blocks
	of    []int32 // by block: the first of its units; 0: none
	edges []edge  // the first is none
	table []int32 // open addressing, by key: number of an edge, 0: free
	shift uint
	last  int32 // the edge that was gone along last
}

// unit is a step of a block: these of its instructions.
type unit struct {
	block    *abp.Block
	from, to int
	returned bool
	next     int32 // another unit of the block; 0: none
	plan     *blockPlan
}

// edge is what a unit does to a path.
type edge struct {
	key   edgeKey
	to    int32 // the node, 0: the path has ended
	then  int32 // the edge, of whatever function, that was gone along after it the last time
	from  uint64
	count uint64
}

// edgeKey is where it does that: state is before the step, fn the function that is running.
type edgeKey struct {
	unit, fn, node int32
	from           uint64
}

// maxEdges is how many are kept. Further ones are carried out each time.
const maxEdges = 1 << 22

// edgeBits is the binary logarithm of how many places the table has at first.
const edgeBits = 10

// newSteps knows nothing yet.
func newSteps() steps {
	return steps{units: make([]unit, 1), edges: make([]edge, 1), table: make([]int32, 1<<edgeBits), shift: 64 - edgeBits}
}

// unit is the number of a step's unit.
func (k *steps) unit(s *calls.Step, plan *blockPlan) int32 {
	id := int(s.Block.ID)
	if id >= len(k.of) {
		k.of = append(k.of, make([]int32, id+1-len(k.of)+len(k.of)/2)...)
	}
	for n := k.of[id]; n != 0; n = k.units[n].next {
		if u := &k.units[n]; u.from == s.From && u.to == s.To && u.returned == s.Returned() {
			return n
		}
	}
	n := int32(len(k.units))
	k.units = append(k.units, unit{block: s.Block, from: s.From, to: s.To, returned: s.Returned(), next: k.of[id], plan: plan})
	k.of[id] = n
	return n
}

// known is the edge of a key; nil: there is none yet.
func (k *steps) known(key *edgeKey) *edge {
	last := &k.edges[k.last]
	n := last.then
	e := &k.edges[n]
	if !e.key.is(key) {
		if n = k.table[k.find(key)]; n == 0 {
			return nil
		}
		e, last.then = &k.edges[n], n
	}
	k.last = n
	return e
}

// is compares two keys.
func (a *edgeKey) is(b *edgeKey) bool {
	return a.node == b.node && a.unit == b.unit && a.from == b.from && a.fn == b.fn
}

// find returns the place of an edge in the table, or the free one where it belongs.
func (k *steps) find(key *edgeKey) uint64 {
	mask := uint64(len(k.table) - 1)
	for i := (uint64(uint32(key.node))<<32 | uint64(uint32(key.unit))) * 0x9E3779B97F4A7C15 >> k.shift; ; i = (i + 1) & mask {
		n := k.table[i]
		if n == 0 {
			return i
		}
		if k.edges[n].key.is(key) {
			return i
		}
	}
}

// learn keeps where a unit has led.
func (k *steps) learn(key *edgeKey, to calls.State) {
	if len(k.edges) >= maxEdges {
		return
	}
	k.last = int32(len(k.edges))
	k.table[k.find(key)] = k.last
	k.edges = append(k.edges, edge{key: *key, to: to.Node, from: to.From})
	if 2*len(k.edges) <= len(k.table) {
		return
	}
	k.table = make([]int32, 2*len(k.table))
	k.shift--
	for n := 1; n < len(k.edges); n++ {
		k.table[k.find(&k.edges[n].key)] = int32(n)
	}
}

// forget forgets edges: nodes have become others.
func (k *steps) forget() {
	k.edges, k.last = k.edges[:1], 0
	clear(k.table)
}
