package calls

import (
	"testing"

	"alleria/abp"
)

// testBursts follows two bursts of functions a, b and c: the second begins in b.
func testBursts() *Tracker {
	tr, pl := testTracker()
	pl.sites = map[uint64]uint64{1030: 1025, 3030: 3025}
	tr.bursts.sampled = true
	work := func(n uint64) { tr.add(&abp.Counts{Instructions: n}) }
	tr.Scale(1.5)
	tr.arrive(1010, 0) // in the middle of a
	work(1)
	tr.testCall(0, 1030, 2000, 1)
	work(2)
	tr.Gap()
	tr.Scale(10.5)
	tr.arrive(2020, 1) // in the middle of b
	work(1)
	tr.testCall(0, 2040, 3000, 2)
	work(5)
	tr.testReturn(0, 2040, 1)
	tr.testReturn(0, 1030, 0) // it was a that had called b
	work(3)
	tr.testCall(0, 1030, 2000, 1)
	work(7)
	tr.testReturn(0, 1030, 0)
	tr.testReturn(0, 3030, 2) // and c that had called a
	tr.testReturn(0, 3030, 2) // and c that had called c
	work(1)
	return tr
}

// TestBursts: a burst begins with an empty stack; who has called what it begins in is known once that returns; counts are
// scaled, and rounded in the end only.
func TestBursts(t *testing.T) {
	tr := testBursts()
	tr.Gap()
	all := tr.bursts.all
	all.round()
	got := map[string]node{}
	for n := 1; n < len(all.all); n++ {
		path := ""
		for k := n; k != root; k = int(all.all[k].parent) {
			path = tr.pl.funcs[all.all[k].fn].Name + path
		}
		sum := got[path]
		sum.calls += all.all[n].calls
		sum.own.Add(all.all[n].own, 1)
		got[path] = sum
		if path == "ccab" && all.all[n].calls == 0 && all.all[n].site != 1025 {
			t.Errorf("%s from %d", path, all.all[n].site)
		}
	}
	for path, want := range map[string][2]uint64{ // calls, instructions
		"a": {0, 2}, "ab": {2, 3}, "ccab": {11, 85}, "ccabc": {11, 53}, "cca": {0, 32}, "cc": {0, 0}, "c": {0, 11},
	} {
		if g := got[path]; g.calls != want[0] || g.own.Instructions != want[1] {
			t.Errorf("%s: %d calls, %d instructions, want %v", path, g.calls, g.own.Instructions, want)
		}
	}
	if len(got) != 7 {
		t.Errorf("%+v", got)
	}
}

// TestFlushedNumbers: the numbers that a burst's nodes have in the end lead to the same functions.
func TestFlushedNumbers(t *testing.T) {
	tr := testBursts()
	called := false
	tr.bursts.flushed = func(to []int32, scale float64) {
		called = true
		for n := 1; n < len(to); n++ {
			if tr.nodes.all[n].fn != tr.bursts.all.all[to[n]].fn || scale != 10.5 {
				t.Errorf("node %d of function %d is %d of %d; scale %g", n, tr.nodes.all[n].fn, to[n], tr.bursts.all.all[to[n]].fn, scale)
			}
		}
	}
	if tr.Gap(); !called {
		t.Error("nobody was told")
	}
}
