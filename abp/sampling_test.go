package abp

import (
	"math"
	"slices"
	"testing"

	"alleria/abp/internal/wire"
)

// TestSampling: of rows of one thread and chunk the last counts, and words that were overwritten count like the others.
func TestSampling(t *testing.T) {
	p, err := openBytes(sampleFile(t))
	if err != nil {
		t.Fatal(err)
	}
	proc := p.Process(3)
	// The last row: 1 instruction of 100.
	if got := proc.Scale(proc.Threads()[0].Frames[0]); got != 100 {
		t.Errorf("scale %v", got)
	}
	if s := proc.Strata(); len(s) != 1 || s[0].Passed != 99 || s[0].Words == 0 {
		t.Errorf("strata %+v", s)
	}
	row := Sampling{1, 2, 3, 4, 5, 6, 7, 8}
	var got Sampling
	if err := eachRow(row.Append(nil), func(_ uint16, d *wire.Decoder) { got.decode(d) }); err != nil || got != row {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestScales: a stratum of which more than half was overwritten is taken together with the next, the last one with the one before.
func TestScales(t *testing.T) {
	of := func(recorded, passed, words, lost uint64) Stratum {
		return Stratum{Sampling: Sampling{Thread: 1, Recorded: recorded, Passed: passed, LostWords: lost}, Words: words}
	}
	for _, c := range []struct {
		strata []Stratum
		want   []float64
	}{
		{[]Stratum{of(10, 90, 7, 0), of(10, 10, 7, 0)}, []float64{10, 2}},
		{[]Stratum{of(10, 90, 6, 2)}, []float64{100 / 7.5}},
		{[]Stratum{of(10, 90, 1, 9), of(10, 90, 9, 1)}, []float64{200 / 10.0, 200 / 10.0}},
		{[]Stratum{of(10, 90, 10, 0), of(10, 40, 0, 10)}, []float64{15, 15}},
		{[]Stratum{of(10, 90, 0, 10)}, []float64{1}},
		{[]Stratum{of(0, 90, 0, 0)}, []float64{1}},
		{nil, nil},
	} {
		scaleThread(c.strata)
		var got []float64
		for i := range c.strata {
			got = append(got, c.strata[i].Scale)
		}
		if !slices.EqualFunc(got, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("%+v: scales %v, want %v", c.strata, got, c.want)
		}
	}
}
