package translate

import (
	"alleria/engine/codecache"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// How often functions are entered follows from how often the blocks that they begin with are executed, for which blocks must not
// go on from one function into the next, less the jumps to a function's first instruction from within the
// function: these are a loop's. Such jumps are few, and have counters of their own.
//
// Indirect ones (a table of a switch in a loop that begins with the function) are compared with that instruction's address.
// Where edges are counted these tell of them.

// EntryCounts is what a process knows of that.
type EntryCounts struct {
	// Function returns the extent of the function that holds an address, zeros if none does; nil: entries are not
	// counted.
	Function func(addr uint64) (start, end uint64)
	Jumps    map[int]uint64 // where the jumps lead that a counter counts, by its number
	Edges    EdgeCounts
}

// Forget is for when all counters are forgotten.
func (e *EntryCounts) Forget() {
	clear(e.Jumps)
	e.Edges.Forget()
}

// IsJump tells whether a counter is one of jumps.
func (e *EntryCounts) IsJump(counter int) bool {
	_, ok := e.Jumps[counter]
	return ok
}

// increment counts one up without changing a flag, with a register that it borrows.
func (u *Translator) increment(off int, r x86.Reg) {
	a := &u.asm
	a.StoreWord(layout.S0, r)
	a.LoadWord(r, off)
	a.LeaDisp(r, r, 1)
	a.StoreWord(off, r)
	a.LoadWord(r, layout.S0)
}

// withinFunction returns how many of the instructions of a block lie in the function that it begins in.
func (u *Translator) withinFunction(ins []x86.Insn) int {
	if u.Variant != codecache.Count || u.Entries.Function == nil {
		return len(ins)
	}
	start, end := u.Entries.Function(ins[0].Addr)
	for i := 1; i < len(ins); i++ {
		if start == end { // in none: up to where one begins
			if s, e := u.Entries.Function(ins[i].Addr); s == ins[i].Addr && e > s {
				return i
			}
			continue
		}
		if ins[i].Addr >= end {
			return i
		}
	}
	return len(ins)
}

// jumpsToEntry tells whether a direct jump leads to the beginning of the function that it is in, and has to be counted.
func (u *Translator) jumpsToEntry(in *x86.Insn) bool {
	if u.Variant != codecache.Count || u.Entries.Function == nil || u.cache.Counters.N == layout.MaxCounters {
		return false
	}
	start, end := u.Entries.Function(in.Addr)
	return end > start && start == in.Target()
}

// isCounted tells whether a direct jump is counted where it is taken.
func (u *Translator) isCounted(in *x86.Insn) bool {
	return u.jumpsToEntry(in) || u.entersFrom(in.Addr, in.Target())
}

// countJump writes the counting of a jump to the beginning of its function, or of another one.
func (u *Translator) countJump(in *x86.Insn) {
	if !u.jumpsToEntry(in) {
		u.countEnter(in.Addr, in.Target())
		return
	}
	u.countOwn(in.Target())
}

// countOwn writes the counting of a jump to the beginning of its function.
func (u *Translator) countOwn(entry uint64) {
	n := u.cache.Counters.N
	u.cache.Counters.Append(0)
	u.Entries.Jumps[n] = entry
	u.increment(layout.CounterOff+8*n, x86.RAX)
}

// ownEntry is the first instruction of the function that an indirect jump is in, 0 where jumps there need no counting.
func (u *Translator) ownEntry(in *x86.Insn) uint64 {
	if u.Variant != codecache.Count || u.Entries.Function == nil || u.Entries.Edges.On || u.cache.Counters.N == layout.MaxCounters {
		return 0
	}
	if start, end := u.Entries.Function(in.Addr); end > start {
		return start
	}
	return 0
}

// countedCond writes a conditional branch that is counted where it is taken.
func (u *Translator) countedCond(in *x86.Insn, how codecache.Entry) {
	code := []byte{0x70 | in.Opcode&0xf, 0}
	switch in.Mnem {
	case x86.MLOOP, x86.MLOOPE, x86.MLOOPNE, x86.MJRCXZ, x86.MJECXZ:
		code = u.InsBytes(in)
	}
	u.asm.CopyShort(code, 2)
	skip := u.asm.JmpShort()
	u.countJump(in)
	u.jumpTo(in.Target(), how)
	u.asm.Land(skip)
}
