package openings

import (
	"math/rand/v2"
	"testing"

	"alleria/analysis"
)

// TestSpread: the least, the middle and the most of some numbers, of a part of them where there are too many to keep.
func TestSpread(t *testing.T) {
	for _, c := range []struct {
		n                int
		min, median, max float64
		within           float64 // of the median
	}{{1, 1, 1, 1, 0}, {2, 1, 1.5, 2, 0}, {5, 1, 3, 5, 0}, {4 * keptNumbers, 1, 2 * keptNumbers, 4 * keptNumbers, 0.01 * 2 * keptNumbers}} {
		random := rand.New(rand.NewPCG(1, 2))
		var s Spread
		for i := c.n; i > 0; i-- {
			s.add(float64(i), random)
		}
		got := s.done()
		if d := got.Median - c.median; got.Min != c.min || got.Max != c.max || d > c.within || -d > c.within {
			t.Errorf("%d numbers: %v, %v, %v", c.n, got.Min, got.Median, got.Max)
		}
	}
	if s := new(Spread).done(); s != nil {
		t.Errorf("of no numbers: %+v", s)
	}
}

// TestCounted: at the start nothing has been executed; elsewhere no count means that nobody counted.
func TestCounted(t *testing.T) {
	var k Counted
	k.Note(&analysis.WindowOpening{})
	k.Note(&analysis.WindowOpening{Address: 0x1000, Thread: 1, Instructions: 5, Closed: &analysis.WindowOpening{}})
	k.Note(&analysis.WindowOpening{Address: 0x1000, Thread: 1})
	if k != (Counted{Moments: 4, Unknown: 2}) {
		t.Errorf("%+v", k)
	}
}
