package abp

import (
	"container/heap"
	"errors"
	"fmt"
	"slices"

	"alleria/abp/frame"
)

// ErrNoSuchPlace: what Seek was asked for is not in the profile.
var ErrNoSuchPlace = errors.New("not in the profile")

// Reader yields what a query matches, as executions (NextExec), entries (Next)
// or traces (NextTrace); a caller stays with one of them. It belongs to one
// goroutine. Readers need not be closed.
//
// Memory: one decoded batch a cursor and the expansion of one execution, whatever the
// profile's size. Nothing is allocated an entry once these have grown.
type Reader struct {
	profile *Profile
	query   Query
	cursors []*cursor // one; in OrderTime a heap with one for each thread
	cur     *cursor   // that yielded last
	lastCur *cursor   // whose thread's Header was yielded last
	match   map[*Process]*matcher
	last    *matcher // of the execution before: asking the map for each costs 3 ns
	// switched: in OrderTime another thread goes on where it was, so that a
	// Header is due.
	switched bool
	from     uint64   // first ordinal wanted, after Seek
	stretch  []uint64 // that NextStretch found
	counted  int      // frames whose executions are in passed
	passed   uint64

	entries entryState
	sums    InsSums
	trace   Trace
	err     error
}

// Reader returns a Reader of what q matches.
// It reads nothing yet and cannot fail: errors come from the iteration, see Err. q
// is copied; its slices must stay as they are.
func (p *Profile) Reader(q Query) *Reader {
	r := &Reader{profile: p, query: q, match: map[*Process]*matcher{}}
	for _, proc := range p.processes {
		if r.wantsProcess(proc) {
			r.match[proc] = newMatcher(proc, &r.query)
		}
	}
	r.rewind()
	return r
}

// wantsProcess reports whether the query takes a process.
func (r *Reader) wantsProcess(p *Process) bool {
	return (len(r.query.Processes) == 0 || slices.Contains(r.query.Processes, p.Number())) &&
		(len(r.query.Programs) == 0 || slices.Contains(r.query.Programs, p.Generation()))
}

// rewind puts the cursors in front of everything.
func (r *Reader) rewind() {
	r.cursors, r.cur, r.lastCur, r.err, r.from, r.switched = nil, nil, nil, nil, 0, false
	r.entries = entryState{}
	switch r.query.Order {
	case OrderStorage:
		r.byStorage()
	case OrderTime:
		r.byTime()
	default:
		r.byThread()
	}
}

// newCursor returns a cursor that skips the frames whose blocks cannot match.
// A filter on code thereby skips frames by their lists of blocks, undecoded.
func (r *Reader) newCursor() *cursor {
	c := newCursor(&r.query)
	if len(r.query.Functions) > 0 || !r.query.Code.All() {
		c.wants = func(p *Process, blocks []frame.Touched) bool {
			m := r.match[p]
			return slices.ContainsFunc(blocks, func(t frame.Touched) bool {
				b := p.Block(t.ID)
				return b == nil || m.block(b) != verdictNone // what is wrong is found when it is decoded
			})
		}
	}
	return c
}

// byStorage walks all files from their beginnings to their ends.
// A thread's frames then come in the order in which each stream wrote them, which
// may not be that of execution where several streams served it.
func (r *Reader) byStorage() {
	c := r.newCursor()
	for _, p := range r.profile.processes {
		if !r.wantsProcess(p) {
			continue
		}
		for _, f := range p.files {
			for i := range f.frames {
				c.add(p, &f.frames[i])
			}
		}
	}
	r.cursors = []*cursor{c}
}

// byThread walks each thread's frames by their numbers, in whatever files.
func (r *Reader) byThread() {
	c := r.newCursor()
	for _, p := range r.profile.processes {
		if !r.wantsProcess(p) {
			continue
		}
		for i := range p.threads {
			for _, ref := range p.threads[i].Frames {
				c.add(p, ref)
			}
		}
	}
	r.cursors = []*cursor{c}
}

// byTime gives each thread a cursor of its own, one step ahead of what it has
// yielded: a heap of them needs to know when each goes on. Before its first frame's
// time a cursor has nothing but that: of thousands of threads, as many decode as run at a time.
// A thread whose first frame is damaged ends the whole iteration there: a merge without
// it would be wrong without looking wrong.
func (r *Reader) byTime() {
	for _, p := range r.profile.processes {
		if !r.wantsProcess(p) {
			continue
		}
		for i := range p.threads {
			c := r.newCursor()
			for _, ref := range p.threads[i].Frames {
				c.add(p, ref)
			}
			if c.wait() {
				r.cursors = append(r.cursors, c)
			}
		}
	}
	heap.Init((*cursorHeap)(&r.cursors))
}

// Err returns what ended the iteration before its end, nil if nothing did.
// Iteration ends in the same way at the end and at an error: callers must ask.
func (r *Reader) Err() error { return r.err }

// NextExec goes on to the next execution that has anything that matches.
//
// An execution is yielded whole even if a filter takes only some of its instructions:
// those who need the difference use Next.
func (r *Reader) NextExec() bool {
	for {
		switch s := r.step(); s {
		case stepEnd:
			return false
		case stepExec:
			x := &r.cur.x
			if r.last == nil || r.last.p != x.Process {
				r.last = r.match[x.Process]
			}
			if r.last.exec(x) {
				return true
			}
		}
	}
}

// Exec returns the current execution.
// It is overwritten by the next step.
func (r *Reader) Exec() *Exec { return &r.cur.x }

// EachExec calls f for every execution that q matches, until f returns an error.
func (p *Profile) EachExec(q Query, f func(x *Exec) error) error {
	r := p.Reader(q)
	for r.NextExec() {
		if err := f(r.Exec()); err != nil {
			return err
		}
	}
	return r.Err()
}

// step goes one step on in the order that the query asks for.
func (r *Reader) step() step {
	if r.err != nil {
		return stepEnd
	}
	if r.query.Order == OrderTime {
		return r.stepTime()
	}
	r.cur = r.cursors[0]
	s := r.cur.step()
	if s == stepEnd {
		r.err = r.cur.err
	}
	return s
}

// Seek goes to that instruction of a thread (by its number in the first process
// that the query matches), by one look-up in the frames' headers: the next
// entry is that instruction (the first part of it, where it is a string instruction that
// was recorded in parts), the next execution the one that it belongs to.
// What follows is the rest of the thread. OrderThread only.
func (r *Reader) Seek(thread uint32, ordinal uint64) error {
	for _, p := range r.profile.processes {
		if r.wantsProcess(p) {
			return r.SeekIn(p, thread, ordinal)
		}
	}
	return fmt.Errorf("seek: no process: %w", ErrNoSuchPlace)
}

// SeekIn is Seek for a thread of that process.
//
// An ordinal that is not there gives ErrNoSuchPlace. The executions of the frame in front
// of the place are decoded and thrown away: frames are the unit of seeking.
func (r *Reader) SeekIn(p *Process, thread uint32, ordinal uint64) error {
	if r.query.Order != OrderThread {
		return errors.New("seek: the reader's order is not that of threads")
	}
	r.rewind()
	c := r.cursors[0]
	// Linear in the number of frames, which is small beside decoding one.
	for i, ref := range c.refs {
		last := ref.Ordinal + ref.Counts.Instructions
		if c.procs[i] == p && ref.Thread == thread && ordinal >= ref.Ordinal && ordinal < last {
			c.next = c.firstOf(i, ordinal)
			return r.skipTo(ordinal)
		}
	}
	return fmt.Errorf("seek: thread %d, instruction %d: %w", thread, ordinal, ErrNoSuchPlace)
}

// firstOf returns the first frame that may hold something of an instruction that retires in frame i: parts of it may lie at
// the ends of frames in front, as whole frames of nothing else may.
func (c *cursor) firstOf(i int, ordinal uint64) int {
	for i > 0 && c.refs[i].Ordinal == ordinal && c.procs[i-1] == c.procs[i] && c.refs[i-1].Thread == c.refs[i].Thread {
		i--
	}
	return i
}

// skipTo skips executions until the first that holds something of the instruction.
func (r *Reader) skipTo(ordinal uint64) error {
	c := r.cursors[0]
	for {
		s := c.step()
		if s == stepEnd {
			return errors.Join(fmt.Errorf("seek: instruction %d: %w", ordinal, ErrNoSuchPlace), c.err)
		}
		if s == stepExec && ordinal < c.x.Ordinal+c.x.ordinals() {
			c.again = true // the caller's first step shall yield it
			r.from = ordinal
			return nil
		}
	}
}

// cursorHeap orders the threads' cursors by the time of what each yields next.
// With equal times the lower process and thread come first, so that the order
// is the same at every reading.
//
// Merging is as exact as the stamps: where only chunks have them, a thread's chunk goes
// before another's as a whole.
type cursorHeap []*cursor

// Len implements heap.Interface.
func (h *cursorHeap) Len() int { return len(*h) }

// Less implements heap.Interface.
func (h *cursorHeap) Less(i, j int) bool {
	a, b := &(*h)[i].x, &(*h)[j].x
	if a.TSC != b.TSC {
		return a.TSC < b.TSC
	}
	if a.Process != b.Process {
		return a.Process.before(b.Process)
	}
	return a.Thread < b.Thread
}

// Swap implements heap.Interface.
func (h *cursorHeap) Swap(i, j int) { (*h)[i], (*h)[j] = (*h)[j], (*h)[i] }

// Push implements heap.Interface.
func (h *cursorHeap) Push(x any) { *h = append(*h, x.(*cursor)) }

// Pop implements heap.Interface.
func (h *cursorHeap) Pop() any {
	n := len(*h) - 1
	c := (*h)[n]
	(*h)[n] = nil // what it has decoded with is not needed any more
	*h = (*h)[:n]
	return c
}

// wait puts a cursor in front of its first frame, unread; false: there is none.
func (c *cursor) wait() bool {
	for ; c.next < len(c.refs); c.next++ {
		p, ref := c.procs[c.next], c.refs[c.next]
		if c.query.wantsFrame(p, &ref.FrameHeader) && !p.Lacks(ref) {
			c.x.Process, c.x.Thread, c.x.TSC = p, ref.Thread, ref.FirstTSC
			c.ahead = stepWaits
			return true
		}
	}
	return false
}

// peek makes a cursor one step ahead of what it has yielded.
func (c *cursor) peek() bool {
	c.ahead = c.step()
	return c.ahead != stepEnd
}

// ahead has the earliest cursor go on, and takes it out behind its last step. false: it has failed.
func (r *Reader) ahead() bool {
	c := r.cursors[0]
	if c.peek() {
		heap.Fix((*cursorHeap)(&r.cursors), 0)
		return true
	}
	if r.err = c.err; r.err != nil {
		return false
	}
	heap.Pop((*cursorHeap)(&r.cursors))
	return true
}

// stepTime yields the earliest cursor's step. The cursor goes on only at the
// next call, because the execution that it yielded lies in its batch.
//
// A heap of n threads costs log n comparisons an execution; as long as one thread stays
// the earliest, which is the usual case, it is one or two.
func (r *Reader) stepTime() step {
	if r.cur != nil && len(r.cursors) > 0 && r.cur == r.cursors[0] && !r.ahead() {
		return stepEnd
	}
	for len(r.cursors) > 0 && r.cursors[0].ahead == stepWaits {
		if !r.ahead() {
			return stepEnd
		}
	}
	if len(r.cursors) == 0 {
		return stepEnd
	}
	r.cur = r.cursors[0]
	if r.cur != r.lastCur && r.cur.ahead != stepThread {
		r.switched = true
	}
	r.lastCur = r.cur
	return r.cur.ahead
}
