package main

import (
	"os"
	"strings"
	"testing"
)

// TestConditions runs a fake tracer that says what it runs under.
func TestConditions(t *testing.T) {
	status, rows, errs := runBench(t, "-alleria", fakeTracer(t, `[ "$(nproc)" = 1 ] && sleep 0.2`), "-n", "1", "-only", "true", "-modes", "translate,translate-one")
	if status != 0 || len(rows) != 3 {
		t.Fatalf("status %d, %d rows\n%s", status, len(rows), errs)
	}
	if r := rows[2]; r.Mode != "translate-one" || r.Seconds < 0.2 {
		t.Errorf("it had more than one processor: %+v", r)
	}
	if status, _, errs := runBench(t, "-sched", "nosuch"); status != 2 || !strings.Contains(errs, "ordinary") {
		t.Errorf("an unknown scheduling: status %d, %s", status, errs)
	}
}

// TestSpinnersEnd starts programs that spin and ends them.
func TestSpinnersEnd(t *testing.T) {
	before := len(children(os.Getpid()))
	end, err := conditions{beside: 2}.spinners()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(children(os.Getpid())); n != before+2 {
		t.Errorf("%d programs spin", n-before)
	}
	end()
	if n := len(children(os.Getpid())); n != before {
		t.Errorf("%d go on", n-before)
	}
}
