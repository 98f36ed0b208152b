package engine

import (
	"time"

	"alleria/engine/asm"
	"alleria/engine/x86"
	"alleria/internal/layout"
)

// budgeting is what blocks of a process count, and how budgets are dealt out.
type budgeting struct {
	metrics        [NumMetrics]bool // that blocks count
	budgeted       bool             // any of them
	countsAccesses bool             // any that is of accesses
	budgetEpoch    int
	words          int // that budgets are dealt out to
	lastWord       int // the one that the last block uses
	budgetAsks     int // see askedForBudget
	askRowFrom     time.Duration
}

// Metric is something that threads do and that a client can count exactly, each
// thread against a budget of its own.
type Metric uint8

// The metrics. Accesses are reads and writes together.
const (
	MetricInstructions Metric = iota
	MetricAccesses
	MetricReads
	MetricWrites
	NumMetrics
)

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
	if want == p.metrics {
		return
	}
	p.metrics = want
	p.budgeted = len(metrics) > 0
	p.countsAccesses = want[MetricAccesses] || want[MetricReads] || want[MetricWrites]
	for v := range p.index {
		p.retranslate(Variant(v))
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

// use is how often instructions do what the metrics count.
type use [NumMetrics]uint32

// add adds another's, access k accesses.
func (n *use) add(o use) {
	for m := range n {
		n[m] += o[m]
	}
}

// useOf is what all instructions of a block do. What each does stands with the
// block where it is not just itself, so that what was not executed can be given back.
func (u *unit) useOf(b *block, ins []x86.Insn) (sum use) {
	b.spends = true
	if !u.p.countsAccesses {
		sum[MetricInstructions] = uint32(len(ins))
		return sum
	}
	uses := u.usesOf(ins)
	u.p.useLists = append(u.p.useLists, uses)
	b.used = uint32(len(u.p.useLists))
	for i := range uses {
		sum.add(uses[i])
	}
	return sum
}

// usesOf counts what instructions do, each by itself, but for accesses whose
// number is known only when they execute (see counted).
func (u *unit) usesOf(ins []x86.Insn) []use {
	out := make([]use, len(ins))
	for i := range ins {
		out[i][MetricInstructions] = 1
		if !u.p.countsAccesses || ins[i].NMem == 0 {
			continue
		}
		from := len(u.opBuf)
		u.opBuf = ins[i].Accesses(u.opBuf)
		for j := range u.opBuf[from:] {
			if o := &u.opBuf[from+j]; !dynamic(o) && !headerOnly(&ins[i], o) {
				out[i].access(o.Store, 1)
			}
		}
		u.opBuf = u.opBuf[:from]
	}
	return out
}

// access counts n accesses of a kind.
func (n *use) access(store bool, k uint32) {
	n[MetricAccesses] += k
	if store {
		n[MetricWrites] += k
	} else {
		n[MetricReads] += k
	}
}

// headerOnly tells the read of an instruction that saves processor state: the
// header that it reads is part of what it writes.
func headerOnly(in *x86.Insn, o *x86.Operand) bool {
	return in.Complex() && !o.Store && in.Mnem != x86.MXRSTOR && in.Mnem != x86.MXRSTOR64
}

// spend writes, at a block's start, the subtraction of what its instructions do
// from the budgets, and the request for when one does not suffice. A block that is
// used once has been made for what is left and does not ask.
func (u *unit) spend(b *block, ins []x86.Insn) {
	if !u.p.budgeted {
		return
	}
	sum := u.useOf(b, ins)
	u.p.lastWord = (u.p.lastWord + 1) % u.p.words
	b.word = uint8(u.p.lastWord)
	need := &shortage{word: u.p.lastWord}
	for m := range NumMetrics {
		if !u.p.metrics[m] {
			continue
		}
		need.subtracted[m], need.use[m] = true, sum[m]
		ask := -1
		if u.limit == 0 {
			ask = u.p.newExit(exit{target: b.app, area: u.ar, v: u.v, fixed: true, how: b.counting(), rareExit: rareExit{need: need.copy()}})
		}
		u.subtract(budgetOff(m, need.word), sum[m], u.flagsFree(ins), ask)
	}
}

// shortage is which budgets a block has subtracted itself from before one of them
// did not suffice, and how much.
type shortage struct {
	word       int // that the block uses
	use        use
	subtracted [NumMetrics]bool
}

// copy is for the exits of one block: each asks with what had been subtracted by then.
func (s *shortage) copy() *shortage {
	c := *s
	return &c
}

// subtract writes the subtraction of n from the word of a budget at off, and, unless ask is
// negative, the request of that number for when it falls below zero.
//
// The sign of the result decides, by one of three means: a conditional jump where
// the flags are dead; pext of the sign bit and jrcxz; lahf and seto around the jump
// on processors without BMI2. Counting down was chosen over counting up because the
// comparison is then with zero.
func (u *unit) subtract(off int, n uint32, dead bool, ask int) {
	a := &u.asm
	switch {
	case dead:
		a.SubWord(off, n)
		if ask >= 0 {
			u.coldAsk(a.JccLater(asm.IfNegative), ask, nil)
		}
	case ask < 0 || u.p.hasBMI2:
		a.StoreWord(spillF, x86.RCX)
		a.LoadWord(x86.RCX, off)
		a.LeaDisp(x86.RCX, x86.RCX, -int64(n))
		a.StoreWord(off, x86.RCX)
		if ask >= 0 {
			a.PextWord(x86.RCX, x86.RCX, layout.SignMask)
			u.coldAsk(a.JnrcxzLater(), ask, func(u *unit) { u.asm.LoadWord(x86.RCX, spillF) })
		}
		a.LoadWord(x86.RCX, spillF)
	default:
		a.StoreWord(spillF, x86.RAX)
		a.FlagsToRAX()
		a.StoreWord(spillF+8, x86.RAX)
		a.SubWord(off, n)
		below := a.JccLater(asm.IfNegative)
		back := func(u *unit) {
			u.asm.LoadWord(x86.RAX, spillF+8)
			u.asm.FlagsFromRAX()
			u.asm.LoadWord(x86.RAX, spillF)
		}
		u.coldAsk(below, ask, back)
		back(u)
	}
}

// coldAsk notes that the branch at site leads to a request, with first before it.
// first restores what the way there has borrowed.
func (u *unit) coldAsk(site asm.Site, n int, first func(*unit)) {
	u.cold = append(u.cold, coldStub{site, func(u *unit) {
		if first != nil {
			first(u)
		}
		u.ask(uint32(n) + 1)
	}})
}

// shortBudget answers a thread whose budget does not suffice for the block at
// app: the client is asked, and if it grants too little, as many instructions
// as there is budget for get a translation of their own that asks again behind
// them.
//
// A threshold may thereby fall in the middle of a block: that many instructions run in a
// translation that is used once, and the client is asked again in front of the next.
func (tr *Tracer) shortBudget(t *Thread, app uint64, need *shortage) error {
	p := t.p
	t.giveBack(need)
	p.askedForBudget(tr.now())
	t.p.client.BudgetLow(t, app)
	if tr.modeDiffers(t) {
		return tr.switchWaiting(t, app, past)
	}
	n := p.affordable(t, app)
	if n == 0 {
		t.gather(need)
		return tr.answerPast(t, app, past)
	}
	b := p.translateShort(app, t.variant, n)
	if b == nil {
		return tr.leaveAt(t, app)
	}
	// Whatever comes behind the block has to ask.
	for m := range NumMetrics {
		if p.metrics[m] {
			t.putAll(m, int(b.word))
		}
	}
	tr.reply(t, b.code)
	return nil
}

// askSpent asks the client in the name of a thread that stands before app, if one of its
// budgets is used up: a count is reached before the arrival at app counts, and before a signal
// is delivered there.
func (tr *Tracer) askSpent(t *Thread, app uint64) {
	if !t.p.budgeted || t.vfork {
		return
	}
	for m := range NumMetrics {
		if t.p.metrics[m] && t.Budget(m) <= 0 {
			t.p.client.BudgetLow(t, app)
			t.deal()
			return
		}
	}
}

// giveBack undoes what a block has subtracted before it asked.
func (t *Thread) giveBack(need *shortage) {
	for m, n := range need.use {
		if need.subtracted[m] {
			t.take(Metric(m), -int64(n))
		}
	}
}

// affordable is how many instructions of the block at app the thread's budgets
// allow; 0: all of it, and more.
func (p *Process) affordable(t *Thread, app uint64) int {
	code := p.fetch(app, fetchBytes)
	u := &p.scratch
	n, _ := p.tr.decoder.Decode(code, app, u.ins[:])
	uses := u.usesOf(u.ins[:n])
	most := 0
	for m := range NumMetrics {
		if !p.metrics[m] {
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

// translateShort translates the first n instructions at app, for one use.
// It is a block like any other for signals, but nothing leads to it.
func (p *Process) translateShort(app uint64, v Variant, n int) *block {
	ar := p.areaFor(app)
	if ar == nil {
		return nil
	}
	return p.unit(ar, v, func(u *unit) *block {
		u.limit = n
		defer func() { u.limit = 0 }()
		b, next := u.block(app)
		if b == nil {
			return nil
		}
		if next != 0 {
			u.askSpent(u.asm.JmpLater(), next, fresh)
		}
		return b
	})
}

// refund gives back what a block subtracted for the instructions from i on that
// were not executed.
// It is called where a signal or a fault takes a thread out of a block.
func (t *Thread) refund(b *block, i int) {
	if !b.spends {
		return
	}
	if b.used == 0 {
		t.take(MetricInstructions, -int64(int(b.insns)-i))
		return
	}
	for _, n := range t.p.uses(b)[min(i, len(t.p.uses(b))):] {
		for m := range n {
			if n[m] > 0 && t.p.metrics[m] {
				t.take(Metric(m), -int64(n[m]))
			}
		}
	}
}
