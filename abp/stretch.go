package abp

import "fmt"

// FrameReader returns a Reader in front of nothing: Frame gives it one frame after the
// other. q's order does not matter.
func (p *Profile) FrameReader(q Query) *Reader {
	r := &Reader{profile: p, query: q, match: map[*Process]*matcher{}}
	for _, proc := range p.processes {
		if r.wantsProcess(proc) {
			r.match[proc] = newMatcher(proc, &r.query)
		}
	}
	r.query.Order = OrderStorage
	r.cursors = []*cursor{r.newCursor()}
	return r
}

// Frame puts a Reader made by FrameReader in front of a frame, of which it yields what the
// query matches, and nothing behind it. What earlier frames have grown and learnt is kept.
func (r *Reader) Frame(p *Process, ref *FrameRef) {
	c := r.cursors[0]
	c.reset(p, ref)
	r.cur, r.lastCur, r.err, r.stretch = nil, nil, nil, nil
	r.entries = entryState{}
}

// reset puts a cursor in front of one frame.
func (c *cursor) reset(p *Process, ref *FrameRef) {
	c.procs, c.refs, c.next, c.err = append(c.procs[:0], p), append(c.refs[:0], ref), 0, nil
	c.left, c.words, c.cut, c.again = 0, nil, -1, false
	c.last, c.lastOf = 0, nil
	c.x.Block = nil
}

// NextStretch goes on to the next stretch of whole executions, which Stretch returns, or
// to a single one (a cut or an emulated one, or any other behind a mark): then Stretch
// returns nil, and Exec that execution. It is for those who count all executions and can do so from their words:
// there is no call and no look at the block for each. Filters on code, data, time and
// ordinals are not asked.
//
// In front of a stretch Exec has the state of the thread during all of it (process, thread,
// windows, segment bases) and no block. Ordinals are not kept.
func (r *Reader) NextStretch() bool {
	r.stretch = nil
	c := r.cursors[0]
	r.cur = c
	for r.err == nil {
		if len(c.words) == 0 && c.left > 0 && !c.fill() {
			break
		}
		// The decoder never mixes marks and executions in a batch, and hands out whole
		// executions of blocks that exist.
		if len(c.words) > 0 && c.cut < 0 && !IsMark(c.words[0]) {
			c.x.Block = nil
			r.stretch, c.words = c.words, nil
			return true
		}
		switch c.step() {
		case stepExec:
			return true
		case stepEnd:
			r.err = c.err
			return false
		}
	}
	r.err = c.err
	return false
}

// Stretch returns the words of executions that follow one another: a block's number, then
// Block.Words words, then the next block's number. It is overwritten by the next step.
func (r *Reader) Stretch() []uint64 { return r.stretch }

// StretchExec returns the execution that begins at word i of the stretch.
// It is the Reader's Exec, and overwritten by the next call.
func (r *Reader) StretchExec(i int) *Exec {
	x := &r.cur.x
	x.whole(x.Process.Block(uint32(r.stretch[i])), r.stretch[i+1:])
	return x
}

// Whole makes it a complete execution of a block, whose words are the first of these.
func (x *Exec) Whole(b *Block, words []uint64) { x.whole(b, words) }

// whole makes it a complete execution of a block, whose words are the first of these.
func (x *Exec) whole(b *Block, words []uint64) {
	x.Block, x.Words, x.Completed, x.IsEmulated = b, words[:b.Words], len(b.Ins), false
	if x.Timed = b.TimeWord >= 0; x.Timed {
		x.TSC = x.Words[b.TimeWord]
	}
}

// Batch is a stretch of one thread's record, some thousand words, with the state of the
// thread that it begins in. It stands alone: one goroutine takes batches off a profile
// (Reader.NextBatch), others expand them (Reader.Batch), in whatever order.
//
// Frames as the unit were refused here, though EachFrame has them: a frame as text may be a
// gigabyte, which would have to be kept until the frames before it are written.
type Batch struct {
	x      Exec // the state in front of the words; its block is nil
	words  []uint64
	cut    int    // of the first execution, -1 none
	thread bool   // the first of its thread
	shown  uint64 // the windows that were open in front of it
}

// Process returns the process that the batch is of.
func (b *Batch) Process() *Process { return b.x.Process }

// Thread returns the number of the thread that the batch is of.
func (b *Batch) Thread() uint32 { return b.x.Thread }

// Ordinal returns the number in the thread of the batch's first recorded instruction.
func (b *Batch) Ordinal() uint64 { return b.x.Ordinal }

// NextBatch copies the next stretch of what the query may match into b, whose memory is used
// again, and returns false at the end and at an error (see Err). The Reader yields nothing
// else; its order is not OrderTime.
//
// Filters are asked of frames only. The rest is for who expands the batch.
func (r *Reader) NextBatch(b *Batch) bool {
	c := r.cursors[0]
	r.cur = c
	b.thread, b.shown = false, c.x.Windows
	for r.err == nil {
		switch {
		case len(c.words) > 0:
			b.x, b.cut = c.x, c.cut
			b.words = append(b.words[:0], c.words...)
			c.pass()
			r.err = c.err
			return r.err == nil
		case c.left > 0:
			c.fill()
			r.err = c.err
		default:
			switch c.open() {
			case stepEnd:
				r.err = c.err
				return false
			case stepThread:
				b.thread = true
			}
		}
	}
	return false
}

// Passed returns how many executions the frames have that NextBatch is done with, those that
// the query has ruled out included.
func (r *Reader) Passed() uint64 {
	c := r.cursors[0]
	for ; r.counted < c.next; r.counted++ {
		r.passed += c.refs[r.counted].Execs
	}
	return r.passed
}

// pass takes all words that are there and keeps the state up.
func (c *cursor) pass() {
	x := &c.x
	for len(c.words) > 0 && c.err == nil {
		if IsMark(c.words[0]) {
			c.mark()
			x.advance()
			continue
		}
		if c.cut >= 0 {
			c.exec()
			x.advance()
			continue
		}
		b := x.Process.Block(uint32(c.words[0]))
		if b == nil || len(c.words) <= b.Words {
			c.err = fmt.Errorf("thread %d: block %d: %w", x.Thread, c.words[0], ErrCorrupt)
			return
		}
		x.Ordinal += b.Static.Instructions
		if b.TimeWord >= 0 {
			x.TSC = c.words[1+int(b.TimeWord)]
		}
		c.words = c.words[1+b.Words:]
	}
}

// Batch puts a Reader made by FrameReader in front of a batch, of which it yields what the
// query matches, and nothing behind it. The batch must stay as it is meanwhile.
func (r *Reader) Batch(b *Batch) {
	c := r.cursors[0]
	c.procs, c.refs, c.next, c.err = c.procs[:0], c.refs[:0], 0, nil
	c.words, c.left, c.cut, c.again = b.words, 0, b.cut, false
	scratch := c.x.scratch
	c.x = b.x
	c.x.scratch = scratch
	r.cur, r.err, r.stretch = c, nil, nil
	st := &r.entries
	st.active, st.phase = false, phaseIns
	st.header, st.shown = b.thread, b.x.Windows
	st.windows = b.thread && b.x.Windows != 0 || !b.thread && b.x.Windows != b.shown
}
