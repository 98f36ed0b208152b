package tuner

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// machine simulates application threads that fill buffers, and processing threads that empty them.
type machine struct {
	processors float64
	others     float64 // processors that other programs want
	threads    int     // application threads
	// fill and empty are buffers a millisecond on a whole processor; load says how much of its time an
	// application thread computes at a time.
	fill, empty float64
	load        func(ms int) float64
	// crowd is by how much of its speed each processing thread is slowed down by each other one: a disk.
	crowd float64
	room  float64 // buffers of an application thread

	working    int
	full       []float64
	done       float64
	ptit, atwt float64
	app        float64
}

// step is a millisecond.
func (m *machine) step(ms int) {
	if m.full == nil {
		m.full = make([]float64, m.threads)
	}
	total := 0.0
	wants := make([]float64, m.threads)
	demand := m.others
	for i, f := range m.full {
		total += f
		wants[i] = m.load(ms)
		if f >= m.room {
			m.atwt += wants[i]
			wants[i] = 0
		}
		demand += wants[i]
	}
	busy := math.Min(float64(m.working), math.Ceil(total))
	if total < 1e-9 {
		busy = 0
	}
	demand += busy
	part := math.Min(1, m.processors/math.Max(demand, 1e-9))
	speed := m.empty * math.Max(1-m.crowd*(busy-1), 0.05)
	can := busy * part * speed
	took := math.Min(can, total)
	m.ptit += float64(m.working) - busy
	if can > 0 {
		m.ptit += busy * (1 - took/can)
	}
	m.done += took
	for i := range m.full {
		if total > 0 {
			m.full[i] -= took * m.full[i] / total
		}
		m.full[i] += wants[i] * part * m.fill
		m.app += wants[i] * part
	}
}

// run simulates so many periods with the tuner, or with a fixed number of threads, and returns what was emptied.
func (m machine) run(periods int, fixed int, each func(Facts, Decision)) (done, room float64) {
	const period = 100
	t := New(Defaults())
	most := int(m.processors)
	m.working = Start(most, m.processors)
	if fixed > 0 {
		m.working = fixed
	}
	for p := range periods {
		m.ptit, m.atwt, m.app = 0, 0, 0
		for ms := range period {
			m.step(p*period + ms)
		}
		if fixed > 0 {
			continue
		}
		at := func(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
		f := Facts{Period: at(period), PTIT: at(m.ptit), ATWT: at(m.atwt), Working: m.working, Most: most,
			Processors: m.processors, Application: m.app / period, Others: math.Min(m.others, m.processors)}
		d := t.Tick(f)
		switch d.Action {
		case Add:
			m.working++
			m.room += float64(d.Buffers)
		case Suspend:
			m.working--
		}
		if each != nil {
			each(f, d)
		}
	}
	return m.done, m.room
}

// Loads of an application thread.
func steady(part float64) func(int) float64 { return func(int) float64 { return part } }

// bursty computes for a tenth of a second in each half, alternating for a second in each two.
func bursty(ms int) float64 {
	if ms%500 < 100 {
		return 1
	}
	return 0
}

func alternating(ms int) float64 {
	if ms/1000%2 == 0 {
		return 1
	}
	return 0.05
}

// TestAgainstFixed holds the tuner against every fixed number of threads.
func TestAgainstFixed(t *testing.T) {
	for name, m := range map[string]machine{
		"steady, one is enough":   {processors: 2, threads: 1, fill: 0.1, empty: 0.2, load: steady(1)},
		"steady, to disk":         {processors: 2, threads: 1, fill: 0.4, empty: 0.1, load: steady(1)},
		"steady, sixteen":         {processors: 16, threads: 4, fill: 0.3, empty: 0.12, load: steady(1)},
		"a disk that is one":      {processors: 8, threads: 2, fill: 0.5, empty: 0.2, crowd: 0.3, load: steady(1)},
		"bursts":                  {processors: 2, threads: 1, fill: 0.4, empty: 0.1, load: bursty},
		"bursts, sixteen":         {processors: 16, threads: 4, fill: 0.4, empty: 0.1, load: bursty},
		"alternating":             {processors: 2, threads: 1, fill: 0.4, empty: 0.1, load: alternating},
		"alternating, sixteen":    {processors: 16, threads: 6, fill: 0.3, empty: 0.1, load: alternating},
		"others want a processor": {processors: 4, others: 2, threads: 2, fill: 0.3, empty: 0.1, load: steady(1)},
		"one processor":           {processors: 1, threads: 1, fill: 0.4, empty: 0.1, load: steady(1)},
		"more threads than that":  {processors: 2, threads: 6, fill: 0.3, empty: 0.1, load: steady(1)},
	} {
		m.room = FirstBuffers
		const periods = 600
		best, with, one := 0.0, 0, 0.0
		done, room := m.run(periods, 0, nil)
		m.room = room // as many buffers from the beginning
		for n := 1; n <= int(m.processors-m.others); n++ {
			done, _ := m.run(periods, n, nil)
			if n == 1 {
				one = done
			}
			if done > best {
				best, with = done, n
			}
		}
		t.Logf("%-24s adaptive %7.1f, best fixed %7.1f with %d, one thread %7.1f", name, done, best, with, one)
		if done < 0.9*best {
			t.Errorf("%s: %.1f buffers emptied, %.1f with %d fixed threads", name, done, best, with)
		}
		if done < 0.97*one {
			t.Errorf("%s: %.1f buffers emptied, %.1f with a single thread", name, done, one)
		}
	}
}

// TestSettles sees a steady load lead to a stable phase that stays, and phases in the paper's order.
func TestSettles(t *testing.T) {
	m := machine{processors: 16, threads: 4, fill: 0.3, empty: 0.12, load: steady(1), room: FirstBuffers}
	var phases strings.Builder
	last := byte(0)
	late := 0
	n := 0
	m.run(200, 0, func(_ Facts, d Decision) {
		if byte(d.Phase) != last {
			last = byte(d.Phase)
			phases.WriteByte(last)
		}
		if n++; n > 50 && d.Action != None {
			late++
		}
	})
	if late > 20 {
		t.Errorf("%d of 150 decisions of a steady load are changes: %s", late, phases.String())
	}
	if s := phases.String(); !strings.HasPrefix(s, "X") || strings.Contains(s, "YZX") {
		t.Errorf("phases %s", s)
	}
}

// TestTicks are single decisions, each the last of some.
func TestTicks(t *testing.T) {
	const period = time.Second
	repeat := func(n int, f ...Facts) (all []Facts) {
		for range n {
			all = append(all, f...)
		}
		return all
	}
	quiet := append(repeat(patience, Facts{PTIT: 2 * period, Working: 2}), Facts{PTIT: period, Working: 1})
	quiet = slices.Clip(quiet)
	for _, c := range []struct {
		name   string
		facts  []Facts
		next   Phase
		action Action
		why    string
	}{
		{"nobody waits", []Facts{{Working: 2}}, RampDown, None, "no application thread waits"},
		{"ramping up", []Facts{{ATWT: period, Working: 2}}, RampUp, Add, "wait"},
		{"idle time rises by TP", []Facts{{ATWT: period, PTIT: period, Working: 2}, {ATWT: period, PTIT: 3 * period / 2, Working: 3}}, RampDown, None, "TP"},
		{"and by less", []Facts{{ATWT: period, PTIT: period, Working: 2}, {ATWT: period, PTIT: 14 * period / 10, Working: 3}}, RampUp, Add, "TP"},
		{"it gets worse", []Facts{{ATWT: period, Working: 2}, {ATWT: 2 * period, Working: 3}}, RampDown, None, "one more"},
		{"a pause", []Facts{{ATWT: period, Working: 2}, {PTIT: 3 * period, Working: 3}}, RampUp, None, ""},
		{"no more room", []Facts{{ATWT: period, Working: 8}}, Stable, None, "no more than 8"},
		{"too many", []Facts{{ATWT: period, Working: 9}}, RampDown, None, "room for 8"},
		{"an idle one", repeat(patience, Facts{PTIT: 2 * period, Working: 3}), RampDown, Suspend, "idle"},
		{"idle for a shorter time", repeat(patience-1, Facts{PTIT: 2 * period, Working: 3}), RampDown, None, ""},
		{"down to one", quiet, Stable, None, "one thread stays"},
		{"one too few", append(repeat(patience, Facts{PTIT: period, Working: 3}), Facts{ATWT: period, Working: 2}), Stable, Add, "TAZ"},
		{"stable", append(quiet, Facts{PTIT: period, Working: 1}), Stable, None, ""},
		{"wait time rises", append(quiet, Facts{ATWT: period, Working: 1}), RampUp, Add, "TAY1"},
		{"wait time falls", append([]Facts{{ATWT: period, Working: 8}}, repeat(patience, Facts{ATWT: period / 2, PTIT: period / 2, Working: 7})...), RampUp, Add, "TAY2"},
		{"for a moment", append([]Facts{{ATWT: period, Working: 8}}, Facts{ATWT: period / 2, Working: 8}), Stable, None, ""},
		{"others come", []Facts{{ATWT: period, Working: 8}, {ATWT: period, Working: 9}}, RampDown, Suspend, "room for 8"},
		{"another attempt", append([]Facts{{ATWT: period, Working: 8}}, repeat(attempt, Facts{ATWT: period, Working: 7})...), RampUp, Add, "no processing thread was idle"},
	} {
		m := New(Defaults())
		var d Decision
		for _, f := range c.facts {
			f.Period, f.Most, f.Processors = period, 8, 8
			d = m.Tick(f)
		}
		if d.Next != c.next || d.Action != c.action || !strings.Contains(d.Why, c.why) || d.Next != m.Phase() {
			t.Errorf("%s: %c to %c, %q, %s", c.name, d.Phase, d.Next, d.Action, d.Why)
		}
	}
}

// TestLimit is about few processors.
func TestLimit(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		f    Facts
		want int
	}{
		{Facts{Processors: 2, Application: 1}, 1},                                  // one for each
		{Facts{Processors: 2, Application: 0.3, ATWT: 7 * s / 10}, 2},              // it waits: both
		{Facts{Processors: 2, Application: 2}, 1},                                  // never none
		{Facts{Processors: 16, Application: 4}, 12},                                //
		{Facts{Processors: 16, Application: 4, Others: 10}, 2},                     //
		{Facts{Processors: 16, Application: 4, Others: 16, ATWT: 3 * s}, 4},        // who waits leaves its turns
		{Facts{Processors: 16, Application: 4, Most: 5}, 5},                        // the user's
		{Facts{Processors: 0.5, Application: 0.5}, 1},                              // a part of one
		{Facts{Processors: 64, Application: 0, Others: 0, Period: 0, ATWT: s}, 32}, // no period
	} {
		if c.f.Period == 0 && c.want != 32 {
			c.f.Period = s
		}
		if c.f.Most == 0 {
			c.f.Most = 32
		}
		if got := c.f.Limit(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.f, got, c.want)
		}
	}
}
