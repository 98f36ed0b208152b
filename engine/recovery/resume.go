package recovery

import (
	"alleria/engine/codecache"
	"alleria/internal/sys"
)

// Where threads are, as far as it matters for counting entries: in a function that loops to its
// first instruction, and at an address whose entry has been counted.

// resumePoint is an application address at which a thread was found, and what had been counted of its
// entry there.
type resumePoint struct {
	addr, rsp uint64
	how       codecache.Entry
}

// is tells whether a thread with these registers is still there.
func (s resumePoint) is(regs *sys.Regs) bool {
	return s.how != codecache.Uncounted && s.addr == regs.Rip && s.rsp == regs.Rsp
}

// mostInterrupted bounds how many handlers' returns are remembered: those that are left by
// longjmp never come.
const mostInterrupted = 16

// Resumes is where a thread was found last, and where handlers of signals will return to, if something is known of its entry there.
type Resumes struct {
	last        resumePoint
	interrupted []resumePoint
}

// At notes what has been counted of the entry where a thread with these registers, the application's, was found.
func (r *Resumes) At(regs *sys.Regs, how codecache.Entry) {
	r.last = resumePoint{regs.Rip, regs.Rsp, how}
}

// Recall is what has been counted of a thread's entry where it is to go on, as far as that
// was found when it was taken out of translated code.
func (r *Resumes) Recall(regs *sys.Regs) codecache.Entry {
	s := r.last
	r.last = resumePoint{}
	if s.is(regs) {
		return s.how
	}
	return codecache.Uncounted
}

// Interrupt notes that a handler will return to where a thread stands.
func (r *Resumes) Interrupt(regs *sys.Regs) {
	if s := r.last; s.is(regs) {
		if len(r.interrupted) == mostInterrupted {
			r.interrupted = append(r.interrupted[:0], r.interrupted[1:]...)
		}
		r.interrupted = append(r.interrupted, s)
	}
	r.last = resumePoint{}
}

// Return is for when it has. Taking it back is for a return that does not happen after all.
func (r *Resumes) Return(regs *sys.Regs) (takeBack func()) {
	was := r.last
	for k := len(r.interrupted) - 1; k >= 0; k-- {
		if s := r.interrupted[k]; s.is(regs) {
			r.last, r.interrupted = s, r.interrupted[:k]
			break
		}
	}
	return func() { r.last = was }
}
