package costmodel

import (
	"math"
	"time"
)

// Run is the least of what some runs of one kind took.
type Run struct {
	Elapsed    time.Duration
	Target     time.Duration // processor time of the program
	Processing time.Duration // of the processing threads
}

// least takes over what is less.
func (r *Run) least(o Run) {
	lower := func(a *time.Duration, b time.Duration) {
		if *a == 0 || b < *a {
			*a = b
		}
	}
	lower(&r.Elapsed, o.Elapsed)
	lower(&r.Target, o.Target)
	lower(&r.Processing, o.Processing)
}

// Runs is what was measured.
type Runs struct {
	Native   Run // the program by itself
	Produced Run // its events written over and over to the same few cache lines
	Queued   Run // handed over to a processing thread, which does nothing with them
	// Alone is the analysis while the program waits, each on a processor of its own; Within is the same on one processor.
	Alone, Within Run
	Beside        Run // the analysis beside the program
	// Sequential is the analysis in a form that works in the program's own threads; nil where it has none.
	Sequential *Run
	Threads    int // that the program had, at most in one process
	Processes  int // that it was
}

// Terms are the paper's, in seconds.
type Terms struct {
	A   float64 `json:"A"`    // the program by itself
	Ai  float64 `json:"A_i"`  // what producing events adds to it
	Aq  float64 `json:"A_q"`  // what handing them over adds to it
	P   float64 `json:"P"`    // the analysis by itself
	Pc  float64 `json:"P_c"`  // what getting at the events adds to it
	Iap float64 `json:"I_ap"` // what both take more where they share a processor
}

// Terms takes the runs apart.
//
// I_ap is what both sides' processor times grow by where they share a processor. So E_s is not predicted from itself: it
// is elapsed, and has the changes from one side to the other besides.
func (r *Runs) Terms() Terms {
	s := time.Duration.Seconds
	t := Terms{A: s(r.Native.Elapsed), Ai: s(r.Produced.Elapsed - r.Native.Elapsed), Aq: s(r.Queued.Elapsed - r.Produced.Elapsed), Pc: s(r.Queued.Processing)}
	t.P = s(r.Alone.Processing) - t.Pc
	t.Iap = s(r.Within.Target-r.Produced.Target) + s(r.Within.Processing-r.Alone.Processing)
	return t
}

// Sequential is the paper's E_s: the analysis in the program's own thread (equation 1).
func (t Terms) Sequential() float64 { return t.A + t.Ai + t.P + t.Iap }

// Application is how long the program's side takes where it never waits for the other's (equation 2).
func (t Terms) Application() float64 { return t.A + t.Ai + t.Aq }

// Analyzer is how long the analysis's side takes where it never waits for the other's (equation 3).
func (t Terms) Analyzer() float64 { return t.P + t.Pc }

// Concurrent is the paper's E_c: the analysis beside the program (equation 4), in so many threads.
func (t Terms) Concurrent(threads int) float64 {
	return math.Max(t.Application(), t.Analyzer()/float64(max(threads, 1)))
}

// Where an analysis is best made.
const (
	Beside = "beside"
	Within = "in"
	Either = "either"
)

// Advice is what to do.
type Advice struct {
	Where   string  `json:"where"`   // Beside, Within, or Either where it makes next to no difference
	Threads int     `json:"threads"` // processing threads that are worth their processors
	Gain    float64 `json:"gain"`    // how many times as fast the better way is
}

// indifferent is what runs of one kind differ by anyhow.
const indifferent = 0.05

// Advise compares what both ways took, and says how many threads are worth having on so many processors.
//
// An application thread's records are analysed in their order, by one processing thread at a time: more threads than the program
// has are of no use.
func (r *Runs) Advise(processors float64) Advice {
	t := r.Terms()
	in, beside := r.Within.Elapsed, r.Beside.Elapsed
	if r.Sequential != nil {
		in = min(in, r.Sequential.Elapsed)
	}
	a := Advice{Where: Beside, Gain: in.Seconds() / beside.Seconds(), Threads: 1}
	switch {
	case a.Gain < 1-indifferent:
		a.Where, a.Gain, a.Threads = Within, 1/a.Gain, 0
		return a
	case a.Gain < 1+indifferent:
		a.Where = Either
	}
	if app := t.Application(); app > 0 {
		a.Threads = int(math.Ceil(t.Analyzer() / app))
	}
	a.Threads = max(min(a.Threads, r.Threads, int(processors)-1), 1)
	return a
}
