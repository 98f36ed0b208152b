package reuse

import "alleria/analysis/stream"

// part is what a Counter counts of references that are not to count, which move lines all the same.
type part struct {
	hist  []float64
	cold  float64
	sums  sample // of which hist and cold
	refs  uint64 // that were not to count
	muted bool
	since uint64 // Counter.Refs when that began
}

// counted is where a Counter's references come from, with Count.
type counted struct {
	*stream.Lines
	c *Counter
}

// Count says whether what comes counts.
func (s counted) Count(on bool) {
	p := &s.c.part
	if on != p.muted {
		return
	}
	s.c.flush()
	p.muted = !on
	s.c.Hist, p.hist = p.hist, s.c.Hist
	s.c.Cold, p.cold = p.cold, s.c.Cold
	now := &s.c.sample
	now.hist, p.sums.hist = p.sums.hist, now.hist
	now.cold, p.sums.cold = p.sums.cold, now.cold
	if on {
		p.refs += s.c.Refs - p.since
	} else {
		p.since = s.c.Refs
	}
}
