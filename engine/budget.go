package engine

import (
	"time"

	"alleria/engine/codecache"
	"alleria/engine/translate"
	"alleria/engine/x86"
	"alleria/internal/layout"
	"alleria/internal/sys"
)

// budgeting is what blocks of a process count, and how budgets are dealt out.
type budgeting struct {
	budgetEpoch int
	budgetAsks  int // see askedForBudget
	askRowFrom  time.Duration
}

// unlimited is the budget of a thread that is not to be asked about.
const unlimited = 1 << 62

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
	for v := range p.cache.Index {
		p.retranslate(codecache.Variant(v))
	}
}

// Budget is how much of a metric the thread may still execute before the client
// is asked; 0 or less: it has to be asked now. It is exact while the thread is
// stopped or waits.
// While a block runs, all that it does is subtracted already.
func (t *Thread) Budget(m Metric) (n int64) {
	for w := range layout.BudgetWords {
		n += t.share(m, w)
	}
	return n
}

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
func (tr *Tracer) shortBudget(t *Thread, app uint64, need *codecache.Shortage) error {
	p := t.p
	t.giveBack(need)
	p.askedForBudget(tr.now())
	t.p.client.BudgetLow(t, app)
	if tr.modeDiffers(t) {
		return tr.switchWaiting(t, app, codecache.Counted)
	}
	n := p.affordable(t, app)
	if n == 0 {
		t.gather(need)
		return tr.answerPast(t, app, codecache.Counted)
	}
	b := p.translator.TranslateShort(app, t.variant, n)
	if b == nil {
		return tr.leaveAt(t, app)
	}
	// Whatever comes behind the block has to ask.
	for m := range NumMetrics {
		if p.translator.Metrics[m] {
			t.putAll(m, int(b.Word))
		}
	}
	tr.reply(t, b.Code)
	return nil
}

// askSpent asks the client in the name of a thread that stands before app, if one of its
// budgets is used up: a count is reached before the arrival at app counts, and before a signal
// is delivered there.
func (tr *Tracer) askSpent(t *Thread, app uint64) {
	if !t.p.translator.Budgeted || t.vfork {
		return
	}
	for m := range NumMetrics {
		if t.p.translator.Metrics[m] && t.Budget(m) <= 0 {
			t.p.client.BudgetLow(t, app)
			t.deal()
			return
		}
	}
}

// giveBack undoes what a block has subtracted before it asked.
func (t *Thread) giveBack(need *codecache.Shortage) {
	for m, n := range need.Use {
		if need.Subtracted[m] {
			t.take(Metric(m), -int64(n))
		}
	}
}

// affordable is how many instructions of the block at app the thread's budgets
// allow; 0: all of it, and more.
func (p *Process) affordable(t *Thread, app uint64) int {
	code := p.fetch(app, translate.FetchBytes)
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
			t.SetBudget(m, unlimited)
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

// refund gives back what a block subtracted for the instructions from i on that
// were not executed.
// It is called where a signal or a fault takes a thread out of a block.
func (t *Thread) refund(b *codecache.Block, i int) {
	if !b.Spends {
		return
	}
	if b.Used == 0 {
		t.take(MetricInstructions, -int64(int(b.Insns)-i))
		return
	}
	for _, n := range t.p.cache.Uses(b)[min(i, len(t.p.cache.Uses(b))):] {
		for m := range n {
			if n[m] > 0 && t.p.translator.Metrics[m] {
				t.take(Metric(m), -int64(n[m]))
			}
		}
	}
}

// settle counts the iterations that a repeated string instruction, i of block b,
// had made when the thread left it between two of them.
// rcx is what is left of the iterations at that moment.
func (t *Thread) settle(b *codecache.Block, i int, regs *sys.Regs) {
	if !t.p.translator.CountsAccesses || i >= len(t.p.cache.Uses(b)) {
		return
	}
	var code [15]byte
	at := t.p.cache.InsAddr(b, i)
	n, _ := t.p.mem.ReadAt(code[:], int64(at))
	var one [1]x86.Insn
	if k, _ := x86.Decode(code[:n], at, one[:]); k == 0 {
		return
	}
	c, ok := t.p.translator.CountedAround(&one[0])
	if ok && c.Rep {
		t.spent(c.Each, t.slot.Get(layout.CountLanes)-regs.Rcx)
	}
}

// spent subtracts what was done k times from the budgets.
func (t *Thread) spent(each codecache.Use, k uint64) {
	for m, n := range each {
		if n > 0 && t.p.translator.Metrics[m] {
			t.take(Metric(m), int64(uint64(n)*k))
		}
	}
}

// countExecuted subtracts what the instruction of block b, which the tracer
// executed, has accessed besides what its block subtracted.
func (tr *Tracer) countExecuted(t *Thread, b *codecache.Block, before, after *sys.Regs) {
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
		t.refund(b, 0)
	case !ok:
	case c.Rep:
		n := before.Rcx - after.Rcx
		// ecx counts, and rcx's upper half is cleared by the first iteration.
		if one[0].AddrBits == 32 {
			n = uint64(uint32(n))
		}
		t.spent(c.Each, n)
	default: // lanes at gs: as if all were accessed
		t.spent(c.Each, uint64(c.Op.Lanes))
	}
}
