package budget

import (
	"math/rand/v2"
	"testing"
	"time"

	"alleria/engine/codecache"
	"alleria/engine/shm"
	"alleria/engine/translate"
	"alleria/internal/layout"
)

// testAccount is an account of a thread that has a budget and nothing else.
func testAccount(words int) *Account {
	counted := &translate.Budgets{Words: words}
	for m := range counted.Metrics {
		counted.Metrics[m] = true
	}
	a := &Account{}
	a.Open(&shm.Slot{Mem: make([]byte, codecache.BudgetOff(codecache.NumMetrics, 0))}, counted)
	return a
}

// TestBudgetIsDealtOut takes random blocks' uses off the words of budgets as
// translated code does: the words always add up to what is left, no share is below
// zero while anything is left, and a block that the budget suffices for gets what
// it needs.
func TestBudgetIsDealtOut(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, words := range []int{layout.BudgetWords, 1} {
		a := testAccount(words)
		for range 300 {
			var left [codecache.NumMetrics]int64
			for m := range codecache.NumMetrics {
				left[m] = 1 + rng.Int64N(1<<uint(1+rng.IntN(62)))
				a.Set(m, left[m])
			}
			hot := 1 + rng.IntN(words) // few words, as in a loop
			for range 200 {
				need := &codecache.Shortage{Word: rng.IntN(hot)}
				for m := range codecache.NumMetrics {
					need.Use[m] = uint32(rng.IntN(20))
				}
				need.Use[codecache.MetricInstructions]++
				runBlock(t, a, need, &left)
			}
		}
	}
}

// runBlock executes a block that needs so much, if the budgets allow it.
func runBlock(t *testing.T, a *Account, need *codecache.Shortage, left *[codecache.NumMetrics]int64) {
	t.Helper()
	for m := range codecache.NumMetrics {
		if left[m] < int64(need.Use[m])+withheld {
			return // it is asked for, and the client decides
		}
	}
	a.Gather(need)
	for m := range codecache.NumMetrics {
		off := codecache.BudgetOff(m, need.Word)
		now := int64(a.slot.Get(off)) - int64(need.Use[m])
		if now < 0 {
			t.Fatalf("metric %d: %d in the block's word, of %d, for %d", m, now+int64(need.Use[m]), left[m], need.Use[m])
		}
		a.slot.Set(off, uint64(now))
		left[m] -= int64(need.Use[m])
		if n := a.Left(m); n != left[m] {
			t.Fatalf("metric %d: the words add up to %d, %d are left", m, n, left[m])
		}
		for w := range layout.BudgetWords {
			if k := a.share(m, w); k < 0 {
				t.Fatalf("metric %d: word %d holds %d of %d", m, w, k, left[m])
			}
		}
	}
}

// TestUsedUpBudgetAsks: with nothing left, or less, no word suffices for any block.
func TestUsedUpBudgetAsks(t *testing.T) {
	for _, words := range []int{layout.BudgetWords, 1} {
		a := testAccount(words)
		for n := int64(0); n > -100; n-- {
			for m := range codecache.NumMetrics {
				a.Set(m, n)
				for w := range layout.BudgetWords {
					// The smallest block has one instruction and no access.
					if left := int64(a.slot.Get(codecache.BudgetOff(m, w))) - 1 + withheld; left >= 0 {
						t.Fatalf("metric %d, budget %d: word %d suffices for a block", m, n, w)
					}
				}
				if a.Left(m) != n {
					t.Fatalf("metric %d: %d instead of %d", m, a.Left(m), n)
				}
			}
		}
	}
}

// TestFrequentAsking: only whole rows of questions within a short time are many.
func TestFrequentAsking(t *testing.T) {
	var asks Dispatches
	now := time.Second
	for range 4 * dispatchRow {
		now += 2 * dispatchTime / dispatchRow
		if asks.Often(now) {
			t.Fatal("slow questions are taken for many")
		}
	}
	rows := 0
	for range 2 * dispatchRow {
		now += dispatchTime / dispatchRow / 2
		if asks.Often(now) {
			rows++
		}
	}
	if rows != 2 { // the first began with the last slow question
		t.Fatalf("%d of two rows are taken for many", rows)
	}
}

// TestCalledThreadAsks: a thread that is called has nothing in its words, whatever is read and changed of its budgets meanwhile.
func TestCalledThreadAsks(t *testing.T) {
	a := testAccount(layout.BudgetWords)
	m := codecache.MetricInstructions
	a.Set(m, 1000)
	a.Call(true)
	a.Call(true)
	for i, left := range []int64{1000, 5, Unlimited} {
		if i > 0 { // what was there when it was called counts, too
			a.Set(m, left)
		}
		for w := range layout.BudgetWords {
			if n := int64(a.slot.Get(codecache.BudgetOff(m, w))); n >= 0 {
				t.Fatalf("of %d, word %d holds %d", left, w, n)
			}
		}
		if got := a.Left(m); got != left {
			t.Fatalf("%d are left of %d", got, left)
		}
	}
	a.Take(m, Unlimited-7)
	a.Call(false)
	if got := a.Left(m); got != 7 {
		t.Fatalf("%d are left behind it", got)
	}
}
