package engine

import (
	"math/rand/v2"
	"testing"
	"time"

	"alleria/engine/codecache"
	"alleria/engine/shm"
	"alleria/internal/layout"
)

// budgetThread is a thread that has a budget and nothing else.
func budgetThread(words int) *Thread {
	p := &Process{}
	p.translator.Words = words
	for m := range p.translator.Metrics {
		p.translator.Metrics[m] = true
	}
	return &Thread{p: p, slot: &shm.Slot{Mem: make([]byte, codecache.BudgetOff(NumMetrics, 0))}}
}

// TestBudgetIsDealtOut takes random blocks' uses off the words of budgets as
// translated code does: the words always add up to what is left, no share is below
// zero while anything is left, and a block that the budget suffices for gets what
// it needs.
func TestBudgetIsDealtOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, words := range []int{layout.BudgetWords, 1} {
		th := budgetThread(words)
		for range 300 {
			var left [NumMetrics]int64
			for m := range NumMetrics {
				left[m] = 1 + rng.Int64N(1<<uint(1+rng.IntN(62)))
				th.SetBudget(m, left[m])
			}
			hot := 1 + rng.IntN(words) // few words, as in a loop
			for range 200 {
				need := &codecache.Shortage{Word: rng.IntN(hot)}
				for m := range NumMetrics {
					need.Use[m] = uint32(rng.IntN(20))
				}
				need.Use[MetricInstructions]++
				runBlock(t, th, need, &left)
			}
		}
	}
}

// runBlock executes a block that needs so much, if the budgets allow it.
func runBlock(t *testing.T, th *Thread, need *codecache.Shortage, left *[NumMetrics]int64) {
	t.Helper()
	for m := range NumMetrics {
		if left[m] < int64(need.Use[m])+withheld {
			return // it is asked for, and the client decides
		}
	}
	th.gather(need)
	for m := range NumMetrics {
		off := codecache.BudgetOff(m, need.Word)
		now := int64(th.slot.Get(off)) - int64(need.Use[m])
		if now < 0 {
			t.Fatalf("metric %d: %d in the block's word, of %d, for %d", m, now+int64(need.Use[m]), left[m], need.Use[m])
		}
		th.slot.Set(off, uint64(now))
		left[m] -= int64(need.Use[m])
		if n := th.Budget(m); n != left[m] {
			t.Fatalf("metric %d: the words add up to %d, %d are left", m, n, left[m])
		}
		for w := range layout.BudgetWords {
			if k := th.share(m, w); k < 0 {
				t.Fatalf("metric %d: word %d holds %d of %d", m, w, k, left[m])
			}
		}
	}
}

// TestUsedUpBudgetAsks: with nothing left, or less, no word suffices for any block.
func TestUsedUpBudgetAsks(t *testing.T) {
	for _, words := range []int{layout.BudgetWords, 1} {
		th := budgetThread(words)
		for n := int64(0); n > -100; n-- {
			for m := range NumMetrics {
				th.SetBudget(m, n)
				for w := range layout.BudgetWords {
					// The smallest block has one instruction and no access.
					if left := int64(th.slot.Get(codecache.BudgetOff(m, w))) - 1 + withheld; left >= 0 {
						t.Fatalf("metric %d, budget %d: word %d suffices for a block", m, n, w)
					}
				}
				if th.Budget(m) != n {
					t.Fatalf("metric %d: %d instead of %d", m, th.Budget(m), n)
				}
			}
		}
	}
}

// TestFrequentAskingEndsSpreading: rows of questions within a short time, and only
// these, put budgets into one word.
func TestFrequentAskingEndsSpreading(t *testing.T) {
	p := &Process{tr: &Tracer{}}
	p.translator.Words = layout.BudgetWords
	now := time.Second
	for range 4 * askRow {
		now += 2 * askTime / askRow
		p.askedForBudget(now)
	}
	if p.translator.Words != layout.BudgetWords {
		t.Fatalf("%d words after slow questions", p.translator.Words)
	}
	for range 2 * askRow {
		now += askTime / askRow / 2
		p.askedForBudget(now)
	}
	if p.translator.Words != 1 {
		t.Fatalf("%d words after quick ones", p.translator.Words)
	}
}
