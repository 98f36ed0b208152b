package engine

import (
	"time"

	"alleria/engine/codecache"
	"alleria/internal/layout"
)

// withheld is what a word holds less than its share.
const withheld = 1

// SetBudget replaces the budget of a thread that is stopped or waits.
//
// No share is below zero, unless all are at most zero. What little is left near the
// end of a budget is dealt out as the words were used lately: in even shares, a loop of
// a few blocks would ask again and again for what other words hold.
func (t *Thread) SetBudget(m Metric, n int64) {
	if t.p.translator.Words == 1 || !t.p.translator.Metrics[m] {
		for w := range layout.BudgetWords {
			t.setShare(m, w, 0)
		}
		t.setShare(m, 0, n)
		return
	}
	lately := t.lately(m)
	var all, dealt int64
	for _, k := range lately {
		all += k + 1
	}
	for w, k := range lately {
		share := n >> layout.BudgetLog
		if 0 < n && n < evenlyFrom {
			share = n * (k + 1) / all
		}
		t.setShare(m, w, share)
		dealt += share
	}
	// What rounding has left over, less than the number of words.
	for w := 0; dealt < n; w, dealt = w+1, dealt+1 {
		t.setShare(m, w, t.share(m, w)+1)
	}
}

// evenlyFrom is from where on budgets are dealt out in even shares. Below, products
// with what is used lately do not overflow.
const evenlyFrom = 1 << 40

// lately is how much of a metric blocks took from each word, the latest counting
// most, in the order of a few thousands together.
func (t *Thread) lately(m Metric) *[layout.BudgetWords]int64 {
	l := &t.used[m]
	var sum int64
	for w := range l {
		sum += max(t.dealt[m][w]-t.share(m, w), 0)
	}
	if sum == 0 {
		return l
	}
	scale := 1 + sum>>12
	for w := range l {
		l[w] = l[w]/2 + max(t.dealt[m][w]-t.share(m, w), 0)/scale
	}
	return l
}

// share is the share of one word in a budget.
func (t *Thread) share(m Metric, w int) int64 {
	n := int64(t.slot.Get(codecache.BudgetOff(m, w))) + withheld
	if t.called {
		n += calledIn
	}
	return n
}

func (t *Thread) setShare(m Metric, w int, n int64) {
	t.dealt[m][w] = n
	if n -= withheld; t.called {
		n -= calledIn
	}
	t.slot.Set(codecache.BudgetOff(m, w), uint64(n))
}

// take takes n off a budget, or gives it back, and deals out the rest anew.
func (t *Thread) take(m Metric, n int64) { t.SetBudget(m, t.Budget(m)-n) }

// gather sees to it that the word of a block holds enough for the block, of a
// budget that suffices: what the block needs comes first.
func (t *Thread) gather(need *codecache.Shortage) {
	for m := range NumMetrics {
		n := int64(need.Use[m]) + withheld
		if !t.p.translator.Metrics[m] || t.share(m, need.Word) >= n {
			continue
		}
		t.used[m][need.Word] += n
		t.SetBudget(m, t.Budget(m)-n)
		t.setShare(m, need.Word, t.share(m, need.Word)+n)
	}
}

// deal deals out what is left of the budgets anew.
func (t *Thread) deal() {
	for m := range NumMetrics {
		t.take(m, 0)
	}
}

// putAll puts all of a budget into one word.
func (t *Thread) putAll(m Metric, w int) {
	n := t.Budget(m)
	t.SetBudget(m, 0)
	t.setShare(m, w, n)
}

// Asking is looked at in rows of askRow questions: when one took less than askTime,
// budgets are so small that what they are dealt out to costs more than it saves.
const (
	askRow  = 512
	askTime = askRow * 200 * time.Microsecond
)

// askedForBudget counts a question. A program whose windows open and close by counts all
// the time, as in sampling, goes over to one word: near its end, a budget in one word
// is asked about once, one in several words a few times for each of them. Not where bursts are recorded: their
// ends are taken for reached when they are near, and all that is between them would be counted in one word.
func (p *Process) askedForBudget(now time.Duration) {
	if p.translator.Words == 1 || p.tr.opts.Lossy {
		return
	}
	if p.budgetAsks++; p.budgetAsks%askRow != 0 {
		return
	}
	if now-p.askRowFrom < askTime {
		p.translator.Words = 1
		for v := range p.cache.Index {
			p.retranslate(codecache.Variant(v))
		}
	}
	p.askRowFrom = now
}
