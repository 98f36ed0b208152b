package costmodel

import (
	"math"
	"testing"
	"time"
)

// paper is a program of 10 s whose events take 2 s to produce and 1 s to hand over; its analysis takes as long as is given.
func paper(analysis time.Duration) *Runs {
	const s = time.Second
	return &Runs{
		Native:   Run{10 * s, 10 * s, 0},
		Produced: Run{12 * s, 12 * s, 0},
		Queued:   Run{13 * s, 13 * s, s / 2},
		Alone:    Run{13*s + analysis, 12 * s, analysis + s/2},
		Within:   Run{14*s + analysis, 13 * s, analysis + s},
		Beside:   Run{max(13*s, analysis+s/2), 13 * s, analysis + s/2},
		Threads:  1,
	}
}

// TestModel has both of the paper's cases: the program's side takes longer, and the analysis's does.
func TestModel(t *testing.T) {
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s is %g, not %g", what, got, want)
		}
	}
	r := paper(5 * time.Second)
	terms := r.Terms()
	if want := (Terms{A: 10, Ai: 2, Aq: 1, P: 5, Pc: 0.5, Iap: 1.5}); terms != want {
		t.Errorf("terms are %+v, not %+v", terms, want)
	}
	near("E_s", terms.Sequential(), 18.5)
	near("E_c where the program's side takes longer", terms.Concurrent(1), 13)
	if a := r.Advise(2); a.Where != Beside || a.Threads != 1 {
		t.Errorf("advice is %+v", a)
	}

	r = paper(30 * time.Second)
	near("E_c where the analysis takes longer", r.Terms().Concurrent(1), 30.5)
	near("E_c in three threads", r.Terms().Concurrent(3), 13)
	r.Threads = 8
	if a := r.Advise(16); a.Threads != 3 {
		t.Errorf("30.5 s of analysis beside 13 s of eight threads are worth 3 threads, not %d", a.Threads)
	}
	if a := r.Advise(3); a.Threads != 2 {
		t.Errorf("3 processors leave 2 for the analysis, not %d", a.Threads)
	}
	r.Threads = 1
	if a := r.Advise(16); a.Threads != 1 {
		t.Errorf("one thread's records are analysed by one thread at a time, not by %d", a.Threads)
	}

	// An analysis that is hardly any work, in the program's own code.
	r = paper(0)
	r.Sequential = &Run{Elapsed: 11 * time.Second}
	if a := r.Advise(4); a.Where != Within || a.Threads != 0 || a.Gain < 1.18 || a.Gain > 1.19 {
		t.Errorf("advice is %+v", a)
	}
	r.Sequential.Elapsed = r.Beside.Elapsed
	if a := r.Advise(4); a.Where != Either {
		t.Errorf("advice is %+v", a)
	}
}

// TestLeast: of runs of a kind the least of each time counts, wherever it was.
func TestLeast(t *testing.T) {
	var r Run
	for _, o := range []Run{{3, 5, 7}, {4, 4, 8}, {5, 6, 6}} {
		r.least(o)
	}
	if r != (Run{3, 4, 6}) {
		t.Errorf("%+v", r)
	}
}
