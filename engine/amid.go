package engine

import (
	"alleria/engine/codecache"
	"alleria/internal/sys"
)

// Where threads are, as far as it matters for counting entries: in a function that loops to its
// first instruction, and at an address whose arrival has been counted.

// stand is an application address at which a thread was found, and what had been counted of its
// arrival there.
type stand struct {
	addr, rsp uint64
	how       codecache.Entry
}

// is tells whether a thread with these registers is still there.
func (s stand) is(regs *sys.Regs) bool {
	return s.how != codecache.Uncounted && s.addr == regs.Rip && s.rsp == regs.Rsp
}

// recall is what has been counted of a thread's arrival where it is to go on, as far as that
// was found when it was taken out of translated code.
func (t *Thread) recall(regs *sys.Regs) codecache.Entry {
	s := t.stands
	t.stands = stand{}
	if s.is(regs) {
		return s.how
	}
	return codecache.Uncounted
}

// mostInterrupted bounds how many handlers' returns are remembered: those that are left by
// longjmp never come.
const mostInterrupted = 16

// willStandAgain notes that a handler will return to where a thread stands; standsAgain is for
// when it has.
func (t *Thread) willStandAgain(regs *sys.Regs) {
	if s := t.stands; s.is(regs) {
		if len(t.interrupted) == mostInterrupted {
			t.interrupted = append(t.interrupted[:0], t.interrupted[1:]...)
		}
		t.interrupted = append(t.interrupted, s)
	}
	t.stands = stand{}
}

func (t *Thread) standsAgain(regs *sys.Regs) {
	for k := len(t.interrupted) - 1; k >= 0; k-- {
		if s := t.interrupted[k]; s.is(regs) {
			t.stands, t.interrupted = s, t.interrupted[:k]
			return
		}
	}
}

// keepAmid keeps the process in the cache if a thread that is about to run natively may be in
// a function whose jumps to its start would then be taken for calls: it would be in it before the
// int3 there could see it enter.
func (tr *Tracer) keepAmid(t *Thread, regs *sys.Regs) {
	p := t.p
	if p.points.MayBeWithin(regs.Rip, regs.Rsp) {
		p.stayAmid()
	}
}
