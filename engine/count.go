package engine

import (
	"alleria/engine/codecache"
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
		if n := t.slot.get(layout.CounterOff + 8*i); n != 0 {
			b := t.p.cache.BlockPool.At(int(num))
			f(b.App, int(b.Insns), n)
		}
	}
	for addr, n := range t.emulated {
		f(addr, 1, n)
	}
	for _, c := range t.partial {
		f(c.b.App, 1, -uint64(int(c.b.Insns)-c.done))
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
	b    *codecache.Block
	done int
}
