package analysis

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"slices"
	"strconv"

	"alleria/abp"
)

// blockText is what a complete execution of a block looks like in a dump: text that is always the same, with
// numbers between. It is made once a block, so that an execution is copying text and writing numbers, with
// no entry in between.
//
// It has one form for text and JSON: what differs is how numbers are written, and what stands around them.
type blockText struct {
	usual bool // else the block is written entry by entry
	holes []hole
	rest  string // behind the last
	// most is the bytes of an execution at most, the targets of indirect branches not counted.
	most int
}

// hole is a number in a blockText, with the text before it.
type hole struct {
	before string
	what   holeKind
	access *abp.Access // holeAddress, holeValue
	// goes and stays are what stands for a conditional branch.
	goes, stays string
}

type holeKind uint8

const (
	holeOrdinal holeKind = iota // with what the thread's instructions begin with
	holeAddress
	holeValue
	holeTime   // with goes in front of it, if the execution has one
	holeWay    // goes or stays
	holeTarget // where an indirect branch went
)

// maxBlockTexts is how many instructions' texts are remembered for blocks, see maxTexts.
const maxBlockTexts = 1 << 18

// blockForm is what the forms of dumps give blockDump.
type blockForm interface {
	// insParts returns the texts of an instruction. e has it and what it belongs to.
	insParts(e *abp.Entry) insText
	// accessParts returns the texts around an access's address and value; first is true for an instruction's
	// first.
	accessParts(a *abp.Access, first bool) accessText
	// accessesEnd ends the list of an instruction's accesses.
	accessesEnd() string
	// went returns the text of a branch; taken to no known place with addr 0.
	went(k branchTarget, taken bool) string
	// ordinalOf begins the thread's instructions; padded says that numbers stand in columns.
	ordinalOf(k threadKey) (prefix string, padded bool)
}

// insText is what stands behind an instruction's number: in front of its time and behind it, if it has one, and
// behind its accesses.
type insText struct{ behind, time, timeEnd, end string }

// accessText is what stands around an access's numbers: in front of its address, behind it, in front of a value
// and behind it, if there is one, and at the end.
type accessText struct{ before, size, value, valueEnd, end string }

// blockDump writes executions by blocks.
type blockDump struct {
	d       *dumper
	form    blockForm
	texts   map[*abp.Block]*blockText
	held    int // instructions in texts
	thread  threadKey
	prefix  string
	padded  bool
	counter counter
	places  *places // of thread's program
	// time is the latest time stamp: that of all instructions of a block.
	time     uint64
	timeText []byte
}

func newBlockDump(d *dumper) *blockDump {
	return &blockDump{d: d, form: d.form.(blockForm), texts: map[*abp.Block]*blockText{}}
}

// exec appends an execution to l; false: it is to be written entry by entry.
func (b *blockDump) exec(l []byte, x *abp.Exec) ([]byte, bool) {
	if x.IsEmulated || x.Completed != len(x.Block.Ins) {
		return l, false
	}
	k := threadKey{x.Process.Number(), x.Process.Generation(), x.Thread}
	if k != b.thread || b.places == nil {
		b.thread = k
		b.prefix, b.padded = b.form.ordinalOf(k)
		b.places = b.d.placesIn(program{k.process, k.program})
	}
	t := b.texts[x.Block]
	if t == nil {
		t = b.make(x)
	}
	if !t.usual {
		return l, false
	}
	b.counter.set(x.Ordinal)
	l = slices.Grow(l, t.most+len(t.holes)*len(b.prefix))
	for i := range t.holes {
		h := &t.holes[i]
		l = append(l, h.before...)
		switch h.what {
		case holeOrdinal:
			l = b.counter.append(append(l, b.prefix...), b.padded)
		case holeAddress:
			l = b.appendAddress(l, x.PlainAddr(h.access))
		case holeValue:
			l = appendWords(l, x.Words[h.access.Value:], int(h.access.Size))
		case holeTime:
			l = b.appendTime(l, h, x)
		case holeWay:
			if x.Words[x.Block.BranchWord] != 0 {
				l = append(l, h.goes...)
			} else {
				l = append(l, h.stays...)
			}
		case holeTarget:
			l = append(l, b.form.went(branchTarget{b.places, x.Words[x.Block.BranchWord], x.Block.Image}, true)...)
		}
	}
	return append(l, t.rest...), true
}

// write writes an execution behind what is in out, which leads to the same text; false: it is to be written
// entry by entry.
func (b *blockDump) write(t *Text, out *bufio.Writer, x *abp.Exec, failed *error) bool {
	if out.Buffered() > 0 || b.d.form.open() {
		b.d.form.end()
		if *failed = out.Flush(); *failed != nil {
			return true
		}
	}
	var done bool
	if t.Buf, done = b.exec(t.Buf, x); done {
		*failed = t.Flush()
	}
	return done
}

// appendTime writes the time stamp of an execution: those that have none hold their chunk's.
func (b *blockDump) appendTime(l []byte, h *hole, x *abp.Exec) []byte {
	if !x.Timed || x.TSC == 0 && !b.padded {
		return l
	}
	if x.TSC != b.time || len(b.timeText) == 0 {
		b.time, b.timeText = x.TSC, strconv.AppendUint(b.timeText[:0], x.TSC, 10)
	}
	return append(append(l, h.goes...), b.timeText...)
}

// appendAddress writes the digits of an address.
func (b *blockDump) appendAddress(l []byte, addr uint64) []byte {
	if !b.padded {
		return appendHex(l, addr)
	}
	return appendHex16(l, addr)
}

// make makes the text of an execution's block.
func (b *blockDump) make(x *abp.Exec) *blockText {
	if b.held >= maxBlockTexts {
		clear(b.texts)
		b.held = 0
	}
	blk := x.Block
	b.held += len(blk.Ins)
	m := blockMaker{b: b, x: x, t: &blockText{usual: usualBlock(blk)}}
	b.texts[blk] = m.t
	if !m.t.usual {
		return m.t
	}
	for i := range blk.Ins {
		if blk.Ins[i].Flags&abp.InsRecorded != 0 {
			m.instruction(i)
		}
	}
	m.t.rest = m.text
	m.t.most += len(m.text)
	return m.t
}

// usualBlock tells whether executions of a block always have the same lines: no strings, lanes or registers,
// and no system call to look up.
func usualBlock(blk *abp.Block) bool {
	if blk.Branch == abp.BranchSyscall || blk.Sample != nil || len(blk.Registers) > 0 {
		return false
	}
	for i := range blk.Ins {
		in := &blk.Ins[i]
		if in.Flags&abp.InsRecorded == 0 {
			continue
		}
		if in.Flags&(abp.InsPart|abp.InsRegs) != 0 {
			return false
		}
		for k := in.AccFrom; k < in.AccTo && blk.Counted(i); k++ {
			if blk.Accesses[k].Kind != abp.AccessPlain || blk.Accesses[k].Size == 0 {
				return false
			}
		}
	}
	// Where an indirect branch went is in its word, or not known at all.
	switch blk.Branch {
	case abp.BranchIndJump, abp.BranchIndCall, abp.BranchRet:
		last := &blk.Ins[len(blk.Ins)-1]
		return blk.BranchWord >= 0 || last.Flags&abp.InsBranch == 0
	}
	return true
}

// blockMaker makes a blockText.
type blockMaker struct {
	b    *blockDump
	x    *abp.Exec
	t    *blockText
	text string // since the last hole
}

// hole ends the text so far with a number.
func (m *blockMaker) hole(h hole) {
	h.before, m.text = m.text, ""
	m.t.holes = append(m.t.holes, h)
	m.t.most += len(h.before) + 20 + max(len(h.goes), len(h.stays))
	if h.what == holeValue {
		m.t.most += 2 * int(h.access.Size)
	}
}

// instruction adds a recorded instruction.
func (m *blockMaker) instruction(i int) {
	blk, f, th := m.x.Block, m.b.form, m.b.thread
	e := abp.Entry{Process: th.process, Program: th.program, Thread: th.thread}
	e.Ins = abp.Instruction{Addr: blk.InsAddr(i), Code: blk.InsCode(i), Block: blk, Index: i}
	t := f.insParts(&e)
	m.hole(hole{what: holeOrdinal})
	m.text += t.behind
	if blk.Ins[i].Flags&abp.InsTime != 0 {
		m.hole(hole{what: holeTime, goes: t.time})
	}
	m.text += t.timeEnd
	accesses := 0
	for k := blk.Ins[i].AccFrom; k < blk.Ins[i].AccTo && blk.Counted(i); k++ {
		a := &blk.Accesses[k]
		m.access(a, f.accessParts(a, accesses == 0))
		accesses++
	}
	if accesses > 0 {
		m.text += f.accessesEnd()
	}
	if i == len(blk.Ins)-1 && blk.Ins[i].Flags&abp.InsBranch != 0 {
		m.branch()
	}
	m.text += t.end
}

// access adds an access of the instruction.
func (m *blockMaker) access(a *abp.Access, t accessText) {
	m.text += t.before
	m.hole(hole{what: holeAddress, access: a})
	m.text += t.size
	if valueKept(m.x.Block, a) {
		m.text += t.value
		m.hole(hole{what: holeValue, access: a})
		m.text += t.valueEnd
	}
	m.text += t.end
}

// valueKept tells whether an execution's words hold the operand's value.
func valueKept(blk *abp.Block, a *abp.Access) bool {
	return a.Value >= 0 && int(a.Value)+(int(a.Size)+7)/8 <= blk.Words
}

// branch adds what the last instruction branched to.
func (m *blockMaker) branch() {
	blk, f := m.x.Block, m.b.form
	to := branchTarget{m.b.places, blk.Target, blk.Image}
	switch blk.Branch {
	case abp.BranchCond:
		if blk.BranchWord >= 0 {
			m.hole(hole{what: holeWay, goes: f.went(to, true), stays: f.went(to, false)})
		}
	case abp.BranchJump, abp.BranchCall:
		m.text += f.went(to, true)
	case abp.BranchIndJump, abp.BranchIndCall, abp.BranchRet:
		m.hole(hole{what: holeTarget})
	}
}

// counter is a number that mostly goes up by one, in digits.
type counter struct {
	value  uint64
	digits [24]byte // more than any number has
	first  int      // of the digits in use; 0: none are made yet
}

// set begins with a value, if it is not the one that comes next anyway.
func (c *counter) set(v uint64) {
	if v == c.value && c.first > 0 {
		return
	}
	var room [20]byte
	b := strconv.AppendUint(room[:0], v, 10)
	c.value, c.first = v, len(c.digits)-len(b)
	copy(c.digits[c.first:], b)
}

// append writes the value, to the right of a column of ten where it is padded, and goes on to the next.
func (c *counter) append(l []byte, padded bool) []byte {
	if n := len(c.digits) - c.first; padded && n < 10 {
		l = append(l, "          "[:10-n]...)
	}
	l = append(l, c.digits[c.first:]...)
	c.value++
	i := len(c.digits) - 1
	for ; i >= c.first && c.digits[i] == '9'; i-- { // what stands before is of a longer number, written earlier
		c.digits[i] = '0'
	}
	if i < c.first {
		c.first, c.digits[i] = i, '0'
	}
	c.digits[i]++
	return l
}

// appendWords is appendValue for the bytes of recorded words.
func appendWords(l []byte, words []uint64, size int) []byte {
	if size <= 8 {
		return appendHex(append(l, "0x"...), words[0]&(^uint64(0)>>(64-8*size)))
	}
	var b [8]byte
	for ; size > 0; size -= 8 {
		binary.LittleEndian.PutUint64(b[:], words[0])
		l = hex.AppendEncode(l, b[:min(size, 8)])
		words = words[1:]
	}
	return l
}

// appendHex16 appends sixteen hexadecimal digits. Eight are made at once, each in a byte of a word: dumps have
// hundreds of millions of addresses.
func appendHex16(l []byte, v uint64) []byte {
	l = binary.BigEndian.AppendUint64(l, eightDigits(uint32(v>>32)))
	return binary.BigEndian.AppendUint64(l, eightDigits(uint32(v)))
}

// appendHex appends as many digits as the number has.
func appendHex(l []byte, v uint64) []byte {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:], eightDigits(uint32(v>>32)))
	binary.BigEndian.PutUint64(b[8:], eightDigits(uint32(v)))
	return append(l, b[16-(bits.Len64(v|1)+3)/4:]...)
}

// eightDigits returns the digits of a number as text, the first in the highest byte.
func eightDigits(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000ffff0000ffff
	x = (x | x<<8) & 0x00ff00ff00ff00ff
	x = (x | x<<4) & 0x0f0f0f0f0f0f0f0f // a digit's value in each byte
	letters := (x + 0x0606060606060606) >> 4 & 0x0101010101010101
	return x + 0x3030303030303030 + letters*('a'-'0'-10)
}
