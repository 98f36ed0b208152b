package tuner

import (
	"math"
	"slices"
	"time"
)

// Facts are what was measured since the decision before.
type Facts struct {
	// Period is how long that was.
	Period time.Duration
	// PTIT is how long processing threads that work were idle, together; ATWT how long application threads waited
	// for a free buffer, together.
	PTIT, ATWT time.Duration
	// Working is how many processing threads are not suspended, and Most how many there may be.
	Working, Most int
	// Processors is how many there are for this run; the others are how many of them were busy with the application, and with
	// other programs.
	Processors, Application, Others float64
}

// Limit is how many processing threads there may be: as many as there are processors left by the application and by
// other programs, but one at least, and one more for each application thread that waits: it leaves its own turns.
func (f *Facts) Limit() int { return f.limit(f.waiting()) }

// limit is Limit with so many application threads that wait.
func (f *Facts) limit(waiting float64) int {
	free := int(math.Ceil(f.Processors - f.Application - f.Others - spareTime))
	turns := 1 + int(math.Ceil(waiting-spareTime))
	return max(min(max(free, turns), f.Most), 1)
}

// spareTime is how much of a processor is not worth a processing thread.
const spareTime = 0.25

// waiting is how many application threads waited, on average.
func (f *Facts) waiting() float64 { return share(f.ATWT, f.Period) }

// share is a time as a part of the period.
func share(t, period time.Duration) float64 {
	if period <= 0 {
		return 0
	}
	return max(float64(t)/float64(period), 0)
}

// nothing is the share of a period below which a time is none, and a difference no change.
const nothing = 0.01

// rose tells whether a share has risen by part of what it was, and fell whether it has fallen so.
func rose(is, was, part float64) bool { return is-was > nothing && is >= was*(1+part) }

func fell(is, was, part float64) bool { return was-is > nothing && is <= was*(1-part) }

// smooth follows a measure that jumps.
type smooth struct {
	value float64
	known bool
}

// recent is how much the latest value counts.
const recent = 0.3

func (s *smooth) next(v float64) float64 {
	if !s.known {
		s.value, s.known = v, true
	}
	s.value += recent * (v - s.value)
	return s.value
}

// window is a measure in the last periods.
type window struct {
	values [patience]float64
	n      int // of them that are known, and where the next one goes
	at     int
}

// patience is how many periods a load is looked at before a thread is suspended for want of work. An idle thread costs
// nothing; one that is missing when the next burst comes does.
const patience = 12

func (w *window) add(v float64) {
	w.values[w.at] = v
	w.at = (w.at + 1) % patience
	w.n = min(w.n+1, patience)
}

func (w *window) clear() { *w = window{} }

// full tells whether all of the periods are known.
func (w *window) full() bool { return w.n == patience }

func (w *window) least() float64 { return slices.Min(w.known()) }
func (w *window) most() float64  { return slices.Max(w.known()) }

func (w *window) known() []float64 { return w.values[:max(w.n, 1)] }
