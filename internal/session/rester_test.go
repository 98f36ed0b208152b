package session

import (
	"testing"
	"time"

	"alleria/config"
	"alleria/engine"
	"alleria/internal/records"
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
