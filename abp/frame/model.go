package frame

// Sizes of the tables that are looked up by hashes. They fit a second-level
// cache together with the slots of the blocks that matter.
const (
	idBits    = 16
	fcmBits   = 16
	valueBits = 16
)

// Multipliers of the hashes: fractions of the golden ratio.
const (
	mul32 = 0x9E3779B1
	mul64 = 0x9E3779B97F4A7C15
)

// mode is how a slot's next word is predicted.
type mode uint8

const (
	modeStride mode = iota // the last word plus slot.d
	modeStack              // the stack pointer plus slot.d
	modePrev               // the word written before, of whatever slot, plus slot.d
	modeFCM                // what followed the last word earlier
	modeWild               // not at all, see wild.go
)

// slot is the model's memory of one word of one block.
// Sixteen bytes, four to a cache line: what the loops walk over. A stride beyond 32
// bits is not kept, see fit.
type slot struct {
	last uint64
	d    int32
	mode mode
	// count is how many mispredictions there were, 255 at most; tried and good are of modeWild.
	count, tried, good uint8
}

// blockState is what the model looks at whenever a block is executed: 16 bytes,
// four to a cache line.
type blockState struct {
	base   uint32 // of its slots
	execs  uint32 // executions in this frame
	words  uint16
	weight uint16
	flags  uint8
	stack  uint8 // Shape.StackWord, from version 3 on Shape.TimeWord; noStack: none
	// With flagSpecial: how many of its words are addresses and how many values.
	addrs, values uint8
}

// blockPast is what it looks at only when it was mispredicted. What gen does not
// guard stays from frame to frame.
type blockPast struct {
	gen   uint32 // the frame that it was last touched in
	next  uint32 // the successors that it had before, latest first
	next2 uint32
}

// Flags of a blockState: what the straight loop over strides cannot do.
const (
	flagMixed   = 1 << iota // some slots are predicted in another way
	flagSpecial             // some words are no addresses
	flagDynamic             // its executions are listed
	flagLarge               // special, with more words than addrs and values count
	flagNone                // it is block 0, which is none
)

const noStack = 0xff

// growBlocks is by how many blocks at least the model's tables grow.
const growBlocks = 1 << 12

// model is what encoder and decoder keep in step.
//
// Every field is either a fact of the program (blocks' bases and flags, addrs, ops' words)
// and kept from frame to frame, or something learnt, which reset and touch forget: a
// frame must decode the same whatever was decoded before it.
type model struct {
	shape  func(id uint32) *Shape
	tame   bool // no slot becomes wild: the encoding of version 1
	plain  bool // nothing but blocks is predicted: versions 3 and 4, see dense.go
	strung bool // words of all executions together go in groups: version 4
	gen    uint32
	tables *tables      // what holds blocks, past and lasts; nil: Go's heap
	blocks []blockState // by number; 0 stands for what precedes the first
	past   []blockPast  // by number
	slots  []slot
	addrs  []uint64 // of blocks, by number; made where branches are recorded
	ops    []op     // like slots, for blocks with flagSpecial
	lasts  []uint64 // like slots, from version 3 on, which has no other table of words

	ids    []uint32 // the next block, by a hash of the last ones
	fcm    []uint64 // a slot's next word, by a hash of its last word
	values []uint64 // bytes in memory, by a hash of their address; made when needed

	hist  uint32 // hash of the last blocks
	last  uint32 // the last block
	stack uint64 // the stack pointer, as far as it is known
	prev  uint64 // the last address word
	time  uint64 // the last time stamp
}

// op says what a word of a special block is. A block has as many ops as words,
// in the order in which the words are encoded: addresses, values, the time
// stamp, the branch's outcome. Eight bytes, next to the block's others: large
// programs' models do not fit the caches, and every line more is one more miss.
type op struct {
	what uint16 // kind in the upper four bits, which word in the others
	addr int16  // of a value: the word that its address is made of, -1: unknown
	// off is added to that word. Of opCond: the target, from the block's address.
	off int32
}

// opKind is in place, so that no shift is needed to compare it.
type opKind uint16

const (
	opAddr   opKind = iota << opShift
	opMemory        // a value, predicted to be what was last seen at its address
	opStride        // a value, predicted by its slot's stride
	opTime
	opCond   // a branch's outcome: 1 if it went to its target
	opTarget // a branch's outcome: the address that it went to
)

const (
	opShift    = 12
	opWordMask = 1<<opShift - 1 // MaxWords fits
)

// kind and word take what apart.
func (o *op) kind() opKind { return opKind(o.what &^ opWordMask) }
func (o *op) word() int    { return int(o.what & opWordMask) }

// toggle changes the way in which a value is predicted.
func (o *op) toggle() { o.what ^= uint16(opMemory ^ opStride) }

// newModel returns a model without tables: reset makes them, because a decoder
// that is only asked for a frame's blocks needs none.
func newModel(shape func(uint32) *Shape) model { return model{shape: shape} }

// reset forgets everything that a frame must not know of the one before.
// Slots are not cleared here but when their block is first met: there are millions
// of them in a large program, and a frame touches few.
func (m *model) reset() {
	m.gen++
	if m.gen == 0 { // wrapped: old marks could be taken for new ones
		for i := range m.blocks {
			m.past[i].gen = 0
		}
		m.gen = 1
	}
	if len(m.blocks) == 0 {
		// The first are no block's: a base of 0 is none.
		if m.plain {
			m.addLasts(2 * groupWords) // the second are those of blocks without words
		} else {
			m.slots = make([]slot, 1)
		}
		m.grow(0)
		m.blocks[0].flags = flagNone
	}
	if m.ids == nil {
		m.ids = make([]uint32, 1<<idBits)
	}
	if m.fcm == nil && !m.plain {
		m.fcm = make([]uint64, 1<<fcmBits)
	}
	m.past[0] = blockPast{gen: m.gen}
	clear(m.ids)
	clear(m.fcm)
	clear(m.values)
	m.hist, m.last, m.stack, m.prev, m.time = 0, 0, 0, 0, 0
}

// grow makes room for a block's state.
func (m *model) grow(id uint32) {
	n := int(id) + 1 - len(m.blocks)
	if n <= 0 {
		return
	}
	n = len(m.blocks) + max(n, growBlocks)
	if m.tables != nil {
		m.blocks, m.past = grownTable(&m.tables.blocks, m.blocks, n), grownTable(&m.tables.past, m.past, n)
		return
	}
	// A large program grows this often: in steps, not by doubling, because what is
	// not used yet is memory too.
	n += len(m.blocks) / 8
	blocks, past := make([]blockState, n), make([]blockPast, n)
	copy(blocks, m.blocks)
	copy(past, m.past)
	m.blocks, m.past = blocks, past
}

// touched reports whether the frame has met a block.
func (m *model) touched(id uint32) bool {
	return id != 0 && int(id) < len(m.past) && m.past[id].gen == m.gen
}

// touch makes the state of a block that the frame has not met before. It
// returns false if there is no such block.
func (m *model) touch(id uint32) bool {
	if !m.filled(id) {
		s := m.shape(id)
		if id == 0 || s == nil || s.Words < 0 || s.Words > MaxWords {
			return false
		}
		m.grow(id)
		m.fill(id, s)
	}
	b, p := &m.blocks[id], &m.past[id]
	end := b.base + uint32(b.words)
	if m.plain {
		clear(m.lasts[b.base:end])
	} else {
		clear(m.slots[b.base:end])
	}
	if b.flags&flagSpecial != 0 {
		for i := b.base; i < end; i++ {
			if m.ops[i].kind() == opStride {
				m.ops[i].toggle()
			}
		}
	}
	b.execs = 0
	b.flags &^= flagMixed
	p.gen, p.next, p.next2 = m.gen, 0, 0
	return true
}

// fill notes what a block is, once for all frames.
// A shape that changes afterwards is not noticed: blocks are immutable.
func (m *model) fill(id uint32, s *Shape) {
	b := &m.blocks[id]
	if m.plain {
		m.fillPlain(b, s)
		return
	}
	b.base, b.words, b.weight = uint32(len(m.slots)), uint16(s.Words), uint16(s.Weight)
	m.slots = append(m.slots, make([]slot, s.Words)...)
	if s.BranchWord >= 0 || m.addrs != nil {
		m.noteAddr(id, s.Addr)
	}
	b.stack = noStack
	if s.StackWord >= 0 && int32(s.StackWord) < min(s.Words, noStack) {
		b.stack = uint8(s.StackWord)
	}
	if s.Dynamic {
		b.flags |= flagDynamic
	}
	if s.TimeWord >= 0 || s.BranchWord >= 0 || len(s.Values) > 0 {
		b.flags |= flagSpecial
		m.addOps(b, s)
	}
}

// fillPlain is fill for versions 3 and 4.
func (m *model) fillPlain(b *blockState, s *Shape) {
	b.base, b.words, b.weight, b.stack = uint32(len(m.lasts)), uint16(s.Words), uint16(s.Weight), noStack
	if s.Words == 0 {
		b.base = groupWords
	}
	// Whole groups, so that vectors need no masks: a masked store holds up the load behind it.
	m.addLasts(int(s.Words+groupWords-1) &^ (groupWords - 1))
	if s.TimeWord >= 0 && int32(s.TimeWord) < min(s.Words, noStack) {
		b.stack = uint8(s.TimeWord)
	}
	if s.Dynamic {
		b.flags |= flagDynamic
	}
}

// addLasts makes room for n more words of versions 3 and 4.
func (m *model) addLasts(n int) {
	if m.tables != nil {
		m.lasts = grownTable(&m.tables.lasts, m.lasts, len(m.lasts)+n)
		return
	}
	m.lasts = append(m.lasts, make([]uint64, n)...)
}

// filled tells whether a block's state and facts are set.
func (m *model) filled(id uint32) bool { return int(id) < len(m.blocks) && m.blocks[id].base != 0 }

// noteAddr keeps a block's address.
func (m *model) noteAddr(id uint32, addr uint64) {
	if n := len(m.blocks) - len(m.addrs); n > 0 {
		m.addrs = append(m.addrs, make([]uint64, n)...)
	}
	m.addrs[id] = addr
}

// addOps makes the ops of a special block.
//
// A word that several operands claim (two values at the same place cannot be, but a file
// may say so) belongs to the first: each word is encoded once.
func (m *model) addOps(b *blockState, s *Shape) {
	m.ops = append(m.ops, make([]op, len(m.slots)-len(m.ops))...)
	taken := make([]bool, s.Words) // words that are no addresses
	take := func(w int16) bool {
		ok := w >= 0 && int(w) < len(taken) && !taken[w]
		if ok {
			taken[w] = true
		}
		return ok
	}
	time, branch := take(s.TimeWord), take(s.BranchWord)
	var values []op
	for _, v := range s.Values {
		if take(v.Word) {
			values = append(values, op{what: uint16(opMemory) | uint16(v.Word), addr: v.AddrWord, off: fit(int64(v.Offset))})
			if o := &values[len(values)-1]; uint64(int64(o.off)) != v.Offset {
				o.addr = -1
			}
		}
	}
	ops := m.ops[b.base:]
	put := func(o op) {
		ops[0] = o
		ops = ops[1:]
	}
	for w := range taken {
		if !taken[w] {
			put(op{what: uint16(opAddr) | uint16(w)})
		}
	}
	b.addrs, b.values = uint8(int(b.words)-len(ops)), uint8(len(values))
	if s.Words > 255 {
		b.flags |= flagLarge
	}
	for _, o := range values {
		if int(o.addr) >= len(taken) || o.addr < 0 || taken[o.addr] {
			o.addr = -1 // only what is known before any value is decoded
		}
		put(o)
	}
	if time {
		put(op{what: uint16(opTime) | uint16(s.TimeWord)})
	}
	if branch && s.Conditional {
		put(op{what: uint16(opCond) | uint16(s.BranchWord), off: int32(s.Target - s.Addr)})
	} else if branch {
		put(op{what: uint16(opTarget) | uint16(s.BranchWord)})
	}
	if m.values == nil && len(values) > 0 {
		m.values = make([]uint64, 1<<valueBits)
	}
}

// addrOf returns the address of a block, 0 if there is no such block.
func (m *model) addrOf(id uint32) uint64 {
	if int(id) < len(m.addrs) && m.addrs[id] != 0 {
		return m.addrs[id]
	}
	s := m.shape(id)
	if s == nil || id == 0 {
		return 0
	}
	if m.filled(id) {
		m.noteAddr(id, s.Addr)
	}
	return s.Addr
}

// outcome predicts the branch word of a block from the address of what follows.
func (o *op) outcome(block, next uint64) uint64 {
	if o.kind() == opTarget {
		return next
	}
	if next == block+uint64(int64(o.off)) {
		return 1
	}
	return 0
}

// idIndex is where the prediction of the next block stands.
func idIndex(hist uint32) uint32 { return hist * mul32 >> (32 - idBits) }

// idHistory appends a block to the history: the newest counts most, and none
// counts for more than eight blocks.
func idHistory(hist, id uint32) uint32 { return hist<<4 ^ id }

// fcmIndex is where the successor of a word stands: what a slot that held it
// held next, whichever slot it was. That slots share what they learn makes
// python3's recordings 40 % smaller than a table by slot and word, because
// several instructions walk over the same objects.
func fcmIndex(last uint64) uint64 { return last * mul64 >> (64 - fcmBits) }

// valueIndex is where the bytes at an address stand.
func valueIndex(addr uint64) uint64 { return addr * mul64 >> (64 - valueBits) }

// learnSuccessor notes that id followed the last block where that was not
// predicted.
func (m *model) learnSuccessor(index, id uint32) {
	p := &m.past[m.last]
	if p.next != id {
		p.next2 = p.next
		p.next = id
	}
	m.ids[index] = id
}

// zigzag maps differences of small size to small numbers, whatever their sign: 0, -1, 1,
// -2 become 0, 1, 2, 3. unzigzag is its inverse.
func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
