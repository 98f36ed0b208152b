package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// Pairs give the median of their own ratios, the program's processor time as the tool
// tells it, and no more runs than asked for.
func TestPairs(t *testing.T) {
	status, rows, errs := runBench(t, "-alleria", fakeTracer(t, "true"), "-n", "1", "-pairs", "7", "-only", "perl,true", "-modes", "armed")
	if status != 0 || len(rows) != 4 {
		t.Fatalf("status %d, %d rows\n%s", status, len(rows), errs)
	}
	for _, r := range rows {
		if r.Mode == nativeMode {
			continue
		}
		if r.Pairs != 7 || r.Low == 0 || r.Low > r.Ratio || r.High < r.Ratio || r.Must != 1.01 || r.CPURatio == 0 {
			t.Errorf("%+v", r)
		}
	}
	if got := strings.Count(errs, "pair"); got != 14 {
		t.Errorf("%d pairs were announced, want 14", got)
	}
	_, rows, _ = runBench(t, "-alleria", fakeTracer(t, "true"), "-n", "2", "-pairs", "0", "-only", "true", "-modes", "armed")
	if len(rows) != 2 || rows[1].Pairs != 0 || rows[1].Ratio == 0 {
		t.Errorf("without pairs: %+v", rows)
	}
}

// A row of pairs whose times and processor times are known.
func TestPairedRow(t *testing.T) {
	var all []pair
	for i := range 9 {
		slow := 1 + float64(i)/10 // the machine's mood: it is on both sides
		n := outcome{Seconds: slow, Used: usage{slow, 100, 1}}
		a := outcome{Seconds: slow * 1.02, Used: usage{slow * 1.01, 150, 5}}
		all = append(all, pair{n, a})
	}
	var r row
	r.paired(all)
	if math.Abs(r.Ratio-1.02) > 1e-9 || math.Abs(r.CPURatio-1.01) > 1e-9 || r.MoreFaults != 50 || r.MoreSwitches != 4 || r.Pairs != 9 {
		t.Errorf("%+v", r)
	}
	var out bytes.Buffer
	r.Program, r.Mode = "bzip2", "armed"
	printPairs(&out, []row{r, {Program: "perl"}})
	if !strings.Contains(out.String(), "median of 9 pairs 1.0200") || !strings.Contains(out.String(), "+50 page faults, +4 waits") || strings.Contains(out.String(), "perl") {
		t.Errorf("%s", out.String())
	}
}

// The interval is the sign test's: for these numbers of values, tables of the binomial
// distribution give which values bound it (of 20: the 6th and the 15th).
func TestMedianOf(t *testing.T) {
	for _, c := range []struct{ n, low int }{{1, 1}, {5, 1}, {6, 1}, {8, 1}, {9, 2}, {12, 3}, {15, 4}, {20, 6}, {25, 8}, {50, 18}} {
		var values []float64
		for i := range c.n {
			values = append(values, float64((i*7)%c.n+1)) // 1 to n, where 7 does not divide n
		}
		if got := medianOf(values); got.low != float64(c.low) || got.high != float64(c.n+1-c.low) || got.median != float64(c.n+1)/2 {
			t.Errorf("%d values: %+v, want from %d", c.n, got, c.low)
		}
	}
	if got := medianOf(nil); got != (interval{}) {
		t.Errorf("of none: %+v", got)
	}
}
