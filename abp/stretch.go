package abp

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

// whole makes it a complete execution of a block, whose words are the first of these.
func (x *Exec) whole(b *Block, words []uint64) {
	x.Block, x.Words, x.Completed, x.IsEmulated = b, words[:b.Words], len(b.Ins), false
	if x.Timed = b.TimeWord >= 0; x.Timed {
		x.TSC = x.Words[b.TimeWord]
	}
}
