package engine

import (
	"alleria/engine/x86"
	"alleria/internal/layout"
)

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
