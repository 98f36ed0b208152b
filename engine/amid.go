package engine

import (
	"encoding/binary"

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
	var loops []*placesAt
	for addr, at := range p.placeAt {
		if p.loops(addr) {
			if at.holds(regs.Rip) {
				p.stayAmid()
				return
			}
			loops = append(loops, at)
		}
	}
	if len(loops) > 0 && p.stackHolds(regs.Rsp, loops) {
		p.stayAmid()
	}
}

// mostStack bounds how much of a stack is looked through.
const mostStack = 8 << 20

// stackHolds tells whether some word of the stack from rsp up may be a return address, or where
// a handler returns to, in one of the functions. What is left there of earlier calls is
// taken for one, and so is everything beyond mostStack: that costs time in the cache only.
//
// Stacks that a thread has left for another (coroutines, handlers on one of their own) are not seen:
// a function that waits there may be counted once too often.
func (p *Process) stackHolds(rsp uint64, functions []*placesAt) bool {
	buf := make([]byte, pageSize)
	for at := rsp &^ 7; at < rsp+mostStack; {
		n := pageSize - at%pageSize // one page more may not be the stack's
		if _, err := p.mem.ReadAt(buf[:n], int64(at)); err != nil {
			return false
		}
		for i := uint64(0); i+8 <= n; i += 8 {
			w := binary.LittleEndian.Uint64(buf[i:])
			for _, f := range functions {
				// A pointer to the function is no return address.
				if f.holds(w) && w != f.function[0].Start {
					return true
				}
			}
		}
		at += n
	}
	return true
}
