package acceptance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestWindowsTakeTurns has two windows open and close in turn, and one within the other, which record
// different things: each as often as its function is called, with the same records whether code
// or the tracer does it. What was translated for a set of open windows is found again when the
// set is: the code cache stays small. Half of the changes are made by code where
// they take turns, and all where one of them never has its turn.
func TestWindowsTakeTurns(t *testing.T) {
	t.Parallel()
	const calls = 2000
	prog := build(t, "../../testdata/windows/turns.c", "-O1")
	for _, c := range []struct {
		how, a, b string
		openings  []int
		requests  int // by code, at most
	}{
		{"turns", "first", "second", []int{calls, calls}, calls * 5 / 2},
		{"nested", "outer", "second", []int{calls, calls}, calls * 5},
		{"turns", "second", "outer", []int{calls, 0}, calls / 4},
	} {
		var before []uint64
		for _, flags := range [][]string{nil, {"--engine", "no-toggle"}} {
			dir := workDir(t)
			recordWith(t, dir, turnsConfig(c.a, c.b), true, append([]string{"--no-aslr"}, flags...), prog, c.how, fmt.Sprint(calls))
			for i, name := range []string{"a", "b"} {
				list := openingsOf(t, dir, name)
				if len(list) != c.openings[i] {
					t.Errorf("%s %v: %d openings of %s, want %d", c.how, flags, len(list), name, c.openings[i])
				}
				if k := slices.IndexFunc(list, func(o opening) bool { return o.Closed == "" }); k >= 0 {
					t.Errorf("%s %v: opening %d of %s is not closed", c.how, flags, k+1, name)
				}
			}
			addrs := dumped(t, dir)["1/1"].addrs
			if before != nil && !slices.Equal(addrs, before) {
				t.Errorf("%s: %d and %d instructions recorded", c.how, len(before), len(addrs))
			}
			before = addrs
			costs := costsOf(t, dir)
			if costs.Cache > 5<<20 {
				t.Errorf("%s %v: %d bytes of code cache and tables", c.how, flags, costs.Cache)
			}
			if flags == nil && costs.Requests > c.requests {
				t.Errorf("%s: %d requests for %v openings", c.how, costs.Requests, c.openings)
			}
		}
	}
}

// turnsConfig has window a open on a function and record all, b on another and record accesses.
func turnsConfig(a, b string) string {
	window := func(name, function, instruction string) string {
		return `<Window name="` + name + `" reopenable="true"><On><Call name="` + function + `"/></On><Till><Return name="` + function +
			`"/></Till><Profile><Process><Thread><Image main="true"><Function>` + instruction + `</Function></Image></Thread></Process></Profile></Window>`
	}
	return `<AlleriaConfig version="1.0">` + window("a", a, `<Instruction cat="any"/>`) +
		window("b", b, `<Instruction cat="anyMem" accessAddressAndSize="true"/>`) + `</AlleriaConfig>`
}

// turnsCosts is what the test looks at of run.json.
type turnsCosts struct {
	Requests int
	Cache    int `json:"cache_memory"`
}

// costsOf reads the costs of a run.
func costsOf(t *testing.T, dir string) turnsCosts {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, profileDir, "run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r struct{ Costs turnsCosts }
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r.Costs
}
