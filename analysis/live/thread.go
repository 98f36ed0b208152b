package live

import (
	"errors"
	"fmt"
	"math"

	"alleria/abp"
	"alleria/analysis/stream"
)

// ErrMalformed: a ring holds what no recorder writes.
var ErrMalformed = errors.New("malformed records")

// Thread is one application thread, for some of the analyses, which read its ring at a place of their own. Consume is called by one goroutine at a time.
type Thread struct {
	p       *Process
	number  uint32
	members []*member
	sinks   []stream.Sink // of members; nil: it failed before the thread began
	state   abp.Exec
	parts   []part
	shapes  []uint16      // by block: words of an execution with its number, and dynamic; 0: not met
	walked  stream.Walked // counts also what the Thread takes apart
	gap     bool          // records are missing in front of what comes
	callers []uint64
	done    bool
}

// dynamic marks blocks the words of whose executions say what they count for.
const dynamic = 1 << 15

// Consume takes the words that come next of the thread's ring. opened is when their chunk was begun.
func (t *Thread) Consume(words []uint64, opened uint64) error {
	t.state.TSC = max(t.state.TSC, opened)
	t.parts = t.parts[:0]
	err := t.parse(words)
	t.p.feed(t)
	if err != nil {
		return fmt.Errorf("thread %d: %w", t.number, err)
	}
	return nil
}

// Counts returns what has been consumed.
func (t *Thread) Counts() abp.Counts {
	c := t.walked.Counts
	for id, n := range t.walked.Execs {
		if n > 0 {
			c.Add(t.state.Process.Block(uint32(id)).Static, n)
		}
	}
	return c
}

// LeftOut adds executions of a block, all whole, that are not among the words, as none of its accesses matters to any of the analyses. Each of these lies in one line.
func (t *Thread) LeftOut(id uint32, times uint64) {
	b := t.state.Process.Block(id)
	if int(id) >= len(t.shapes) || t.shapes[id] == 0 {
		if !t.meet(id) {
			return
		}
	}
	t.walked.Execs[id] += times
	for i, m := range t.members {
		m.guard(func() {
			if s, ok := t.sinks[i].(leaver); ok {
				s.LeftOut(b, times)
			}
		})
	}
}

// Follows is up to which hash of a line an execution matters that accesses it (reuse.Hash): all of them, if its analyses do not go by lines.
func (t *Thread) Follows() uint64 {
	if len(t.sinks) == 1 {
		if s, ok := t.sinks[0].(leaver); ok {
			return s.Follows()
		}
	}
	return math.MaxUint64
}

// leaver is a sink that needs not be brought executions that access none of the lines that it follows.
type leaver interface {
	LeftOut(b *abp.Block, times uint64)
	Follows() uint64
}

// parse takes words apart. What came in front of an error is right.
func (t *Thread) parse(words []uint64) error {
	for at := 0; at < len(words); {
		from := t.walk(words, at)
		n, err := t.whole(words, from)
		if n > from {
			t.part(part{words: words[from:n]})
		}
		if at = n; err != nil {
			return err
		}
		if at == len(words) {
			return nil
		}
		if n, err = t.mark(words[at:]); err != nil {
			return err
		}
		at += n
	}
	return nil
}

// walk has the only sink, if it can, take whole executions from a place on, and returns where they end. Else, and where its analysis is over, whole goes on.
func (t *Thread) walk(words []uint64, at int) int {
	if len(t.members) != 1 || words[at]>>32 != 0 {
		return at
	}
	w, ok := t.sinks[0].(stream.Walker)
	if !ok {
		return at
	}
	t.part(part{words: words[at:at]}) // with what is known of what comes, by which it goes whether it walks
	t.p.feed(t)
	t.parts = t.parts[:0]
	if !w.Walks() {
		return at
	}
	t.walked.At = at
	t.members[0].guard(func() { w.Walk(&t.state, words, &t.walked) })
	return t.walked.At
}

// part appends a part, in the state that the thread is in.
func (t *Thread) part(p part) {
	if !p.single {
		p.x = t.state
	}
	p.gapAhead, t.gap = t.gap, false
	p.callers, t.callers = t.callers, nil
	t.parts = append(t.parts, p)
}

// whole counts whole executions from a place on and returns where they end.
//
// The place is advanced word by word: the processor then predicts the records' lengths, where it
// would wait for each to be looked up.
func (t *Thread) whole(words []uint64, at int) (int, error) {
	execs := t.walked.Execs
	for at < len(words) {
		id := words[at]
		if id>>32 != 0 {
			return at, nil
		}
		if id >= uint64(len(t.shapes)) || t.shapes[id] == 0 {
			if !t.meet(uint32(id)) {
				return at, fmt.Errorf("block %d: %w", id, ErrMalformed)
			}
			execs = t.walked.Execs
		}
		n := int(t.shapes[id])
		if n&dynamic != 0 {
			n &^= dynamic
			if n <= len(words)-at {
				t.dynamic(uint32(id), words[at+1:at+n])
			}
		}
		if n > len(words)-at {
			return at, fmt.Errorf("block %d is cut short: %w", id, ErrMalformed)
		}
		execs[id]++
		for ; n > 0; n-- {
			at++
		}
	}
	return at, nil
}

// meet prepares for a block.
func (t *Thread) meet(id uint32) bool {
	b := t.state.Process.Block(id)
	if id == 0 || b == nil || b.Words >= dynamic-1 {
		return false
	}
	if n := int(id) + 1 - len(t.shapes); n > 0 {
		n += len(t.shapes) / 2
		t.shapes = append(t.shapes, make([]uint16, n)...)
	}
	if n := int(id) + 1 - len(t.walked.Execs); n > 0 {
		t.walked.Execs = append(t.walked.Execs, make([]uint64, n+len(t.walked.Execs)/2)...)
	}
	t.shapes[id] = uint16(b.Words + 1)
	if b.Dynamic {
		t.shapes[id] |= dynamic
	}
	return true
}

// dynamic counts what an execution counts for by its words.
func (t *Thread) dynamic(id uint32, words []uint64) {
	t.walked.Dynamic(t.state.Process.Block(id), words)
}

// mark takes a mark at the start of words, with the execution that belongs to it, and returns how many words that are.
func (t *Thread) mark(words []uint64) (int, error) {
	n := abp.MarkLen(words)
	if n == 0 || n > len(words) {
		return 0, fmt.Errorf("mark %#x: %w", words[0], ErrMalformed)
	}
	kind, payload := abp.SplitMark(words[0])
	switch kind {
	case abp.MarkCut:
		k, err := t.cut(words[n:], int(min(payload, 1<<16)))
		return n + k, err
	case abp.MarkEmulated:
		return n, t.emulated(uint32(payload), words[2:n])
	case abp.MarkBeside: // of the next execution by the tracer, which takes the slice along
		t.state.Beside = append(t.state.Beside[:min(int(uint16(payload)), len(t.state.Beside))], words[1:n]...)
	case abp.MarkFS:
		t.state.FSBase = words[1]
	case abp.MarkGS:
		t.state.GSBase = words[1]
	case abp.MarkWindows, markSwitch:
		t.state.Windows = payload
	case abp.MarkGap:
		t.gap, t.callers = true, nil
	case abp.MarkCallers:
		t.callers = abp.AppendCallers(t.callers, payload, words[1:n])
	case abp.MarkThread:
		t.state.OSID = uint32(words[2])
	}
	return n, nil
}

// markSwitch is abp.MarkWindows written by translated code: it is in rings only.
const markSwitch = 0x89

// cut takes an execution of which some instructions completed.
func (t *Thread) cut(words []uint64, completed int) (int, error) {
	if len(words) == 0 || words[0]>>32 != 0 {
		return 0, fmt.Errorf("a cut without an execution: %w", ErrMalformed)
	}
	b := t.state.Process.Block(uint32(words[0]))
	if b == nil || b.Words >= len(words) {
		return 0, fmt.Errorf("block %d: %w", words[0], ErrMalformed)
	}
	x := t.state
	x.Whole(b, words[1:])
	x.Completed = min(completed, len(b.Ins))
	t.single(&x)
	return 1 + b.Words, nil
}

// emulated takes an execution by the tracer.
func (t *Thread) emulated(id uint32, pairs []uint64) error {
	b := t.state.Process.Block(id)
	if b == nil {
		return fmt.Errorf("block %d: %w", id, ErrMalformed)
	}
	x := t.state
	x.Block, x.Words, x.Emulated, x.IsEmulated = b, nil, pairs, true
	x.Completed, x.Timed = len(b.Ins), false
	t.single(&x)
	t.state.Beside = nil
	return nil
}

// single counts and appends one execution.
func (t *Thread) single(x *abp.Exec) {
	t.walked.Counts.Add(x.Counts(), 1)
	t.part(part{x: *x, single: true})
}
