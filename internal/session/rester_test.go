package session

import (
	"runtime"
	"testing"
	"time"

	"alleria/config"
	"alleria/engine"
	"alleria/internal/records"
	"alleria/internal/sys"
)

// burst has a process that runs natively between bursts begin with one and end it; new is how many blocks it makes.
func (p *fakeProcess) burst(t *fakeThread, blocks int) {
	p.run.t.Helper()
	r := p.ps.rest
	r.gap, r.at = 0, time.Now().Add(-time.Second)
	p.ps.Alarm()
	if p.mode != engine.ModeRecord {
		p.run.t.Fatalf("no burst begins in mode %v", p.mode)
	}
	if p.took[len(p.took)-1] != engine.ModeRecord {
		p.run.t.Errorf("what other processes have translated is taken over in modes %v", p.took)
	}
	made := func(n int) {
		for range n {
			p.blocks.Add(&records.Block{Addr: 0x1000, Code: []byte{0x90}, Ins: make([]records.Ins, 1)})
		}
	}
	made(3_000) // by an earlier process of the program, which this one takes over
	p.ps.Entering(t)
	made(blocks)
	t.budget[engine.MetricInstructions] -= t.budget[engine.MetricInstructions] * (restNearly - 1) / restNearly // and what rounding leaves
	t.budget[engine.MetricInstructions]--
	p.ps.BudgetLow(t, 0x1000)
	if p.mode != engine.ModeNative {
		p.run.t.Fatalf("the burst goes on in mode %v", p.mode)
	}
	p.ps.Entering(t)
}

// TestBurstsLookOnce: mappings are read as a window opens, and at the first burst behind it; at the others the engine compares code by itself.
func TestBurstsLookOnce(t *testing.T) {
	f := newFakeRun(t, `<Window reopenable="true"><On><Call name="inner"/></On><Till><Return name="inner"/></Till></Window>`)
	reads := 0
	maps := f.maps
	f.maps = func(pid int) ([]byte, error) { reads++; return maps(pid) }
	f.opts.SampleBy = SampleByTime
	f.opts.Config.Windows[0].Profile.SampleRate.Part = 0.01
	p, th := f.begin()
	for range 2 {
		th.calls("inner")
		p.burst(th, 0)
		before := reads
		for range 5 {
			p.burst(th, 0)
		}
		if reads != before {
			t.Errorf("the mappings were read %d times in 5 bursts", reads-before)
		}
		th.returns("inner")
		before = reads
		if th.calls("inner"); reads == before {
			t.Error("they are not read when the window opens again")
		}
		th.returns("inner")
	}
	p.exits()
	f.end()
}

// TestBurstsWait: a burst that comes upon much new code has the next one come later, in proportion, and be shorter.
func TestBurstsWait(t *testing.T) {
	f := newFakeRun(t, `<Window></Window>`)
	f.opts.SampleBy = SampleByTime
	f.opts.Config.Windows[0].Profile.SampleRate.Part = 0.01
	p, th := f.begin()
	full := p.ps.rest.length(p.ps.image.budget.sampler) << restShortest // they begin with the shortest
	shorter := restShortest
	for i, blocks := range []int{0, 100, 2_000, 4_000, 0} {
		p.burst(th, blocks)
		shorter += []int{-1, 0, 1, 0, -1}[i]
		if n := p.ps.rest.length(p.ps.image.budget.sampler); n != full>>shorter {
			t.Errorf("bursts of %d instructions behind one with %d new blocks, want %d", n, blocks, full>>shorter)
		}
		gap, least := p.ps.rest.gap, time.Duration(blocks)*perBlock*translating-restPeriod
		if gap < least || gap > max(least, 0)+2*restPeriod {
			t.Errorf("%v until the next burst behind one with %d new blocks, want %v at least", gap, blocks, least)
		}
	}
	p.exits()
	f.end()
}

// TestBurstsGrow: bursts get longer, and as much rarer, as far as any may be; not with the switch, and they get shorter again for good behind one that has
// overwritten what it had recorded. The part of the time that is recorded stays.
func TestBurstsGrow(t *testing.T) {
	for _, c := range []struct {
		rate         float64
		engine       []string
		flooded      int // the burst that is
		first, then  time.Duration
		second, last int // how many bursts there were before
	}{
		{rate: 0.01, first: 2 * restPeriod, second: restBursts, then: 4 * restPeriod, last: 2 * restBursts},
		{rate: 0.05, first: 2 * restPeriod, second: restBursts, then: 2 * restPeriod, last: 2 * restBursts}, // 12 M instructions would be too many
		{rate: 0.2, first: restPeriod, second: restBursts, then: restPeriod, last: 2 * restBursts},
		{rate: 0.01, engine: []string{noLongBursts}, first: restPeriod, second: restBursts, then: restPeriod, last: 2 * restBursts},
		{rate: 0.01, flooded: 2*restBursts + 5, first: 4 * restPeriod, second: 2 * restBursts, then: 2 * restPeriod, last: 5 * restBursts},
		{rate: 0.01, flooded: 5, first: restPeriod, second: restBursts, then: restPeriod, last: 5 * restBursts},
	} {
		f := newFakeRun(t, `<Window></Window>`)
		f.opts.SampleBy, f.opts.Engine = SampleByTime, c.engine
		f.opts.Config.Windows[0].Profile.SampleRate.Part = c.rate
		p, _ := f.begin()
		r, s := p.ps.rest, p.ps.newSampler(config.Rate{Part: c.rate})
		r.shorter = 0
		var all, gaps time.Duration
		r.gap = 0
		for n := 1; n <= 6*restBursts; n++ {
			if n == c.flooded {
				r.flooded = true
			}
			r.grow(s)
			r.next(s)
			gaps, r.gap = gaps+r.gap, 0
			all += r.period
			want := min(c.rate*restSpeed*float64(r.period), mostBy)
			if length := float64(r.length(s)); length < want-1 || length > want {
				t.Fatalf("%+v: bursts of %.0f instructions each %v, want %.0f", c, length, r.period, want)
			}
			if n == c.second && r.period != c.first || n == c.last && r.period != c.then {
				t.Errorf("%+v: a burst each %v behind %d", c, r.period, n)
			}
		}
		if off := gaps - all; off < -2*restMost || off > 2*restMost {
			t.Errorf("%+v: %v between bursts that stand for %v", c, gaps, all)
		}
		p.exits()
		f.end()
	}
}

// TestBurstsBound: bursts take no more than their part of the time, and what may be spent at once, however dear they are; with the switch they come as often
// as ever. Those that are cheap do in any case.
func TestBurstsBound(t *testing.T) {
	const takes = 4 * time.Millisecond // a third of what lies between two bursts
	for _, c := range []struct {
		takes  time.Duration
		engine []string
		bound  bool
	}{{takes, nil, true}, {takes, []string{unboundBursts}, false}, {restPeriod / spendPart / 2, nil, false}} {
		f := newFakeRun(t, `<Window></Window>`)
		f.opts.SampleBy, f.opts.Engine = SampleByTime, append(c.engine, noLongBursts)
		f.opts.Config.Windows[0].Profile.SampleRate.Part = 0.01
		p, _ := f.begin()
		r, s := p.ps.rest, p.ps.newSampler(config.Rate{Part: 0.01})
		const bursts = 1000
		var now, natively time.Duration
		r.used, r.gap, r.tail = 0, 0, 0
		for range bursts {
			r.next(s)
			natively += r.gap
			now += r.gap
			r.passed(now)
			now += c.takes
			r.used, r.spent.left = now, r.spent.left-c.takes
		}
		want := bursts * restPeriod
		if c.bound {
			want = (bursts*c.takes - spendAtOnce) * spendPart
		}
		if off := natively - want; off < -want/20 || off > want/20 {
			t.Errorf("%v natively between %d bursts of %v with %v, want %v", natively, bursts, c.takes, c.engine, want)
		}
		p.exits()
		f.end()
	}
}

// TestBurstsSpend: a burst has taken the time that has passed, where processors were busy with it, and not what passed while neither side had one.
func TestBurstsSpend(t *testing.T) {
	f := newFakeRun(t, `<Window></Window>`)
	f.opts.SampleBy = SampleByTime
	f.opts.Config.Windows[0].Profile.SampleRate.Part = 0.01
	p, _ := f.begin()
	runtime.LockOSThread() // as Run does, whose thread's time counts
	defer runtime.UnlockOSThread()
	took := func(do func()) time.Duration {
		s := &p.ps.rest.spent
		s.left = spendAtOnce
		p.ps.spendFrom()
		do()
		p.ps.spend()
		p.ps.spend() // again where it has left
		return spendAtOnce - s.left - burstBehind
	}
	const long = 20 * time.Millisecond
	if d := took(func() { time.Sleep(long) }); d < 0 || d > long/2 {
		t.Errorf("a burst that slept for %v has taken %v", long, d)
	}
	busy := func() {
		for from := sys.ThreadTime(); sys.ThreadTime()-from < long; {
		}
	}
	if d := took(busy); d < long*9/10 {
		t.Errorf("a burst of %v has taken %v", long, d)
	}
	if d := took(func() {
		p.ps.rest.entered, p.ps.rest.blocks = true, p.blocks.Last()
		for range long / 2 / perBlock {
			p.blocks.Add(&records.Block{Addr: 0x1000, Code: []byte{0x90}, Ins: make([]records.Ins, 1)})
		}
		busy()
	}); d < long*4/10 || d > long*8/10 {
		t.Errorf("a burst of %v that has translated for half of that has taken %v without", long, d)
	}
	if took(func() {
		for range 20 {
			busy()
		}
	}); p.ps.rest.spent.left != -spendAhead {
		t.Errorf("%v may be spent behind a burst of %v, want %v", p.ps.rest.spent.left, 20*long, -spendAhead)
	}
	p.exits()
	f.end()
}

// TestBurstsDear: where bursts take more than twice what their period has for them, and no more may be spent at once, it grows at once; not where they are cheap, something
// may be spent, or with the switch.
func TestBurstsDear(t *testing.T) {
	for _, c := range []struct {
		left, burst time.Duration
		engine      []string
		grows       bool
	}{
		{-time.Millisecond, 3 * restPeriod / spendPart, nil, true},
		{-time.Millisecond, restPeriod / spendPart, nil, false},
		{time.Millisecond, 3 * restPeriod / spendPart, nil, false},
		{-time.Millisecond, 3 * restPeriod / spendPart, []string{unboundBursts}, false},
	} {
		f := newFakeRun(t, `<Window></Window>`)
		f.opts.SampleBy, f.opts.Engine = SampleByTime, c.engine
		f.opts.Config.Windows[0].Profile.SampleRate.Part = 0.01
		p, _ := f.begin()
		r, s := p.ps.rest, p.ps.newSampler(config.Rate{Part: 0.01})
		r.spent.left, r.spent.burst = c.left, c.burst
		before := r.length(s)
		r.grow(s)
		if grows := r.period == 2*restPeriod; grows != c.grows || grows != (r.length(s) > before) {
			t.Errorf("%+v: a burst of %d instructions each %v", c, r.length(s), r.period)
		}
		p.exits()
		f.end()
	}
}

// TestBurstsCallersAhead: what callers are told by is read before threads stop for the first burst.
func TestBurstsCallersAhead(t *testing.T) {
	for _, c := range []struct {
		engine []string
		ahead  bool
	}{{nil, true}, {[]string{noCallers}, false}} {
		f := newFakeRun(t, `<Window></Window>`)
		f.opts.SampleBy, f.opts.Engine = SampleByTime, c.engine
		f.opts.Config.Windows[0].Profile.SampleRate.Part = 0.01
		p, _ := f.begin()
		p.ps.rest.gap, p.ps.rest.at = 0, time.Now().Add(-time.Second)
		p.ps.Alarm()
		if ahead := p.ps.image.stacks != nil; ahead != c.ahead {
			t.Errorf("with %v callers are looked for ahead: %v", c.engine, ahead)
		}
		p.exits()
		f.end()
	}
}
