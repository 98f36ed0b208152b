package abp

import "container/heap"

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
	*h = (*h)[:n]
	return c
}

// peek makes a cursor one step ahead of what it has yielded.
func (c *cursor) peek() bool {
	c.ahead = c.step()
	return c.ahead != stepEnd
}

// stepTime yields the earliest cursor's step. The cursor goes on only at the
// next call, because the execution that it yielded lies in its batch.
//
// A heap of n threads costs log n comparisons an execution; as long as one thread stays
// the earliest, which is the usual case, it is one or two.
func (r *Reader) stepTime() step {
	if r.cur != nil && len(r.cursors) > 0 && r.cur == r.cursors[0] {
		if r.cur.peek() {
			heap.Fix((*cursorHeap)(&r.cursors), 0)
		} else {
			if r.err = r.cur.err; r.err != nil {
				return stepEnd
			}
			heap.Pop((*cursorHeap)(&r.cursors))
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
