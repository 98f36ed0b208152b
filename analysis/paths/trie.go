package paths

// trie is the paths that were met: a node is a run behind those above it.
type trie struct {
	all   []node
	table []int32 // open addressing; number of a node, 0: free
	shift uint
}

// node is a run of a path. Node 0 is none.
type node struct {
	parent, fn, last int32 // last is the child that was asked for last
	depth            int32
	addr             uint64 // of its first instruction
	jump             uint64 // of its last one, 0: never got there
	// With fractions, where they are estimates: sums of what bursts stand for.
	met          float64 // how often it was begun
	ended        float64 // how often a path ended with it
	instructions float64 // executed in it
}

func newTrie() trie {
	return trie{all: make([]node, 1), table: make([]int32, 1<<8), shift: 64 - 8}
}

// child returns the run at an address behind a node, made if it is new; of node 0 the beginning of a path.
func (t *trie) child(parent, fn int32, addr uint64) int32 {
	if l := t.all[parent].last; l != 0 {
		if n := &t.all[l]; n.addr == addr && n.fn == fn {
			return l
		}
	}
	i := t.find(parent, fn, addr)
	n := t.table[i]
	if n == 0 {
		n = int32(len(t.all))
		t.all = append(t.all, node{parent: parent, fn: fn, addr: addr, depth: t.all[parent].depth + 1})
		t.table[i] = n
		if 2*len(t.all) > len(t.table) {
			t.grow()
		}
	}
	t.all[parent].last = n
	return n
}

// find returns the place of a node in the table, or the free one where it belongs.
func (t *trie) find(parent, fn int32, addr uint64) uint64 {
	mask := uint64(len(t.table) - 1)
	for i := (uint64(uint32(parent))<<32 ^ uint64(uint32(fn)) ^ addr*0x9E3779B97F4A7C15) * 0xff51afd7ed558ccd >> t.shift; ; i = (i + 1) & mask {
		n := t.table[i]
		if n == 0 {
			return i
		}
		if c := &t.all[n]; c.parent == parent && c.fn == fn && c.addr == addr {
			return i
		}
	}
}

// grow doubles the table.
func (t *trie) grow() {
	t.table = make([]int32, 2*len(t.table))
	t.shift--
	for n := 1; n < len(t.all); n++ {
		c := &t.all[n]
		t.table[t.find(c.parent, c.fn, c.addr)] = int32(n)
	}
}

// add counts instructions of a run; jump is its last one if that is among them.
func (t *trie) add(n int32, instructions float64, jump uint64) {
	c := &t.all[n]
	c.instructions += instructions
	if jump != 0 {
		c.jump = jump
	}
}

// end counts so many paths that end with a node.
func (t *trie) end(n int32, times float64) {
	if n != 0 {
		t.all[n].ended += times
	}
}

// has tells whether a run was met behind a node.
func (t *trie) has(parent, fn int32, addr uint64) bool { return t.table[t.find(parent, fn, addr)] != 0 }

// merge adds another trie of the same functions, times scale.
func (t *trie) merge(o *trie, scale float64) {
	to := make([]int32, len(o.all))
	for n := 1; n < len(o.all); n++ {
		c := &o.all[n]
		to[n] = t.child(to[c.parent], c.fn, c.addr)
		d := &t.all[to[n]]
		d.met += c.met * scale
		d.ended += c.ended * scale
		d.instructions += c.instructions * scale
		if c.jump != 0 {
			d.jump = c.jump
		}
	}
}

// clear has no paths.
func (t *trie) clear() {
	t.all = append(t.all[:0], node{})
	clear(t.table)
}
