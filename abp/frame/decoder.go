package frame

import (
	"encoding/binary"
	"fmt"
	"io"
)

// batchWords is about how many words Next returns. Large enough that the cost
// of a call does not count, small enough to stay in a first-level cache.
const batchWords = 2048

// Decoder gives the words of frames back.
//
// The model stays allocated from frame to frame, and so do the streams' buffers: after
// the first frames nothing is allocated. What a block's shape is, is remembered, so that
// a Decoder is for one process only.
type Decoder struct {
	model
	// the streams below are its slices, each cut from the front while it is read
	in unpacker

	runs, symbols, numbers []byte
	words, pay             []byte
	valClasses, valPay     []byte
	times, branch          []byte
	marks, blocksMet       []byte

	items  uint64 // left
	idHits int    // predicted blocks left
	symbol int    // what is behind them; -1: another run
	newID  uint32 // the last block that was new
	hits   run    // of address words
	vals   run    // of value words

	lengths
	patching
	outcome outcomes
	lookahead

	// the batch, valid until the next call of Next
	out []uint64
	// sticky until Start
	err error
}

// patching is a branch word that waits in out[patch] for the item behind it, if patch ≥ 0.
type patching struct {
	patch     int
	waiting   *op    // that it is decoded by
	waitingAt uint64 // the address of its block
}

// lookahead is the next item's block (0: a mark), if it had to be looked at ahead.
type lookahead struct {
	ahead   uint32
	isAhead bool
}

// lengths is how far version 4 is in its words, and whether there is a loop in C for it.
type lengths struct {
	halves int // half bytes that were used
	vector bool
}

// run is a position in a stream of runs and classes.
type run struct {
	hits  int // right predictions left
	class int // of the misprediction behind them; -1: another byte follows
}

// outcomes is a position in the stream of branch exceptions.
type outcomes struct {
	gap  uint64 // right outcomes in front of the next exception
	word uint64
	more bool // there is one
}

// NewDecoder returns a decoder for frames whose blocks shape looks up.
// shape returns nil for a number that is no block; it is asked once a block.
func NewDecoder(shape func(id uint32) *Shape) *Decoder {
	return &Decoder{model: newModel(shape), lengths: lengths{vector: haveVector()}}
}

// Start begins with a frame's body of that version, which must stay as it is until the
// next Start.
// An error, here and from Next, wraps ErrMalformed. Nothing that a body holds makes
// the decoder read beyond it or allocate more than its streams claim, up to
// maxStream each.
func (d *Decoder) Start(body []byte, version uint16) error {
	if plain := version >= Version3; plain != d.plain {
		d.model = newModel(d.shape) // what a profile does not have in turns
		d.plain = plain
	}
	d.tame, d.strung, d.halves = version < Version2, version >= Version4, 0
	d.reset()
	d.err, d.items = nil, 0
	if err := d.in.open(body); err != nil {
		d.err = err
		return err
	}
	s := &d.in.streams
	d.runs, d.symbols, d.numbers = s[streamRuns], s[streamSymbols], s[streamNumbers]
	d.words, d.pay = s[streamWords], s[streamPay]
	d.valClasses, d.valPay = s[streamValClasses], s[streamValPay]
	d.times, d.branch, d.marks = s[streamTimes], s[streamBranch], s[streamMarks]
	d.blocksMet = s[streamTouched]
	d.items = d.in.items
	d.idHits, d.symbol = 0, -1
	d.hits, d.vals = run{0, -1}, run{0, -1}
	d.newID, d.patch, d.isAhead = 0, -1, false
	d.nextException()
	return d.err
}

// Next returns the next batch of whole marks or whole executions, io.EOF behind the
// last. The batch is valid until the next call.
//
// A batch holds marks or executions, never both, so that who only counts executions
// asks once a batch whether it is one of those: its first word tells. A mark that is
// about the execution behind it (MarkCut) is a batch's last.
func (d *Decoder) Next() ([]uint64, error) {
	d.out = d.out[:0]
	marks := false
	for d.err == nil && d.items > 0 && len(d.out) < batchWords {
		if d.plain && !d.isAhead {
			if d.idHits > 0 && marks {
				break
			}
			if d.forVector(marks) && d.denseVector() {
				continue
			}
			if d.idHits > 0 {
				d.denseRun()
				continue
			}
		}
		id := d.item()
		if d.err != nil {
			break
		}
		if len(d.out) > 0 && marks != (id == 0) {
			d.ahead, d.isAhead = id, true
			break
		}
		if marks = id == 0; marks {
			d.mark()
		} else {
			d.exec(id)
		}
	}
	if d.err == nil && d.patch >= 0 {
		d.lookAhead()
	}
	if d.err != nil {
		return nil, d.err
	}
	if len(d.out) == 0 {
		return nil, io.EOF
	}
	return d.out, nil
}

// forVector tells whether what comes next may be an execution for the loop in C: neither a new block nor, behind marks, perhaps another mark.
func (d *Decoder) forVector(marks bool) bool {
	return d.vector && d.strung && !marks && (d.idHits > 0 || d.symbol != symNew && d.symbol != symMark)
}

// lookAhead settles the batch's last branch word by the item behind the batch.
// Without this a batch would end with a word that is not known yet, and the caller
// has been promised whole executions.
func (d *Decoder) lookAhead() {
	next := uint64(0)
	if d.items > 0 {
		id := d.item()
		if d.err != nil {
			return
		}
		d.ahead, d.isAhead = id, true
		next = d.addrOf(id) // 0 for a mark
	}
	d.settle(next)
}

// fail notes the first error.
func (d *Decoder) fail(what string) {
	if d.err == nil {
		d.err = fmt.Errorf("%s: %w", what, ErrMalformed)
	}
}

// item decodes what comes next: a block, 0 for a mark. The block is touched and
// the history goes on.
func (d *Decoder) item() uint32 {
	if d.isAhead {
		d.isAhead = false
		return d.ahead
	}
	index := idIndex(d.hist)
	var id uint32
	// A prediction of 0, and one of a block that this frame has not met, can only
	// come from a damaged stream; touched finds both.
	if d.idHits > 0 || d.symbol < 0 && d.run() {
		d.idHits--
		id = d.ids[index]
	} else if id = d.misprediction(index); id == 0 {
		return 0
	}
	if !d.touched(id) {
		d.fail("a block that was not met")
		return 0
	}
	d.hist = idHistory(d.hist, id)
	d.last = id
	return id
}

// run reads runs until there is a predicted block or a symbol. It returns
// whether it is the former.
func (d *Decoder) run() bool {
	for d.idHits == 0 && d.symbol < 0 && d.err == nil {
		d.idHits = int(d.nextByte(&d.runs))
		if d.idHits != idRun {
			d.symbol = int(d.nextByte(&d.symbols))
		}
	}
	return d.err == nil && d.idHits > 0
}

// misprediction decodes a symbol; 0: a mark, or an error.
// The successors of the last block are those that this frame has seen: touched
// refuses anything else.
func (d *Decoder) misprediction(index uint32) uint32 {
	if d.err != nil {
		return 0
	}
	last := &d.past[d.last]
	sym := d.symbol
	d.symbol = -1
	var id uint32
	switch sym {
	case symMark:
		return 0
	case symNext:
		id = last.next
	case symNext2:
		id = last.next2
	case symNew:
		id = d.meetNext()
	case symNumber:
		id = d.last + uint32(unzigzag(d.uvarint(&d.numbers)))
	}
	if !d.touched(id) {
		d.fail("a block that was not met")
		return 0
	}
	d.learnSuccessor(index, id)
	return id
}

// meetNext touches the next block of the list of those that the frame meets.
func (d *Decoder) meetNext() uint32 {
	id := d.newID + uint32(unzigzag(d.uvarint(&d.blocksMet)))
	d.uvarint(&d.blocksMet) // how often it is executed
	d.newID = id
	if d.err == nil && (d.touched(id) || !d.touch(id)) {
		d.err = fmt.Errorf("block %d is unknown: %w", id, ErrMalformed)
	}
	return id
}

// uvarint takes a number off a stream (LEB128, as in encoding/binary).
func (d *Decoder) uvarint(s *[]byte) uint64 {
	v, n := binary.Uvarint(*s)
	if n <= 0 {
		d.fail("a number is cut short")
		return 0
	}
	*s = (*s)[n:]
	return v
}

// mark decodes a mark.
func (d *Decoder) mark() {
	d.settle(0)
	// How long a mark is stands in its first two words.
	avail := len(d.marks) / 8
	var head [2]uint64
	for i := range min(avail, 2) {
		head[i] = binary.LittleEndian.Uint64(d.marks[8*i:])
	}
	n := 0
	if avail > 0 {
		n = markSize(head[0], head[1], avail)
	}
	if n == 0 || !IsMark(head[0]) {
		d.fail("marks end early")
		return
	}
	for i := range n {
		d.out = append(d.out, binary.LittleEndian.Uint64(d.marks[8*i:]))
	}
	d.marks = d.marks[8*n:]
	d.items--
}

// EachMark calls f for every mark of a frame, by its body alone and without decoding the
// rest. It ends what Start has begun. words are the mark's, and overwritten by the next.
func (d *Decoder) EachMark(body []byte, f func(words []uint64)) error {
	d.items, d.patch, d.isAhead = 0, -1, false
	if d.err = d.in.openOnly(streamMarks, body); d.err != nil {
		return d.err
	}
	for d.marks = d.in.streams[streamMarks]; len(d.marks) > 0 && d.err == nil; {
		d.out = d.out[:0]
		if d.mark(); d.err == nil {
			f(d.out)
		}
	}
	d.items = 0
	return d.err
}

// Touched is a block of a frame and how often the frame executes it.
type Touched struct {
	ID    uint32 // its number
	Execs uint64 // at least 1
}

// Blocks appends the blocks that a frame executes to dst, by its body alone and
// without decoding the rest. It ends what Start has begun.
// An emulated execution is not in the list: it is a mark.
func (d *Decoder) Blocks(body []byte, dst []Touched) ([]Touched, error) {
	d.items, d.patch, d.isAhead = 0, -1, false
	if d.err = d.in.openOnly(streamTouched, body); d.err != nil {
		return dst, d.err
	}
	s := d.in.streams[streamTouched]
	id := uint32(0)
	for len(s) > 0 && d.err == nil {
		id += uint32(unzigzag(d.uvarint(&s)))
		dst = append(dst, Touched{id, d.uvarint(&s)})
	}
	return dst, d.err
}
