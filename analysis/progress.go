package analysis

import (
	"sync/atomic"

	"alleria/abp"
)

// Progress tells another goroutine how far reading has got, in executions of
// blocks. A nil Progress is one that nobody looks at. All methods may be called
// at any time from any goroutine.
type Progress struct {
	done, total atomic.Uint64
}

// progressStep is after how many executions a reader reports: often enough for
// a line of text twice a second, too seldom to be felt.
const progressStep = 1 << 14

// Share returns how much of what is to be read has been, from 0 to 1.
// It may fall when another process's frames are announced: what is still to come is
// only known when that process is read.
func (p *Progress) Share() float64 {
	total := p.total.Load()
	if total == 0 {
		return 0
	}
	return min(1, float64(p.done.Load())/float64(total))
}

// expect announces a thread's frames. Filters may skip some: they count as read
// when the thread is done, see finish.
// Frame headers tell the number; nothing is decoded for it.
func (p *Progress) expect(t *abp.Thread) uint64 {
	var n uint64
	for _, f := range t.Frames {
		n += f.Execs
	}
	if p != nil {
		p.total.Add(n)
	}
	return n
}

// add counts n executions as read.
func (p *Progress) add(n uint64) {
	if p != nil {
		p.done.Add(n)
	}
}

// meter counts one reader's executions and passes them on in steps.
// One belongs to one goroutine; only what it passes on is shared, so that counting
// costs an increment and no atomic.
type meter struct {
	progress *Progress
	left     uint64 // of what was expected
	pending  uint64
}

// tick is called for each execution, or each entry.
func (m *meter) tick() {
	if m.pending++; m.pending == progressStep {
		m.report(progressStep)
	}
}

// report passes n on, but never more than was expected: entries outnumber
// executions, and a share beyond the whole would be nonsense.
func (m *meter) report(n uint64) {
	n = min(n, m.left)
	m.left -= n
	m.pending = 0
	m.progress.add(n)
}

// finish reports what is left.
func (m *meter) finish() { m.report(m.left) }
