package abp

import (
	"errors"
	"fmt"
	"io"

	"alleria/abp/frame"
)

// step is what a cursor met.
type step uint8

const (
	stepEnd step = iota
	stepThread
	stepWindows
	stepExec
	stepWaits // of cursor.ahead: nothing was read yet
)

// cursor walks the words of a list of frames, one execution or mark at a time.
// It holds one decoded batch, never a frame, so that memory does not grow with
// the profile. All orders are made of cursors: by storage and by thread one
// cursor walks all frames, by time each thread has its own.
//
// Errors are sticky: after one, step gives stepEnd for good. What was yielded before is
// right, since a frame's checksum is verified before its first word is decoded.
type cursor struct {
	query *Query
	procs []*Process  // of each frame
	refs  []*FrameRef // in the order in which they are walked
	next  int         // the frame after the current one

	dec     *frame.Decoder
	shapes  *Process // whose blocks dec knows
	payload []byte
	body    int // where in payload the frame's body begins
	words   []uint64
	left    uint64   // words of the frame that were not yet decoded
	cut     int      // pending cut, -1 none
	beside  []uint64 // words of the emulated execution to come

	x      Exec
	last   uint32 // thread of the last frame, 0 none
	lastOf *Process
	// wants reports whether a frame that executes these blocks may hold something
	// that matches; nil: it need not be asked.
	wants  func(p *Process, blocks []frame.Touched) bool
	blocks []frame.Touched
	again  bool // the last execution is to be yielded once more
	ahead  step // what peek found
	err    error
}

// newCursor returns a cursor in front of nothing; add gives it frames.
func newCursor(q *Query) *cursor { return &cursor{query: q, cut: -1} }

// add appends a frame to those that are walked.
// Only before the first step.
func (c *cursor) add(p *Process, ref *FrameRef) {
	c.procs = append(c.procs, p)
	c.refs = append(c.refs, ref)
}

// open starts the next frame that the query wants. It returns stepEnd behind
// the last one or on an error.
// Frames that the query rules out by their headers are never read from disk.
func (c *cursor) open() step {
	for ; c.next < len(c.refs); c.next++ {
		p, ref := c.procs[c.next], c.refs[c.next]
		if !c.query.wantsFrame(p, &ref.FrameHeader) || p.Lacks(ref) {
			continue
		}
		wanted, err := c.start(p, ref)
		if err != nil {
			c.err = c.inFrame(ref, err)
			return stepEnd
		}
		if !wanted {
			continue
		}
		c.next++
		if c.last != ref.Thread || c.lastOf != p {
			c.last, c.lastOf = ref.Thread, p
			return stepThread
		}
		return stepWindows // the state may differ from that of the frame before
	}
	return stepEnd
}

// start reads a frame and takes its state over. It returns false if nothing in
// it matches.
//
// Everything that the thread's earlier frames have changed (segment bases, open
// windows, ordinal) stands in the header again: that is what makes a frame readable
// by itself.
func (c *cursor) start(p *Process, ref *FrameRef) (wanted bool, err error) {
	h, err := c.read(p, ref)
	if err != nil {
		return false, err
	}
	if c.wants != nil {
		if c.blocks, err = c.touched(c.blocks[:0]); err != nil {
			return false, corrupt(err)
		}
		if !hasEmulated(&h, c.blocks) && !c.wants(p, c.blocks) {
			return false, nil
		}
	}
	if err := c.dec.Start(c.payload[c.body:], h.Encoding); err != nil {
		return false, corrupt(err)
	}
	x := &c.x
	x.Process, x.Thread, x.OSID = p, h.Thread, h.OSID
	x.Ordinal, x.Windows, x.FSBase, x.GSBase = h.Ordinal, h.Windows, h.FSBase, h.GSBase
	x.TSC, x.Gaps, x.Callers = h.FirstTSC, 0, nil
	x.Block, x.Completed = nil, 0
	c.words, c.left, c.cut = nil, h.Words, -1
	c.beside = c.beside[:0]
	return true, nil
}

// inFrame says where an error is.
func (c *cursor) inFrame(ref *FrameRef, err error) error {
	return fmt.Errorf("%s: frame at offset %d: %w", ref.File.path, ref.File.sections[ref.Section].Offset, err)
}

// touched appends the list of the blocks of the frame that was read to dst.
func (c *cursor) touched(dst []frame.Touched) ([]frame.Touched, error) {
	return c.dec.Blocks(c.payload[c.body:], dst)
}

// hasEmulated reports whether a frame has executions by the tracer, whose blocks
// are not listed.
// Their marks name the block, so that a filter on code cannot rule the frame out by
// the list alone.
func hasEmulated(h *FrameHeader, blocks []frame.Touched) bool {
	n := uint64(0)
	for i := range blocks {
		n += blocks[i].Execs
	}
	return n != h.Execs
}

// corrupt marks an error of the decoder as one of the file.
func corrupt(err error) error {
	if err == nil || errors.Is(err, ErrCorrupt) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}

// shape is what the decoder looks blocks up with.
func (p *Process) shape(id uint32) *frame.Shape {
	if b := p.Block(id); b != nil {
		return b.Shape()
	}
	return nil
}

// step goes on to the next execution or change of state. What it yields lies in
// c.x and is overwritten by the next step.
//
// MarkCut and its execution may lie in two batches, which is why the pending cut is
// kept here and not with the words.
func (c *cursor) step() step {
	if c.again {
		c.again = false
		return stepExec
	}
	for c.err == nil {
		if len(c.words) == 0 {
			if c.left == 0 {
				return c.open()
			}
			if !c.fill() {
				return stepEnd
			}
		}
		if !IsMark(c.words[0]) {
			return c.exec()
		}
		if s := c.mark(); s != stepEnd || c.err != nil {
			return s
		}
	}
	return stepEnd
}

// fill decodes the next batch.
func (c *cursor) fill() bool {
	words, err := c.dec.Next()
	// The header is the authority on a frame's length: the counts in it were added
	// up from what it says.
	if err == nil && uint64(len(words)) > c.left {
		err = fmt.Errorf("more words than the header says")
	}
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		c.err = fmt.Errorf("thread %d: %w", c.x.Thread, corrupt(err))
		return false
	}
	c.words = words
	c.left -= uint64(len(words))
	return true
}

// exec takes one execution off the words.
//
// The block must exist and the batch hold all of its words: the decoder hands out whole
// executions, so that anything else is a damaged table.
func (c *cursor) exec() step {
	x := &c.x
	x.advance()
	b := x.Process.Block(uint32(c.words[0]))
	if b == nil || len(c.words) <= b.Words {
		c.err = fmt.Errorf("thread %d: block %d: %w", x.Thread, c.words[0], ErrCorrupt)
		return stepEnd
	}
	// No copy: the batch stays until the next fill, which is behind the caller's
	// next step.
	x.whole(b, c.words[1:])
	c.words = c.words[1+b.Words:]
	if c.cut >= 0 {
		x.Completed = min(c.cut, x.Completed)
		c.cut = -1
	}
	return stepExec
}

// advance counts the execution that was yielded last. It comes late, because
// Ordinal is that of the execution while the caller looks at it.
func (x *Exec) advance() {
	if x.Block != nil {
		x.Ordinal += x.instructions()
		x.Block = nil
	}
}

// instructions returns how many recorded instructions the execution has.
// A cut execution is counted one by one; it is rare.
func (x *Exec) instructions() uint64 {
	if x.Completed == len(x.Block.Ins) {
		return x.Block.Static.Instructions
	}
	n := uint64(0)
	for i := range x.Block.Ins[:x.Completed] {
		if x.Block.Ins[i].Retires() {
			n++
		}
	}
	return n
}

// ordinals returns how many ordinals, from Ordinal on, its recorded instructions have: as many as they are, and one more
// where the last is a part of a repeated string instruction. Such a part has the ordinal of the instruction that it is of,
// which retires in a later execution.
func (x *Exec) ordinals() uint64 {
	n := x.instructions()
	for i := x.Completed - 1; i >= 0; i-- {
		if in := &x.Block.Ins[i]; in.Flags&InsRecorded != 0 {
			if !in.Retires() {
				n++
			}
			break
		}
	}
	return n
}

// mark takes one mark off the words.
//
// Marks change the state and mostly yield nothing: stepEnd then means "go on". Those of
// kinds that a later version may add have a length here too, or the rest could not be
// found: an unknown kind is an error.
func (c *cursor) mark() step {
	x := &c.x
	n := MarkLen(c.words)
	if n == 0 {
		c.err = fmt.Errorf("thread %d: mark %#x: %w", x.Thread, c.words[0], ErrCorrupt)
		return stepEnd
	}
	w := c.words[:n]
	c.words = c.words[n:]
	kind, payload := SplitMark(w[0])
	switch kind {
	case MarkCut:
		c.cut = int(min(payload, 1<<16)) // more than any block has means all
	case MarkFS:
		x.FSBase = w[1]
	case MarkGS:
		x.GSBase = w[1]
	case MarkChunk:
		// Never back: a part of a chunk that was drained early carries the time of
		// the whole chunk's opening.
		x.TSC = max(x.TSC, w[1])
	case MarkWindows:
		x.advance()
		x.Windows = payload
		return stepWindows
	case MarkGap:
		x.Gaps++
		x.Callers = nil
	case MarkThread:
		x.OSID = uint32(w[2])
	case MarkEmulated:
		return c.emulated(uint32(payload), w[2:])
	case MarkBeside:
		// Marks of one execution go on where the one in front of them ends.
		c.beside = append(c.beside[:min(int(uint16(payload)), len(c.beside))], w[1:]...)
	case MarkCallers:
		x.Callers = AppendCallers(x.Callers, payload, w[1:])
	}
	return stepEnd
}

// emulated takes an execution by the tracer off the words.
// pairs are addresses and sizes, in the batch.
func (c *cursor) emulated(id uint32, pairs []uint64) step {
	x := &c.x
	x.advance()
	b := x.Process.Block(id)
	if b == nil {
		c.err = fmt.Errorf("thread %d: block %d: %w", x.Thread, id, ErrCorrupt)
		return stepEnd
	}
	x.Block, x.Words, x.Emulated, x.IsEmulated = b, nil, pairs, true
	x.Beside, c.beside = c.beside, x.Beside[:0] // each other's room
	x.Completed = len(b.Ins)
	x.Timed = false // the tracer's stop took longer than anything a stamp could say
	return stepExec
}
