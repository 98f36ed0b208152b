package paths

import (
	"alleria/abp"
	"alleria/analysis/calls"
)

// Bounds of what is kept. Paths that reach one end there.
const (
	maxRuns  = 1 << 10 // of a path
	maxNodes = 1 << 22 // of a thread
)

// Counter counts the paths of one thread. It is a stream.Sink.
type Counter struct {
	follow *calls.Observed
	blocks []*blockPlan // by number
	trie   trie
	known  steps
	singly bool    // each step is carried out, whether or not what it does is known
	times  float64 // how many executions are carried out at once
	counts bool    // what is executed counts
	all    *trie   // of bursts that are over; nil: there was none
	scale  float64 // what counts of this one are to be multiplied by
}

// blockPlan says where the runs of a block begin and end.
type blockPlan struct {
	jumps []int // its instructions that are jumps, in order
	part  bool  // it is a part of a repeated string instruction, which counts with its last part
}

// newCounter begins with a thread.
func newCounter(b *calls.Builder) *Counter {
	c := &Counter{trie: newTrie(), known: newSteps(), scale: 1, times: 1}
	c.follow = b.Observed(c.step, func(_ int32, s *calls.State) { c.end(s.Node) })
	c.follow.Uncounted()
	return c
}

// Stretch follows whole executions.
func (c *Counter) Stretch(state *abp.Exec, words []uint64) { c.follow.Stretch(state, words) }

// Single follows an execution that may be cut or emulated.
func (c *Counter) Single(x *abp.Exec) { c.follow.Single(x) }

// Scale says what a count of what comes stands for. It is stream.Scaled's.
func (c *Counter) Scale(by float64) { c.scale = by }

// Gap says that records are missing in front of what comes: paths end where they are.
func (c *Counter) Gap() {
	c.follow.Gap()
	if c.all == nil {
		t := newTrie()
		c.all = &t
	}
	c.settle()
	c.all.merge(&c.trie, c.scale)
	c.trie.clear()
	c.known.forget()
}

// finish ends all paths, since the thread has ended, and returns them.
func (c *Counter) finish() *trie {
	if c.all != nil || c.scale != 1 {
		c.Gap()
		return c.all
	}
	c.follow.Finish()
	c.settle()
	return &c.trie
}

// step follows some instructions of one function.
func (c *Counter) step(s *calls.Step) {
	st, p := s.State(), c.plan(s.Block)
	c.counts = s.Counted
	if c.singly || !s.Counted {
		u := unit{block: s.Block, from: s.From, to: s.To, returned: s.Returned(), plan: p}
		c.carryOut(st, s.Running(), &u)
		return
	}
	n := c.known.unit(s, p)
	key := edgeKey{unit: n, fn: s.Running(), node: st.Node, from: st.From}
	if e := c.known.known(&key); e != nil {
		e.count++
		st.Node, st.From = e.to, e.from
		return
	}
	c.carryOut(st, key.fn, &c.known.units[n])
	c.known.learn(&key, *st)
}

// settle adds up what edges have counted.
func (c *Counter) settle() {
	c.counts = true
	for i := range c.known.edges {
		if e := &c.known.edges[i]; e.count > 0 {
			c.times = float64(e.count)
			c.carryOut(&calls.State{Node: e.key.node, From: e.key.from}, e.key.fn, &c.known.units[e.key.unit])
			e.count = 0
		}
	}
	c.times = 1
}

// carryOut follows a step of a function.
//
// A state with a node and From is one whose last instruction was a jump, at From: what comes begins a run.
func (c *Counter) carryOut(st *calls.State, fn int32, u *unit) {
	b := u.block
	if st.Node == 0 || st.From != 0 {
		c.begin(st, fn, b.InsAddr(u.from))
	}
	if u.plan.part {
		return
	}
	from := u.from
	for _, j := range u.plan.jumps {
		if j < from || j >= u.to {
			continue
		}
		c.add(st.Node, j+1-from, b.InsAddr(j))
		from, st.From = j+1, b.InsAddr(j)
		if from < u.to {
			c.begin(st, fn, b.InsAddr(from))
		}
	}
	if from < u.to {
		c.add(st.Node, u.to-from, 0)
	}
	if u.returned {
		c.end(st.Node)
		*st = calls.State{}
	}
}

// begin begins a run at an address, and a path if none goes on.
func (c *Counter) begin(st *calls.State, fn int32, addr uint64) {
	n := &c.trie.all[st.Node]
	if st.Node != 0 && (addr <= st.From || n.depth >= maxRuns || n.fn != fn || len(c.trie.all) >= maxNodes && !c.trie.has(st.Node, fn, addr)) {
		c.end(st.Node)
		st.Node = 0
	}
	st.Node, st.From = c.trie.child(st.Node, fn, addr), 0
	if c.counts {
		c.trie.all[st.Node].met += c.times
	}
}

// add counts instructions of a run, if they are to count; jump is its last one if that is among them.
func (c *Counter) add(n int32, instructions int, jump uint64) {
	if !c.counts {
		instructions = 0
	}
	c.trie.add(n, float64(instructions)*c.times, jump)
}

// end counts a path that ends with a node, likewise.
func (c *Counter) end(n int32) {
	if c.counts {
		c.trie.end(n, c.times)
	}
}

// plan finds the jumps of a block.
func (c *Counter) plan(b *abp.Block) *blockPlan {
	for int(b.ID) >= len(c.blocks) {
		c.blocks = append(c.blocks, make([]*blockPlan, int(b.ID)+1-len(c.blocks)+len(c.blocks)/2)...)
	}
	if p := c.blocks[b.ID]; p != nil {
		return p
	}
	p := &blockPlan{part: len(b.Ins) > 0 && b.Ins[0].Flags&abp.InsPart != 0}
	for i := range b.Ins {
		if isJump(b.InsCode(i)) {
			p.jumps = append(p.jumps, i)
		}
	}
	c.blocks[b.ID] = p
	return p
}

// isJump tells jumps, conditional or not, by prefixes and opcode.
func isJump(code []byte) bool {
	i := 0
	for i < len(code) && isPrefix(code[i]) {
		i++
	}
	if i >= len(code) {
		return false
	}
	next := byte(0)
	if i+1 < len(code) {
		next = code[i+1]
	}
	switch op := code[i]; {
	case op&0xf0 == 0x70, op >= 0xe0 && op <= 0xe3, op == 0xe9, op == 0xeb:
		return true
	case op == 0x0f:
		return next&0xf0 == 0x80
	case op == 0xff:
		return next>>3&7 == 4 || next>>3&7 == 5
	}
	return false
}

// isPrefix reports whether a byte is a legacy prefix or a REX prefix.
func isPrefix(b byte) bool {
	switch b {
	case 0x66, 0x67, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0xf0:
		return true
	}
	return b&0xf0 == 0x40
}
