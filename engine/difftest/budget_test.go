package difftest

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"alleria/engine"
	"alleria/internal/randprog"
)

// amounts is how much of each metric.
type amounts [engine.NumMetrics]int64

// budgets gives the one thread of a program random budgets and notes what it is
// asked.
type budgets struct {
	rng     *rand.Rand
	metrics []engine.Metric
	sizes   []int64 // bounds of what is given at a time, one of them at random
	granted amounts // all that was given
	ended   amounts // what was done in all
	asked   []asked
}

// asked is one call of BudgetLow: what had been done then, of how much that was given.
type asked struct {
	addr          uint64
	done, granted amounts
}

// newBudgets makes budgets of instructions, and of accesses if they are wanted.
func newBudgets(seed uint64, accesses bool, sizes ...int64) *budgets {
	b := &budgets{rng: rand.New(rand.NewPCG(seed, 3)), sizes: sizes, metrics: []engine.Metric{engine.MetricInstructions}}
	if accesses {
		b.metrics = append(b.metrics, engine.MetricAccesses, engine.MetricReads, engine.MetricWrites)
	}
	return b
}

// grant gives a thread that has done so much some more of what is used up.
func (b *budgets) grant(t *engine.Thread, done amounts) {
	for _, m := range b.metrics {
		if t.Budget(m) > 0 && b.granted[m] > 0 { // asked for another one's sake
			continue
		}
		n := 1 + b.rng.Int64N(b.sizes[b.rng.IntN(len(b.sizes))])
		b.granted[m] = done[m] + n
		t.SetBudget(m, n)
	}
}

// low answers BudgetLow.
func (b *budgets) low(t *engine.Thread, addr uint64) {
	a := asked{addr: addr, granted: b.granted}
	for _, m := range b.metrics {
		a.done[m] = b.granted[m] - t.Budget(m)
	}
	b.asked = append(b.asked, a)
	b.grant(t, a.done)
}

// end notes what a thread has done that is no more.
func (b *budgets) end(t *engine.Thread) {
	for _, m := range b.metrics {
		b.ended[m] = b.granted[m] - t.Budget(m)
	}
}

// progress is what had been done in front of each executed instruction.
type progress struct {
	addrs, follow []uint64 // of each, and where it leads; 0: not known
	// Without and with what was done of one that was interrupted there.
	without, before []amounts
}

// progressOf adds up a list of entries.
func progressOf(list []entry) (p progress) {
	p.without, p.before = []amounts{{}}, []amounts{{}}
	var n amounts
	for i := range list {
		e := &list[i]
		for _, a := range e.acc {
			n[engine.MetricAccesses]++
			if a.store {
				n[engine.MetricWrites]++
			} else {
				n[engine.MetricReads]++
			}
		}
		if e.part {
			p.before[len(p.before)-1] = n
			continue
		}
		next := e.addr + uint64(len(e.code))
		switch {
		case e.taken == 1:
			next = e.target
		case bytes.Equal(e.code, []byte{0x0f, 0x05}): // it may be the return from a handler
			next = 0
		}
		p.addrs, p.follow = append(p.addrs, e.addr), append(p.follow, next)
		n[engine.MetricInstructions]++
		p.without, p.before = append(p.without, n), append(p.before, n)
	}
	return p
}

// check compares what was asked with the instructions that were executed: each
// question in front of the right one, none behind the one that used a budget up.
// It returns how many budgets were used up.
func (b *budgets) check(list []entry) (used int, msg string) {
	p := progressOf(list)
	next := 0 // the first instruction that no question is known to be in front of
	for k, a := range b.asked {
		i := int(a.done[engine.MetricInstructions])
		// An instruction that faults is not in the list: the handler's first is.
		if i < 0 || i >= len(p.addrs) || p.addrs[i] != a.addr && (i == 0 || p.follow[i-1] != a.addr && p.follow[i-1] != 0) {
			at := min(max(i, 0), len(list)-1)
			return used, fmt.Sprintf("question %d came at %#x after %d of %d instructions\n%s", k, a.addr, i, len(p.addrs), around(list, at))
		}
		for _, m := range b.metrics {
			if a.done[m] != p.before[i][m] && a.done[m] != p.without[i][m] {
				return used, fmt.Sprintf("question %d, at %#x: %d of metric %d counted, %d done", k, a.addr, a.done[m], m, p.before[i][m])
			}
			if a.done[m] >= a.granted[m] {
				used++
			}
			if i > next && p.before[i-1][m] >= a.granted[m] {
				return used, fmt.Sprintf("question %d, at %#x: late for metric %d: %d of %d", k, a.addr, m, p.before[i][m], a.granted[m])
			}
		}
		next = i
	}
	last := len(p.addrs) - 1
	for _, m := range b.metrics {
		if last > next && p.before[last][m] >= b.granted[m] {
			return used, fmt.Sprintf("nothing was asked when %d of metric %d were done", b.granted[m], m)
		}
	}
	return used, ""
}

// budgetVariants are the ways in which programs are counted.
func budgetVariants() []variant {
	return []variant{
		{name: "plain", mode: engine.ModePlain},
		{name: "small units", mode: engine.ModePlain, opts: func(o *engine.Options) { o.NoFollow, o.NoSpread = true, true }},
		{name: "count", mode: engine.ModeCount},
		{name: "everything", mode: engine.ModeRecord, want: everything},
	}
}

// TestBudgets runs random programs, which fault, with random budgets: the tracer
// must be asked at the very instruction that the oracle says, with the oracle's
// counts.
func TestBudgets(t *testing.T) {
	cpu := processorFlags(t)
	for seed := range max(1, uint64(*programs)/4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g := randprog.New(2000+seed, cpu, append(append(randprog.Templates(), randprog.Faulting()), randprog.Trapping()...))
			bin, keep := buildRandom(t, fmt.Sprintf("budget%d", seed), g.Sequences(2*sequencesPerProgram, 1), seed%2 == 1)
			defer keep(t)
			want, steps, _ := oracle(t, bin)
			for i, v := range budgetVariants() {
				for _, accesses := range []bool{false, true} {
					v.budgets = newBudgets(seed*10+uint64(i), accesses, 8, 100, 1000)
					got, rec := translate(t, bin, v)
					sameOutcome(t, v.name, got, want)
					used, msg := v.budgets.check(steps)
					if msg != "" {
						t.Errorf("%s, accesses %v: %s", v.name, accesses, msg)
					}
					if v.mode == engine.ModeCount && rec.counted != retired(steps) {
						t.Errorf("%s: %d instructions, the oracle has %d", v.name, rec.counted, retired(steps))
					}
					t.Logf("%s: %d questions, %d budgets used up", v.name, len(v.budgets.asked), used)
					if used < 10 {
						t.Errorf("%s: only %d budgets were used up", v.name, used)
					}
				}
			}
		})
	}
}

// TestBudgetsUnderTimer does so with signals that come at any time. What was executed is
// then known by what was recorded.
func TestBudgetsUnderTimer(t *testing.T) {
	cpu := processorFlags(t)
	g := randprog.New(3000, cpu, randprog.Templates())
	bin, keep := buildRandom(t, "budgettimer", g.Sequences(10, 100), true)
	defer keep(t)
	want := native(t, bin)
	for _, accesses := range []bool{false, true} {
		v := variant{name: "everything", mode: engine.ModeRecord, want: everything, budgets: newBudgets(1, accesses, 100, 50_000)}
		got, rec := translate(t, bin, v)
		sameOutcome(t, v.name, got, want)
		entries, err := expand(rec.words, rec.blocks)
		if err != nil {
			t.Fatal(err)
		}
		used, msg := v.budgets.check(entries)
		if msg != "" {
			t.Errorf("accesses %v: %s", accesses, msg)
		}
		t.Logf("%d questions, %d budgets used up", len(v.budgets.asked), used)
		// Nothing is recorded: what is counted at each question must not be less than before,
		// and the whole the same as what blocks count.
		v = variant{name: "count", mode: engine.ModeCount, budgets: newBudgets(2, accesses, 100, 50_000)}
		got, rec = translate(t, bin, v)
		sameOutcome(t, v.name, got, want)
		if n := v.budgets.ended[engine.MetricInstructions]; uint64(n) != rec.counted {
			t.Errorf("budgets count %d instructions, blocks %d", n, rec.counted)
		}
	}
}

// TestBudgetsOverCorpus does so with the programs of testdata/insns: signals, system
// calls, string instructions, and what else has ways of its own.
func TestBudgetsOverCorpus(t *testing.T) {
	sources, err := filepath.Glob("../../testdata/insns/*.S")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	cpu := processorFlags(t)
	for k, source := range sources {
		if lacks(t, source, cpu) != "" || declared(t, source, "links:") == "high" {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(source), ".S"), func(t *testing.T) {
			bin := build(t, source, lowLink)
			want, steps, _ := oracle(t, bin)
			for i, v := range budgetVariants() {
				v.budgets = newBudgets(uint64(k*10+i), true, 8, 100, 1000)
				got, _ := translate(t, bin, v)
				sameOutcome(t, v.name, got, want)
				if _, msg := v.budgets.check(steps); msg != "" {
					t.Errorf("%s: %s", v.name, msg)
				}
			}
		})
	}
}
