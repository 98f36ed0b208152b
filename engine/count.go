package engine

import (
	"alleria/engine/probe"
	"alleria/engine/translate"
	"alleria/internal/layout"
)

// Counts calls f for each counted block that the thread executed: its address,
// how many instructions it has and how often it ran.
//
// Only for a thread that is stopped or has ended. Executions that were left early are taken
// back by a negative number of times of one instruction: f must add in uint64, which wraps
// to the right sum.
func (t *Thread) Counts(f func(addr uint64, instructions int, times uint64)) {
	for i, num := range t.p.cache.Counters {
		if n := t.slot.Get(layout.CounterOff + 8*i); n != 0 && !t.p.translator.Entries.IsJump(i) {
			b := t.p.cache.BlockPool.At(int(num))
			f(b.App, int(b.Insns), n)
		}
	}
	for k, n := range t.counted {
		if !k.jump {
			f(k.addr, k.instructions, n)
		}
	}
	for addr, n := range t.emulated {
		f(addr, 1, n)
	}
	for _, c := range t.recovery.Partial() {
		f(c.Block.App, 1, -uint64(int(c.Block.Insns)-c.Done))
	}
}

// countEmulated counts an instruction that the tracer executed.
func (t *Thread) countEmulated(addr uint64) {
	if t.emulated == nil {
		t.emulated = make(map[uint64]uint64)
	}
	t.emulated[addr]++
}

// CountEntries has the blocks of ModeCount tell how often functions are entered (Thread.Entries). function returns the extent of the function
// that holds an address, zeros if there is none. It is called before anything is translated.
func (p *Process) CountEntries(function func(addr uint64) probe.Extent) {
	p.translator.Entries = translate.EntryCounts{Jumps: make(map[int]uint64), Function: func(addr uint64) (start, end uint64) {
		e := function(addr)
		return e.Start, e.End
	}}
}

// Entries calls f for counts of entries at functions' first instructions, with a negative number of times for those that are
// no entries: f must add in uint64. Other addresses come too, at which no function begins. Only for a thread that is stopped or
// has ended.
func (t *Thread) Entries(f func(addr uint64, times uint64)) {
	for i, num := range t.p.cache.Counters {
		n := t.slot.Get(layout.CounterOff + 8*i)
		switch {
		case n == 0:
		case t.p.translator.Entries.IsJump(i):
			f(t.p.translator.Entries.Jumps[i], -n)
		default:
			f(t.p.cache.BlockPool.At(int(num)).App, n)
		}
	}
	for k, n := range t.counted {
		if k.jump {
			n = -n
		}
		f(k.addr, n)
	}
	for addr, n := range t.emulated {
		f(addr, n)
	}
}

// countedBlock is what was counted by a block, or by a jump to a function's first instruction, that is forgotten.
type countedBlock struct {
	addr         uint64
	instructions int
	jump         bool
}

// keepCounts takes what a thread's counters hold before their blocks are forgotten.
func (t *Thread) keepCounts() {
	if t.counted == nil && len(t.p.cache.Counters) > 0 {
		t.counted = make(map[countedBlock]uint64)
	}
	for i, num := range t.p.cache.Counters {
		off := layout.CounterOff + 8*i
		n := t.slot.Get(off)
		if n == 0 {
			continue
		}
		t.slot.Set(off, 0)
		if to, ok := t.p.translator.Entries.Jumps[i]; ok {
			t.counted[countedBlock{addr: to, jump: true}] += n
			continue
		}
		b := t.p.cache.BlockPool.At(int(num))
		t.counted[countedBlock{addr: b.App, instructions: int(b.Insns)}] += n
	}
}
