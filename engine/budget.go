package engine

import (
	"time"

	"alleria/engine/budget"
	"alleria/engine/codecache"
	"alleria/engine/translate"
	"alleria/engine/x86"
	"alleria/internal/sys"
)

// budgeting is what blocks of a process count, and how budgets are dealt out.
type budgeting struct {
	budgetEpoch      int
	budgetDispatches budget.Dispatches
}

// CountExecuted makes every block of every variant count these metrics, so that
// the client is asked at exact instructions; with none, no longer. What was
// translated otherwise is forgotten.
func (p *Process) CountExecuted(metrics ...Metric) {
	var want [NumMetrics]bool
	for _, m := range metrics {
		want[m] = true
	}
	if want == p.translator.Metrics {
		return
	}
	p.translator.Metrics = want
	p.translator.Budgeted = len(metrics) > 0
	p.translator.CountsAccesses = want[MetricAccesses] || want[MetricReads] || want[MetricWrites]
	p.modeChanged = true
	if p.cache.BlockPool.N == 0 { // nothing to forget: what will be translated is what others' is, too
		return
	}
	for v := range p.cache.Index {
		p.retranslate(codecache.Variant(v))
	}
}

// SetBudget replaces the budget of a thread that is stopped or waits.
func (t *Thread) SetBudget(m Metric, n int64) {
	t.budget.One = t.p.translator.RecordedInOne && t.due().Records()
	t.budget.Set(m, n)
}

// Budget is how much of a metric the thread may still execute before the client
// is asked; 0 or less: it has to be asked now. It is exact while the thread is
// stopped or waits.
// While a block runs, all that it does is subtracted already.
func (t *Thread) Budget(m Metric) int64 { return t.budget.Left(m) }

// Rebudget makes Client.Entering be called for every thread, so that budgets can be
// changed: those that run are stopped one by one.
func (p *Process) Rebudget() {
	p.budgetEpoch++
	p.modeChanged = true
}

// shortBudget answers a thread whose budget does not suffice for the block at
// app: the client is asked, and if it grants too little, as many instructions
// as there is budget for get a translation of their own that asks again behind
// them.
//
// A threshold may thereby fall in the middle of a block: that many instructions run in a
// translation that is used once, and the client is asked again in front of the next.
func (t *Thread) shortBudget(app uint64, need *codecache.Shortage) error {
	p := t.p
	t.budget.GiveBack(need)
	p.noteBudgetDispatch(t.p.tr.now())
	t.p.client.BudgetLow(t, app)
	if t.modeDiffers() {
		return t.switchWaiting(app, codecache.Counted)
	}
	n := p.affordable(t, app)
	if n == 0 {
		t.budget.Gather(need)
		return t.answerPast(app, codecache.Counted)
	}
	b := p.translator.TranslateShort(app, t.variant, n)
	if b == nil {
		return t.goNativeAt(app)
	}
	// Whatever comes behind the block has to ask.
	for m := range NumMetrics {
		if p.translator.Metrics[m] {
			t.budget.PutAll(m, int(b.Word))
		}
	}
	t.reply(b.Code)
	return nil
}

// askSpent asks the client in the name of a thread that stands before app, if one of its
// budgets is used up: a count is reached before the entry at app counts, and before a signal
// is delivered there.
func (t *Thread) askSpent(app uint64) {
	if !t.p.translator.Budgeted || t.vfork {
		return
	}
	for m := range NumMetrics {
		if t.p.translator.Metrics[m] && t.Budget(m) <= 0 {
			t.p.client.BudgetLow(t, app)
			t.budget.Deal()
			return
		}
	}
}

// affordable is how many instructions of the block at app the thread's budgets
// allow; 0: all of it, and more.
func (p *Process) affordable(t *Thread, app uint64) int {
	code := p.code.Fetch(app, translate.FetchBytes)
	u := &p.translator
	n, _ := p.tr.decoder.Decode(code, app, u.Ins[:])
	uses := u.UsesOf(u.Ins[:n])
	most := 0
	for m := range NumMetrics {
		if !p.translator.Metrics[m] {
			continue
		}
		left := t.Budget(m)
		if left <= 0 { // the client has nothing to wait for and did not say so
			t.SetBudget(m, budget.Unlimited)
			continue
		}
		var sum int64
		for i := range uses {
			if sum += int64(uses[i][m]); sum >= left {
				if most == 0 || i+1 < most {
					most = i + 1
				}
				break
			}
		}
	}
	return most
}

// countExecuted subtracts what the instruction of block b, which the tracer
// executed, has accessed besides what its block subtracted.
func (t *Thread) countExecuted(b *codecache.Block, before, after *sys.Regs) {
	var code [15]byte
	n, _ := t.p.mem.ReadAt(code[:], int64(before.Rip))
	var one [1]x86.Insn
	if k, _ := x86.Decode(code[:n], before.Rip, one[:]); k == 0 {
		return
	}
	c, ok := t.p.translator.CountedAround(&one[0])
	switch {
	// A repeated instruction stays where it is after every iteration but the last.
	case after.Rip == before.Rip && !c.Rep: // it faulted
		t.recovery.Refund(b, 0)
	case !ok:
	case c.Rep:
		n := before.Rcx - after.Rcx
		// ecx counts, and rcx's upper half is cleared by the first iteration.
		if one[0].AddrBits == 32 {
			n = uint64(uint32(n))
		}
		t.budget.Spend(c.Each, n)
	default: // lanes at gs: as if all were accessed
		t.budget.Spend(c.Each, uint64(c.Op.Lanes))
	}
}

// noteBudgetDispatch counts a question. A program whose windows open and close by counts all
// the time, as in sampling, goes over to one word: near its end, a budget in one word
// is asked about once, one in several words a few times for each of them. Not where bursts are recorded: their
// ends are taken for reached when they are near, and all that is between them would be counted in one word.
func (p *Process) noteBudgetDispatch(now time.Duration) {
	if p.translator.Words == 1 || p.tr.opts.Bursts || !p.budgetDispatches.Often(now) {
		return
	}
	p.translator.Words = 1
	for v := range p.cache.Index {
		p.retranslate(codecache.Variant(v))
	}
}

// A thread that a window of another takes over is stopped wherever it is, mostly
// in the middle of a block. Stepping it to the next instruction's boundary takes ten
// stops and more, of 20 to 200 µs each, time in which it gets nowhere: a window that
// samples with a short period took it over again before it had executed anything. Where
// blocks count against budgets anyway, the thread is brought to a safe point instead: its budgets
// are emptied, and it dispatches at the start of its next block, where it goes over to what
// the windows ask for as any thread that waits. That is where a count over several
// threads takes effect in the others, by definition.
//
// What is taken away is so much that no budget makes up for it, so that who reads or
// changes budgets meanwhile knows what is really left (see share).
//
// Refused: emptying the budgets of threads that run, without a stop. Their code
// subtracts without a lock, and could write back what it had read before.

// canBring tells whether a stopped thread will look at its budgets at the start of its
// next block: its code is of the present kind. Signals that are held want a clean
// point at once.
func (t *Thread) canBring(regs *sys.Regs) bool {
	p, v := t.p, t.variant
	return !t.p.tr.opts.NoSafePoint && p.translator.Budgeted && p.mode != ModeNative && !t.native && !t.vfork && !t.tracee.Holds() &&
		t.filled[v] && t.epoch[v] == p.cache.Epoch[v] && regs.Eflags&translate.FlagTrap == 0 && t.inCache(regs.Rip)
}

// bringToSafePoint makes a stopped thread dispatch at its next block.
func (t *Thread) bringToSafePoint() {
	t.p.stats.SafePoints++
	t.budget.Call(true)
}
