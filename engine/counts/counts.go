// Package counts adds up how often a thread has executed counted blocks: from the counters in its slot, which code increments, from
// instructions that the tracer has executed for it, and from blocks that are forgotten.
//
// The engine asks for it while the thread is stopped or has ended, on the tracer's goroutine; counters of threads that run are nobody's to add up. What of an
// execution was not finished is known to package recovery.
package counts

import (
	"alleria/engine/codecache"
	"alleria/engine/recovery"
	"alleria/engine/shm"
	"alleria/engine/translate"
	"alleria/internal/layout"
)

// Thread is the counts of one thread.
type Thread struct {
	cache    *codecache.Cache
	entries  *translate.EntryCounts
	slot     *shm.Slot
	emulated map[uint64]uint64         // executions of counted instructions that the tracer executed, by address
	counted  map[block]uint64          // what blocks counted that are forgotten
	edges    map[translate.Edge]uint64 // what has led into functions, as far as counters do not tell
	folded   int                       // so many partial executions are in there
	given    int                       // so many of EdgeCounts.Met have been given an entry in the thread's table, if there is room
}

// Init says where the counts of a thread's blocks are.
func (t *Thread) Init(c *codecache.Cache, e *translate.EntryCounts, s *shm.Slot) {
	*t = Thread{cache: c, entries: e, slot: s}
}

// Each calls f for each counted block that the thread executed: its address,
// how many instructions it has and how often it ran.
//
// Only for a thread that is stopped or has ended. Executions that were left early, which are partial, are taken
// back by a negative number of times of one instruction: f must add in uint64, which wraps
// to the right sum.
func (t *Thread) Each(partial []recovery.Partial, f func(addr uint64, instructions int, times uint64)) {
	for i, num := range t.cache.Counters.All() {
		if n := t.slot.Get(layout.CounterOff + 8*i); n != 0 && !t.entries.IsJump(i) && !t.entries.Edges.IsJump(i) {
			b := t.cache.BlockPool.At(int(num))
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
	for _, c := range partial {
		f(c.Block.App, 1, -uint64(int(c.Block.Insns)-c.Done))
	}
}

// Executed counts an instruction that the tracer executed.
func (t *Thread) Executed(addr, times uint64) {
	if t.emulated == nil {
		t.emulated = make(map[uint64]uint64)
	}
	t.emulated[addr] += times
}

// Entries calls f for counts of entries at functions' first instructions, with a negative number of times for those that are
// no entries: f must add in uint64. Other addresses come too, at which no function begins. Only for a thread that is stopped or
// has ended.
func (t *Thread) Entries(f func(addr uint64, times uint64)) {
	for i, num := range t.cache.Counters.All() {
		n := t.slot.Get(layout.CounterOff + 8*i)
		switch {
		case n == 0 || t.entries.Edges.IsJump(i):
		case t.entries.IsJump(i):
			f(t.entries.Jumps[i], -n)
		default:
			f(t.cache.BlockPool.At(int(num)).App, n)
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

// block is what was counted by a block, or by a jump to a function's first instruction, that is forgotten.
type block struct {
	addr         uint64
	instructions int
	jump         bool
}

// Keep takes what a thread's counters hold before their blocks are forgotten.
func (t *Thread) Keep(partial []recovery.Partial) {
	t.keepEdges(partial)
	if t.counted == nil && t.cache.Counters.N > 0 {
		t.counted = make(map[block]uint64)
	}
	for i, num := range t.cache.Counters.All() {
		off := layout.CounterOff + 8*i
		n := t.slot.Get(off)
		if n == 0 {
			continue
		}
		t.slot.Set(off, 0)
		if to, ok := t.entries.Jumps[i]; ok {
			t.counted[block{addr: to, jump: true}] += n
			continue
		}
		if t.entries.Edges.IsJump(i) {
			continue
		}
		b := t.cache.BlockPool.At(int(num))
		t.counted[block{addr: b.App, instructions: int(b.Insns)}] += n
	}
}
