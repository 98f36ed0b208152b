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

// expect announces a thread's frames. Each counts as read when it is done, also where a
// filter has skipped it. Frame headers tell the number; nothing is decoded for it.
func (p *Progress) expect(t *abp.Thread) {
	if p == nil {
		return
	}
	for _, f := range t.Frames {
		p.total.Add(f.Execs)
	}
}

// add counts n executions as read: once a frame, which is often enough for a line of text
// twice a second.
func (p *Progress) add(n uint64) {
	if p != nil {
		p.done.Add(n)
	}
}

// expectAll announces all frames that a query may want.
func (p *Progress) expectAll(profile *abp.Profile, q abp.Query) {
	if p == nil {
		return
	}
	for _, proc := range profile.Processes() {
		if !wants(q.Processes, proc.Number()) || !wants(q.Programs, proc.Generation()) {
			continue
		}
		for i := range proc.Threads() {
			p.expect(&proc.Threads()[i])
		}
	}
}

// reach says how many executions have been read or passed over in all.
func (p *Progress) reach(n uint64) {
	if p != nil {
		p.done.Store(n)
	}
}
