package engine

import (
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// askOff is layout.Ask under a name that code of other files uses.
const askOff = layout.Ask

// count writes the increment of the block's counter. With the flags dead it is
// one instruction; else a register is borrowed.
// Blocks beyond the table's end are not counted; a program has to have three
// million.
func (u *unit) count(b *block, ins []x86.Insn) {
	p := u.p
	n := len(p.counters)
	if n == layout.MaxCounters {
		return
	}
	p.counters = append(p.counters, b.num)
	off := layout.CounterOff + 8*n
	a := &u.asm
	if u.flagsFree(ins) {
		a.IncWord(off)
		return
	}
	a.StoreWord(layout.S0, x86.RAX)
	a.LoadWord(x86.RAX, off)
	a.LeaDisp(x86.RAX, x86.RAX, 1)
	a.StoreWord(off, x86.RAX)
	a.LoadWord(x86.RAX, layout.S0)
}

// flagsFree tells whether code at a block's start may change the flags.
func (u *unit) flagsFree(ins []x86.Insn) bool { return !u.p.keepFlags && flagsDead(ins, 0) }

// flagsFree tells whether the recording of instruction i may change them.
func (r *recorder) flagsFree(i int) bool { return !r.u.p.keepFlags && flagsDead(r.ins, i) }

// flagsDead tells whether every arithmetic flag is written before it is read
// from instruction i on.
// The end of the list counts as a reader: what follows the block is not known.
func flagsDead(ins []x86.Insn, i int) bool {
	left := uint8(x86.AllFlags)
	for ; i < len(ins); i++ {
		in := &ins[i]
		if in.FlagsRead&left != 0 {
			return false
		}
		left &^= in.FlagsAlways()
		if left == 0 {
			return true
		}
		if in.Cat == x86.CatCONDBR { // what its target does with them is not known
			return false
		}
	}
	return false
}

// Counts calls f for each counted block that the thread executed: its address,
// how many instructions it has and how often it ran.
//
// Only for a thread that is stopped or has ended. Executions that were left early are taken
// back by a negative number of times of one instruction: f must add in uint64, which wraps
// to the right sum.
func (t *Thread) Counts(f func(addr uint64, instructions int, times uint64)) {
	for i, num := range t.p.counters {
		if n := t.slot.get(layout.CounterOff + 8*i); n != 0 {
			b := t.p.blockPool.at(int(num))
			f(b.app, int(b.insns), n)
		}
	}
	for addr, n := range t.emulated {
		f(addr, 1, n)
	}
	for _, c := range t.partial {
		f(c.b.app, 1, -uint64(int(c.b.insns)-c.done))
	}
}

// countEmulated counts an instruction that the tracer executed.
func (t *Thread) countEmulated(addr uint64) {
	if t.emulated == nil {
		t.emulated = make(map[uint64]uint64)
	}
	t.emulated[addr]++
}

// partial is an execution of a counted block that was left early.
type partial struct {
	b    *block
	done int
}
