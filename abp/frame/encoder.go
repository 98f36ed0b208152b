package frame

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
)

// Symbols of blocks that were not predicted.
// They are a byte each, in a stream of their own, in front of which the run of predicted
// blocks stands in another: both are then as regular as can be for zstd.
const (
	symNext   = iota // the successor that the last block had the last time
	symNext2         // the successor before
	symNew           // the next of the blocks that the frame has not met
	symNumber        // a block by its number
	symMark          // no block: a mark
)

// idRun in the stream of runs: so many predicted blocks, and no symbol.
const idRun = 255

// Encoder encodes one frame after the other: Begin, Chunk as often as wanted,
// Finish.
//
// Not for concurrent use. All buffers are kept from frame to frame; memory goes with the
// number of blocks (some 30 bytes each, and 8 a word; 16 before version 3) and the size of a frame.
type Encoder struct {
	model
	out    packer
	vector bool // the loop in C writes what it can (version 4)
	sized  bool // executions begin with their size besides the number, see Sized

	// Touched are the blocks that were executed in this frame, in the order of
	// their first executions.
	Touched []uint32
	latest
	// Calls takes captured calls (MarkCall), which no frame has: it is given the words of a Chunk and where one begins, and returns where it has
	// stopped, at something else, or at a call that is not to be taken. nil: they are dropped.
	Calls func(words []uint64, at int) int
	// Words is how many words the frame has so far.
	Words uint64

	idHits uint64 // predicted blocks since the last symbol
	items  uint64 // executions and marks up to the last symbol
	marked uint64 // marks
	hits   uint64 // predicted address words since the last misprediction

	runs, symbols, numbers []byte
	firsts                 []byte   // streamTouched, made at the end
	ctl                    payloads // control bytes of address words
	pay                    payloads
	times, branch, marks   []byte
	outcomes               uint64 // since the last branch exception
	valueCodes
	differences
}

// valueCodes is what is written of recorded values.
type valueCodes struct {
	valClasses []byte
	valPay     payloads
	valHits    int // predicted since the last misprediction
}

// differences are those of version 4 that have not been written yet: the first diffs of waiting.
type differences struct {
	waiting []uint64
	diffs   int
}

// latest is about the words of the latest Chunk.
type latest struct {
	// Dynamic and Marks are where in them the executions of dynamic blocks and the marks lie, but calls.
	Dynamic []int
	Marks   []int
	// Done is how many of them were encoded: all, unless it returned an error.
	Done int
}

// Versions of the encoding of bodies. The second adds wild slots and streams stored as
// Snappy, the third writes words without predicting them (dense.go), the fourth does so in groups
// that know nothing of executions.
const (
	Version1 = 1
	Version2 = 2
	Version3 = 3
	Version4 = 4
)

// NewEncoder returns an encoder for the blocks that shape looks up. level is
// zstd's, of bodies that are made as small as possible, in the first version; 0: as fast as
// possible, by Snappy, with streams that it gains nothing on left alone; below 0: likewise,
// without compression. Both are in the fourth version where the processor has the vector
// instructions that make it fast, else in the second.
//
// shape must give the same answer for a block each time; it is asked once. nil means
// that there is no such block, which is an error when it comes up.
func NewEncoder(shape func(id uint32) *Shape, level int) (*Encoder, error) {
	version := uint16(Version2)
	switch {
	case level > 0:
		version = Version1
	case haveVector():
		version = Version4
	}
	return NewEncoderOf(version, shape, level)
}

// NewEncoderOf returns an encoder for bodies of that version; level and shape as for
// NewEncoder.
func NewEncoderOf(version uint16, shape func(id uint32) *Shape, level int) (*Encoder, error) {
	p, err := newPacker(level)
	if err != nil {
		return nil, err
	}
	e := &Encoder{model: newModel(shape), out: p}
	e.tables = new(tables)
	e.ctl.mem, e.pay.mem = &e.tables.ctl, &e.tables.pay
	runtime.AddCleanup(e, (*tables).free, e.tables)
	e.tame, e.plain = version < Version2, version >= Version3
	if e.strung = version >= Version4; e.strung {
		e.vector, e.waiting = haveVector(), make([]uint64, manyDiffs+MaxWords+2*groupWords)
	}
	return e, nil
}

// Version is that of the bodies that the encoder makes.
func (e *Encoder) Version() uint16 {
	switch {
	case e.tame:
		return Version1
	case e.strung:
		return Version4
	case e.plain:
		return Version3
	}
	return Version2
}

// Begin starts a frame.
// It must follow NewEncoder, Finish, and an error of Chunk that ended a frame.
func (e *Encoder) Begin() {
	e.reset()
	e.Touched, e.Dynamic, e.Marks = e.Touched[:0], e.Dynamic[:0], e.Marks[:0]
	e.Words, e.Done, e.diffs = 0, 0, 0
	for _, s := range e.streams() {
		*s = (*s)[:0]
	}
	e.ctl.n, e.pay.n, e.valPay.n = 0, 0, 0
	e.idHits, e.items, e.marked, e.hits, e.valHits, e.outcomes = 0, 0, 0, 0, 0, 0
}

// streams returns the streams in the order in which they are stored.
func (e *Encoder) streams() [numStreams]*[]byte {
	return [numStreams]*[]byte{
		streamRuns: &e.runs, streamSymbols: &e.symbols, streamNumbers: &e.numbers,
		streamWords: &e.ctl.b, streamPay: &e.pay.b,
		streamValClasses: &e.valClasses, streamValPay: &e.valPay.b,
		streamTimes: &e.times, streamBranch: &e.branch, streamMarks: &e.marks,
	}
}

// Execs returns how many executions the frame has so far.
// Emulated ones, which are marks, are not among them.
func (e *Encoder) Execs() uint64 { return e.items + e.idHits - e.marked }

// Size returns about how many bytes the frame has so far, before zstd.
// It is what decides when a frame is full: compression afterwards only makes it
// smaller.
func (e *Encoder) Size() int {
	n := 4*e.diffs + e.ctl.n - len(e.ctl.b) + e.pay.n - len(e.pay.b) + e.valPay.n - len(e.valPay.b)
	for _, s := range e.streams() {
		n += len(*s)
	}
	return n
}

// Chunk appends the words of a ring's chunk, which was opened and completed at
// these times. On an error what precedes the wrong word has been encoded, and the
// frame is to be finished.
//
// Executions must lie in the chunk whole, as the producer writes them. words is only read.
func (e *Encoder) Chunk(words []uint64, opened, completed uint64) error {
	e.Dynamic, e.Marks, e.Done = e.Dynamic[:0], e.Marks[:0], 0
	e.mark([]uint64{Mark(MarkChunk, 0), opened, completed})
	executions := e.blocksOf
	if e.plain {
		e.reserveDense(len(words))
		executions = e.denseRun
	} else {
		e.ctl.reserve(controlRoom(len(words), e.hits))
		e.pay.reserve(len(words))
		e.valPay.reserve(len(words))
	}
	for e.Done < len(words) {
		at := e.Done
		switch {
		case !IsMark(words[at]):
			next, err := executions(words, at)
			e.Words += uint64(next - at)
			e.Done = next
			if err != nil {
				return err
			}
			continue
		case words[at]>>markShift == MarkCall && e.Calls != nil:
			if e.Done = e.Calls(words, at); e.Done > at {
				continue
			}
		}
		m := MarkLen(words[at:])
		if m == 0 {
			return fmt.Errorf("mark %#x at word %d: %w", words[at], at, ErrMalformed)
		}
		switch kind, payload := SplitMark(words[at]); kind {
		case MarkSkip, MarkCall:
		case MarkNote:
			e.Marks = append(e.Marks, at)
		case MarkSwitch:
			e.Marks = append(e.Marks, at)
			e.mark([]uint64{Mark(MarkWindows, payload), words[at+1]})
		default:
			e.Marks = append(e.Marks, at)
			e.mark(words[at : at+m])
		}
		e.Done += m
	}
	return nil
}

// mark writes a mark. Marks are rare: their words are stored as they are.
func (e *Encoder) mark(words []uint64) {
	e.symbol(symMark)
	for _, w := range words {
		e.marks = binary.LittleEndian.AppendUint64(e.marks, w)
	}
	e.marked++
	e.Words += uint64(len(words))
}

// symbol ends a run of predicted blocks.
func (e *Encoder) symbol(sym byte) {
	e.items += e.idHits + 1
	for ; e.idHits >= idRun; e.idHits -= idRun {
		e.runs = append(e.runs, idRun)
	}
	e.runs = append(e.runs, byte(e.idHits))
	e.symbols = append(e.symbols, sym)
	e.idHits = 0
}

// runOfWords writes that so many words were predicted, and returns what is left
// and fits the next control byte.
func (e *Encoder) runOfWords(hits uint64) uint64 {
	for hits >= wordRun {
		c := min(bits.Len64(hits/wordRun)-1, 15)
		e.ctl.put(uint64(c<<4|wordRun), 1)
		hits -= wordRun << c
	}
	return hits
}

// controlRoom is room, in eights of bytes, for the control bytes of so many words after
// so many predicted ones: at most one each, and what the runs take.
func controlRoom(words int, hits uint64) int {
	return (words+(words+int(hits))/wordRun)/8 + 4
}

// runAt is runOfWords where the number of control bytes is in a variable.
func (e *Encoder) runAt(n uintptr, hits uint64) (uintptr, uint64) {
	e.ctl.n = int(n)
	hits = e.runOfWords(hits)
	return uintptr(e.ctl.n), hits
}

// Finish ends the frame and appends its body to dst.
// Chunk must not be called again before Begin.
func (e *Encoder) Finish(dst []byte) []byte {
	items := e.items + e.idHits
	e.symbol(symMark) // ends the run; the decoder stops before it looks
	e.items--
	if !e.plain {
		e.ctl.reserve(controlRoom(0, e.hits))
		e.ctl.put(e.runOfWords(e.hits), 1) // likewise
	}
	e.endDiffs()
	if e.valHits > 0 {
		e.valClasses = append(e.valClasses, byte(e.runOfValues(e.valHits)))
		e.valHits = 0
	}
	touched := slices.Grow(e.firsts[:0], 5*len(e.Touched))
	last := uint32(0)
	for _, id := range e.Touched {
		touched = binary.AppendUvarint(touched, zigzag(int64(id)-int64(last)))
		touched = binary.AppendUvarint(touched, uint64(e.blocks[id].execs))
		last = id
	}
	e.firsts = touched
	e.ctl.b, e.pay.b, e.valPay.b = e.ctl.b[:e.ctl.n], e.pay.b[:e.pay.n], e.valPay.b[:e.valPay.n]
	return e.out.body(dst, items, e.streams(), touched)
}

// Weight returns the sum of the weights of the frame's executions so far.
func (e *Encoder) Weight() (sum uint64) {
	for _, id := range e.Touched {
		sum += uint64(e.blocks[id].execs) * uint64(e.blocks[id].weight)
	}
	return sum
}

// ExecsOf returns how often a block was executed in this frame.
// It is valid until the next Begin.
func (e *Encoder) ExecsOf(id uint32) uint64 {
	if e.touched(id) {
		return uint64(e.blocks[id].execs)
	}
	return 0
}

// payloads is a stream of numbers of few bytes. Each is written with all of its
// eight, and overwritten from where it ends; room for the worst case is made
// once a chunk.
// That avoids a loop over bytes, whose end the processor could not predict.
type payloads struct {
	b   []byte
	n   int     // bytes in use
	mem *[]byte // what b lies in, outside of Go's heap; nil: in Go's heap
}

// reserve makes room for so many numbers.
func (p *payloads) reserve(numbers int) {
	if need := p.n + 8*numbers + 8; need > len(p.b) {
		if p.mem != nil {
			p.b = grownTable(p.mem, p.b[:p.n], need)
			p.b = p.b[:cap(p.b)]
			return
		}
		p.b = slices.Grow(p.b[:p.n], need-p.n)
		p.b = p.b[:cap(p.b)]
	}
}

// put appends the n low bytes of v.
func (p *payloads) put(v uint64, n int) {
	binary.LittleEndian.PutUint64(p.b[p.n:], v)
	p.n += n
}
