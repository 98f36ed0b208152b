package budget

import (
	"time"

	"alleria/engine/codecache"
	"alleria/engine/shm"
	"alleria/engine/translate"
	"alleria/internal/layout"
)

// Account is a thread's budgets: how much of each metric it may still execute before it asks. What is left lies in the words of its
// slot, which its code counts down.
//
// Each word holds a share. Only the tracer's goroutine calls the methods, for a thread that is stopped or waits; only Left is
// of use while it runs, and outdated at once.
type Account struct {
	slot    *shm.Slot
	counted *translate.Budgets // what the process's blocks count, and how many words they use
	called  bool               // the words are empty so that it asks: see Call
	// One: the code that the thread is about to run counts against the first word. What lies in another than blocks look for it in is only asked about.
	One bool
	// of each metric's words: the shares that were dealt out last, and what was used
	// of them lately
	dealt, used [codecache.NumMetrics][layout.BudgetWords]int64
}

// Unlimited is the budget of a thread that is not to be asked about.
const Unlimited = 1 << 62

// Attach gives an account its slot, whose words stay as they are. counted is the process's.
func (a *Account) Attach(s *shm.Slot, counted *translate.Budgets) { a.slot, a.counted = s, counted }

// Open is Attach for a new thread, of which nothing is limited yet.
func (a *Account) Open(s *shm.Slot, counted *translate.Budgets) {
	a.Attach(s, counted)
	for m := range codecache.NumMetrics {
		a.Set(m, Unlimited)
	}
}

// withheld is what a word holds less than its share.
const withheld = 1

// Set replaces the budget of a metric.
//
// No share is below zero, unless all are at most zero. What little is left near the
// end of a budget is dealt out as the words were used lately: in even shares, a loop of
// a few blocks would ask again and again for what other words hold.
func (a *Account) Set(m codecache.Metric, n int64) {
	if a.counted.Words == 1 || a.One || !a.counted.Metrics[m] {
		for w := range layout.BudgetWords {
			a.setShare(m, w, 0)
		}
		a.setShare(m, 0, n)
		return
	}
	lately := a.lately(m)
	var all, dealt int64
	for _, k := range lately {
		all += k + 1
	}
	for w, k := range lately {
		share := n >> layout.BudgetLog
		if 0 < n && n < evenlyFrom {
			share = n * (k + 1) / all
		}
		a.setShare(m, w, share)
		dealt += share
	}
	// What rounding has left over, less than the number of words.
	for w := 0; dealt < n; w, dealt = w+1, dealt+1 {
		a.setShare(m, w, a.share(m, w)+1)
	}
}

// evenlyFrom is from where on budgets are dealt out in even shares. Below, products
// with what is used lately do not overflow.
const evenlyFrom = 1 << 40

// lately is how much of a metric blocks took from each word, the latest counting
// most, in the order of a few thousands together.
func (a *Account) lately(m codecache.Metric) *[layout.BudgetWords]int64 {
	l := &a.used[m]
	var sum int64
	for w := range l {
		sum += max(a.dealt[m][w]-a.share(m, w), 0)
	}
	if sum == 0 {
		return l
	}
	scale := 1 + sum>>12
	for w := range l {
		l[w] = l[w]/2 + max(a.dealt[m][w]-a.share(m, w), 0)/scale
	}
	return l
}

// share is the share of one word in a budget.
func (a *Account) share(m codecache.Metric, w int) int64 {
	n := int64(a.slot.Get(codecache.BudgetOff(m, w))) + withheld
	if a.called {
		n += emptied
	}
	return n
}

func (a *Account) setShare(m codecache.Metric, w int, n int64) {
	a.dealt[m][w] = n
	if n -= withheld; a.called {
		n -= emptied
	}
	a.slot.Set(codecache.BudgetOff(m, w), uint64(n))
}

// Take takes n off a budget, or gives it back, and deals out the rest anew.
func (a *Account) Take(m codecache.Metric, n int64) { a.Set(m, a.Left(m)-n) }

// Gather sees to it that the word of a block holds enough for the block, of a
// budget that suffices: what the block needs comes first.
func (a *Account) Gather(need *codecache.Shortage) {
	for m := range codecache.NumMetrics {
		n := int64(need.Use[m]) + withheld
		if !a.counted.Metrics[m] || a.share(m, need.Word) >= n {
			continue
		}
		a.used[m][need.Word] += n
		a.Set(m, a.Left(m)-n)
		a.setShare(m, need.Word, a.share(m, need.Word)+n)
	}
}

// Deal deals out what is left of the budgets anew.
func (a *Account) Deal() {
	for m := range codecache.NumMetrics {
		a.Take(m, 0)
	}
}

// PutAll puts all of a budget into one word.
func (a *Account) PutAll(m codecache.Metric, w int) {
	n := a.Left(m)
	a.Set(m, 0)
	a.setShare(m, w, n)
}

// Left is how much of a metric the thread may still execute before the client
// is asked; 0 or less: it has to be asked now. It is exact while the thread is
// stopped or waits.
// While a block runs, all that it does is subtracted already.
func (a *Account) Left(m codecache.Metric) (n int64) {
	for w := range layout.BudgetWords {
		n += a.share(m, w)
	}
	return n
}

// GiveBack undoes what a block has subtracted before it asked.
func (a *Account) GiveBack(need *codecache.Shortage) {
	for m, n := range need.Use {
		if need.Subtracted[m] {
			a.Take(codecache.Metric(m), -int64(n))
		}
	}
}

// Spend subtracts what was done k times from the budgets.
func (a *Account) Spend(each codecache.Use, k uint64) {
	for m, n := range each {
		if n > 0 && a.counted.Metrics[m] {
			a.Take(codecache.Metric(m), int64(uint64(n)*k))
		}
	}
}

// Call empties the budgets, so that the thread asks at the start of its next block, or gives
// them back. What is taken away is so much that no budget makes up for it, and who reads or
// changes budgets meanwhile knows what is really left (see share).
func (a *Account) Call(on bool) {
	if a.called == on {
		return
	}
	a.called = on
	n := uint64(emptied)
	if on {
		n = -n
	}
	for m := range codecache.NumMetrics {
		for w := range layout.BudgetWords {
			off := codecache.BudgetOff(m, w)
			a.slot.Set(off, a.slot.Get(off)+n)
		}
	}
}

// emptied is what is taken off each word of a thread's budgets. Budgets are at most
// Unlimited, which is less.
const emptied = 1<<62 + 1<<61

// Dispatches is how often a process's threads have asked lately.
type Dispatches struct {
	n    int
	from time.Duration // when the row began
}

// Asking is looked at in rows of dispatchRow questions: when one took less than dispatchTime,
// budgets are so small that what they are dealt out to costs more than it saves.
const (
	dispatchRow  = 512
	dispatchTime = dispatchRow * 200 * time.Microsecond
)

// Often counts a question, and tells whether it ends a row of many within a short time.
func (k *Dispatches) Often(now time.Duration) bool {
	if k.n++; k.n%dispatchRow != 0 {
		return false
	}
	often := now-k.from < dispatchTime
	k.from = now
	return often
}
