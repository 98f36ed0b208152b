package engine

import (
	"alleria/engine/codecache"
	"alleria/engine/translate"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// A thread that a window of another takes over is stopped wherever it is, mostly
// in the middle of a block. Stepping it to the next instruction's boundary takes ten
// stops and more, of 20 to 200 µs each, time in which it gets nowhere: a window that
// samples with a short period took it over again before it had executed anything. Where
// blocks count against budgets anyway, the thread is called in instead: its budgets
// are emptied, and it asks at the start of its next block, where it goes over to what
// the windows ask for as any thread that waits. That is where a count over several
// threads takes effect in the others, by definition.
//
// What is taken away is so much that no budget makes up for it, so that who reads or
// changes budgets meanwhile knows what is really left (see share).
//
// Refused: emptying the budgets of threads that run, without a stop. Their code
// subtracts without a lock, and could write back what it had read before.

// calledIn is what is taken off each word of a thread's budgets. Budgets are at most
// unlimited, which is less.
const calledIn = 1<<62 + 1<<61

// canCall tells whether a stopped thread will look at its budgets at the start of its
// next block: its code is of the present kind. Signals that are held want a clean
// point at once.
func (tr *Tracer) canCall(t *Thread, regs *sys.Regs) bool {
	p, v := t.p, t.variant
	return !tr.opts.NoCallIn && p.translator.Budgeted && p.mode != ModeNative && !t.native && !t.vfork && len(t.held) == 0 &&
		t.filled[v] && t.epoch[v] == p.cache.Epoch[v] && regs.Eflags&translate.FlagTrap == 0 && tr.inCache(t, regs.Rip)
}

// callIn makes a stopped thread ask at its next block.
func (t *Thread) callIn() {
	t.p.stats.CalledIn++
	t.setCalled(true)
}

// setCalled empties the budgets of a thread that is stopped or waits, or gives
// them back.
func (t *Thread) setCalled(on bool) {
	if t.called == on {
		return
	}
	t.called = on
	n := uint64(calledIn)
	if on {
		n = -n
	}
	for m := range NumMetrics {
		for w := range layout.BudgetWords {
			off := codecache.BudgetOff(m, w)
			t.slot.Set(off, t.slot.Get(off)+n)
		}
	}
}
