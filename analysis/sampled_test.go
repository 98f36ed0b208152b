package analysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"alleria/abp"
)

// TestSpreadIsCalibrated: of many samples of a program that goes through phases the true error is half of what is told, in the quadratic mean, as
// it is of an interval of 95 %; stretches are of unequal lengths, which are known.
func TestSpreadIsCalibrated(t *testing.T) {
	const rows, noise = 400, 0.2
	phase := func(i int) float64 { // steady, rising, and other things altogether
		switch i / 100 {
		case 0:
			return 0.3
		case 1:
			return 0.3 + 0.4*float64(i-100)/100
		case 2:
			return 0.05
		}
		return 0.5
	}
	sum := 0.0
	const samples = 300
	for seed := range uint64(samples) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var s Spread
		var truth, told float64
		for i := range rows {
			x := 1000 * (1 + 3*rng.Float64())
			p := phase(i)
			truth += x * p
			y := x * (p + noise*(2*rng.Float64()-1)*p)
			told += y
			s.Add(x, map[any]float64{"f": y})
		}
		e := s.Error("f", 0)
		sum += math.Pow((told-truth)/told/e, 2)
	}
	if rms := math.Sqrt(sum / samples); rms < 0.4 || rms > 0.6 {
		t.Errorf("errors are %.2f of what is told, 1/1.96 would be right", rms)
	}
}

// TestSpreadOfPhases: shares that are the same for long and steps between them have small errors, however long the stretches are that tell them.
func TestSpreadOfPhases(t *testing.T) {
	var s Spread
	rng := rand.New(rand.NewPCG(2, 3))
	for i := range 200 {
		x, y := 1000*(1+rng.Float64()), map[any]float64{"a": 0, "b": 0}
		y[[]string{"a", "b"}[i/100]] = x
		s.Add(x, y)
	}
	for _, k := range []string{"a", "b", "none"} {
		if e := s.Error(k, 0.05); e > 0.02 || (e == 0) != (k == "none") {
			t.Errorf("%s: %g", k, e)
		}
	}
	var few Spread
	for range 8 {
		few.Add(1, map[any]float64{"a": 1})
	}
	if e := few.Error("a", 0.05); e != 1 {
		t.Errorf("of 8 stretches: %g", e)
	}
}

// TestSpreadOfSelection: where little of the code is recorded, how often it is met by chance makes an error, though all that is recorded
// is of one function; rows of which nothing is recorded count.
func TestSpreadOfSelection(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	s := frameSpread{rows: map[int]map[any]float64{}}
	var strata []abp.Stratum
	for i := range 400 {
		strata = append(strata, abp.Stratum{Sampling: abp.Sampling{Thread: 1, Recorded: 50, Passed: 950}})
		if rng.IntN(2) == 0 {
			s.rows[i] = map[any]float64{nil: 1000}
		}
	}
	s.close(strata)
	if e, want := s.Error(nil, 0), 1.96/math.Sqrt(400); math.Abs(e-want) > 0.3*want {
		t.Errorf("%g, %g is expected", e, want)
	}
}
