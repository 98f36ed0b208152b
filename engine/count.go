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
	if u.flagsFree(ins) {
		u.asm.IncWord(off)
		return
	}
	u.increment(off)
}

// increment counts one up without changing a flag.
func (u *unit) increment(off int) {
	a := &u.asm
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
		if n := t.slot.get(layout.CounterOff + 8*i); n != 0 && !t.p.entries.isJump(i) {
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

// How often functions are entered follows from how often the blocks that they begin with are executed, for which blocks must not
// go on from one function into the next, less the jumps to a function's first instruction from within the
// function: these are a loop's. Such jumps are few, and have counters of their own.
//
// Not counted are indirect jumps of that kind (a table of a switch in a loop that begins with the function).

// entryCounts is what a process knows of that.
type entryCounts struct {
	// function returns the extent of the function that holds an address, zeros if none does; nil: entries are not
	// counted.
	function func(addr uint64) Extent
	jumps    map[int]uint64 // where the jumps lead that a counter counts, by its number
}

// isJump tells whether a counter is one of jumps.
func (e *entryCounts) isJump(counter int) bool {
	_, ok := e.jumps[counter]
	return ok
}

// CountEntries has the blocks of ModeCount tell how often functions are entered (Thread.Entries). function returns the extent of the function
// that holds an address, zeros if there is none. It is called before anything is translated.
func (p *Process) CountEntries(function func(addr uint64) Extent) {
	p.entries.function, p.entries.jumps = function, make(map[int]uint64)
}

// Entries calls f for counts of arrivals at functions' first instructions, with a negative number of times for those that are
// no entries: f must add in uint64. Other addresses come too, at which no function begins. Only for a thread that is stopped or
// has ended.
func (t *Thread) Entries(f func(addr uint64, times uint64)) {
	for i, num := range t.p.counters {
		n := t.slot.get(layout.CounterOff + 8*i)
		switch {
		case n == 0:
		case t.p.entries.isJump(i):
			f(t.p.entries.jumps[i], -n)
		default:
			f(t.p.blockPool.at(int(num)).app, n)
		}
	}
	for addr, n := range t.emulated {
		f(addr, n)
	}
}

// withinFunction returns how many of the instructions of a block lie in the function that it begins in.
func (u *unit) withinFunction(ins []x86.Insn) int {
	if u.v != Count || u.p.entries.function == nil {
		return len(ins)
	}
	e := u.p.entries.function(ins[0].Addr)
	for i := 1; i < len(ins); i++ {
		if e.Start == e.End { // in none: up to where one begins
			if n := u.p.entries.function(ins[i].Addr); n.Start == ins[i].Addr && n.End > n.Start {
				return i
			}
			continue
		}
		if ins[i].Addr >= e.End {
			return i
		}
	}
	return len(ins)
}

// jumpsToEntry tells whether a direct jump leads to the beginning of the function that it is in, and has to be counted.
func (u *unit) jumpsToEntry(in *x86.Insn) bool {
	if u.v != Count || u.p.entries.function == nil || len(u.p.counters) == layout.MaxCounters {
		return false
	}
	e := u.p.entries.function(in.Addr)
	return e.End > e.Start && e.Start == in.Target()
}

// countJump writes the counting of a jump to the beginning of its function.
func (u *unit) countJump(in *x86.Insn) {
	n := len(u.p.counters)
	u.p.counters = append(u.p.counters, 0)
	u.p.entries.jumps[n] = in.Target()
	u.increment(layout.CounterOff + 8*n)
}

// countedCond writes a conditional branch that is counted where it is taken.
func (u *unit) countedCond(in *x86.Insn, how arrival) {
	code := []byte{0x70 | in.Opcode&0xf, 0}
	switch in.Mnem {
	case x86.MLOOP, x86.MLOOPE, x86.MLOOPNE, x86.MJRCXZ, x86.MJECXZ:
		code = u.p.insBytes(in)
	}
	u.asm.CopyShort(code, 2)
	skip := u.asm.JmpShort()
	u.countJump(in)
	u.jumpTo(in.Target(), how)
	u.asm.Land(skip)
}
